"""Figures of a load: computed from the rows that were signed, by the statistic that is named, and from nothing else."""

from __future__ import annotations

import random
from fractions import Fraction
from statistics import mean as plain_mean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fine.loads import failed_row, load, measured, row, spelled
from support.fine.stage import Public, Stage

from anvil.ledger.errors import PublicationRefused
from anvil.ledger.events import ArtifactRedacted, EventRetracted
from anvil.ledger.events.checks import Parameter
from anvil.ledger.rows import Row
from anvil.projections.evidence import Evidence
from anvil.projections.figures import ArtifactName, Unsupported
from anvil.projections.measurements import Cell, Measure, cells, delta, joined, measure
from anvil.projections.recorded.loads import TTFT_MS, difference

MS = 10**6


def of(stage: Stage) -> tuple[Cell, ...]:
    record, artifacts = stage.played()
    return cells(Evidence(record, artifacts.content), record.campaigns[stage.campaign])


def only(stage: Stage) -> Cell:
    (cell,) = of(stage)
    return cell


def rows_of(*milliseconds: int, tokens: int = 11) -> list[Row]:
    """Return requests one after another, the first token after so long and the last a second later."""
    made, at = [], 0
    for index, ms in enumerate(milliseconds):
        made.append(row(index, ms * MS, ms * MS + 10**9, tokens, started_ns=at))
        at += ms * MS + 10**9
    return made


def staged(*runs: list[Row], **more: Any) -> Stage:
    stage = Stage("mine")
    for number, rows in enumerate(runs, 1):
        load(stage, "tiny", "a1", rows, number, **more)
    return stage


def ttft(stage: Stage, statistic: Any = "mean_of_run_p50", unit: Any = "ms") -> Measure:
    return measure(only(stage), "ttft.visible/1", statistic, unit)


# --- what is computed ---------------------------------------------------------------------------------------


def test_each_run_has_its_nearest_rank_and_the_mean_is_over_runs() -> None:
    stage = staged(rows_of(10, 50, 20, 40, 30, 60), rows_of(100, 100, 100, 100, 101))
    found = ttft(stage)
    assert [figure.value for figure in found.per_run] == [30, 100]  # the 3rd of 6, never (30 + 40) / 2
    assert found.figure.value == 65
    assert (found.samples, found.refused) == (5, None)


