"""What other tools measured beside what was measured here, where a metric has one definition on both sides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.evidence_files import benchmark, spelled
from support.fine.stage import Line, Public, Stage
from support.importing import taken_apart
from support.sides import PLAIN, play, recipe

from anvil.ledger.errors import PublicationRefused
from anvil.ledger.events import HostObserved
from anvil.ledger.events.surroundings import Gpu
from anvil.projections.comparing import Comparison, Unknown, compare, side
from anvil.projections.document import find
from anvil.projections.evidence import Evidence
from anvil.projections.rendering import draft

EVERY: frozenset[Unknown] = frozenset({"protocol", "cache", "hardware"})
OURS = (100, 102, 98)


def taken_in(stage: Stage, attempt: str, file: dict[str, Any], rows_are: bytes | None = None) -> None:
    """Tell the events of a file, with its rows, or with other bytes in their place."""
    content = spelled(file)
    event, taken = taken_apart(content)
    stage.tell(event, None, attempt, role="operator", artifacts={"source": content})
    for said in taken.said:
        rows = {} if said.rows is None else {"rows": Public(rows_are or said.rows.encode())}
        stage.tell(said.event, said.candidate, attempt, role="operator", artifacts=rows)


def theirs(run: int, ttft_ms: float, **changes: Any) -> dict[str, Any]:
    """Return a run of ten requests as long as those that `play` tells, of which each began to answer after so long."""
    file = {**benchmark(), "run_id": f"run-{run}", "requests": 10, "completed": 10, "metrics": {}}
    timing = {**file["request_timings"][0], "ttft_ms": ttft_ms, "e2e_ms": ttft_ms + 1000}
    file["request_timings"] = [
        timing | {"request_index": index, "prompt_tokens": 1000} for index in range(10)
    ]
    return {**file, "gpu": None, "context_tokens": 1000, "max_tokens": 16, **changes}


def beside(
    accepted: frozenset[Unknown] = EVERY,
    plan: dict[str, Any] | None = None,
    product: str | None = None,
    **changes: Any,
) -> Comparison:
    stage = Stage("mine")
    stage.tell(recipe(("ours", "tiny", PLAIN)))
    sizes = {"input_target_tokens": 1000, "output_cap_tokens": 16, "rows": {"prompt_tokens": 1000}}
    play(stage, "ours", OURS, **{**sizes, **(plan or {})})
    if product is not None:
        stage.lines = [with_gpu(line, product) for line in stage.lines]
    for run in range(3):
        taken_in(stage, "theirs", theirs(run, 110.0 + run, **changes))
    record, artifacts = stage.played()
    known = Evidence(record, artifacts.content)
    return compare(known, side(known, "mine/ours"), side(known, "mine/theirs"), accepted)


def with_gpu(line: Line, product: str) -> Line:
    """Return an observation of a host as one with a GPU on which the engine runs; any other event as it is."""
    if not isinstance(line.event, HostObserved):
        return line
    unknown = dict.fromkeys(Gpu.model_fields)
    gpu = Gpu.model_construct(**{**unknown, "position": 0, "is_placed": True, "product": product})
    return replace(line, event=line.event.model_copy(update={"gpus": (gpu,)}))


def what(made: Comparison) -> dict[str, tuple[str, str]]:
    (pair,) = made.pairs
    return {one.what: (one.control, one.treatment) for one in pair.obstacles}


def test_ours_and_another_tools_are_compared_by_one_definition() -> None:
    made = beside()
    (pair,) = made.pairs
    assert pair.obstacles == ()
    assert [shown.metric for shown in pair.metrics] == [
        "ttft.visible/1",
        "e2e/1",
        "decode.stream_end/1",
        "prefill.effective/1",
    ]
    ttft = pair.metrics[0]
    assert (ttft.control.figure.value, ttft.treatment.figure.value) == (100, 111)
    assert (ttft.control.figure.status, ttft.treatment.figure.status) == (
        "retained-complete",
        "imported-artifact",
    )
    assert (ttft.delta.figure.value, ttft.delta.found) == (11, "worse")
    assert ttft.delta.figure.status == "imported-artifact"
    assert not made.is_ab
    assert pair.accepted is None


def test_it_rests_on_the_events_and_rows_of_both() -> None:
    made = beside()
    (pair,) = made.pairs
    names = {one.name for one in pair.metrics[0].delta.figure.support.artifacts}
    assert {"rows", "source"} <= names
    assert pair.metrics[0].delta.figure.support.events <= made.events


def test_what_is_unknown_of_one_side_stands_in_the_way_by_name() -> None:
    found = what(beside(frozenset()))
    assert found["state of the prefix cache (unknown)"][1] == "not stated"
    assert set(found) <= {"state of the prefix cache (unknown)", "hardware", "hardware (unknown)"}


def test_other_hardware_stands_in_the_way_whatever_is_accepted() -> None:
    found = what(beside(gpu="rtx-5090"))
    assert found["hardware"] == ("a processor not on the list, 2 cores", "rtx-5090")


def test_hardware_by_a_shorter_name_is_the_product_that_was_observed() -> None:
    product = "NVIDIA GeForce RTX 5090"
    assert what(beside(EVERY - {"hardware"}, gpu="rtx-5090", product=product)) == {}
    found = what(beside(EVERY, gpu="rtx-4090", product=product))
    assert set(found) == {"hardware"}


def test_another_cap_of_tokens_stands_in_the_way() -> None:
    assert what(beside(max_tokens=32))["cap of completion tokens"] == ("16", "32")


def test_longer_prompts_stand_in_the_way() -> None:
    found = what(beside(plan={"rows": {"prompt_tokens": 1011}}))
    assert found["actual prompt tokens, by more than 1 %"] == ("1011.0 on average", "1000.0 on average")


def test_another_load_is_no_pair() -> None:
    made = beside(concurrency=4)
    assert made.pairs == ()
    assert (len(made.only_control), len(made.only_treatment)) == (1, 1)


# --- rows that are none -----------------------------------------------------------------------------------------

HEAD = b'{"columns":[],"schema":"anvil.imported.rows/1"}\n'

NO_ROWS: dict[str, bytes] = {
    "no JSON": b"rows\n",
    "cut off": HEAD[:-1],
    "an empty line": HEAD + b"\n",
    "another format": HEAD.replace(b"/1", b"/2"),
    "not canonical": HEAD.replace(b":", b": "),
    "no row": HEAD + b'{"index":0}\n',
    "a row of other columns": HEAD
    + b'{"failure":null,"finish_reason":null,"group":null,"index":0,"item":null,"outcome":"passed",'
    b'"position":"$","repetition":null,"values":{"ttft":"1"}}\n',
}


@pytest.mark.parametrize("what", NO_ROWS)
def test_rows_that_are_none_are_one_clear_refusal(what: str) -> None:
    """Of a comparison and of a document: nothing is made of what cannot be read."""
    stage = Stage("mine")
    for attempt in ("a", "b"):
        taken_in(stage, attempt, theirs(1, 110.0, run_id=attempt), NO_ROWS[what])
    record, artifacts = stage.played()
    known = Evidence(record, artifacts.content)
    with pytest.raises(PublicationRefused, match=r"artifact rows of event .* are no rows"):
        side(known, "mine/a")
    with pytest.raises(PublicationRefused, match=r"artifact rows of event .* are no rows"):
        draft(record, artifacts, find("sanitized-qualification-summary.v1"))


def test_rows_that_are_not_at_hand_are_one_clear_refusal() -> None:
    stage = Stage("mine")
    taken_in(stage, "a", theirs(1, 110.0))
    record, _ = stage.played()
    with pytest.raises(PublicationRefused, match="are not at hand, and no event says that they are gone"):
        side(Evidence(record), "mine/a")
