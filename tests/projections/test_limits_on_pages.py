"""The evidence limit on a page: a table of what was sent, and each sentence beside what it is about."""

from __future__ import annotations

import re

import pytest
from support.fine import events as fine
from support.fine.lanes import BF16_LANE, FP8_LANE, MTP3, PREFIX, lanes
from support.fine.loads import load, row
from support.fine.side_by_side import side_by_side
from support.fine.stage import Stage
from support.importing import imported, rendered
from support.published import lanes as published
from support.published import spelled

from anvil.projections.pages import page
from anvil.projections.pages.limits import about, ladders, loads, told
from anvil.projections.pages.setup import copies
from anvil.projections.pages.view import view
from anvil.projections.provenance import State
from anvil.projections.record import fold

SUMMARY = "sanitized-qualification-summary.v1"
NAME = "qwen38-27b-qualification-summary.v1"
STATE = State("x.test.invalid", 9, "0" * 64)
FORMS = pytest.mark.parametrize("form", ["md", "html"])
CACHE = "98.3 % of the prompt tokens came from a cache"


def pictured(stage: Stage, form: str) -> str:
    made = page(stage.drawn(NAME), STATE, stage.played()[0], form)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", made)).replace("\\", "")


def limits() -> list[str]:
    stage = lanes()
    return list(view(stage.drawn(NAME), STATE, stage.played()[0])["limits"])


def test_what_was_sent_is_a_table_and_nothing_is_lost() -> None:
    found = told(limits())
    counted = [sentence for sentence in limits() if " completed and " in sentence]
    assert counted
    assert set(found.sentences) == set(limits()) - set(counted)
    cells = {f"{one.protocol} {cell} of {one.of}" for one in found.loads for cell in one.cells}
    assert cells == {
        cell for sentence in counted for cell in sentence.partition(": ")[2].rstrip(".").split(", ")
    }
    ladder = next(one for one in found.loads if one.protocol == "context-ladder")
    assert (ladder.of, ladder.cells, ladder.requests, ladder.runs) == (
        BF16_LANE,
        ("31225", "139428", "241250"),
        "1 of 1",
        "1",
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "Load, 5 completed and 0 failed of 5 requests in 1 run: of nobody.",
        "Load, an unknown number completed and 0 failed of 5 requests in 1 run: a b of c.",
        "The operator notes a gap: “Load, 5 completed and 0 failed of 5 requests in 1 run: a b of c.”",
    ],
)
def test_a_sentence_of_another_form_stays_one(sentence: str) -> None:
    assert told([sentence]).sentences == (sentence,)


def test_requests_that_failed_are_told() -> None:
    (load,) = told(["Load, 4 completed and 1 failed of 5 requests in 1 run: p c1 of a."]).loads
    assert load.requests == "4 of 5, 1 failed"


def test_sentences_are_found_by_what_they_are_about() -> None:
    assert [CACHE in sentence for sentence in about(PREFIX, limits())] == [True, False]
    assert about("prefix", limits()) == ()
    assert [MTP3 in sentence for sentence in ladders(limits(), (BF16_LANE, FP8_LANE))] == [True]
    assert sum(one.startswith("Protocol, ") for one in loads("capacity_4k", limits())) == 3
    assert loads("capacity", limits()) == ()


@FORMS
def test_a_person_and_a_count_that_do_not_agree_stand_side_by_side(form: str) -> None:
    made = pictured(lanes(), form)
    caveat = made.rindex("The endpoint did not say what came from the cache")
    assert 0 < made.rindex(CACHE) - caveat < 300


@FORMS
def test_a_ladder_without_rungs_of_its_own_is_told_below_what_passed(form: str) -> None:
    made = pictured(lanes(), form)
    passed = made[made.rindex("What passed") : made.rindex("Each stands beside its control")]
    assert f"Context ladder of {MTP3}, in prompt tokens: passed at 31,225." in passed
    assert re.search(r"context of 244573 tokens.*passed ●", passed)


