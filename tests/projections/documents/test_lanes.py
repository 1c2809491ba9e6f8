"""The third document, from a fine-grained stream: every figure is computed from rows, and comes out as published."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.fine import events as of
from support.fine import recount
from support.fine.lanes import (
    BF16_LANE,
    CAMPAIGN,
    DISCLOSED,
    FP8,
    FP8_LANE,
    MTP3,
    PREFIX,
    RUNGS,
    UNQUANTIZED,
    Runs,
    lanes,
    made_rows,
)
from support.fine.loads import failed_row, load, row, spelled
from support.fine.stage import Public, Stage
from support.importing import imported, tokens
from support.published import lanes as published
from support.published import spelled as as_file
from support.tools import SEEDS

from anvil.ledger.errors import PublicationRefused
from anvil.ledger.events import ArtifactDisclosed
from anvil.ledger.rows import Row
from anvil.projections.document import find
from anvil.projections.opened import opened
from anvil.projections.rendering import Draft, draft

NAME = "qwen38-27b-qualification-summary.v1"
SEED = SEEDS / f"{NAME}.json"
WORDS = {
    "topology",
    "artifact_gate",
    "repeated_quality",
    "only_change",
    "workload",
    "caveat",
    "warning",
    "retained_failure",
    "gaps",
}
"""Leaves that are sentences: ours are our own."""
OTHER = {
    ("baseline", "official_fp8_text", "functional_checks"),
    ("setting_experiments", "unquantized_kv", "decision"),
}
DIGESTS = "private_artifact_digests"
"""Published digests resolve to nothing: ours are of artifacts that are there."""

Path_ = tuple[Any, ...]


@pytest.fixture(scope="module")
def made() -> Draft:
    return lanes().drawn(NAME)


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


def seed() -> dict[Path_, Any]:
    return {path: value for path, value in paths(tokens(SEED.read_bytes())) if DIGESTS not in path}


# --- against the published document -------------------------------------------------------------------------


@pytest.mark.needs("seeds")
def test_the_keys_are_those_of_the_seed_in_their_order(made: Draft) -> None:
    assert [path for path in leaves(made) if DIGESTS not in path] == list(seed())


@pytest.mark.needs("seeds")
def test_every_fact_and_figure_of_the_seed_comes_out_equal_digit_by_digit(made: Draft) -> None:
    ours, compared = leaves(made), 0
    for path, value in seed().items():
        if WORDS & set(path) or path in OTHER:
            assert ours[path] != value or value == "all passed", path
        else:
            assert ours[path] == value, path
            compared += 1
    assert compared == 83


def test_the_template_holds_no_facts_of_a_campaign(made: Draft) -> None:
    source = made.template.source.lower()
    for name in (made.document.schema, "sha256"):
        source = source.replace(name, "")
    assert not re.search(r"qwen|bf16|fp8|mtp|vllm|blackwell|[0-9]{2}", source)


# --- what is said beside ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        "Synthetic: ",
        "Launch 1 of attempt mtp3 ended by itself with code 2 before it was ready.",
        "vram_gb_each counts GiB",
        "Load, 50 completed and 0 failed of 50 requests in 5 runs: capacity-4k c1 of bf16_multimodal, capacity-4k c2 of bf16",
        "Load, prefix-cache warm of prefix_cache: 98.3 % of the prompt tokens came from a cache.",
        "it is called cold, and its requests share 30000 tokens; only the first of them can be.",
    ],
)
def test_the_limit_says_what_figures_alone_would_hide(made: Draft, said: str) -> None:
    assert any(said in sentence for sentence in made.limit.sentences()), made.limit.sentences()


def test_stability_is_never_said_without_its_rate(made: Draft) -> None:
    quality = made.rendered.document["baseline"][FP8_LANE]["repeated_quality"]
    assert quality == (
        "intelligence, session, tool, 31225-token retrieval passed at a required rate of 1.0, each 3 times"
    )


def test_a_change_names_every_setting_that_differs(made: Draft) -> None:
    experiments = made.rendered.document["setting_experiments"]
    assert {key: each["only_change"] for key, each in experiments.items()} == {
        MTP3: "speculative_decoding false to true; speculative_method set to mtp; speculative_tokens set to 3",
        PREFIX: "prefix_cache false to true",
        UNQUANTIZED: "kv_cache_dtype fp8 to auto",
    }


def test_the_digests_are_of_artifacts_that_are_there(made: Draft) -> None:
    found = made.rendered.document[DIGESTS]
    assert len(found) == len(DISCLOSED) == 11, "as many as the published document states"
    assert list(found)[:2] == [f"{BF16_LANE}_coding_r1_response", f"{FP8_LANE}_coding_r1_response"]
    assert list(found)[-1] == f"{UNQUANTIZED}_near_limit_longest_record"
    leaf = made.rendered.leaf(f"/{DIGESTS}/{PREFIX}_prefix_cache_warm_record")
    assert leaf is not None
    assert [artifact.name for artifact in leaf.figures[0].support.artifacts] == ["record"]
    assert leaf.status == "retained-complete"


@pytest.mark.needs("seeds")
def test_the_seed_states_as_many_digests() -> None:
    stated = [path for path, _ in paths(tokens(SEED.read_bytes())) if DIGESTS in path]
    assert len(stated) == len(DISCLOSED)


# --- one row is changed -----------------------------------------------------------------------------------------


def counted_again(rows: Runs) -> dict[Path_, str]:
    """Return every figure that is computed from rows, by the test's own computation."""
    runs = {key: [recount.requests(spelled(run)) for run in found] for key, found in rows.items()}
    base, trial = ("baseline",), ("setting_experiments",)
    found: dict[Path_, str] = {}

    def decode(path: Path_, key: tuple[str, str, str]) -> None:
        found[path] = recount.spell(recount.p50(runs[key], recount.decode), 1)

    def output(path: Path_, key: tuple[str, str, str]) -> None:
        found[path] = recount.spell(recount.outputs(runs[key]), 0)

    for lane, several in ((BF16_LANE, "c2"), (FP8_LANE, "c5")):
        cell = (*base, lane, "capacity_4k")
        decode((*cell, "c1_decode_tok_s_p50"), (lane, "capacity-4k", "c1"))
        e2e = recount.p50(runs[lane, "capacity-4k", "c1"], recount.e2e)
        found[(*cell, "c1_e2e_s_p50")] = recount.spell(e2e / 10**9, 2)
        decode((*cell, f"{several}_decode_tok_s_p50"), (lane, "capacity-4k", several))
        output((*cell, f"{several}_aggregate_output_tok_s"), (lane, "capacity-4k", several))
        for at, rung in enumerate(RUNGS):
            (run,) = runs[lane, "context-ladder", str(rung)]
            found[(*base, lane, "context", at, "ttft_s")] = recount.spell(
                Fraction(run[0]["ttft_ns"], 10**9), 2
            )
    for attempt in (MTP3, UNQUANTIZED):
        decode((*trial, attempt, "c1_decode_tok_s_p50"), (attempt, "capacity-4k", "c1"))
        output((*trial, attempt, "c5_aggregate_output_tok_s"), (attempt, "capacity-4k", "c5"))
    (run,) = runs[MTP3, "quality-context", "31225"]
    found[(*trial, MTP3, "quality_context_decode_tok_s")] = recount.spell(
        recount.decode(run[0]) or Fraction(0), 1
    )
    for attempt, word, cells in (
        (PREFIX, "enabled", ("cold", "warm")),
        (FP8_LANE, "disabled", ("first", "repeat")),
    ):
        for cell in cells:
            key, where = (attempt, "prefix-cache", cell), (*trial, PREFIX, f"{word}_{cell}")
            ttft = recount.p50(runs[key], recount.ttft)
            found[(*where, "ttft_s_p50")] = recount.spell(ttft / 10**9, 2)
            output((*where, "aggregate_output_tok_s"), key)
    return found


