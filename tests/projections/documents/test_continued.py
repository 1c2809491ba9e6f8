"""An imported record goes on: what is recorded later stands after it, and each part keeps its own evidence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.campaigns import CAMPAIGN, Scene
from support.fine import events as of
from support.fine.loads import load, row
from support.fine.stage import Public, Stage
from support.importing import imported, rendered
from support.published import failure, lanes, spelled, summary

from anvil.ledger.errors import PublicationRefused
from anvil.ledger.events import ArtifactRedacted, CaveatNoted, DecisionRecorded, EventRetracted, GapNoted
from anvil.ledger.header import NO_SUBJECT, Subject
from anvil.ledger.public import SettingValue
from anvil.projections.rendering import Draft

NAME = "candidate-failure.v1"


@pytest.fixture
def scene() -> Scene:
    """A campaign into which a document about its candidate `tiny` was imported."""
    return Scene(imported(spelled({**failure(), "candidate": "org/tiny"}), "mine"))


def made(scene: Scene) -> Draft:
    return rendered(NAME, scene.seen)


def document(scene: Scene) -> dict[str, Any]:
    return made(scene).rendered.document


def test_recorded_attempts_stand_after_imported_ones_with_their_own_evidence(scene: Scene) -> None:
    before = document(scene)
    scene.declared()
    scene.launched()
    scene.checked("coding", "failed", "wrong_value")
    draft = made(scene)
    after = draft.rendered.document
    assert after["attempts"][:2] == before["attempts"]
    assert len(after["attempts"]) == 3
    assert after["date"] == "2026-11-30"
    assert after["decision"] == before["decision"]
    assert after["evidence_limit"].startswith(f"{before['evidence_limit']} ")
    statuses = {leaf.pointer: leaf.status for leaf in draft.rendered.leaves}
    assert statuses["/attempts/1/failure"] == "external-prior"
    assert statuses["/attempts/2/failure"] != "external-prior"
    assert {claim.attempt for claim in draft.limit.claims if claim.status == "external-prior"} == {1, 2}


def test_a_decision_of_ones_own_takes_the_place_of_the_imported_one(scene: Scene) -> None:
    event = DecisionRecorded(
        verdicts=("current",), sentence="It works now.", rests_on=(scene.seen[0].entry_hash,), supersedes=None
    )
    scene.add(event, CAMPAIGN)
    after = document(scene)
    assert (after["status"], after["decision"]) == ("current", "It works now.")


def test_a_caveat_of_ones_own_is_added_to_the_imported_limit(scene: Scene) -> None:
    before = document(scene)["evidence_limit"]
    scene.add(CaveatNoted(text="Nobody could find the log.", about=()), CAMPAIGN)
    after = document(scene)["evidence_limit"]
    assert after.startswith(f"{before} ")
    assert "Nobody could find the log." in after


def test_a_retracted_statement_is_left_out_and_the_limit_says_so(scene: Scene) -> None:
    scene.add(EventRetracted(target=scene.seen[-1].entry_hash, reason="Misread."), NO_SUBJECT)
    draft = made(scene)
    assert len(draft.rendered.document["attempts"]) == 1
    assert "Retracted or disowned, and left out: 1 of its 7 statements." in draft.limit.sentences()


def test_a_retracted_import_makes_room_for_another(scene: Scene) -> None:
    first = len(scene.seen)
    scene.add(EventRetracted(target=scene.seen[0].entry_hash, reason="The wrong file."), NO_SUBJECT)
    other = imported(spelled({**failure(), "candidate": "org/tiny", "date": "2026-03-09"}), "mine")
    for seen in other:
        scene.add(seen.event, seen.header.subject)
        last = scene.seen[-1]
        header = last.header._replace(artifacts=seen.header.artifacts)
        scene.seen[-1] = type(last)(last.index, last.entry_hash, header, last.event)
    assert len(scene.seen) == first + 1 + len(other)
    after = document(scene)
    assert after["date"] == "2026-03-09"
    assert len(after["attempts"]) == 2


def test_when_the_file_itself_is_redacted_everything_of_it_is_missing(scene: Scene) -> None:
    event = ArtifactRedacted(target=scene.seen[0].entry_hash, artifact="source", reason="Not ours.")
    scene.add(event, NO_SUBJECT)
    draft = made(scene)
    statuses = {leaf.status for leaf in draft.rendered.leaves if leaf.kind == "leaf"}
    assert statuses == {"artifact-missing"}


def test_caveats_gaps_and_decisions_of_ones_own_stand_in_the_summaries_as_what_they_are() -> None:
    scene = Scene(imported(spelled(summary()), "mine"))
    scene.add(CaveatNoted(text="The room was hot.", about=()), CAMPAIGN)
    about = Subject("mine", "tiny_b")
    rests_on = (scene.seen[0].entry_hash,)
    scene.add(
        DecisionRecorded(verdicts=("rejected",), sentence="No.", rests_on=rests_on, supersedes=None), about
    )
    draft = rendered("sanitized-qualification-summary.v1", scene.seen)
    made, statuses = draft.rendered.document, {leaf.pointer: leaf.status for leaf in draft.rendered.leaves}
    assert made["retained_failures_and_caveats"] == [
        *summary()["retained_failures_and_caveats"],
        "The room was hot.",
    ]
    assert statuses["/retained_failures_and_caveats/2"] == "declared"
    assert statuses["/retained_failures_and_caveats/1"] == "external-prior"
    assert made["candidates"]["tiny_b"]["decision"] == ["rejected"]
    assert made["candidates"]["tiny_a"]["decision"] == ["challenger"]
    assert statuses["/candidates/tiny_b/decision/0"] == "declared"

    scene = Scene(imported(spelled(lanes()), "mine"))
    scene.add(GapNoted(text="Nobody tried it at night."), CAMPAIGN)
    scene.add(DecisionRecorded(verdicts=("rollback", "no-promotion"), sentence="No.", rests_on=rests_on, supersedes=None), CAMPAIGN)  # fmt: skip
    draft = rendered("qwen38-27b-qualification-summary.v1", scene.seen)
    assert draft.rendered.document["gaps"][-1] == "Nobody tried it at night."
    assert draft.rendered.document["decision"] == "rollback; no-promotion"
    assert "Nobody tried it at night." in " ".join(draft.limit.sentences())


def test_a_document_of_which_there_is_nothing_is_refused_and_says_how() -> None:
    with pytest.raises(PublicationRefused, match="nothing was run in campaign") as refusal:
        rendered("sanitized-qualification-summary.v1", imported(spelled(lanes())))
    assert "anvil import" in refusal.value.advice


# --- what was recorded since, in a summary ------------------------------------------------------------------


def continued() -> Stage:
    """A summary that was imported, and then one of its candidates and a new one, recorded."""
    stage, content = Stage("mine", day="2026-11-30"), spelled(summary())
    for seen in imported(content, "mine"):
        about = seen.header.subject
        artifacts = {"source": Public(content)} if seen.header.artifacts else {}
        stage.tell(seen.event, about.candidate, about.attempt, artifacts=artifacts)
    settings: dict[str, SettingValue] = {"context_tokens": 16_384, "prefix_cache": True}
    attempts = [of.attempt(key, f"tiny_{key}", settings=settings, checks=("coding",)) for key in ("b", "c")]
    candidates = [of.candidate(f"tiny_{key}", f"example/Tiny-{key}", None, None) for key in ("b", "c")]
    stage.tell(of.recipe("mine", candidates, attempts))
    for key in ("b", "c"):
        stage.tell(of.launched(None), f"tiny_{key}", key)
        stage.tell(of.check("coding"), f"tiny_{key}", key, artifacts={"r1.response": b"{}"})
        runs = [row(at, 10**8, 10**9, 20, started_ns=at * 10**9) for at in range(5)]
        load(stage, f"tiny_{key}", key, runs, protocol="1k", cell="c1")
    return stage


def test_what_was_recorded_goes_on_from_what_was_imported() -> None:
    draft = continued().drawn("sanitized-qualification-summary.v1")
    made, before = json.loads(draft.rendered.text), summary()
    statuses = {leaf.pointer: leaf.status for leaf in draft.rendered.leaves}
    assert made["observed_date"] == "2026-11-30"
    assert list(made["candidates"]) == ["tiny_a", "tiny_b", "tiny_c"]
    assert made["candidates"]["tiny_a"] == before["candidates"]["tiny_a"]
    assert made["common_recipe"]["context_tokens"] == 16_384
    assert made["common_recipe"]["kv_cache_dtype"] == "fp8"
    assert statuses["/common_recipe/context_tokens"] == "declared"
    assert statuses["/common_recipe/kv_cache_dtype"] == "external-prior"
    assert made["functional"]["tiny_b"]["checks"] == ["coding"]
    assert made["functional"]["tiny_a"] == before["functional"]["tiny_a"]
    cell = made["capacity_1k_c1"]
    assert list(cell) == ["protocol", "tiny_a", "tiny_b", "tiny_c", "tiny_c_delta_percent"]
    assert cell["tiny_a"] == before["capacity_1k_c1"]["tiny_a"]
    assert cell["tiny_b"]["ttft_p50_ms"] == 100.0
    assert statuses["/capacity_1k_c1/tiny_a/runs"] == "external-prior"
    assert statuses["/capacity_1k_c1/tiny_b/ttft_p50_ms"] == "retained-complete"
    assert made["capacity_1k_c4"] == before["capacity_1k_c4"]
    assert made["artifact_safety"] == before["artifact_safety"]
    assert made["retained_failures_and_caveats"] == before["retained_failures_and_caveats"]
    assert draft.limit.notes[0].startswith("What was not recorded here is taken from a document")


def test_a_difference_of_imported_figures_does_not_stand_beside_recorded_ones() -> None:
    """The file's difference was between figures of which one was measured again here."""
    draft = continued().drawn("sanitized-qualification-summary.v1")
    statuses = {leaf.pointer: leaf.status for leaf in draft.rendered.leaves}
    assert statuses["/capacity_1k_c1/tiny_c_delta_percent/ttft"] == "retained-complete"
    assert "tiny_b_delta_percent" not in draft.rendered.document["capacity_1k_c1"]
