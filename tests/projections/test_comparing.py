"""Comparisons: what may stand beside what, how sure a difference is, and what is no A/B."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
from support.fine.events import launched, reported
from support.fine.loads import failed_row, load
from support.fine.stage import Stage
from support.sides import MS, PLAIN, counters, experiment, host, play, recipe, requests

from anvil.ledger.errors import PublicationRefused
from anvil.ledger.events import EngineIdentified
from anvil.ledger.events.checks import Parameter
from anvil.ledger.events.engines import IdentityClaim
from anvil.ledger.intervals import ratio_interval
from anvil.projections.comparing import Comparison, Shown, compare, side
from anvil.projections.evidence import Evidence

CONTROL, TREATMENT = (100, 102, 98), (80, 82, 78)


def evidence(*stages: Stage) -> Evidence:
    (stage,) = stages
    record, artifacts = stage.played()
    return Evidence(record, artifacts.content)


def compared(stage: Stage, control: str = "a", treatment: str = "b") -> Comparison:
    known = evidence(stage)
    return compare(known, side(known, control), side(known, treatment))


def two(settings: Mapping[str, Any] | None = None, *, of: str = "tiny", **changed: Any) -> Stage:
    """Return attempts a and b of one campaign; b has other settings, another candidate or another plan."""
    stage = Stage("mine")
    stage.tell(recipe(("a", "tiny", PLAIN), ("b", of, settings or PLAIN)))
    play(stage, "a", CONTROL)
    play(stage, "b", changed.pop("ttfts", TREATMENT), of, **changed)
    return stage


def shown(made: Comparison, metric: str) -> Shown:
    (pair,) = made.pairs
    return next(one for one in pair.metrics if one.metric == metric)


# --- what is compared ---------------------------------------------------------------------------------------


def test_a_difference_has_operands_n_and_an_interval() -> None:
    made = compared(two({**PLAIN, "slots": 1}))
    found = shown(made, "ttft.visible/1")
    assert (found.control.figure.value, found.treatment.figure.value) == (100, 80)
    assert found.delta.figure.value == -20
    assert found.delta.runs == (3, 3)
    ratio = ratio_interval(CONTROL, TREATMENT)
    assert ratio is not None
    assert found.delta.interval == ((ratio.low - 1) * 100, (ratio.high - 1) * 100)
    assert found.delta.found == "better"
    assert found.delta.figure.support == found.control.figure.support | found.treatment.figure.support
    assert "95 % interval" in found.delta.figure.rule


def test_more_tokens_a_second_is_better_and_a_longer_time_is_worse() -> None:
    stage = Stage("mine")
    stage.tell(recipe(("a", "tiny", PLAIN), ("b", "tiny", {**PLAIN, "slots": 1})))
    play(stage, "a", TREATMENT)
    play(stage, "b", CONTROL)
    made = compared(stage)
    assert shown(made, "ttft.visible/1").delta.found == "worse"
    assert shown(made, "prefill.effective/1").delta.found == "worse"
    assert shown(made, "prefill.effective/1").delta.figure.value == Fraction(
        (
            sum((Fraction(1, ms) for ms in CONTROL), Fraction(0))
            / sum((Fraction(1, ms) for ms in TREATMENT), Fraction(0))
            - 1
        )
        * 100
    )


def test_what_runs_do_not_show_is_not_called_a_difference() -> None:
    found = shown(compared(two({**PLAIN, "slots": 1}, ttfts=(101, 97, 105))), "ttft.visible/1").delta
    assert found.found == "not_shown"
    assert found.smallest is not None
    assert found.smallest > abs(Fraction(found.figure.value or 0))


def test_one_run_says_nothing_of_how_runs_differ() -> None:
    stage = Stage("mine")
    stage.tell(recipe(("a", "tiny", PLAIN), ("b", "tiny", {**PLAIN, "slots": 1})))
    play(stage, "a", CONTROL[:1])
    play(stage, "b", TREATMENT[:1])
    found = shown(compared(stage), "ttft.visible/1").delta
    assert (found.figure.value, found.interval, found.found) == (-20, None, "unknown")


# --- what is an A/B -----------------------------------------------------------------------------------------


def test_one_setting_is_an_ab() -> None:
    made = compared(two({**PLAIN, "slots": 1}))
    assert made.is_ab
    assert made.differences == (("slots", "2", "1"),)


def test_two_settings_are_none() -> None:
    made = compared(two({"slots": 1, "kv_cache_dtype": "auto"}))
    assert not made.is_ab
    assert [one.name for one in made.differences] == ["slots", "kv_cache_dtype"]


def test_a_setting_that_one_side_lacks_differs() -> None:
    assert compared(two({"slots": 2})).differences == (("kv_cache_dtype", "fp8", None),)


def test_another_model_is_one_difference() -> None:
    assert [one.name for one in compared(two(of="other")).differences] == ["candidate"]


def test_attempts_of_one_side_that_are_planned_differently_are_told() -> None:
    stage = Stage("mine")
    stage.tell(recipe(("a", "tiny", PLAIN), ("b", "other", PLAIN), ("c", "other", {**PLAIN, "slots": 1})))
    play(stage, "a", CONTROL)
    play(stage, "b", TREATMENT, "other")
    play(stage, "c", TREATMENT, "other")
    made = compared(stage, "tiny", "other")
    assert ("slots", "2", "2 | 1") in made.differences


def test_sides_of_attempts_that_are_planned_differently_are_no_ab_of_what_differs_among_them() -> None:
    stage = two({**PLAIN, "slots": 1})
    made = compared(stage, "mine", "mine")
    assert made.differences == (("slots", "2 | 1", "2 | 1"),)
    assert (made.mixed, made.is_ab) == (("slots",), False)


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"kind": "near-limit"}, "kind of protocol"),
        ({"version": 2}, "version of the protocol"),
        ({"concurrency": 5}, "concurrency"),
        ({"input_target_tokens": 8192}, "target of prompt tokens"),
        ({"output_cap_tokens": 128}, "cap of completion tokens"),
        ({"ignores_eos": True}, "whether the end of a text is ignored"),
        ({"shared_prefix_tokens": 100}, "shared prefix"),
        (
            {"parameters": (Parameter(name="thinking", value="enabled"),)},
            "parameter thinking",
        ),
        ({"arrival": "open-loop", "rate_per_s": "2.5"}, "arrival of requests"),
        ({"cache_state": "primed"}, "state of the prefix cache"),
        ({"rows": {"prompt_tokens": 4050}}, "actual prompt tokens, by more than 1 %"),
        ({"rows": {"prompt_tokens": None}}, "actual prompt tokens"),
        ({"rows": {"count": 9}}, "repetitions"),
        ({"ttfts": (80, 82)}, "repetitions"),
        ({"cores": 4}, "hardware"),
        ({"outcome": "aborted"}, "runs that count"),
        ({"canary": "failed"}, "runs that count"),
    ],
)
def test_what_was_not_measured_alike_is_not_compared(changed: dict[str, Any], what: str) -> None:
    (pair,) = compared(two({**PLAIN, "slots": 1}, **changed)).pairs
    assert what in [one.what for one in pair.obstacles]
    assert pair.metrics == ()


def test_prompts_within_one_percent_are_as_long() -> None:
    (pair,) = compared(two({**PLAIN, "slots": 1}, rows={"prompt_tokens": 4060})).pairs
    assert pair.obstacles == ()


# --- experiments --------------------------------------------------------------------------------------------

CAP = experiment("cap", only_change=("ignore_eos",), control_protocol="plain", protocol="to-the-cap")


def protocols(*, of: tuple[Any, ...] = (CAP,), turns: str = "CTTCCT", **changed: Any) -> Comparison:
    """Return two protocols of one attempt, their runs in this order; the second goes to the cap."""
    stage = Stage("mine")
    stage.tell(recipe(("a", "tiny", PLAIN), experiments=of))
    stage.tell(host(), "tiny", "a")
    done = {"C": 0, "T": 0}
    for side_of in turns:
        done[side_of] += 1
        is_treatment = side_of == "T"
        more = (
            {"protocol": "to-the-cap", "ignores_eos": True, **changed}
            if is_treatment
            else {"protocol": "plain"}
        )
        ms = (TREATMENT if is_treatment else CONTROL)[done[side_of] - 1]
        load(stage, "tiny", "a", requests(ms), done[side_of], **more)
    return compared(stage, "mine/a:plain", "a:to-the-cap")


def test_two_protocols_of_a_declared_experiment_are_compared() -> None:
    made = protocols()
    (pair,) = made.pairs
    assert (pair.key, pair.obstacles) == ((None, "plain against to-the-cap", "c1"), ())
    assert made.differences == (("ignore_eos", "false", "true"),)
    assert made.experiment is not None
    assert (made.experiment.declared, made.is_ab, made.unnamed) == (CAP, True, ())
    assert pair.notes[0] == "the runs of both sides alternate: C T T C C T"
    assert shown(made, "ttft.visible/1").delta.figure.value == -20


def test_runs_that_do_not_alternate_are_told() -> None:
    (pair,) = protocols(turns="CCCTTT").pairs
    assert pair.notes[0].startswith("the runs of both sides do not alternate (C C C T T T)")
    assert pair.metrics


def test_two_protocols_that_no_recipe_declares_as_an_experiment_are_not_compared() -> None:
    made = protocols(of=())
    (pair,) = made.pairs
    assert made.experiment is None
    assert [one.what for one in pair.obstacles] == ["whether the end of a text is ignored"]


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"output_cap_tokens": 128}, "cap of completion tokens"),
        ({"cache_state": "primed"}, "state of the prefix cache"),
        ({"parameters": (Parameter(name="thinking", value="enabled"),)}, "parameter thinking"),
        ({"concurrency": 5}, "concurrency"),
    ],
)
def test_what_an_experiment_does_not_name_stays_an_obstacle(changed: dict[str, Any], what: str) -> None:
    made = protocols(**changed)
    (pair,) = made.pairs
    assert [one.what for one in pair.obstacles] == [what]
    assert pair.metrics == ()


def test_another_thinking_of_the_same_protocol_is_an_obstacle() -> None:
    thinking = (Parameter(name="thinking", value="enabled"),)
    (pair,) = compared(two({**PLAIN, "slots": 1}, parameters=thinking)).pairs
    assert [one.what for one in pair.obstacles] == ["parameter thinking"]


def test_what_is_planned_otherwise_besides_an_experiment_is_no_ab() -> None:
    named = experiment("kv", only_change=("kv_cache_dtype",), control="a", attempt="b")
    stage = Stage("mine")
    changed = {"slots": 1, "kv_cache_dtype": "auto"}
    stage.tell(recipe(("a", "tiny", PLAIN), ("b", "tiny", changed), experiments=(named,)))
    play(stage, "a", CONTROL)
    play(stage, "b", TREATMENT)
    made = compared(stage)
    assert made.experiment is not None
    assert (made.is_ab, [one.name for one in made.unnamed]) == (False, ["slots"])


def test_another_engine_is_another_image_too() -> None:
    named = experiment("engines", only_change=("engine",), control="a", attempt="b")
    planned = recipe(("a", "tiny", PLAIN), ("b", "tiny", PLAIN), experiments=(named,))
    control, attempt = planned.attempts
    image = "docker.io/vllm/vllm-openai@sha256:" + "c2" * 32
    other = attempt.model_copy(update={"engine": "vllm", "launcher": "docker", "image": image})
    stage = Stage("mine")
    stage.tell(planned.model_copy(update={"attempts": (control, other)}))
    play(stage, "a", CONTROL)
    play(stage, "b", TREATMENT)
    made = compared(stage)
    assert [one.name for one in made.differences] == ["engine", "launcher", "image"]
    assert (made.is_ab, made.unnamed) == (True, ())


def test_a_protocol_that_was_not_measured_is_refused() -> None:
    known = evidence(two())
    with pytest.raises(PublicationRefused, match="mine/a has no load of a protocol 'capacity-8k'"):
        side(known, "a:capacity-8k")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({}, "the engine's counters are missing: no_endpoint"),
        ({"counters_missing": None}, "it counts no draft_tokens"),
        ({"counters_missing": None, "counters": counters(0, 0)}, "nothing was drafted"),
        ({"counters_missing": None, "counters": counters(-5, 0)}, "draft_tokens was set back"),
    ],
)
def test_why_there_is_no_acceptance(more: dict[str, Any], why: str) -> None:
    (pair,) = compared(two({**PLAIN, "slots": 1}, **more)).pairs
    assert (pair.accepted[1].rate, pair.accepted[1].why) == (None, why)


def test_two_numbers_of_one_engine_are_none() -> None:
    stage = two({**PLAIN, "slots": 1})
    for tokens in ("4096", "8192"):
        stage.tell(reported("llamacpp", kv_capacity_tokens=tokens, context_tokens=2048), "tiny", "b")
    made = compared(stage)
    assert made.caches[1].why == "several kv capacity tokens were reported: 4096, 8192"
    assert {source.entry_hash for source in made.caches[1].sources} <= made.events


def test_an_attempt_that_was_launched_again_with_other_settings_is_not_averaged_over_both() -> None:
    """Its key is the same; its figures would be of nothing that ever was."""
    stage = Stage("mine")
    stage.tell(recipe(("a", "tiny", PLAIN)))
    stage.tell(launched(None), "tiny", "a")
    play(stage, "a", (10, 10, 10))
    stage.tell(recipe(("a", "tiny", {**PLAIN, "slots": 1}), ("b", "tiny", PLAIN)))
    stage.tell(launched(None), "tiny", "a")
    play(stage, "a", CONTROL)
    play(stage, "b", TREATMENT)
    made = compared(stage)
    (pair,) = made.pairs
    assert shown(made, "ttft.visible/1").control.figure.value == 100
    assert [left.reason for left in pair.control.left_out] == ["otherwise_served"] * 3


def test_runs_on_other_hardware_are_not_averaged() -> None:
    stage = Stage("mine")
    stage.tell(recipe(("a", "tiny", PLAIN), ("b", "tiny", PLAIN)))
    play(stage, "a", (10, 10, 10), cores=64)
    play(stage, "a", CONTROL)
    (pair,) = compared(stage, "a", "a").pairs
    assert [left.reason for left in pair.control.left_out] == ["otherwise_served"] * 3


def identified(version: str) -> EngineIdentified:
    said = IdentityClaim(source="version_endpoint", what="engine_version", value=version)
    return EngineIdentified(
        engine=None,
        claims=(said,),
        disagreements=(),
        served_name_matches=None,
        accepts_any_model=None,
        sealed_claims=None,
    )


@pytest.mark.parametrize(("later", "left"), [("1.1", ["otherwise_served"] * 3), ("1.0", [])])
def test_runs_on_an_engine_that_says_otherwise_who_it_is_are_not_averaged(
    later: str, left: list[str]
) -> None:
    stage = Stage("mine")
    stage.tell(recipe(("a", "tiny", PLAIN), ("b", "tiny", PLAIN)))
    for version, times in (("1.0", (10, 10, 10)), (later, CONTROL)):
        stage.tell(launched(None), "tiny", "a")
        stage.tell(identified(version), "tiny", "a")
        play(stage, "a", times)
    (pair,) = compared(stage, "a", "a").pairs
    assert [one.reason for one in pair.control.left_out] == left


# --- what goes with it --------------------------------------------------------------------------------------


def test_failures_and_what_was_left_out_are_told() -> None:
    stage = two({**PLAIN, "slots": 1})
    rows = [*requests(90, 9), failed_row(9)]
    load(stage, "tiny", "b", rows, 4)
    load(stage, "tiny", "a", requests(90), 4)
    load(stage, "tiny", "a", requests(90), 5, outcome="aborted")
    (pair,) = compared(stage).pairs
    assert "1 requests of the treatment failed and are no samples" in pair.notes
    assert any("run 5 of capacity-4k c1 of attempt a is left out" in note for note in pair.notes)


def test_an_unproved_cache_and_an_unseen_host_are_told() -> None:
    stage = Stage("mine")
    stage.tell(recipe(("a", "tiny", PLAIN), ("b", "tiny", {**PLAIN, "slots": 1})))
    for attempt, times in (("a", CONTROL), ("b", TREATMENT)):
        for number, ms in enumerate(times, 1):
            load(stage, "tiny", attempt, requests(ms), number, cache_state="unknown")
    (pair,) = compared(stage).pairs
    assert pair.notes == (
        "neither side proves the state of its prefix cache",
        "the hardware was not observed on both sides",
    )
    assert pair.metrics


def test_the_host_that_counts_is_the_last_before_a_run() -> None:
    stage = two({**PLAIN, "slots": 1})
    stage.tell(host(64), "tiny", "b")  # seen after the runs: another day, another machine
    (pair,) = compared(stage).pairs
    assert pair.obstacles == ()


# --- sides ---------------------------------------------------------------------------------------------------


def test_candidates_and_whole_campaigns_are_sides_too() -> None:
    stage = Stage("mine")
    stage.tell(recipe(("a", "tiny", PLAIN), ("b", "other", PLAIN)))
    play(stage, "a", CONTROL)
    play(stage, "b", TREATMENT, "other")
    made = compared(stage, "mine/tiny", "other")
    assert (made.control.name, made.treatment.name) == ("mine/tiny", "mine/other")
    assert shown(made, "ttft.visible/1").delta.figure.value == -20
    whole = compared(stage, "mine", "mine")
    assert [pair.key for pair in whole.pairs] == [
        ("tiny", "capacity-4k", "c1"),
        ("other", "capacity-4k", "c1"),
    ]


def test_cells_of_one_side_only_are_named() -> None:
    stage = two({**PLAIN, "slots": 1})
    load(stage, "tiny", "a", requests(90), 1, cell="c5", concurrency=5)
    made = compared(stage)
    assert made.only_control == ((None, "capacity-4k", "c5"),)
    assert made.only_treatment == ()


def test_a_name_of_nothing_and_a_name_of_several_are_refused() -> None:
    known = evidence(two())
    with pytest.raises(PublicationRefused, match="is called 'c'"):
        side(known, "c")
    with pytest.raises(PublicationRefused, match="is called 'other/a'"):
        side(known, "other/a")
    stage = two()
    stage.tell(host(), "tiny", "mine", campaign="mine")
    load(stage, "tiny", "mine", requests(90), 1)
    with pytest.raises(PublicationRefused, match="'mine' is the name of several: mine, mine/mine"):
        side(evidence(stage), "mine")


def test_times_are_those_of_the_rows() -> None:
    (row, *_) = requests(90)
    assert row.ttft_ns == 90 * MS
