"""`anvil approve`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from anvil.ledger import canonical
from anvil.ledger.commands.output import answer, answer_json, json_option, place
from anvil.ledger.commands.surroundings import require_publishable
from anvil.ledger.drafts import Draft
from anvil.ledger.envelope import Envelope
from anvil.ledger.errors import LedgerError
from anvil.ledger.events import ExcerptApproved, build
from anvil.ledger.header import ArtifactEntry, Header
from anvil.ledger.merkle import leaf_hash
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import record


@click.command()
@click.argument("index", type=click.IntRange(0))
@click.argument("source")
@click.argument("excerpt")
@click.option("--reason", required=True, help="Why it may be published. Public, and in the log for ever.")
@json_option
def approve(index: int, source: str, excerpt: str, reason: str, as_json: bool) -> None:
    """Publish a sentence of something private, word for word.

    INDEX is the event, SOURCE the name of its sealed field or artifact, EXCERPT the words; they must stand in
    it. They are looked at like all public words, and stand in the log for ever.

    \b
    Example:
      anvil approve 17 text "It answered in another language." \\
        --reason "It shows the defect and names nobody."
    """
    with Ledger.open(place().directory) as ledger:
        header, target = _event(ledger, index)
        _require_said(ledger, header, source, excerpt)
        words = {"EXCERPT": excerpt, "--reason": reason}
        require_publishable(place(), words, approving={(target, source): excerpt})
        fields = {"target": target, "source": source, "excerpt": excerpt, "reason": reason}
        drafts = [Draft(build(ExcerptApproved, fields), header.subject)]
        done = record(ledger, ledger.signer("operator"), drafts, purpose="publication")[0]
    if as_json:
        answer_json("anvil.approve/1", {"index": done.index, "entry_hash": done.entry_hash})
    else:
        answer(f"Recorded at index {done.index} as {done.entry_hash}")


def _event(ledger: Ledger, index: int) -> tuple[Header, str]:
    entry = ledger.store.entry(index)
    if entry is None:
        raise LedgerError(f"there is no entry {index}", advice="See `anvil log`.")
    return Header.parse(Envelope.parse(entry).header), leaf_hash(entry).hex()


def _require_said(ledger: Ledger, header: Header, source: str, excerpt: str) -> None:
    artifact = next((a for a in header.artifacts if a.name == source), None)
    if source not in header.sealed and artifact is None:
        names = ", ".join([*header.sealed, *(a.name for a in header.artifacts)]) or "nothing"
        raise LedgerError(f"the event has no {source!r}", advice=f"What it has that is private: {names}.")
    texts = _of_artifact(ledger, artifact) if artifact else _of_field(ledger, header.sealed[source])
    if not any(excerpt in text for text in texts):
        raise LedgerError(
            f"these words do not stand in {source!r}",
            advice="An excerpt is word for word; `anvil show` prints what the event has.",
        )


def _of_field(ledger: Ledger, commitment: str) -> Iterator[str]:
    opening = ledger.store.opening(commitment)
    if opening is None:
        raise LedgerError("the value is gone: it was redacted, or is not here")
    yield from _texts(canonical.decode(opening.value))


def _of_artifact(ledger: Ledger, artifact: ArtifactEntry) -> Iterator[str]:
    digest = artifact.digest
    if artifact.commitment is not None:
        opening = ledger.store.opening(artifact.commitment)
        if opening is None:
            raise LedgerError("the artifact is gone: it was redacted, or is not here")
        digest = canonical.decode(opening.value)["digest"]
    yield ledger.blobs.get(str(digest)).decode("utf-8", "replace")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
