"""The second document, from a fine-grained stream: every figure is computed from rows, and comes out as published."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.fine import recount
from support.fine.loads import failed_row, spelled
from support.fine.side_by_side import CANDIDATES, FP8, NVFP4, capacity_rows, side_by_side
from support.importing import tokens
from support.tools import SEEDS

from anvil.ledger.errors import PublicationRefused
from anvil.ledger.events import ArtifactRedacted, EventRetracted, LoadMeasured
from anvil.ledger.rows import Row
from anvil.projections.document import find
from anvil.projections.opened import opened
from anvil.projections.rendering import Draft, draft

NAME = "sanitized-qualification-summary.v1"
SEED = SEEDS / f"{NAME}.json"
CELL = "capacity_4k_c1"
WORDS = {"files", "protocol", "retained_failures_and_caveats", "topology", "host_label"}
"""Leaves that are sentences or names: ours are our own."""

Path_ = tuple[Any, ...]
Runs = dict[str, list[list[Row]]]


@pytest.fixture(scope="module")
def made() -> Draft:
    return side_by_side().drawn(NAME)


def paths(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Yield each leaf, numbers as they are spelled."""
    if isinstance(value, tuple) and value[0] == "object":
        for key, item in value[1]:
            yield from paths(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from paths(item, (*path, number))
    else:
        yield path, value


def leaves(drawn: Draft) -> dict[Path_, Any]:
    return dict(paths(tokens(drawn.rendered.text.encode())))


# --- against the published document -------------------------------------------------------------------------


@pytest.mark.needs("seeds")
def test_the_keys_are_those_of_the_seed_in_their_order(made: Draft) -> None:
    assert list(leaves(made)) == [path for path, _ in paths(tokens(SEED.read_bytes()))]


@pytest.mark.needs("seeds")
def test_every_fact_and_figure_of_the_seed_comes_out_equal_digit_by_digit(made: Draft) -> None:
    ours, compared = leaves(made), 0
    for path, value in paths(tokens(SEED.read_bytes())):
        if path[-1] == "bf16_multimodal_direct_gate":
            assert value.startswith(ours[path])
        elif not WORDS & set(path):
            assert ours[path] == value, path
            compared += 1
    assert compared == 110


@pytest.mark.needs("seeds")
def test_the_sentences_are_ours(made: Draft) -> None:
    ours = leaves(made)
    for path, value in paths(tokens(SEED.read_bytes())):
        if WORDS & set(path):
            assert ours[path] != value


def test_the_template_holds_no_facts_of_a_campaign(made: Draft) -> None:
    assert not re.search(
        r"qwen|fp8|sglang|vllm|blackwell|[0-9]{2}",
        made.template.source.lower().replace("sha256", "").replace("p50", ""),
    )


# --- what is said beside ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        "Synthetic: ",
        "The label “128k-retrieval” says 128k; the endpoint counted 105,600 prompt tokens (official_fp8, inferact_nvfp4).",
        "Who the engine is: the sources do not agree about engine revision (attempts fp8-on-first, fp8-on-second, nvfp4-on-second, nvfp4-on-first).",
        "Launch 1 of attempt fp8-on-first ended by itself with code 1 before it was ready.",
        "Launch 2 of official_fp8 (attempt fp8-on-first) did not pass: responses failed (reasoning_leaked).",
        "Load, 50 completed and 0 failed of 50 requests in 5 runs: capacity-4k c1 of official_fp8, capacity-4k c1 of inf",
        "nothing was asked of what stood in the prompt",
        "The digests of official_fp8 were taken over from a look of another campaign",
        "Found among the files of inferact_nvfp4: checksum-stale (1), checksum-empty (1).",
    ],
)
def test_the_limit_says_what_figures_alone_would_hide(made: Draft, said: str) -> None:
    assert any(said in sentence for sentence in made.limit.sentences()), made.limit.sentences()


def test_the_protocol_does_not_call_an_aggregate_a_median(made: Draft) -> None:
    protocol = made.rendered.document[CELL]["protocol"]
    assert protocol.endswith("the aggregate is the mean over runs of each run's own value")
    assert protocol.startswith(
        "5 runs of 10 requests per candidate; 4096 prompt tokens; 256-token output cap; "
    )


