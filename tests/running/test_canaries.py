"""Canaries of a launch: what a wrong answer, and what none, says of the loads around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from support.endpoint import Chat, Reply, Server
from support.loads import SMALL, cells_of, measured
from support.running import Bench

from anvil.ledger.events import CheckCompleted

OPEN = """[[protocols]]
id = "open-loop"
parameters = { input_tokens = 40, output_tokens = 8, rate_per_s = "20", requests = 2, runs = 1, warmup_requests = 1 }
"""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anvil.collectors.running.canaries.PAUSES_S", (0.0, 0.0))


def answering(answers: Sequence[Chat | Reply]) -> Any:
    """A handler that answers each canary in turn, the last of them for ever, and any load with a few words."""
    left: Iterator[Chat | Reply] = iter(answers)
    last = [answers[-1]]

    def chat(asked: Any) -> Chat | Reply:
        if "capital of France" not in str(asked["messages"]):
            return Chat(content="Paris is it", completion_tokens=3)
        last[0] = next(left, last[0])
        return last[0]

    return chat


RIGHT, WRONG = Chat(content="Paris"), Chat(content="blue")
BUSY = Reply.of_json({"error": {"message": "too many requests"}}, 429)


def run(bench: Bench, answers: Sequence[Chat | Reply], more: str = SMALL) -> str:
    with Server(chat=answering(answers), model="org/tiny") as server:
        ran = bench.run(bench.recipe(checks=[], more=more), "--base-url", server.base_url)
    assert ran.code == 0, ran.err
    bench.require_whole()
    return ran.err


def states(bench: Bench) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for event in measured(bench):
        found.setdefault((event.protocol, event.cell), set()).add(event.canary)
    return found


def test_a_wrong_answer_ends_the_figures_of_all_protocols_of_the_launch(bench: Bench) -> None:
    """The same in the run's events and in documents, though every later canary is answered rightly."""
    said = run(bench, [RIGHT, WRONG, RIGHT], SMALL + OPEN)
    assert states(bench) == {
        ("capacity", "c1"): {"passed"},
        ("capacity", "c2"): {"failed"},
        ("open-loop", "r20"): {"failed"},
    }
    assert said.count("what follows on this engine is in no figure") == 1
    first, *others = cells_of(bench)
    assert (len(first.runs), first.left_out) == (2, ())
    assert [(len(cell.runs), {one.reason for one in cell.left_out}) for cell in others] == [
        (0, {"canary_failed"})
    ] * 2
    assert [event.outcome for event in bench.events(CheckCompleted)] == ["passed", "failed", *["passed"] * 3]


def test_no_answer_is_asked_for_again_and_is_no_nonsense(bench: Bench) -> None:
    said = run(bench, [RIGHT, BUSY, BUSY, BUSY, RIGHT], SMALL + OPEN)
    assert states(bench) == {
        ("capacity", "c1"): {"passed"},
        ("capacity", "c2"): {"unanswered"},
        ("open-loop", "r20"): {"passed"},
    }
    assert "the canary got no answer" in said
    asked = [(event.selected_as, event.failure) for event in bench.events(CheckCompleted)]
    assert asked == [
        ("capacity.canary-1", None),
        *((f"capacity.canary-{number}", "http_error") for number in (2, 3, 4)),
        ("capacity.canary-5", None),
        ("open-loop.canary-1", None),
        ("open-loop.canary-2", None),
    ]
    assert [[one.reason for one in cell.left_out] for cell in cells_of(bench)] == [
        [],
        ["canary_unanswered"] * 2,
        [],
    ]
    status = bench.anvil("--ledger", bench.ledger, "status").out
    assert "a canary got no answer" in status


def test_one_that_is_answered_at_the_second_time_passes(bench: Bench) -> None:
    run(bench, [BUSY, RIGHT], SMALL.replace("[1, 2]", "[1]"))
    assert states(bench) == {("capacity", "c1"): {"passed"}}


def test_what_was_wrong_once_is_not_mended_by_silence(bench: Bench) -> None:
    run(bench, [WRONG, BUSY])
    assert set().union(*states(bench).values()) == {"failed"}
