"""What a page shows: the document's leaves, each with its status and the number of its note.

The shape is that of the document: objects by key, lists in order. A layout goes through it with `for`
and `if`, and prints `text`, `status`, `note` and `title` of a leaf.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anvil.ledger.public import EvidenceStatus
from anvil.projections.environment import Leaf
from anvil.projections.figures import STATUSES, Support
from anvil.projections.provenance import State
from anvil.projections.record import Kept, Record
from anvil.projections.rendering import Draft

WORDS: dict[EvidenceStatus, tuple[str, str]] = {
    "retained-complete": ("complete", "every raw byte behind it is kept and was there"),
    "retained-bounded-log": ("part kept", "a bounded part of the raw bytes is kept, such as a log"),
    "imported-artifact": ("imported", "a file that another tool made is kept whole"),
    "operator-observed-incomplete": ("reported", "a person says so; nothing, or not everything, was kept"),
    "external-prior": ("elsewhere", "somebody else's claim about another run"),
    "artifact-missing": ("missing", "the bytes behind it are gone"),
    "declared": ("declared", "no observation: a choice, a label, a decision"),
}
"""The short word for a status on a page, and what it means."""


@dataclass(frozen=True)
class Shown:
    """One leaf as a page shows it."""

    text: str
    is_null: bool
    status: EvidenceStatus
    word: str
    title: str
    note: int


def view(draft: Draft, state: State, record: Record) -> dict[str, Any]:
    """Return what a layout can print, by name."""
    notes: dict[Support, int] = {}
    leaves = {leaf.pointer: leaf for leaf in draft.rendered.leaves if leaf.kind in ("leaf", "empty")}
    shown = {pointer: _shown(leaf, notes) for pointer, leaf in leaves.items()}
    used = {leaf.status for leaf in leaves.values()}
    return {
        "title": draft.document.title,
        "schema": draft.rendered.document["schema"],
        "document": _mirrored(draft.rendered.document, "", shown),
        "limits": draft.limit.sentences(),
        "is_synthetic": draft.is_synthetic,
        "legend": [
            {"status": status, "word": WORDS[status][0], "meaning": WORDS[status][1]}
            for status in STATUSES
            if status in used
        ],
        "notes": [_note(support, number, record, draft) for support, number in notes.items()],
        "ledger": {"origin": state.origin, "size": state.size, "last": state.size - 1, "root": state.root},
        "digest": draft.digest,
        "template": draft.template.digest,
    }


def _shown(leaf: Leaf, notes: dict[Support, int]) -> Shown:
    number = notes.setdefault(leaf.support, len(notes) + 1)
    word, meaning = WORDS[leaf.status]
    title = f"{leaf.status}: {meaning}. Rule: {leaf.rule}"
    return Shown(_text(leaf), leaf.value is None, leaf.status, word, title, number)


def _text(leaf: Leaf) -> str:
    """Return what stands for a value. Where there is none its rule says why, unless it is just a field's name."""
    if leaf.value is None:
        return "none" if "/" in leaf.rule else leaf.rule
    return str(leaf.value).lower() if isinstance(leaf.value, bool) else str(leaf.value)


def _mirrored(value: Any, pointer: str, shown: dict[str, Shown]) -> Any:
    if isinstance(value, dict) and value:
        keys = {key: f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}" for key in value}
        return {key: _mirrored(value[key], below, shown) for key, below in keys.items() if below != "/schema"}
    if isinstance(value, list) and value:
        return [_mirrored(item, f"{pointer}/{number}", shown) for number, item in enumerate(value)]
    return shown[pointer] if not isinstance(value, list | dict) else value


def _note(support: Support, number: int, record: Record, draft: Draft) -> dict[str, Any]:
    campaign = record.campaigns[draft.campaign]
    cited = (kept for kept in campaign.every() if kept.entry_hash in support.events)
    events = sorted(cited, key=lambda kept: kept.index)
    return {"number": number, "events": [_event(event, support) for event in events]}


def _event(kept: Kept, support: Support) -> dict[str, Any]:
    cited = {artifact.name for artifact in support.artifacts if artifact.event == kept.entry_hash}
    return {
        "index": kept.index,
        "type": kept.event.type,
        "at": f"{kept.at[:10]} {kept.at[11:16]} UTC",
        "hash": kept.entry_hash,
        "short": kept.entry_hash[:12],
        "artifacts": [
            {"name": a.name, "media_type": a.media_type, "shown_as": a.digest or f"commitment {a.commitment}"}
            for a in kept.artifacts
            if a.name in cited
        ],
    }
