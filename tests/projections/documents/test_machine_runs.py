"""The same document of what a program saw: no person has to say anything, and what was lost later shows."""

from __future__ import annotations

from typing import Any

import pytest
from support.campaigns import ATTEMPT, CAMPAIGN, Scene
from support.fine import events as of

from anvil.ledger.blobs import BlobRef
from anvil.ledger.errors import PublicationRefused
from anvil.ledger.events import (
    CaveatNoted,
    DecisionRecorded,
    EventRetracted,
    HostObserved,
    ObservationNoted,
)
from anvil.ledger.events.surroundings import Gpu
from anvil.projections.artifacts import Artifacts
from anvil.projections.document import find
from anvil.projections.record import fold
from anvil.projections.rendering import Draft, Template, draft


def made(scene: Scene, **options: Any) -> Draft:
    record = fold(scene.seen)
    artifacts = Artifacts.of(record, lambda _: None, lambda digest: BlobRef(digest, 0))
    return draft(record, artifacts, find("candidate-failure.v1"), **options)


@pytest.fixture
def scene() -> Scene:
    played = Scene()
    played.opened()
    played.declared(checks=("coding", "finish"))
    played.launched()
    return played


def attempt(scene: Scene, number: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = made(scene).rendered.document["attempts"][number]
    return found


def test_a_launch_that_says_nothing_more_shows_nothing(scene: Scene) -> None:
    shown = attempt(scene)
    assert (shown["health"], shown["failure"], shown["engine"]) == (None, None, "tiny")
    assert "preflight_default" not in shown
    assert shown["evidence_status"] == "retained-complete"


def test_exit_readiness_and_failed_checks_are_put_together(scene: Scene) -> None:
    scene.health(is_ready=False)
    scene.checked("coding", "failed", "wrong_value")
    scene.checked("finish", "failed", "unexpected_finish_reason")
    scene.exited()
    shown = attempt(scene)
    assert shown["health"] == 200
    assert shown["preflight_no_thinking"] == "0/1"
    assert shown["failure"] == (
        "the engine ended by itself with code 7 after it was ready; "
        "no token was generated within the deadline; coding failed (wrong_value); "
        "finish failed (unexpected_finish_reason)"
    )
    assert shown["evidence_status"] == "operator-observed-incomplete"  # neither body nor answer was kept


def test_a_check_that_could_not_be_carried_out_is_named_and_not_counted(scene: Scene) -> None:
    scene.checked("coding")
    scene.checked("structured-json", "failed", "fenced")
    scene.checked("tools-batch", "incomplete", "tools_not_rendered")
    shown = attempt(scene)
    told = "1/2; structured-json failed (fenced); tools-batch incomplete (tools_not_rendered)"
    assert shown["preflight_no_thinking"] == told
    assert shown["failure"] == "structured-json failed (fenced)"


def test_nothing_carried_out_is_nothing_of_nothing(scene: Scene) -> None:
    scene.checked("coding", "incomplete", "engine_exited")
    shown = attempt(scene)
    assert shown["preflight_no_thinking"] == "0/0; coding incomplete (engine_exited)"
    assert shown["failure"] is None


def test_a_suite_that_failed_is_among_the_failures_and_no_check(scene: Scene) -> None:
    scene.checked("coding")
    scene.add(of.suite("house", {"sum": (1, 3)}))
    scene.add(of.suite("tool", {"bell": (3, 3)}))
    shown = attempt(scene)
    assert shown["preflight_no_thinking"] == "1/1"
    assert shown["failure"] == "suite house 1/3 failed (wrong_value)"


def test_canaries_of_a_load_are_not_counted_as_checks_and_one_that_failed_is_named(scene: Scene) -> None:
    scene.add(of.check("canary", selected_as="capacity.canary-1"))
    shown = attempt(scene)
    assert "preflight_no_thinking" not in shown
    assert shown["failure"] is None
    failed = of.request("canary", "failed", "wrong_value")
    scene.add(of.check("canary", failed, selected_as="capacity.canary-2"))
    assert attempt(scene)["failure"] == "capacity.canary-2 failed (wrong_value)"


def test_the_newest_result_of_a_check_counts(scene: Scene) -> None:
    scene.checked("coding", "failed", "wrong_value")
    scene.checked("coding")
    assert attempt(scene)["preflight_no_thinking"] == "1/1"


def test_a_failed_launch_is_not_covered_by_the_one_that_passed(scene: Scene) -> None:
    scene.checked("coding", "failed", "wrong_value")
    scene.launched()
    scene.checked("coding")
    assert attempt(scene, 0)["failure"] == "coding failed (wrong_value)"
    assert attempt(scene, 1)["failure"] is None


def test_a_retracted_result_supports_nothing_and_the_limit_says_so(scene: Scene) -> None:
    wrong = scene.checked("coding", "failed", "wrong_value")
    scene.add(EventRetracted(target=wrong, reason="another engine"), CAMPAIGN)
    document = made(scene)
    assert document.rendered.document["attempts"][0]["failure"] is None
    assert "Retracted or disowned, and supporting nothing: 1 of 2 events." in document.limit.notes
    assert not any(wrong in leaf.support.events for leaf in document.rendered.leaves)


@pytest.mark.parametrize(("placed", "said"), [((), "3 GPUs: "), ((1, 2), "2 GPUs: "), ((1,), "")])
def test_hardware_comes_from_the_host_when_it_was_observed(
    scene: Scene, placed: tuple[int, ...], said: str
) -> None:
    read = dict.fromkeys(Gpu.model_fields) | {"product": "NVIDIA H200", "memory_bytes": 150_754_820_096}
    gpus = tuple(Gpu(**read | {"position": n, "is_placed": n in placed}) for n in range(3))
    host = dict.fromkeys(HostObserved.model_fields) | {"type": "host.observed/1", "moment": "before"}
    scene.add(HostObserved(**host | {"is_wsl": False, "gpus": gpus, "absent": ()}), CAMPAIGN)
    assert made(scene).rendered.document["hardware"] == f"{said}NVIDIA H200 140 GiB"


def decision(verdict: Any, sentence: str, supersedes: str | None = None) -> DecisionRecorded:
    return DecisionRecorded(
        verdicts=(verdict,), sentence=sentence, rests_on=("ab" * 32,), supersedes=supersedes
    )


def test_the_newest_decision_stands_and_one_that_was_replaced_does_not(scene: Scene) -> None:
    assert made(scene).rendered.document["decision"] is None
    first = scene.add(decision("challenger", "first"), CAMPAIGN)
    second = scene.add(decision("rejected", "second", first), ATTEMPT)
    assert made(scene).rendered.document["decision"] == "second"
    scene.add(EventRetracted(target=second, reason="too early"), CAMPAIGN)
    document = made(scene).rendered.document
    assert (document["decision"], document["status"]) == ("first", "challenger")


def test_a_caveat_is_quoted_in_the_limit(scene: Scene) -> None:
    scene.add(CaveatNoted(text="The host was warm.", about=()), CAMPAIGN)
    assert (
        "The operator notes a caveat: “The host was warm.”" in made(scene).rendered.document["evidence_limit"]
    )


def test_sealed_words_are_left_out_and_the_limit_says_so(scene: Scene) -> None:
    scene.add(ObservationNoted(status="external-prior", public_text=None, claims=None, text="host zürich-7"))
    document = made(scene)
    assert "zürich" not in document.rendered.text
    assert "Words that are not for publication were left out: attempt 1." in document.limit.notes


@pytest.mark.parametrize("word", ["retained-complete", "imported-artifact"])
def test_words_that_claim_more_than_the_evidence_are_refused(scene: Scene, word: str) -> None:
    said = f"The evidence is {word}."
    scene.add(
        ObservationNoted(status="operator-observed-incomplete", public_text=said, claims=None, text=None)
    )
    with pytest.raises(PublicationRefused, match="claim"):
        made(scene)


# --- refused ---------------------------------------------------------------------------------------------


def test_a_candidate_that_no_recipe_declares_is_refused(scene: Scene) -> None:
    with pytest.raises(PublicationRefused, match="no candidate 'other'") as refusal:
        made(scene, candidate="other")
    assert "tiny" in refusal.value.advice


def test_a_campaign_without_a_launch_is_refused() -> None:
    scene = Scene()
    scene.declared()
    with pytest.raises(PublicationRefused, match="nothing was recorded of any attempt"):
        made(scene)


def test_a_layout_of_our_schema_has_our_shape(scene: Scene) -> None:
    source = '{"schema": "anvil-serving.candidate-failure.v1", "date": {{ date }}}'
    with pytest.raises(PublicationRefused, match="candidate: Field required"):
        made(scene, template=Template("mine.json.j2", source))
    other = made(scene, template=Template("mine.json.j2", source.replace("anvil-serving", "mine")))
    assert list(other.rendered.document) == ["schema", "date"]


def test_a_layout_without_a_schema_is_refused(scene: Scene) -> None:
    with pytest.raises(PublicationRefused, match="no schema"):
        made(scene, template=Template("mine.json.j2", '{"date": {{ date }}}'))


# --- support ---------------------------------------------------------------------------------------------


def test_a_figure_rests_on_the_events_that_it_is_read_from_and_on_no_others(scene: Scene) -> None:
    scene.health(is_ready=True)
    health = scene.seen[-1].entry_hash
    check = scene.checked("coding", "failed", "wrong_value")
    scene.exited()
    launched = scene.seen[2].entry_hash
    document = made(scene).rendered
    supports = {leaf.pointer: leaf.support.events for leaf in document.leaves if leaf.kind == "leaf"}
    assert supports["/attempts/0/health"] == {launched, health}
    assert supports["/attempts/0/preflight_no_thinking"] == {launched, check}
    assert supports["/candidate"] == {scene.seen[1].entry_hash}
