"""Two protocols of one attempt, compared: their runs alternate, and one that is finished is not done again."""

from __future__ import annotations

import signal
from collections import Counter
from itertools import accumulate

import pytest
from support.interrupting import interrupt
from support.loads import loads, measured, require_nothing_lost_or_doubled
from support.running import Bench

from anvil.collectors.running.alternating import turns
from anvil.ledger.events import CheckCompleted, LoadMeasured, RecipeDeclared

PAIR = """
[[protocols]]
id = "capacity"
key = "apart"
parameters = { input_tokens = 40, output_tokens = 16, requests = 1, runs = 1, warmup_requests = 0 }

[[protocols]]
id = "capacity"
key = "to-the-cap"
parameters = { input_tokens = 40, output_tokens = 16, concurrency = [1, 2], requests = 2, runs = 3, ignore_eos = true }

[[protocols]]
id = "capacity"
key = "plain"
parameters = { input_tokens = 40, output_tokens = 16, concurrency = [1, 2], requests = 2, runs = 3 }

[[experiments]]
key = "cap"
control_protocol = "plain"
protocol = "to-the-cap"
only_change = ["ignore_eos"]
"""

ALTERNATELY = [
    ("plain", 1),
    ("to-the-cap", 1),
    ("to-the-cap", 2),
    ("plain", 2),
    ("plain", 3),
    ("to-the-cap", 3),
]


def order(events: list[LoadMeasured], cell: str, phase: str) -> list[tuple[str, int]]:
    return [
        (e.protocol, e.run) for e in events if (e.cell, e.phase) == (cell, phase) and e.protocol != "apart"
    ]


def compare(bench: Bench) -> str:
    return bench.anvil("--ledger", bench.ledger, "compare", "mine/a1:plain", "mine/a1:to-the-cap").out


def test_the_order_of_runs() -> None:
    assert list(turns([3])) == [(0, 1), (0, 2), (0, 3)]
    assert list(turns([4, 4])) == [(0, 1), (1, 1), (1, 2), (0, 2), (0, 3), (1, 3), (1, 4), (0, 4)]
    assert list(turns([])) == []


@pytest.mark.parametrize("runs", [2, 4, 8])
def test_drift_cancels(runs: int) -> None:
    slower = {0: 0, 1: 0}
    for moment, (side, _) in enumerate(turns([runs, runs])):
        slower[side] += moment
    assert slower[0] == slower[1]


def test_no_side_is_ever_two_runs_ahead() -> None:
    ahead = accumulate(1 if side == 0 else -1 for side, _ in turns([9, 9]))
    assert {abs(each) for each in ahead} <= {0, 1}


def test_runs_alternate_cell_by_cell_after_both_are_warm(bench: Bench) -> None:
    ran = bench.run(bench.recipe(behave="talks", checks=[], more=PAIR))
    assert ran.code == 0, ran.err
    events = measured(bench)
    for cell in ("c1", "c2"):
        assert order(events, cell, "warm-up") == [("plain", 1), ("to-the-cap", 1)]
        assert order(events, cell, "measured") == ALTERNATELY
    cells = [(e.protocol == "apart", e.cell, e.phase) for e in events]
    assert list(dict.fromkeys(cells)) == [
        (True, "c1", "measured"),
        *((False, cell, phase) for cell in ("c1", "c2") for phase in ("warm-up", "measured")),
    ]
    assert {(e.protocol, e.ignores_eos) for e in events} == {
        ("apart", False),
        ("plain", False),
        ("to-the-cap", True),
    }
    assert all(any(p.name == "thinking" and p.value == "disabled" for p in e.parameters) for e in events)
    (declared,) = bench.events(RecipeDeclared)
    (experiment,) = declared.experiments
    assert (experiment.key, experiment.control_protocol, experiment.protocol, experiment.only_change) == (
        "cap",
        "plain",
        "to-the-cap",
        ("ignore_eos",),
    )
    assert (experiment.control, experiment.attempt, experiment.protocols) == (None, None, ())
    asked = Counter(event.selected_as.partition(".")[0] for event in bench.events(CheckCompleted))
    assert asked == {"apart": 2, "plain": 3, "to-the-cap": 3}
    for seen in loads(bench):
        assert bench.anvil("--ledger", bench.ledger, "recompute", seen.index).code == 0
    made = compare(bench)
    assert "Experiment cap: ignore_eos, and nothing else was planned otherwise." in made
    assert "  ignore_eos: false -> true" in made
    assert made.count("  note: the runs of both sides alternate") == 2
    assert "not compared" not in made
    bench.require_whole()
    bench.require_nothing_running()


def test_a_cell_that_is_finished_is_not_done_again(bench: Bench) -> None:
    interrupt(bench, "to-the-cap c1, run 3 of 3", signal.SIGINT, behave="talks-slowly", checks=[], more=PAIR)
    before = measured(bench)
    assert order(before, "c1", "measured") == ALTERNATELY
    assert before[-1].outcome == "aborted"
    stream = [seen.header.stream for seen in bench.seen() if isinstance(seen.event, RecipeDeclared)][-1]
    ran = bench.run("--resume", stream)
    assert ran.code == 0, ran.err
    again = measured(bench)[len(before) :]
    assert order(again, "c1", "measured") == [("to-the-cap", 1), ("to-the-cap", 2), ("to-the-cap", 3)]
    assert order(again, "c2", "measured") == ALTERNATELY
    assert {event.protocol for event in again} == {"plain", "to-the-cap"}
    require_nothing_lost_or_doubled(bench)
    made = compare(bench)
    assert made.count("  note: the runs of both sides alternate") == 1
    assert made.count("  note: the runs of both sides do not alternate") == 1
    bench.require_whole()
    bench.require_nothing_running()
