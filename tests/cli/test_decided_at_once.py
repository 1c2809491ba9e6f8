"""Conclusions of several processes at once: of those that exclude each other, one is recorded."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.campaigns import Scene, record
from support.command import Anvil

PROCESSES = 6
WAITING = """
import sys, time
from pathlib import Path
from anvil.ledger import cli
from anvil.ledger.commands import decide
Path(sys.argv[1]).touch()
while not Path("go").exists():
    time.sleep(0.001)
cli.main(sys.argv[2:])
"""


@pytest.fixture
def decided(ledger: Anvil) -> Anvil:
    """A ledger with a check that failed and a decision that rests on it."""
    scene = Scene()
    scene.declared(checks=("identity",))
    scene.launched()
    scene.checked("identity", "failed", "wrong_value")
    scene.stopped()
    record(scene)
    assert ledger("decide", "current", "--rests-on", 5, "--reason", "It holds.").code == 0
    return ledger


def at_once(*commands: tuple[object, ...]) -> list[tuple[int, str]]:
    """Run commands in processes that all begin at the same moment; return code and error of each."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WAITING, f"ready-{number}", *map(str, command)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number, command in enumerate(commands)
    ]
    while not all(Path(f"ready-{number}").exists() for number in range(len(commands))):
        time.sleep(0.01)
    Path("go").touch()
    errors = [process.communicate()[1] for process in running]
    return [(process.returncode, error) for process, error in zip(running, errors, strict=True)]


def decision(anvil: Anvil) -> int:
    """Return the index of the first decision."""
    (campaign,) = (c for c in anvil("status", "--json").json["campaigns"] if c["name"] == "mine")
    index = campaign["decisions"][0]["index"]
    assert isinstance(index, int)
    return index


def test_one_decision_is_superseded_once(decided: Anvil) -> None:
    first = decision(decided)
    command = ("decide", "rollback", "--rests-on", 5, "--supersedes", first, "--reason", "It does not.")
    ended = at_once(*[command] * PROCESSES)
    assert sorted(code for code, _ in ended) == [0] + [1] * (PROCESSES - 1), ended
    refused = [error for code, error in ended if code == 1]
    assert all(f"decision {first} was superseded by decision" in error for error in refused), refused
    (campaign,) = (c for c in decided("status", "--json").json["campaigns"] if c["name"] == "mine")
    assert [d["superseded_by"] is None for d in campaign["decisions"]] == [False, True]
    assert decided("verify").code == 0


def test_decisions_that_replace_nothing_all_stand(decided: Anvil) -> None:
    command = ("decide", "challenger", "--rests-on", 5, "--reason", "It may.")
    assert [code for code, _ in at_once(*[command] * 3)] == [0, 0, 0]


def test_a_decision_and_the_retraction_of_what_it_rests_on_exclude_each_other(decided: Anvil) -> None:
    """Whichever is first: nothing is decided on what was taken back before it."""
    decide = ("decide", "challenger", "--rests-on", 5, "--reason", "It may.")
    retract = ("retract", 5, "--reason", "It was another engine.")
    (_, refused), (code, _) = at_once(decide, retract)
    assert code == 0
    (campaign,) = (c for c in decided("status", "--json").json["campaigns"] if c["name"] == "mine")
    for one in campaign["decisions"]:
        assert all(reason["at"] > one["index"] for reason in one["stale"])
    assert len(campaign["decisions"]) == 2 or "was retracted" in refused


def test_an_event_is_retracted_once(decided: Anvil) -> None:
    ended = at_once(*[("retract", 5, "--reason", "It was another engine.")] * PROCESSES)
    assert sorted(code for code, _ in ended) == [0] + [1] * (PROCESSES - 1), ended
    refused = [error for code, error in ended if code == 1]
    assert all("event 5 (check.completed/1) was retracted at index" in error for error in refused), refused
    assert decided("verify").code == 0


@pytest.mark.parametrize(
    "conclusion",
    [
        ("waive", 5, "--by", "release-lead", "--until", "2999-12-31", "--reason", "Nobody asks for it."),
        ("note", "caveat", "Another job used the host.", "--about", 5),
    ],
    ids=lambda command: command[0],
)
def test_nothing_is_said_of_what_was_taken_back_before(
    decided: Anvil, conclusion: tuple[object, ...]
) -> None:
    (said, refused), (code, _) = at_once(conclusion, ("retract", 5, "--reason", "It was another engine."))
    assert code == 0
    recorded = {
        entry["event"].partition("/")[0]: entry["index"] for entry in decided("log", "--json").json["events"]
    }
    conclusions = [index for event, index in recorded.items() if event in ("waiver.granted", "caveat.noted")]
    assert conclusions if said == 0 else "was retracted" in refused, refused
    assert all(index < recorded["event.retracted"] for index in conclusions)
