"""Experiments that recipes declare, in the two summaries: printed by their keys, with the control that is named."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.fine import events as of
from support.fine.loads import load, row
from support.fine.stage import Stage
from support.sides import experiment

from anvil.ledger.events.recipes import DeclaredExperiment
from anvil.projections.pages import page
from anvil.projections.provenance import State
from anvil.projections.rendering import Draft

LANES, SUMMARY = "qwen38-27b-qualification-summary.v1", "sanitized-qualification-summary.v1"
SPED_UP = experiment("sped-up", control="plain", attempt="fast", only_change=("--speculative-config",))


def stage(*experiments: DeclaredExperiment, settings: tuple[dict[str, Any], ...] = ({}, {}, {})) -> Stage:
    """Return three attempts of one candidate, of which the recipe says how they belong together."""
    made = Stage("mine")
    keys = ("plain", "fast", "other")
    attempts = [of.attempt(key, "tiny", settings=each) for key, each in zip(keys, settings, strict=True)]
    candidates = [of.candidate("tiny", "org/tiny", None, None)]
    made.tell(of.recipe("mine", candidates, attempts, experiments=experiments))
    for key in keys:
        made.tell(of.launched(None), "tiny", key)
        rows = [row(at, 10**8, 10**9, 20, started_ns=at * 10**9) for at in range(5)]
        load(made, "tiny", key, rows)
    return made


def experiments(drawn: Draft) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(drawn.rendered.text)["setting_experiments"]
    return found


def test_one_is_an_experiment_though_no_setting_differs() -> None:
    """A flag is no setting: such an attempt was once counted as a lane, and its runs beside its control's."""
    drawn = stage(SPED_UP).drawn(LANES)
    assert list(json.loads(drawn.rendered.text)["baseline"]) == ["shared", "plain", "other"]
    found = experiments(drawn)["fast"]
    assert (found["experiment"], found["control"]) == ("sped-up", "plain")
    assert found["only_change"] == "--speculative-config (named by the recipe)"
    summary = stage(SPED_UP).drawn(SUMMARY)
    assert summary.rendered.document["capacity_4k_c1"]["tiny"]["runs"] == 2
    said = "fast, experiment sped-up (--speculative-config (named by the recipe))"
    assert any(said in note for note in summary.limit.notes)


def test_every_setting_that_differs_is_told_whatever_the_recipe_names() -> None:
    named = experiment("cache", control="plain", attempt="fast", only_change=("settings.slots",))
    drawn = stage(named, settings=({"slots": 2}, {"slots": 4, "kv_cache_dtype": "fp8"}, {"slots": 2})).drawn(
        LANES
    )
    assert experiments(drawn)["fast"]["only_change"] == "slots 2 to 4; kv_cache_dtype set to fp8"


def test_the_control_is_the_one_that_is_named_and_not_the_first() -> None:
    named = experiment("cache", control="other", attempt="fast", only_change=("slots",))
    drawn = stage(named, settings=({"slots": 2}, {"slots": 8}, {"slots": 4})).drawn(LANES)
    found = experiments(drawn)
    assert (found["fast"]["control"], found["fast"]["only_change"]) == ("other", "slots 4 to 8")
    assert "experiment" not in found["other"]
    assert found["other"]["only_change"] == "slots 2 to 4"


def test_without_a_declaration_neither_key_is_there() -> None:
    found = experiments(stage(settings=({"slots": 2}, {"slots": 8}, {"slots": 2})).drawn(LANES))
    assert list(found["fast"]) == ["only_change", "c1_decode_tok_s_p50"]


@pytest.mark.parametrize("name", [LANES, SUMMARY])
def test_what_is_declared_and_not_shown_as_one_is_named(name: str) -> None:
    pair = experiment(
        "to-the-cap", control_protocol="steady", protocol="capped", only_change=("output_tokens",)
    )
    gone = experiment("gone", control="nowhere", attempt="other", only_change=("slots",))
    notes = stage(pair, gone).drawn(name).limit.notes
    said = (
        "Experiment to-the-cap is of two protocols of one attempt, capped against steady (output_tokens): "
        "their figures stand by protocol."
    )
    assert said in notes
    assert "Experiment gone, other against nowhere (slots), is not shown as one." in notes


def test_two_that_are_each_others_control_are_lanes() -> None:
    back = experiment("back", control="fast", attempt="plain", only_change=("--speculative-config",))
    drawn = stage(SPED_UP, back).drawn(LANES)
    assert list(json.loads(drawn.rendered.text)["baseline"]) == ["shared", "plain", "fast", "other"]
    assert sum("is not shown as one" in note for note in drawn.limit.notes) == 2


@pytest.mark.parametrize("form", ["md", "html"])
def test_the_pages_name_the_key_and_the_control(form: str) -> None:
    drawn = stage(SPED_UP).drawn(LANES)
    made = page(drawn, State("x.test.invalid", 9, "0" * 64), stage(SPED_UP).played()[0], form)
    assert "sped-up" in made
    assert "control" in made