def test_the_limit_names_candidates_and_what_their_parts_rest_on(made: Draft) -> None:
    ((found),) = made.limit.members()["rests_on"]
    assert found["status"] == "retained-complete"
    assert {claim["claim"]: claim["candidates"] for claim in found["claims"]} == {
        part: [FP8, NVFP4] for part in ("functional", "quality", "cells", "near_limit", "candidates")
    }


# --- what each figure rests on --------------------------------------------------------------------------------


@pytest.mark.parametrize("candidate", [FP8, NVFP4])
def test_a_figure_rests_on_the_rows_of_its_five_runs_and_names_its_statistic(
    made: Draft, candidate: str
) -> None:
    for name in ("ttft_p50_ms", "e2e_p50_ms", "effective_prefill_tok_s_p50", "decode_tok_s_p50"):
        leaf = made.rendered.leaf(f"/{CELL}/{candidate}/{name}")
        assert leaf is not None
        rows = [artifact for artifact in leaf.figures[0].support.artifacts if artifact.name == "rows"]
        assert len(rows) == 5
        assert leaf.status == "retained-complete"
        assert leaf.figures[0].rule.startswith("mean_of_run_p50(")
        assert "50 completed and 0 failed of 50 requests in 5 runs" in leaf.figures[0].rule
        assert "± " in leaf.figures[0].rule
        assert "95 % interval over runs: " in leaf.figures[0].rule
    aggregate = made.rendered.leaf(f"/{CELL}/{candidate}/aggregate_output_tok_s")
    assert aggregate is not None
    assert aggregate.figures[0].rule.startswith("mean_of_runs(output.aggregate/1)")


def test_a_difference_rests_on_both(made: Draft) -> None:
    leaf = made.rendered.leaf(f"/{CELL}/nvfp4_delta_percent/decode")
    assert leaf is not None
    assert len([artifact for artifact in leaf.figures[0].support.artifacts if artifact.name == "rows"]) == 10


# --- one row is changed -----------------------------------------------------------------------------------------


def counted_again(rows: Runs) -> dict[Path_, str]:
    """Return every figure of the cell, by the test's own computation."""
    runs = {candidate: [recount.requests(spelled(run)) for run in found] for candidate, found in rows.items()}
    kinds = {
        "ttft": (recount.ttft, "ttft_p50_ms", 10**6, 1),
        "e2e": (recount.e2e, "e2e_p50_ms", 10**6, 1),
        "effective_prefill": (recount.prefill, "effective_prefill_tok_s_p50", 1, 0),
        "decode": (recount.decode, "decode_tok_s_p50", 1, 1),
    }
    found: dict[Path_, str] = {}
    for kind, (of, name, scale, places) in kinds.items():
        values = {candidate: recount.p50(each, of) for candidate, each in runs.items()}
        for candidate, value in values.items():
            found[CELL, candidate, name] = recount.spell(value / scale, places)
        found[CELL, "nvfp4_delta_percent", kind] = recount.spell(
            recount.percent(values[FP8], values[NVFP4]), 1
        )
    whole = {candidate: recount.outputs(each) for candidate, each in runs.items()}
    for candidate, value in whole.items():
        found[CELL, candidate, "aggregate_output_tok_s"] = recount.spell(value, 1)
    delta = recount.percent(whole[FP8], whole[NVFP4])
    found[CELL, "nvfp4_delta_percent", "aggregate_output_throughput"] = recount.spell(delta, 1)
    return found


def test_the_whole_cell_equals_an_independent_computation(made: Draft) -> None:
    ours = leaves(made)
    found = counted_again(capacity_rows())
    assert len(found) == 15
    assert {path: ("number", text) for path, text in found.items()} == {path: ours[path] for path in found}


def later(row: Row) -> Row:
    moments = {"ttfo_ns", "ttft_ns", "last_output_ns", "end_ns", "head_ns", "first_event_ns"}
    earliest = {"ttfo_earliest_ns", "ttft_earliest_ns", "last_output_earliest_ns"}
    members = row.model_dump()
    moved = {name: members[name] + 150_000_000 for name in moments | earliest}
    lists = {
        name: tuple(at + 150_000_000 for at in members[name]) for name in ("delta_ns", "delta_earliest_ns")
    }
    return Row(**{**members, **moved, **lists})