@given(st.lists(st.lists(st.integers(1, 10**7), min_size=5, max_size=12), min_size=1, max_size=4))
def test_it_equals_a_computation_that_shares_nothing_with_it(runs: list[list[int]]) -> None:
    stage = staged(*([row(i, ns, ns + 10**9, 11) for i, ns in enumerate(run)] for run in runs))
    found = measure(only(stage), "ttft.visible/1", "mean_of_run_p50", "s")
    middles = [Fraction(sorted(run)[-(-len(run) // 2) - 1], 10**9) for run in runs]
    wanted = sum(middles, Fraction(0)) / len(middles)
    if found.refused != "resolution":
        assert found.figure.value == wanted


def test_the_aggregate_is_the_mean_of_what_each_run_has_by_itself() -> None:
    stage = staged(rows_of(1000, tokens=11), rows_of(1000, 1000, tokens=21))
    found = measure(only(stage), "output.aggregate/1", "mean_of_runs", "tok/s")
    assert [figure.value for figure in found.per_run] == [Fraction(11, 2), Fraction(42, 4)]
    assert found.figure.value == 8
    with pytest.raises(Unsupported, match="no percentile"):
        measure(only(stage), "output.aggregate/1", "mean_of_run_p50", "tok/s")


def test_a_difference_comes_from_what_was_not_rounded() -> None:
    one, other = ttft(staged(rows_of(3, 3, 3, 3, 3))), ttft(staged(rows_of(2, 2, 2, 2, 2)))
    found = delta(one, other, "b against a").figure
    assert found.value == Fraction(-100, 3)
    assert found.places(1).value == "-33.3"
    assert found.parts == (one.figure, other.figure)
    rate = measure(only(staged(rows_of(3, 3, 3, 3, 3))), "prefill.effective/1", "mean_of_run_p50", "tok/s")
    with pytest.raises(Unsupported, match="only one metric"):
        delta(one, rate, "b against a")


# --- what it rests on ---------------------------------------------------------------------------------------


def test_a_figure_rests_on_the_events_and_rows_of_its_runs() -> None:
    stage = staged(rows_of(*[5] * 5), rows_of(*[6] * 5))
    found = ttft(stage)
    events = {run.source.entry_hash for run in only(stage).runs}
    assert found.figure.support.events == events
    assert {ArtifactName(event, "rows") for event in events} <= found.figure.support.artifacts
    assert found.figure.status == "retained-complete"
    assert found.figure.rule.startswith("mean_of_run_p50(ttft.visible/1) in ms: ")
    assert "10 completed and 0 failed of 10 requests in 2 runs" in found.figure.rule


def test_failed_requests_are_counted_and_give_no_sample() -> None:
    stage = staged([*rows_of(1, 2, 3, 4, 5), failed_row(5, started_ns=10**10)])
    found = ttft(stage)
    assert (found.counts.completed.value, found.counts.failed.value, found.counts.expected.value) == (5, 1, 6)
    assert found.figure.value == 3
    aggregate = measure(only(stage), "output.aggregate/1", "mean_of_runs", "tok/s")
    assert aggregate.figure.value == Fraction(55, 11)  # its time counts, from 0 to 11 s


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"outcome": "aborted"}, "aborted"),
        ({"outcome": "void"}, "clock_stepped"),
        ({"canary": "failed"}, "canary_failed"),
        ({"completed": 3}, "rows_differ"),
        ({"expected": 6}, "rows_differ"),
        ({"findings": ("cap_exceeded",)}, "impossible"),
        ({"parser_version": 9}, "rows_differ"),
    ],
)
def test_a_run_that_does_not_count_is_named_with_its_reason(more: dict[str, Any], reason: str) -> None:
    stage = staged(rows_of(*[5] * 5))
    load(stage, "tiny", "a1", rows_of(*[500] * 5), 2, **more)
    cell = only(stage)
    assert [run.event.run for run in cell.runs] == [1]
    assert [(one.event.run, one.reason) for one in cell.left_out] == [(2, reason)]
    assert cell.left_out[0].name == "run 2 of capacity-4k c1 of attempt a1"
    assert measure(cell, "ttft.visible/1", "mean_of_run_p50", "ms").figure.value == 5


def test_rows_of_another_concurrency_do_not_count() -> None:
    stage = staged(rows_of(*[5] * 5))
    content = {"rows": Public(spelled(rows_of(*[6] * 5), concurrency=8))}
    stage.tell(measured(rows_of(*[6] * 5), 2), "tiny", "a1", artifacts=content)
    assert [(one.event.run, one.reason) for one in only(stage).left_out] == [(2, "rows_differ")]


def test_rows_that_are_there_twice_do_not_count() -> None:
    """The event counts requests, so that a fast one told again would pass for one, and weigh as two."""
    stage = staged(rows_of(*[5] * 5))
    slow = rows_of(1, *[500] * 5)
    load(stage, "tiny", "a1", [*[slow[0]] * 9, *slow], 2)
    assert [(one.event.run, one.reason) for one in only(stage).left_out] == [(2, "rows_differ")]


def test_a_second_row_counts_where_the_first_was_sent_on_a_stale_connection() -> None:
    stale = Row(**{**failed_row(0).model_dump(), "failure": "connection_stale"})
    again = Row(**{**rows_of(5)[0].model_dump(), "attempt": 2})
    stage = staged([stale, again, *rows_of(5, 5)[1:]], [failed_row(0), again, *rows_of(5, 5)[1:]])
    cell = only(stage)
    assert [run.event.run for run in cell.runs] == [1]
    assert [(one.event.run, one.reason) for one in cell.left_out] == [(2, "rows_differ")]