def test_every_figure_equals_an_independent_computation(made: Draft) -> None:
    ours, found = leaves(made), counted_again(made_rows())
    assert len(found) == 27
    assert {path: ("number", text) for path, text in found.items()} == {path: ours[path] for path in found}


def later(of_row: Row) -> Row:
    members = of_row.model_dump()
    moved = {
        name: value + 400_000_000
        for name, value in members.items()
        if isinstance(value, int)
        and name.endswith("_ns")
        and name not in ("intended_ns", "started_ns", "connect_ns")
    }
    lists = {
        name: tuple(at + 400_000_000 for at in members[name]) for name in ("delta_ns", "delta_earliest_ns")
    }
    return Row(**{**members, **moved, **lists})


def longer(of_row: Row) -> Row:
    return Row(**{**of_row.model_dump(), "completion_tokens": (of_row.completion_tokens or 0) + 40})


@pytest.mark.parametrize("change", [later, longer])
@pytest.mark.parametrize("key", list(made_rows()), ids="-".join)
def test_one_row_changes_the_figures_that_rest_on_it_and_no_other_leaf(
    made: Draft, change: Any, key: tuple[str, str, str]
) -> None:
    rows = copy.deepcopy(made_rows())
    middle = (len(rows[key][0]) - 1) // 2
    rows[key][0][middle] = change(rows[key][0][middle])
    before, after = leaves(made), leaves(lanes(rows).drawn(NAME))
    expected = {path: ("number", text) for path, text in counted_again(rows).items()}
    assert list(before) == list(after)
    for path, value in after.items():
        assert value == expected.get(path, before[path]), path
    changed = {path for path in after if after[path] != before[path]}
    assert all(path in expected for path in changed)


