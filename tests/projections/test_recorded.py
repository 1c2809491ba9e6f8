"""What was recorded, as the figures of summaries: each part by itself, where it is easy to say more than is known."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.fine import events as of
from support.fine.loads import load, row
from support.fine.stage import Stage
from support.fine.summaries import NAME, started

from anvil.ledger.events import CaveatNoted, DecisionRecorded, LaunchFailed
from anvil.projections.rendering import Draft


def document(stage: Stage) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stage.drawn(NAME).rendered.text)
    return found


def said(stage: Stage) -> tuple[str, ...]:
    return stage.drawn(NAME).limit.notes


def checked(stage: Stage, event: Any, attempt: str = "a1") -> None:
    stage.tell(event, "tiny", attempt, artifacts={"r1.response": b"{}"})


# --- nothing is known ---------------------------------------------------------------------------------------


def test_what_no_event_says_is_null_and_says_why() -> None:
    drawn = started().drawn(NAME)
    made = json.loads(drawn.rendered.text)
    assert made["hardware"] == dict.fromkeys(
        ("host_label", "gpu", "gpu_count", "vram_gib_per_gpu", "topology")
    )
    shards = made["artifact_safety"].pop("shard_sha256")
    assert (shards, set(made["artifact_safety"].values())) == ([], {None})
    assert made["restoration"] == made["bounded_quality"] == {}
    assert made["near_limit_context"] == {"actual_prompt_tokens": None}
    leaf = drawn.rendered.leaf("/artifact_safety/tracked_executable_code")
    assert leaf is not None
    assert leaf.rule == "no inspection of model files is recorded"
    settings = drawn.rendered.leaf("/common_recipe/slots")
    assert settings is not None
    assert leaf.support.events == settings.support.events  # the recipe: what was planned
    assert "The model files were not looked through: tiny." in drawn.limit.notes
    assert "No decision is recorded: tiny." in drawn.limit.notes


def test_a_planned_attempt_that_nobody_saw_is_named() -> None:
    stage = Stage("mine")
    stage.tell(of.recipe("mine", [of.candidate("tiny", "org/tiny", None, None)], [of.attempt("a1", "tiny")]))
    assert document(stage)["functional"] == {
        "tiny": {"placements_passed": None, "checks": [], "reasoning_chars_with_thinking_disabled": None}
    }
    assert "Planned, and nothing was seen of it: a1." in said(stage)


# --- where the recipe comes from ----------------------------------------------------------------------------


def declared_twice(*revisions: str | None) -> Stage:
    """Return a campaign of one attempt for each recipe, which builds on that revision and follows it."""
    stage = Stage("mine")
    for at, revision in enumerate(revisions):
        attempt = of.attempt(f"a{at}", "tiny", recipe_revision=revision)
        stage.tell(of.recipe("mine", [of.candidate("tiny", "org/tiny", None, None)], [attempt], revision))
        stage.tell(of.launched(None), "tiny", f"a{at}")
    return stage


def sources(drawn: Draft) -> tuple[Any, Any]:
    made = json.loads(drawn.rendered.text)
    return made["source_base_revision"], made["runtime"]["source_recipe_revision"]


def test_what_a_recipe_builds_on_is_printed_as_declared() -> None:
    drawn = declared_twice("ab" * 20).drawn(NAME)
    assert sources(drawn) == ("ab" * 20, "ab" * 20)
    for pointer in ("/source_base_revision", "/runtime/source_recipe_revision"):
        leaf = drawn.rendered.leaf(pointer)
        assert leaf is not None
        assert leaf.status == "declared"


def test_recipes_that_build_on_different_revisions_are_both_told() -> None:
    drawn = declared_twice("ab" * 20, "cd" * 20).drawn(NAME)
    assert sources(drawn) == (f"{'ab' * 20}; {'cd' * 20}",) * 2


def test_a_recipe_that_says_nothing_of_its_sources_leaves_them_null_with_the_reason() -> None:
    drawn = declared_twice(None).drawn(NAME)
    assert sources(drawn) == (None, None)
    leaf = drawn.rendered.leaf("/source_base_revision")
    assert leaf is not None
    assert leaf.rule == "no recipe names the revision of the sources that it builds on"


# --- checks -------------------------------------------------------------------------------------------------


def functional(stage: Stage) -> dict[str, Any]:
    found: dict[str, Any] = document(stage)["functional"]["tiny"]
    return found


def test_a_check_that_failed_is_not_listed_and_is_named() -> None:
    stage = started(checks=("coding", "responses"))
    checked(stage, of.check("coding", of.request("r1", "failed", "wrong_value")))
    checked(stage, of.check("responses"))
    assert functional(stage)["checks"] == ["responses"]
    assert functional(stage)["placements_passed"] == 0
    assert "Not passed by tiny (attempt a1): coding failed (wrong_value)." in said(stage)


def test_a_check_without_a_result_keeps_a_placement_from_passing() -> None:
    stage = started(checks=("coding", "responses"))
    checked(stage, of.check("coding"))
    assert functional(stage)["placements_passed"] == 0
    assert "Selected, and without a result, of tiny (attempt a1): responses." in said(stage)


def test_a_check_is_listed_when_it_passed_wherever_it_was_carried_out() -> None:
    attempts = tuple(of.attempt(key, "tiny", key, checks=("coding",)) for key in ("left", "right"))
    stage = started(attempts=attempts)
    checked(stage, of.check("coding"), "left")
    assert functional(stage) == {
        "placements_passed": 1,
        "checks": ["coding"],
        "reasoning_chars_with_thinking_disabled": 0,
    }
    checked(stage, of.check("coding", of.request("r1", "failed", "wrong_value")), "right")
    assert functional(stage)["checks"] == []
    assert functional(stage)["placements_passed"] == 1


def test_the_newest_launch_counts_and_the_one_before_is_named() -> None:
    stage = started()
    checked(stage, of.check("coding", of.request("r1", "failed", "wrong_value")))
    stage.tell(of.launched(None), "tiny", "a1")
    checked(stage, of.check("coding"))
    assert functional(stage)["checks"] == ["coding"]
    assert "Launch 1 of tiny (attempt a1) did not pass: coding failed (wrong_value)." in said(stage)


@pytest.mark.parametrize(
    ("check", "label"),
    [
        (of.check("tools-batch", *(of.request(f"r{n}") for n in range(20))), "tools-20-of-20"),
        (of.check("tools-batch", of.request("r1"), selected_as="tools-one"), "tools-one-1-of-1"),
        (of.check("tools-streaming"), "streaming-tools"),
        (of.check("tool-result"), "tool-result-continuation"),
        (of.check("retrieval", of.request("depth_50", prompt_tokens=105_600)), "105600-token-retrieval"),
        (
            of.check("retrieval", of.request("d", prompt_tokens=1_010), selected_as="retrieval-1k"),
            "retrieval-1k",
        ),
        (of.check("coding"), "coding"),
    ],
)
def test_a_label_is_made_of_the_check_and_what_was_counted(check: Any, label: str) -> None:
    stage = started(checks=(check.selected_as,))
    checked(stage, check)
    assert functional(stage)["checks"] == [label]


@pytest.mark.parametrize(
    ("name", "tokens", "is_said"),
    [
        ("128k-retrieval", 105_600, True),
        ("128k-retrieval", 128_450, False),
        ("128k-retrieval", 131_072, False),
        ("retrieval-1m", 825_049, True),
        ("retrieval-1m", 1_000_000, False),
        ("retrieval-1k", 999, False),
        ("kv8k8k", 20, False),
        ("retrieval", 20, False),
    ],
)
def test_a_label_that_says_another_size_than_was_counted_is_a_limit(
    name: str, tokens: int, is_said: bool
) -> None:
    stage = started(checks=(name,))
    checked(stage, of.check("retrieval", of.request("depth_50", prompt_tokens=tokens), selected_as=name))
    assert any(f"the endpoint counted {tokens:,} prompt tokens" in note for note in said(stage)) is is_said


def test_reasoning_that_was_seen_is_not_counted_as_none() -> None:
    stage = started()
    checked(stage, of.check("coding", of.request("r1", reasoning_seen=("tags",))))
    assert functional(stage)["reasoning_chars_with_thinking_disabled"] is None
    other = started()
    checked(
        other,
        of.check("coding", of.request("r1", reasoning_seen=("tags",)), parameters={"thinking": "enabled"}),
    )
    assert functional(other)["reasoning_chars_with_thinking_disabled"] is None


def test_the_verdict_of_a_rung_is_none_of_the_checks() -> None:
    stage = started()
    checked(stage, of.check("coding"))
    rung = of.request("depth_50", "failed", "wrong_value", prompt_tokens=4096)
    findings = {"protocol": "context-ladder", "repetitions": 3}
    checked(stage, of.check("retrieval", rung, selected_as="context-ladder.rung-1", findings=findings))
    checked(stage, of.check("canary", selected_as="context-ladder.canary-1"))
    made = [row(0, 10**8, 10**9, 20)]
    load(stage, "tiny", "a1", made, kind="context-ladder", protocol="context-ladder", cell="rung-1")
    assert functional(stage)["placements_passed"] == 1
    assert functional(stage)["checks"] == ["coding"]
    assert "Context ladder of a1, in prompt tokens: failed at 4,096." in said(stage)


# --- suites -------------------------------------------------------------------------------------------------


def test_suites_are_counted_and_failures_named() -> None:
    stage = started(attempts=(of.attempt("a1", "tiny", suites=("session", "tool", "intelligence")),))
    checked(stage, of.suite("session", {"recall": (3, 3)}))
    checked(stage, of.suite("tool", {"argument": (1, 3), "other": (3, 3)}))
    assert document(stage)["bounded_quality"] == {"tiny": {"session": "3/3", "tool": "4/6", "failures": 2}}
    assert "Suite tool of tiny (attempt a1): 4/6, failed (wrong_value)." in said(stage)
    assert "Suites selected, and without a result, of tiny (attempt a1): intelligence." in said(stage)


# --- weights ------------------------------------------------------------------------------------------------


def safety(stage: Stage) -> dict[str, Any]:
    found: dict[str, Any] = document(stage)["artifact_safety"]
    return found


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("code", "tracked_executable_code", True),
        ("native-code", "tracked_executable_code", True),
        ("remote-code", "auto_map_or_remote_code_hook", True),
        ("pickle", "pickle_or_pytorch_binary", True),
        ("pytorch-archive", "pickle_or_pytorch_binary", True),
        ("ranges-overlap", "headers_ranges_and_file_lengths_valid", False),
        ("gguf-truncated", "headers_ranges_and_file_lengths_valid", False),
    ],
)
def test_a_finding_of_a_kind_decides_its_field_and_no_other(kind: str, field: str, value: bool) -> None:
    clean, found = started(), started()
    told = {"tensor_files": 2, "tensors": 9, "stated_identities": 2, "matched_identities": 2}
    clean.tell(of.inspected(**told), "tiny", artifacts={"inventory": b"[]"})
    found.tell(of.inspected(**told, findings={kind: 1}), "tiny", artifacts={"inventory": b"[]"})
    before, after = safety(clean), safety(found)
    assert after[field] is value
    assert {name for name in after if after[name] != before[name]} == {field}
    assert f"Found among the files of tiny: {kind} (1)." in said(found)


@pytest.mark.parametrize(
    ("stated", "matched", "value"), [(0, 0, None), (1, 1, False), (2, 1, False), (2, 2, True), (3, 3, True)]
)
def test_identities_match_only_when_every_tensor_file_has_one(stated: int, matched: int, value: Any) -> None:
    stage = started()
    event = of.inspected(tensor_files=2, stated_identities=stated, matched_identities=matched)
    stage.tell(event, "tiny", artifacts={"inventory": b"[]"})
    assert safety(stage)["local_sha256_matches_hugging_face_lfs"] is value


@pytest.mark.parametrize(("matched", "value"), [(2, None), (1, False)])
def test_identities_that_no_cache_states_are_not_said_to_be_hugging_faces(matched: int, value: Any) -> None:
    stage = started()
    told = {"tensor_files": 2, "stated_identities": 2, "matched_identities": matched}
    stage.tell(of.inspected(**told, model=None, revision=None), "tiny", artifacts={"inventory": b"[]"})
    assert safety(stage)["local_sha256_matches_hugging_face_lfs"] is value


def test_files_whose_digests_were_taken_over_count_once() -> None:
    stage = started()
    first = stage.tell(
        of.inspected(files=3, tensor_files=2, tensors=9), "tiny", artifacts={"inventory": b"[]"}
    )
    stage.tell(
        lambda told: of.inspected(files=3, tensor_files=2, tensors=9, reused_files=3, earlier=told[first]),
        "tiny",
        artifacts={"inventory": b"[]"},
    )
    assert safety(stage)["safetensors_files_verified"] == 2


# --- gates, launches, conclusions ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind", "outcome", "value", "printed"),
    [
        ("router", "http", "passed", 200, "passed"),
        ("router", "http", "failed", 500, "failed"),
        ("split_restored", "container", "passed", None, True),
        ("split_restored", "container", "failed", None, False),
        ("promotion_changed", "file", "passed", None, False),
        ("promotion_changed", "file", "failed", None, True),
        ("promotion_changed", "file", "incomplete", None, "incomplete"),
        ("shared-memory", "memory", "passed", 4096, 4096),
        ("router", "http", "recorded", 200, "not_compared"),
    ],
)
def test_a_gate_prints_what_its_name_says(
    name: str, kind: str, outcome: str, value: Any, printed: Any
) -> None:
    stage = started()
    stage.tell(of.gate(name, kind, outcome, value=value), artifacts={"state": b"{}"})
    assert document(stage)["restoration"] == {name: printed}


def test_a_gate_that_did_not_pass_is_named_whatever_it_prints() -> None:
    stage = started()
    for name, kind, outcome in (("shared-memory", "memory", "failed"), ("router", "http", "recorded")):
        stage.tell(of.gate(name, kind, outcome, value=4096), artifacts={"state": b"{}"})
    assert "Restoration, shared-memory: failed." in said(stage)
    assert "Restoration, router: recorded before, and not compared after." in said(stage)


def test_a_launch_that_never_began_is_named() -> None:
    stage = started()
    stage.tell(LaunchFailed(launcher="docker", placement=None, failure="occupied", detail=None), "tiny", "a1")
    assert "Launch 2 of attempt a1 was not started (occupied)." in said(stage)


def test_a_decision_that_rests_on_one_attempt_is_about_its_candidate_but_not_when_it_is_an_experiment() -> (
    None
):
    """`anvil decide` takes over what the events that a decision rests on have in common, their attempt too."""
    other = of.attempt("trial", "tiny", settings={"slots": 4})
    stage = started(attempts=(of.attempt("a1", "tiny", settings={"slots": 2}), other))

    def decided(sentence: str) -> Any:
        return lambda told: DecisionRecorded(
            verdicts=("challenger",), sentence=sentence, rests_on=(told[0],), supersedes=None
        )

    stage.tell(decided("Only the experiment."), "tiny", "trial", role="operator")
    assert document(stage)["candidates"]["tiny"]["decision"] == []
    lanes = stage.drawn("qwen38-27b-qualification-summary.v1").rendered.document
    assert lanes["setting_experiments"]["trial"]["decision"] == "Only the experiment."
    assert lanes["decision"] is None
    stage.tell(decided("From what was seen of a1."), "tiny", "a1", role="operator")
    assert document(stage)["candidates"]["tiny"]["decision"] == ["challenger"]
    lanes = stage.drawn("qwen38-27b-qualification-summary.v1").rendered.document
    assert lanes["decision"] == "challenger"


def test_a_caveat_stands_in_the_document_and_in_the_limit() -> None:
    stage = started()
    stage.tell(CaveatNoted(text="The room was hot.", about=()), role="operator")
    assert document(stage)["retained_failures_and_caveats"] == ["The room was hot."]
    assert any("The room was hot." in sentence for sentence in stage.drawn(NAME).limit.sentences())