def test_the_rows_of_one_run_are_not_those_of_another() -> None:
    """A run told twice would make its interval narrow for nothing."""
    stage = staged(rows_of(*[5] * 5))
    content = {"rows": Public(spelled(rows_of(*[6] * 5)))}
    for run in (2, 3):
        stage.tell(measured(rows_of(*[6] * 5), run), "tiny", "a1", artifacts=content)
    cell = only(stage)
    assert [run.event.run for run in cell.runs] == [1, 2]
    assert [(one.event.run, one.reason) for one in cell.left_out] == [(3, "rows_again")]


def test_after_nonsense_nothing_counts_any_more() -> None:
    stage = staged(rows_of(*[5] * 5))
    for run, canary in ((2, "failed"), (3, "passed")):
        load(stage, "tiny", "a1", rows_of(*[9] * 5), run, canary=canary)
    assert [one.reason for one in only(stage).left_out] == ["canary_failed"] * 2


def test_a_warm_up_is_in_no_figure() -> None:
    stage = Stage("mine")
    load(stage, "tiny", "a1", rows_of(*[500] * 5), phase="warm-up")
    load(stage, "tiny", "a1", rows_of(*[5] * 5))
    assert ttft(stage).figure.value == 5
    assert only(stage).left_out == ()


def test_a_retracted_run_and_one_whose_rows_are_gone_are_left_out() -> None:
    stage = staged(rows_of(*[5] * 5), rows_of(*[6] * 5), rows_of(*[7] * 5))
    stage.tell(lambda told: EventRetracted(target=told[0], reason="Misread."))
    stage.tell(lambda told: ArtifactRedacted(target=told[1], artifact="rows", reason="Not ours."))
    assert [one.reason for one in only(stage).left_out] == ["retracted_or_disowned", "rows_gone"]
    assert ttft(stage).figure.value == 7


def test_rows_that_are_not_at_hand_refuse() -> None:
    record, artifacts = staged(rows_of(*[5] * 5)).played()
    evidence = Evidence(record)
    with pytest.raises(PublicationRefused, match="not at hand"):
        cells(evidence, record.campaigns["mine"])
    other = type(artifacts)(artifacts.entries, artifacts.open, artifacts.measure, lambda _: spelled([]))
    with pytest.raises(PublicationRefused, match="gone or altered, and no event says so"):
        cells(Evidence(record, other.content), record.campaigns["mine"])


def test_bytes_that_are_no_rows_refuse() -> None:
    stage = Stage("mine")
    stage.tell(measured(rows_of(5)), "tiny", "a1", artifacts={"rows": Public(b"{}\n")})
    with pytest.raises(PublicationRefused, match="are no rows"):
        of(stage)


def test_runs_of_another_plan_are_no_repetitions() -> None:
    stage = staged(rows_of(*[5] * 5))
    load(stage, "tiny", "a1", rows_of(*[9] * 5), 2, output_cap_tokens=512)
    cell = only(stage)
    assert [(one.event.run, one.reason) for one in cell.left_out] == [(1, "another_plan")]


def test_cells_of_one_candidate_are_put_together_and_others_are_not() -> None:
    stage = Stage("mine")
    for attempt, candidate in (("a1", "tiny"), ("a2", "tiny"), ("b1", "other")):
        load(stage, candidate, attempt, rows_of(*[5] * 5))
    assert [(cell.candidate, cell.attempts, len(cell.runs)) for cell in joined(of(stage))] == [
        ("tiny", ("a1", "a2"), 2),
        ("other", ("b1",), 1),
    ]