def test_a_prompt_that_failed_is_not_passed() -> None:
    rows = made_rows()
    rows[FP8_LANE, "context-ladder", "139428"] = [[failed_row(0)]]
    rows[UNQUANTIZED, "near-limit", "longest"] = [[failed_row(0)]]
    document = lanes(rows).drawn(NAME).rendered.document
    assert document["baseline"][FP8_LANE]["context"][1] == {
        "actual_prompt_tokens": None,
        "ttft_s": None,
        "status": "failed",
    }
    assert "actual_prompt_tokens_passed" not in document["setting_experiments"][UNQUANTIZED]


# --- what goes wrong without it -----------------------------------------------------------------------------


def small(
    *loads: dict[str, Any], settings: tuple[dict[str, Any], ...] = ({}, {"kv_cache_dtype": "auto"})
) -> Stage:
    """Return a lane and an experiment, each with one load of five requests."""
    stage = Stage("mine")
    keys = ("lane", "trial")
    attempts = [
        of.attempt(key, "tiny", settings={"context_tokens": 8192, **each})
        for key, each in zip(keys, settings, strict=True)
    ]
    stage.tell(of.recipe("mine", [of.candidate("tiny", "org/tiny", None, None)], attempts))
    for key, members in zip(keys, loads, strict=True):
        stage.tell(of.launched(None), "tiny", key)
        prompt = members.pop("prompt_tokens", 4096)
        made = [row(at, 10**8, 10**9, 20, started_ns=at * 10**9, prompt_tokens=prompt) for at in range(5)]
        load(stage, "tiny", key, made, **members)
    return stage


def test_prompts_of_two_sizes_are_no_experiment() -> None:
    drawn = small({}, {"prompt_tokens": 4900}).drawn(NAME)
    said = "No A/B, capacity-4k c1: trial against lane: the prompts had 4900 and 4096 tokens on average."
    assert said in drawn.limit.notes
    assert not any("No A/B" in note for note in small({}, {}).drawn(NAME).limit.notes)


def test_output_caps_that_differ_are_no_experiment() -> None:
    drawn = small({}, {"output_cap_tokens": 512}).drawn(NAME)
    assert any("the output caps were 512 and 256 tokens" in note for note in drawn.limit.notes)


def test_a_rung_without_a_retrieval_is_only_answered() -> None:
    """An answer that came was once published as a retrieval that passed."""
    rung = {"kind": "context-ladder", "protocol": "ladder", "cell": "4096", "input_target_tokens": 4096}
    stage = small(dict(rung), {})
    drawn = stage.drawn(NAME)
    assert drawn.rendered.document["baseline"]["lane"]["context"][0]["status"] == "answered"
    said = "Context ladder of lane: no retrieval was asked at 4,096 prompt tokens; only an answer came."
    assert said in drawn.limit.notes
    asked = of.request("depth_50", prompt_tokens=4100)
    stage.tell(of.check("retrieval", asked), "tiny", "lane", artifacts={"r1.response": b"{}"})
    after = stage.drawn(NAME)
    assert after.rendered.document["baseline"]["lane"]["context"][0]["status"] == "passed"
    assert said not in after.limit.notes
    assert not any("the worst counts" in note for note in after.limit.notes)
    wrong = of.request("depth_50", "failed", "wrong_value", prompt_tokens=4090)
    failed = of.check("retrieval", wrong, selected_as="retrieval-4k")
    stage.tell(failed, "tiny", "lane", artifacts={"r1.response": b"{}"})
    mixed = stage.drawn(NAME)
    assert mixed.rendered.document["baseline"]["lane"]["context"][0]["status"] == "failed"
    told = "Context ladder of lane: of 2 retrievals at 4,096 prompt tokens 1 passed; the worst counts."
    assert told in mixed.limit.notes