def longer(row: Row) -> Row:
    return Row(**{**row.model_dump(), "completion_tokens": (row.completion_tokens or 0) + 9})


def lost(row: Row) -> Row:
    return failed_row(row.index, row.started_ns or 0, row.end_ns or 0)


@pytest.mark.parametrize("change", [later, longer, lost])
@pytest.mark.parametrize(("candidate", "run", "at"), [(FP8, 0, 2), (FP8, 4, 7), (NVFP4, 2, 3), (NVFP4, 1, 9)])
def test_one_row_changes_the_figures_that_rest_on_it_and_no_other_leaf(
    made: Draft, change: Any, candidate: str, run: int, at: int
) -> None:
    rows = capacity_rows()
    rows[candidate][run][at] = change(rows[candidate][run][at])
    before, after = leaves(made), leaves(side_by_side(rows).drawn(NAME))
    expected = {path: ("number", text) for path, text in counted_again(rows).items()}
    assert list(before) == list(after)
    for path, value in after.items():
        assert value == expected.get(path, before[path]), path
    changed = [path for path in after if after[path] != before[path]]
    assert changed, "a change of a whole row is seen somewhere"
    other = next(one.key for one in CANDIDATES if one.key != candidate)
    assert not any(other in path for path in changed)


# --- what was lost, left out, or only a part -----------------------------------------------------------------


def test_a_run_that_is_retracted_is_not_counted() -> None:
    stage = side_by_side()
    run = next(at for at, line in enumerate(stage.lines) if isinstance(line.event, LoadMeasured))
    stage.tell(lambda told: EventRetracted(target=told[run], reason="The host was shared."), role="operator")
    drawn = stage.drawn(NAME)
    assert drawn.rendered.document[CELL][FP8]["runs"] == 4
    assert any(
        sentence.startswith(
            "Left out: run 1 of capacity-4k c1 of attempt fp8-on-first, launch 3, since it was retracted"
        )
        for sentence in drawn.limit.sentences()
    )


def test_rows_that_were_redacted_leave_their_run_out_and_a_record_that_was_weakens_it() -> None:
    stage = side_by_side()
    runs = [at for at, line in enumerate(stage.lines) if isinstance(line.event, LoadMeasured)]
    for at, artifact in ((runs[0], "rows"), (runs[1], "record")):
        stage.tell(
            lambda told, at=at, name=artifact: ArtifactRedacted(
                target=told[at], artifact=name, reason="Private."
            ),
            role="operator",
        )
    drawn = stage.drawn(NAME)
    assert drawn.rendered.document[CELL][FP8]["runs"] == 4
    leaf = drawn.rendered.leaf(f"/{CELL}/{FP8}/ttft_p50_ms")
    assert leaf is not None
    assert leaf.status == "artifact-missing"
    other = drawn.rendered.leaf(f"/{CELL}/{NVFP4}/ttft_p50_ms")
    assert other is not None
    assert other.status == "retained-complete"


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("ANVIL_KEYS", str(tmp_path / "keys"))
    monkeypatch.setenv("ANVIL_STATE", str(tmp_path / "state"))
    return side_by_side().recorded(tmp_path / "ledger")


def test_from_a_real_ledger_it_is_the_same_document(made: Draft, ledger: Any) -> None:
    with opened(ledger, None) as found:
        drawn = draft(found.record, found.artifacts, find(NAME), campaign="qwen38-27b-sglang")
        found.require_signed(drawn)
    assert json.loads(drawn.rendered.text) == json.loads(made.rendered.text)
    assert drawn.limit.sentences() == made.limit.sentences()
    assert drawn.is_synthetic
    (ledger.blobs / "sha256").rename(ledger.blobs / "elsewhere")
    with opened(ledger, None) as found, pytest.raises(PublicationRefused, match="gone or altered"):
        draft(found.record, found.artifacts, find(NAME), campaign="qwen38-27b-sglang")
