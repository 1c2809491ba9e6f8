"""`open-loop`: a rate is a cell, its schedule is drawn from the run's seed, and a rate that was not kept is told."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from pydantic import ValidationError
from support.caching import Model
from support.endpoint import Server
from support.protocols import measured

from anvil.collectors.load.arrivals import poisson
from anvil.collectors.protocols import PROTOCOLS, Concluded, RunPlan, parameters_of
from anvil.ledger.events.checks import Parameter
from anvil.ledger.rows import Row

GIVEN: dict[str, Any] = {
    "input_tokens": 60,
    "output_tokens": 8,
    "rate_per_s": ("20", "40.5"),
    "requests": 6,
    "runs": 2,
    "warmup_requests": 2,
}


@pytest.fixture(scope="module")
def runs() -> list[Any]:
    with Server(chat=Model()) as server:
        return measured("open-loop", GIVEN, server)


def test_each_rate_is_a_cell_with_a_warm_up(runs: list[Any]) -> None:
    assert [(run.cell.name, run.phase, len(run.rows)) for run in runs] == [
        *(("r20", phase, count) for phase, count in (("warm-up", 2), ("measured", 6), ("measured", 6))),
        *(("r40.5", phase, count) for phase, count in (("warm-up", 2), ("measured", 6), ("measured", 6))),
    ]
    assert {(run.cell.concurrency, run.run.concurrency) for run in runs} == {(None, None)}


def test_the_schedule_is_drawn_again_from_the_seed_of_the_run(runs: list[Any]) -> None:
    seeds = [run.plan.seed for run in runs]
    assert len(set(seeds)) == len(seeds)
    for run in runs:
        assert run.plan.schedule == poisson(run.plan.seed, run.cell.rate_per_s, len(run.rows))
        intended = sorted(row.intended_ns for row in run.rows)
        assert [b - a for a, b in pairwise(intended)] == [b - a for a, b in pairwise(run.plan.schedule)]


def late(by_ns: int, row: Row) -> Concluded:
    protocol = PROTOCOLS["open-loop"]
    (cell, _) = protocol.cells(parameters_of("open-loop", GIVEN))

    class Seen:
        rows = (row.model_copy(update={"intended_ns": (row.started_ns or 0) - by_ns}),)

    return protocol.conclude(None, cell, RunPlan((), 1), Seen())  # type: ignore[arg-type]


def test_a_rate_that_was_not_kept_is_told(runs: list[Any]) -> None:
    row = runs[1].rows[0]
    gap_ns = 1_000_000_000 // 20
    assert late(gap_ns // 100, row).findings == ()
    assert late(gap_ns // 100 + 1, row).findings == ("sent_late",)


@pytest.mark.parametrize("rate", ["0", "-1", "1e3", "0.0", "00.5", "fast", "1.2345", 3])
def test_a_rate_is_a_plain_decimal_above_0(rate: object) -> None:
    with pytest.raises(ValidationError):
        parameters_of("open-loop", {**GIVEN, "rate_per_s": rate})


def test_one_rate_needs_no_list() -> None:
    (cell,) = PROTOCOLS["open-loop"].cells(parameters_of("open-loop", {**GIVEN, "rate_per_s": "0.25"}))
    assert (cell.name, cell.rate_per_s) == ("r0.25", "0.25")
    assert Parameter(name="rate", value=cell.rate_per_s or "").value == "0.25"