def test_an_attempt_with_other_settings_has_no_place_beside_its_candidate() -> None:
    drawn = small({}, {}).drawn("sanitized-qualification-summary.v1")
    assert drawn.rendered.document["capacity_4k_c1"]["tiny"]["runs"] == 1
    said = (
        "Not shown here, since their settings are not those of their candidate's first attempt: "
        "trial (kv_cache_dtype set to auto)."
    )
    assert said in drawn.limit.notes
    both = small({}, {}, settings=({}, {})).drawn("sanitized-qualification-summary.v1")
    assert both.rendered.document["capacity_4k_c1"]["tiny"]["runs"] == 2


def test_a_digest_that_does_not_open_the_commitment_is_left_out() -> None:
    stage = small({}, {})
    at = stage.tell(of.check("coding"), "tiny", "lane", artifacts={"r1.response": b"{}"})
    stage.tell(
        lambda told: ArtifactDisclosed(
            target=told[at],
            artifact="r1.response",
            extent="digest",
            digest="sha256:" + "0" * 64,
            size=2,
            salt="0" * 64,
            reason=None,
            exceptions=(),
        ),
        role="operator",
    )
    assert stage.drawn(NAME).rendered.document[DIGESTS] == {}
    stage.disclose(at, "r1.response")
    assert list(stage.drawn(NAME).rendered.document[DIGESTS]) == ["lane_coding_r1_response"]


# --- with an imported document, and from a ledger -----------------------------------------------------------------


def test_what_was_recorded_goes_on_from_what_was_imported() -> None:
    stage, content = Stage("mine", day="2026-11-30"), as_file(published())
    for seen in imported(content, "mine"):
        about = seen.header.subject
        artifacts = {"source": Public(content)} if seen.header.artifacts else {}
        stage.tell(seen.event, about.candidate, about.attempt, artifacts=artifacts)
    stage.lines += small({}, {}).lines
    drawn = stage.drawn(NAME)
    document, before = json.loads(drawn.rendered.text), published()
    statuses = {leaf.pointer: leaf.status for leaf in drawn.rendered.leaves}
    assert list(document["baseline"]) == ["shared", *list(before["baseline"])[1:], "lane"]
    assert document["baseline"]["tiny_text"] == before["baseline"]["tiny_text"]
    assert list(document["setting_experiments"]) == [*before["setting_experiments"], "trial"]
    assert document["checkpoints"]["tiny"]["repo"] == "org/tiny"
    assert document["gaps"] == before["gaps"]
    assert statuses["/baseline/tiny_text/capacity_1k/c1_decode_tok_s_p50"] == "external-prior"
    assert statuses["/baseline/lane/capacity_4k/c1_decode_tok_s_p50"] == "retained-complete"
    assert document["observed_date"] == "2026-11-30"


def test_from_a_real_ledger_it_is_the_same_document(
    made: Draft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANVIL_KEYS", str(tmp_path / "keys"))
    monkeypatch.setenv("ANVIL_STATE", str(tmp_path / "state"))
    place = lanes().recorded(tmp_path / "ledger")
    with opened(place, None) as found:
        drawn = draft(found.record, found.artifacts, find(NAME), campaign=CAMPAIGN)
        found.require_signed(drawn)
    assert json.loads(drawn.rendered.text) == json.loads(made.rendered.text)
    assert drawn.limit.sentences() == made.limit.sentences()
    with opened(place, None) as found, pytest.raises(PublicationRefused, match="there is no campaign"):
        draft(found.record, found.artifacts, find(NAME), campaign=FP8)