@FORMS
def test_lanes_that_differ_in_settings_are_said_to_before_anything_else(form: str) -> None:
    made = pictured(lanes(), form)
    card = made[made.index("Which is faster") : made.index("What was not tested")]
    assert re.search(
        rf"The lanes differ also in: +max num seqs \( ?{BF16_LANE} +2 .*gpu memory utilization", card
    )
    assert "each copy on one GPU" in made[: made.index("What was decided?")]
    assert "Protocol, capacity-4k c1: 5 runs of 10 requests per attempt; 4096 prompt tokens" in made


@FORMS
def test_an_experiment_names_its_control_and_leaves_other_lanes_out(form: str) -> None:
    made = page(lanes().drawn(NAME), STATE, lanes().played()[0], form)
    part = made[made.rindex("only change") :]
    part = part[: part.index("The rest of the document")]
    assert "unquantized_kv" in part
    assert FP8_LANE in part
    assert BF16_LANE not in part


@FORMS
def test_a_verdict_says_what_it_is_of(form: str) -> None:
    assert re.search(r"Of the campaign as a whole: +challenger; no-promotion", pictured(lanes(), form))


def test_of_the_words_of_a_file_no_number_of_gpus_is_made() -> None:
    content = published()
    content["hardware"]["topology"] = "tiny on placement-1 (gpu-1)"
    seen = imported(spelled(content))
    document = view(rendered(NAME, seen), STATE, fold(seen))["document"]
    assert copies(document["hardware"]["topology"]) == ""
    stage = lanes()
    own = view(stage.drawn(NAME), STATE, stage.played()[0])["document"]["hardware"]["topology"]
    assert copies(own) == "each copy on one GPU"
    two = type(own)(**{**vars(own), "text": "1 placement: a on placement-1 (gpu-1, gpu-2)"})
    assert copies(two) == "each copy on 2 GPUs"
    mixed = type(own)(**{**vars(own), "text": "a on placement-1 (gpu-1, gpu-2); b on placement-2 (gpu-1)"})
    assert copies(mixed) == ""


def test_a_variant_of_an_experiment_wears_no_lanes_colour() -> None:
    made = page(lanes().drawn(NAME), STATE, lanes().played()[0], "html")
    groups = re.findall(r'data-pointer="/setting_experiments/prefix_cache[^"]*".*?</g>', made, re.DOTALL)
    fills = [fill for group in groups for fill in re.findall(r"url\(#(\w+)-\d\)", group)]
    assert len(fills) == 8
    assert set(fills) == {"variant"}
    assert "time to first token, s" in made


LENGTHS = "Answers of different lengths, capacity-4k c1: official_fp8 46.4, inferact_nvfp4 50.5 output tokens on average."


@FORMS
def test_answers_of_different_lengths_are_said_beside_the_times(form: str) -> None:
    stage = side_by_side()
    made = page(stage.drawn(SUMMARY), STATE, stage.played()[0], form).replace("\\", "")
    answers = made[made.index("Which is faster") : made.index("What was not tested")]
    assert LENGTHS in answers
    assert LENGTHS in made[made.index("Side by side") :]


@pytest.mark.parametrize(("tokens", "is_said"), [(102, False), (103, True)])
def test_lengths_that_are_close_are_not_said(tokens: int, is_said: bool) -> None:
    stage = Stage("mine")
    attempts = [fine.attempt(key, key, settings={"slots": 2}) for key in ("a", "b")]
    stage.tell(
        fine.recipe("mine", [fine.candidate(key, f"org/{key}", None, None) for key in ("a", "b")], attempts)
    )
    for key, count in (("a", 100), ("b", tokens)):
        stage.tell(fine.launched(None, None), key, key)
        load(stage, key, key, [row(0, 10**8, 10**9, count)])
    assert any("different lengths" in note for note in stage.drawn(SUMMARY).limit.notes) is is_said