# --- what is said beside it ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statistic", "requests", "refused"),
    [
        ("mean_of_run_p50", 4, "n-unsupported"),
        ("mean_of_run_p50", 5, None),
        ("mean_of_run_p95", 58, "n-unsupported"),
        ("mean_of_run_p95", 59, None),
        ("mean_of_requests", 1, None),
    ],
)
def test_a_percentile_needs_the_samples_that_support_it(statistic: Any, requests: int, refused: Any) -> None:
    found = ttft(staged(rows_of(*[5] * requests), rows_of(*[5] * 60)), statistic)
    assert found.refused == refused
    assert found.figure.value == (None if refused else 5)
    assert ("do not support" in found.figure.rule) == bool(refused)


def test_what_the_client_could_not_resolve_is_not_printed() -> None:
    runs = [rows_of(*[10] * 5)]
    assert ttft(staged(*runs, resolution_ns=MS)).figure.value == 10
    assert ttft(staged(*runs, resolution_ns=MS)).resolution is not None
    found = ttft(staged(*runs, resolution_ns=MS + 1))
    assert (found.figure.value, found.refused, found.resolution) == (None, "resolution", None)
    assert ttft(staged(*runs, resolution_ns=None)).resolution is None


def test_the_resolution_is_a_figure_in_the_same_unit() -> None:
    found = ttft(staged(rows_of(*[10] * 5), rows_of(*[30] * 5), resolution_ns=MS // 2), unit="s")
    assert found.figure.value == Fraction(20, 1000)
    assert found.resolution is not None
    assert found.resolution.value == Fraction(20, 1000) / 20  # half of 10 ms, the worse of both
    rate = measure(only(staged(rows_of(*[10] * 5), resolution_ns=MS)), "decode.last_output/1", "mean_of_run_p50", "tok/s")  # fmt: skip
    assert rate.resolution is not None
    assert rate.resolution.value == Fraction(10) * 2 / 1000  # ten tokens in a second, with a read at each end


def test_an_interval_is_over_runs() -> None:
    drawn = random.Random(7)
    runs = [[drawn.randrange(100, 200) for _ in range(5)] for _ in range(5)]
    found = ttft(staged(*(rows_of(*run) for run in runs)))
    middles = [sorted(run)[2] for run in runs]
    spread = (sum((m - plain_mean(middles)) ** 2 for m in middles) / 4 / 5) ** 0.5
    assert found.interval is not None
    lower, upper = (float(end.value) for end in found.interval)  # type: ignore[arg-type]
    assert lower == pytest.approx(plain_mean(middles) - 2.776445 * spread, rel=1e-4)
    assert upper == pytest.approx(plain_mean(middles) + 2.776445 * spread, rel=1e-4)
    assert ttft(staged(*(rows_of(*run) for run in runs[:2]))).interval is None


def test_a_run_without_a_sample_is_named_and_does_not_count() -> None:
    stage = staged(rows_of(*[5] * 5), [r.model_copy(update={"ttft_ns": None}) for r in rows_of(*[9] * 5)])
    found = ttft(stage)
    assert found.without == ("run 2 of capacity-4k c1 of attempt a1",)
    assert found.figure.value == 5
    assert "without a sample of it: run 2" in found.figure.rule


def test_nothing_of_nothing_says_why() -> None:
    stage = staged(rows_of(*[5] * 5), outcome="aborted")
    found = ttft(stage)
    assert (found.figure.value, found.refused) == (None, "no_runs")
    assert found.figure.rule.endswith("null: no run counts")
    assert (found.counts.completed.value, found.counts.runs.value) == (0, 0)


def test_a_difference_between_cells_of_other_plans_is_null() -> None:
    """Both candidates have a cell of this name; one was asked for more tokens."""
    control = only(staged(rows_of(*[5] * 5)))
    alike = only(staged(rows_of(*[4] * 5)))
    other = only(staged(rows_of(*[4] * 5), output_cap_tokens=512))
    thinking = only(staged(rows_of(*[4] * 5), parameters=(Parameter(name="thinking", value="enabled"),)))
    assert difference(control, alike, TTFT_MS, "b against a").value == "-20.0"
    for one in (other, thinking):
        found = difference(control, one, TTFT_MS, "b against a")
        assert found.value is None
        assert "not measured by one plan" in found.rule
