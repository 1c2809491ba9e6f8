"""Saturation: every field that is not public holds a canary of its own, and no document shows any of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.campaigns import Scene
from support.correcting import corrected
from support.importing import imported
from support.published import DOCUMENTS as PUBLISHED
from support.published import spelled
from support.story import STORY_BY_TYPE, story

from anvil.ledger.blobs import BlobRef
from anvil.ledger.events import ArtifactRedacted
from anvil.ledger.header import Header, Subject
from anvil.projections.artifacts import Artifacts
from anvil.projections.document import DOCUMENTS, find
from anvil.projections.pages import page
from anvil.projections.provenance import State, provenance, spell
from anvil.projections.record import fold
from anvil.projections.rendering import draft
from anvil.projections.seen import Seen

STATE = State("canary.test.invalid/log", 0, "0" * 64)


def saturated() -> Iterator[tuple[Seen, list[str]]]:
    """Every event of the story, all about one attempt, with a canary in each sealed field."""
    for told in story():
        canaries = {name: f"canary-{told.index}-{name}-zürich" for name in told.event.sealed_fields}
        fields = {n: c for n, c in canaries.items() if getattr(told.event, n) is not None}
        subject = Subject("qwen38-27b", "official_fp8", "a1")
        header = Header(**{**told.header._asdict(), "subject": subject})
        yield (
            Seen(told.index, told.leaf, header, told.event.model_copy(update=fields)),
            list(canaries.values()),
        )


def texts(told: list[Seen]) -> Iterator[str]:
    seen = list(told)
    for make in PUBLISHED.values():  # the summaries are made of imported documents
        seen += imported(spelled(make()), "qwen38-27b", 1000 + len(seen))
    record = fold(seen)
    record = replace(record, corrections=(), disowned={})
    artifacts = Artifacts.of(record, lambda _: None, lambda digest: BlobRef(digest, 0))
    gone = (
        ArtifactRedacted(target=name.event, artifact=name.name, reason="It lies nowhere.")
        for name in artifacts.entries
    )
    state = corrected(record, *gone)  # the story's artifacts lie nowhere
    for name in DOCUMENTS:
        candidate = "official_fp8" if find(name).is_of_one_candidate else None
        made = draft(state, artifacts, find(name), campaign="qwen38-27b", candidate=candidate)
        yield made.rendered.text
        yield spell(provenance(made, STATE, artifacts))
        yield page(made, STATE, state, "md")
        yield page(made, STATE, state, "html")


def test_no_sealed_value_is_in_any_text() -> None:
    pairs = list(saturated())
    canaries = [canary for _, found in pairs for canary in found]
    assert len(canaries) > 15
    shown = list(texts([seen for seen, _ in pairs]))
    assert len(shown) == 4 * len(DOCUMENTS)
    for text in shown:
        assert "canary-" not in text
        assert "zürich" not in text.lower()


def test_texts_are_the_same_whatever_is_sealed() -> None:
    with_canaries = list(texts([seen for seen, _ in saturated()]))
    without = [
        Seen(s.index, s.entry_hash, s.header, s.event.model_copy(update={n: None for n in s.event.sealed_fields if n != "text"}))
        for s, _ in saturated()
    ]  # fmt: skip
    assert list(texts(without)) == with_canaries


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_digest_of_a_private_artifact_is_in_no_text(name: str) -> None:
    scene = Scene([Seen(t.index, t.leaf, t.header, t.event) for t in STORY_BY_TYPE.values()])
    private = [json.loads(o.value)["digest"] for t in STORY_BY_TYPE.values() for n, o in t.openings.items() if n.startswith("artifact:")]  # fmt: skip
    assert private
    for text in texts(scene.seen):
        assert not any(digest in text for digest in private)
