"""`anvil status`: what was planned and run, what passed, what is incomplete and why."""

from __future__ import annotations

from pathlib import Path

from support.campaigns import Scene, abandon, record
from support.command import Anvil
from support.fine import events as of

STATUS = ("--status", "declared")


def scene() -> Scene:
    made = Scene()
    made.declared(checks=("identity", "finish", "coding"))
    made.launched()
    made.health(is_ready=True)
    made.checked("identity")
    made.checked("finish", "failed", "wrong_value")
    return made


def test_without_a_campaign_it_says_how_to_start(ledger: Anvil) -> None:
    ran = ledger("status")
    assert ran.code == 0, ran.err
    assert "anvil run RECIPE" in ran.out


def test_it_shows_verdicts_and_what_is_missing(ledger: Anvil) -> None:
    made = scene()
    made.exited()
    made.stopped()
    record(made)
    assert ledger("status").out.splitlines() == [
        "mine  recipe mine",
        "  candidate tiny: org/tiny",
        "  attempt a1: engine exited by itself, exit code 7",
        "    passed       identity                 1/1",
        "    failed       finish                   0/1  wrong_value",
        "    incomplete   coding                   -   engine_exited",
    ]


def test_an_interrupted_run_is_no_finished_one(ledger: Anvil) -> None:
    made = scene()
    made.stopped()
    stream = record(made, close="interrupted")
    out = ledger("status").out
    assert "  attempt a1: aborted\n" in out
    assert "    incomplete   coding                   -   aborted\n" in out
    assert out.endswith(f"    to go on with it: anvil run --resume {stream}\n")


def test_a_run_that_another_has_gone_on_with_is_not_offered_again(ledger: Anvil) -> None:
    first = scene()
    first.stopped()
    stream = record(first, close="interrupted")
    rest = Scene()
    rest.declared(checks=("coding",), continues=stream)
    rest.launched()
    rest.checked("coding")
    rest.stopped()
    record(rest)
    out = ledger("status").out
    assert f"goes on with {stream}" in out
    assert "to go on with it" not in out


def test_a_later_run_covers_no_earlier_failure(ledger: Anvil) -> None:
    """`--only` one check, after a run in which others failed."""
    streams = [record(scene())]
    again = Scene()
    again.declared(checks=("identity",))
    again.launched()
    again.checked("identity")
    again.stopped()
    streams.append(record(again))
    assert ledger("status").out.splitlines()[2:] == [
        "  attempt a1 (launch 1): recording lost",
        "    passed       identity                 1/1",
        "    failed       finish                   0/1  wrong_value",
        "    incomplete   coding                   -   no_result",
        "  attempt a1 (launch 2): done",
        "    passed       identity                 1/1",
    ]
    (mine,) = ledger("status", "--json").json["campaigns"]
    first, second = mine["attempts"]["a1"]
    assert first["checks"]["finish"]["outcome"] == "failed"
    assert first["incomplete"] == {"coding": "no_result"}
    assert set(second["checks"]) == {"identity"}
    assert [run["launch"] for run in (first, second)] == [1, 2]
    assert [run["stream"] for run in (first, second)] == streams


def test_a_run_that_was_recovered_is_no_finished_one(ledger: Anvil) -> None:
    stream = record(scene(), close="open")
    made = Scene()
    made.checked("coding", "incomplete")
    made.stopped(is_recovered=True)
    abandon(stream, *(seen.event for seen in made.seen))
    out = ledger("status").out
    assert "  attempt a1: recording lost\n" in out
    assert "    incomplete   coding                   0/1  recording_lost\n" in out
    (mine,) = ledger("status", "--json").json["campaigns"]
    (attempt,) = mine["attempts"]["a1"]
    assert attempt["standing"] == "recording lost"
    assert attempt["incomplete"] == {"coding": "recording_lost"}


def test_what_is_known_of_a_lost_run_stays_known(ledger: Anvil) -> None:
    made = scene()
    made.exited()
    abandon(record(made, close="open"))
    assert "attempt a1: engine exited by itself, exit code 7; recording lost\n" in ledger("status").out


def test_a_check_broken_off_by_an_interrupt_says_so(ledger: Anvil) -> None:
    made = scene()
    made.checked("coding", "incomplete")
    record(made, close="interrupted")
    assert "    incomplete   coding                   0/1  aborted\n" in ledger("status").out


def test_a_suite_says_how_much_of_it_is_incomplete(ledger: Anvil) -> None:
    made = scene()
    made.add(of.suite("session", {"one": (0, 3, 3)}, failure="timeout"))
    record(made)
    assert (
        "    incomplete   suite session            0/3  undetermined at 1.0  3 incomplete  timeout\n"
        in ledger("status").out
    )


def test_the_same_for_machines_with_one_campaign_chosen(ledger: Anvil) -> None:
    record(scene())
    assert ledger("observe", "fan loud", *STATUS, "--subject", "campaign=other").code == 0
    both = ledger("status", "--json").json
    assert [c["name"] for c in both["campaigns"]] == ["mine", "other"]
    (mine,) = ledger("status", "--campaign", "mine", "--json").json["campaigns"]
    (attempt,) = mine["attempts"]["a1"]
    assert attempt["checks"]["finish"]["failure"] == "wrong_value"
    assert attempt["incomplete"] == {"coding": "no_result"}
    assert mine["candidates"] == {"tiny": {"model": "org/tiny", "revision": None, "quantization": None}}
    (other,) = ledger("status", "--campaign", "other", "--json").json["campaigns"]
    assert [o["status"] for o in other["observations"]] == ["declared"]
    assert ledger("status", "--campaign", "nowhere").out.startswith("There is no campaign 'nowhere'")


def test_disk_names_what_lies_there(ledger: Anvil) -> None:
    Path("some.log").write_bytes(b"x" * 5000)
    assert ledger("observe", "kept", *STATUS, "--attach", "some.log").code == 0
    disk = ledger("status", "--disk", "--json").json["disk"]
    assert disk["artifacts"] == 5000
    assert disk["database"] > 4096
    assert disk["free"] > 0
    assert "artifacts" in ledger("status", "--disk").out
