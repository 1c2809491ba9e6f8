"""What pages make of a document before they show it: metrics by name, differences, marks. Nothing is made up."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from support.fine.side_by_side import side_by_side
from support.importing import imported, rendered
from support.published import DOCUMENTS as PUBLISHED
from support.published import lanes, spelled, summary

from anvil.projections import pages
from anvil.projections.document import DOCUMENTS
from anvil.projections.pages import PARTS
from anvil.projections.pages.comparisons import compared
from anvil.projections.pages.glossary import WORDS, used
from anvil.projections.pages.matrix import mark_of
from anvil.projections.pages.metrics import metric
from anvil.projections.pages.verdicts import explained
from anvil.projections.pages.view import Shown, view
from anvil.projections.provenance import State
from anvil.projections.publishing import page_layouts
from anvil.projections.record import fold

STATE = State("scene.test.invalid/log", 99, "ab" * 32)
SUMMARY, LANES = "sanitized-qualification-summary.v1", "qwen38-27b-qualification-summary.v1"


def document(name: str, content: dict[str, Any]) -> Any:
    seen = imported(spelled(content))
    return view(rendered(name, seen), STATE, fold(seen))["document"]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_document_has_pages(name: str) -> None:
    assert name in PARTS
    assert all(source for source in page_layouts(name).values())


# --- metrics ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind", "hint"),
    [
        ("ttft_p50_ms", "ttft", "ms; p50; lower is better"),
        ("ttft_s_p50", "ttft", "s; p50; lower is better"),
        ("ttft_s", "ttft", "s; lower is better"),
        ("effective_prefill_tok_s_p50", "effective_prefill", "tok/s; p50; higher is better"),
        (
            "c1_decode_tok_s_p50",
            "decode",
            "tok/s; one request at a time; p50; higher is better",
        ),
        ("c5_aggregate_output_tok_s", "aggregate_output", "tok/s; 5 requests at once; higher is better"),
        ("quality_context_decode_tok_s", "decode", "tok/s; quality context; higher is better"),
        ("engine_kv_tokens", "engine_kv_tokens", "tokens; higher is better"),
    ],
)
def test_a_name_says_what_was_measured(name: str, kind: str, hint: str) -> None:
    found = metric(name)
    assert found is not None
    assert (found.kind, found.hint) == (kind, hint)


@pytest.mark.parametrize(
    "name", ["runs", "status", "failures", "max_num_seqs", "undecode", "c_decoded_tok_s", ""]
)
def test_a_name_that_says_none_is_no_metric(name: str) -> None:
    assert metric(name) is None


# --- differences -------------------------------------------------------------------------------------------------


def measured(**changed: Any) -> Any:
    content = summary()
    content["capacity_1k_c1"] |= changed
    return document(SUMMARY, content)["capacity_1k_c1"]


def test_a_difference_is_read_with_the_words_that_its_sign_means() -> None:
    made = compared("capacity_1k_c1", measured())
    words = {row.metric.kind: [d.word for d in row.differences if d] for row in made.rows}
    assert made.differences == ("tiny_b against tiny_a",)
    assert words == {
        "ttft": ["faster"],
        "e2e": ["equal"],
        "effective_prefill": ["faster"],
        "decode": ["slower"],
        "aggregate_output": ["faster"],
    }


@pytest.mark.parametrize("name", ["other_delta_percent", "tiny_delta_percent", "b2_delta_percent"])
def test_a_difference_that_names_no_candidate_keeps_its_name(name: str) -> None:
    members = dict(measured())
    members[name] = members.pop("tiny_b_delta_percent")
    assert compared("capacity_1k_c1", members).differences == (name,)


def test_a_difference_by_the_end_of_a_name_is_that_candidates() -> None:
    members = dict(measured())
    members["b_delta_percent"] = members.pop("tiny_b_delta_percent")
    assert compared("capacity_1k_c1", members).differences == ("tiny_b against tiny_a",)


def test_no_difference_is_computed() -> None:
    members = {key: value for key, value in measured().items() if not key.endswith("_delta_percent")}
    made = compared("capacity_1k_c1", members)
    assert made.differences == ()
    assert all(row.differences == () for row in made.rows)


def test_without_a_difference_the_faster_figure_is_said_and_not_by_how_much() -> None:
    content = summary()["capacity_1k_c1"]
    other = {**content["tiny_a"], "ttft_p50_ms": 11.5, "decode_tok_s_p50": 1.0, "aggregate_output_tok_s": 999}
    found = compared("capacity_1k_c1", measured(tiny_b=other)).rows
    faster = {row.metric.kind: row.fastest.pointer.split("/")[2] for row in found if row.fastest is not None}
    assert faster == {"ttft": "tiny_b", "decode": "tiny_a", "aggregate_output": "tiny_b"}  # the rest is alike
    alone = {key: value for key, value in measured().items() if key in ("protocol", "tiny_a")}
    assert all(row.fastest is None for row in compared("capacity_1k_c1", alone).rows)


def test_a_number_is_the_number_that_is_printed() -> None:
    cell = measured()["tiny_a"]["ttft_p50_ms"]
    assert (cell.text, cell.number) == ("12.5", Fraction(25, 2))
    assert measured()["protocol"].number is None


# --- marks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("6/6", "passed"),
        ("5/6", "failed"),
        ("0/0", "said"),
        ("2/4; coding failed", "failed"),
        ("passed", "passed"),
        ("all passed", "passed"),
        ("failed", "failed"),
        ("all passed but one", "said"),
        ("2026/08/15", "said"),
        ("6/60", "failed"),
        ("passed at 3/3 policy", "said"),
        ("", "said"),
    ],
)
def test_a_text_is_marked_by_what_it_says_and_no_more(text: str, mark: str) -> None:
    assert mark_of(text) == mark


def test_a_check_that_is_not_listed_has_no_mark() -> None:
    made = PARTS[SUMMARY](document(SUMMARY, summary()))["matrix"]
    rows = dict(made.rows)
    assert made.columns == ("tiny_a", "tiny_b")
    assert [cell and cell.mark for cell in rows["coding"]] == ["passed", None]
    assert [cell and cell.mark for cell in rows["suite recall"]] == ["passed", "failed"]
    assert [cell and cell.mark for cell in rows["suite triage"]] == [None, "passed"]


def test_a_rung_that_failed_is_marked() -> None:
    made = PARTS[LANES](document(LANES, lanes()))
    assert [(name, [rung.outcome.mark for rung in rungs]) for name, rungs in made["ladder"]] == [
        ("tiny_text", ["passed", "failed"])
    ]


def test_an_experiment_stands_beside_lanes_with_a_figure_of_the_same_name() -> None:
    made = PARTS[LANES](document(LANES, lanes()))
    speculation = next(one for one in made["experiments"] if one.name == "speculation")
    first, second = speculation.comparisons
    assert first.columns == ("with speculation", "tiny_text")
    assert [cell.text for cell in first.rows[0].cells if cell] == ["55.0", "30.0"]
    assert second.columns == ("first",)


@pytest.mark.parametrize("form", ["md", "html"])
def test_an_experiment_of_a_file_says_that_nothing_tells_how_sure_it_is(form: str) -> None:
    seen = imported(spelled(lanes()))
    made = pages.page(rendered(LANES, seen), STATE, fold(seen), form)
    start = made.index("Experiment ")
    assert (
        "No interval and no number of requests is stated" in made[start : made.index("What was not tested")]
    )


# --- verdicts and strength -----------------------------------------------------------------------------------


def test_verdicts_are_explained_once() -> None:
    words = [word for word, _ in explained(["challenger; no-promotion", "no-promotion", "something else"])]
    assert words == ["challenger", "no-promotion"]


def test_a_page_of_something_taken_does_not_ask_why_it_was_not() -> None:
    content = summary()
    for candidate in content["candidates"].values():
        candidate["decision"] = ["current"]
    assert PARTS[SUMMARY](document(SUMMARY, content))["is_taken"]
    assert not PARTS[SUMMARY](document(SUMMARY, summary()))["is_taken"]


def test_figures_are_counted_by_their_status_and_nulls_told() -> None:
    seen = imported(spelled(summary()))
    made = view(rendered(SUMMARY, seen), STATE, fold(seen))

    def every(value: Any) -> list[Shown]:
        items = value.values() if isinstance(value, dict) else value
        return [value] if isinstance(value, Shown) else [leaf for item in items for leaf in every(item)]

    assert [(item["status"], item["count"]) for item in made["legend"]] == [
        ("external-prior", sum(not leaf.is_null for leaf in every(made["document"])))
    ]
    assert made["nulls"] == [
        {"reason": "the imported file says null", "pointers": ["/common_recipe/draft_model"]},
        {"reason": "none is recorded", "pointers": ["/functional/tiny_b/checks"]},
    ]


def test_words_are_explained_where_they_stand_and_nowhere_else() -> None:
    assert used(["Both lanes", "/bounded_quality/a/tool", "c5 at 3/3"]) == [
        (word, WORDS[word][1]) for word in ("c1, c2, …", "lane", "suite tool")
    ]
    assert used(["a plane", "decoded", "the tool was fine"]) == []
    assert [word for word, _ in used(["an effort, and 1 warning"])] == ["effort", "warning"]


def test_what_is_looked_at_in_files_says_whose_they_are() -> None:
    stage = side_by_side()
    made = view(stage.drawn(SUMMARY), STATE, stage.played()[0])
    names = [block.name for block in PARTS[SUMMARY](made["document"], made["limits"])["rest"]]
    assert "safetensors files verified (inferact_nvfp4)" in names
    assert "tracked executable code (inferact_nvfp4, official_fp8)" in names
    said = [block.name for block in PARTS[SUMMARY](document(SUMMARY, summary()))["rest"]]
    assert "safetensors files verified" in said


# --- nothing measured ----------------------------------------------------------------------------------------


def absent(value: Any) -> Any:
    """Return a document in the same shape, all of it null, as one of recorded runs may be in part."""
    if isinstance(value, dict):
        return {key: absent(item) for key, item in value.items()}
    if isinstance(value, list):
        return [absent(item) for item in value]
    return replace(value, text="it was not measured", is_null=True, number=None)


@pytest.mark.parametrize("form", ["md", "html"])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_of_nulls_is_a_page_of_reasons(
    name: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nulled(*arguments: Any) -> dict[str, Any]:
        made = view(*arguments)
        return {**made, "document": absent(made["document"])}

    monkeypatch.setattr(pages, "view", nulled)
    seen = imported(spelled(PUBLISHED[name]()))
    made = pages.page(rendered(name, seen), STATE, fold(seen), form)
    assert made.count("it was not measured") > 10
    assert 'class="bar"' not in made


@pytest.mark.parametrize("form", ["md", "html"])
@pytest.mark.parametrize(
    ("name", "changed"),
    [
        (SUMMARY, {"candidates": {}, "functional": {}, "bounded_quality": {}, "restoration": {}}),
        (SUMMARY, {"retained_failures_and_caveats": [], "common_recipe": {}}),
        (LANES, {"gaps": [], "setting_experiments": {}, "private_artifact_digests": {}}),
    ],
)
def test_what_is_empty_says_so(name: str, changed: dict[str, Any], form: str) -> None:
    seen = imported(spelled({**PUBLISHED[name](), **changed}))
    made = pages.page(rendered(name, seen), STATE, fold(seen), form)
    assert made.count("none is recorded") >= len(changed)


# --- answers first ---------------------------------------------------------------------------------------------


def page_of(name: str, content: dict[str, Any]) -> str:
    seen = imported(spelled(content))
    return pages.page(rendered(name, seen), STATE, fold(seen), "html")


@pytest.mark.parametrize("name", [SUMMARY, LANES])
def test_the_models_stand_before_the_answers(name: str) -> None:
    head = page_of(name, PUBLISHED[name]()).partition("What was decided?")[0]
    content = PUBLISHED[name]()
    models = [one["model"] for one in content["candidates"].values()] if name == SUMMARY else None
    models = models or [one["repo"] for one in content["checkpoints"].values() if isinstance(one, dict)]
    assert all(f">{model}</bdi>" in head for model in models)


def test_one_candidate_alone_is_told_by_its_speed_and_not_compared() -> None:
    content = PUBLISHED[SUMMARY]()
    _, other = content["candidates"]
    for part in content.values():
        if isinstance(part, dict):
            for name in [name for name in part if name == other or name.endswith("_delta_percent")]:
                del part[name]
    made = page_of(SUMMARY, content)
    answers = made.partition('<div class="cards">')[2].partition("</div>")[0]
    assert "How fast is it?" in answers
    assert "Time to first token" in answers
    assert "Which is faster" not in made


@pytest.mark.parametrize("form", ["md", "html"])
def test_the_speeds_of_one_candidate_stand_under_the_names_of_their_loads(form: str) -> None:
    content = PUBLISHED[SUMMARY]()
    _, other = content["candidates"]
    for part in content.values():
        if isinstance(part, dict):
            for name in [name for name in part if name == other or name.endswith("_delta_percent")]:
                del part[name]
    seen = imported(spelled(content))
    made = pages.page(rendered(SUMMARY, seen), STATE, fold(seen), form)
    answers = made.partition("How fast is it?")[2].partition("What was not tested")[0]
    loads = [name.replace("_", " ") for name in content if name.startswith("capacity_")]
    assert len(loads) > 1
    assert all(answers.count(f"{load}:") == 1 or answers.count(f"<b>{load}</b>:") == 1 for load in loads)


def test_what_has_no_value_stands_once_below_the_answers() -> None:
    content = {**PUBLISHED[SUMMARY](), "retained_failures_and_caveats": []}
    made = page_of(SUMMARY, content)
    answers, _, below = made.partition('<h2 id="nulls">')
    assert "/retained_failures_and_caveats" in below
    assert '<a href="#nulls">' in answers
