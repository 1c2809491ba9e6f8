"""What a page shows: the document's leaves, each with its status and the number of its note.

1. The shape is that of the document: objects by key, lists in order. A list or object that is empty is one leaf,
   which says that none is recorded. Where a value is null, the reason stands in its place.
2. How many leaves with a value have which status is counted, and those that are null are listed by their reason, so
   that a reader sees at once how strong the whole is and what is not there. They have a sign of their own.
3. What a person notes (a caveat, a gap) is no observation and no choice either: the page calls it what it is, as long
   as nothing was kept of it.
4. How sure a measured figure is stands beside it (`anvil.projections.pages.certainty`).
5. A note names the events that figures rest on, by index; each event is told once, however many name it.
6. Beside the words of a decision that is stale stands that it is, and why in short; the limit says all of it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from anvil.ledger.public import EvidenceStatus
from anvil.projections.environment import Leaf
from anvil.projections.figures import STATUSES, Printed, Support, Value
from anvil.projections.limits import Stale
from anvil.projections.pages.certainty import Certainty, certainty
from anvil.projections.provenance import State
from anvil.projections.record import Kept, Record
from anvil.projections.rendering import Draft

WORDS: dict[EvidenceStatus, tuple[str, str, str]] = {
    "retained-complete": (
        "●",
        "complete",
        "every raw byte behind it is kept and was there; this says nothing of how precise it is",
    ),
    "retained-bounded-log": ("◕", "part kept", "a bounded part of the raw bytes is kept, such as a log"),
    "imported-artifact": ("◑", "imported", "a file that another tool made is kept whole"),
    "operator-observed-incomplete": (
        "◔",
        "reported",
        "a person says so; nothing, or not everything, was kept",
    ),
    "external-prior": ("○", "elsewhere", "somebody else's claim about another run"),
    "artifact-missing": ("⊘", "missing", "the bytes behind it are gone"),
    "declared": ("◇", "declared", "no observation: a choice, a label, a decision"),
}
"""The sign and the short word for a status on a page, and what it means. The fuller, the stronger."""

NOTED = ("¶", "noted", "what a person noted, no evidence kept")
"""The same for what a person notes (rule 3)."""

ABSENT = ("∅", "no value")
"""The sign and the word for what has no value, whatever its status."""

_OF_ATTEMPT = re.compile(r"^/attempts/([0-9]+)/([a-z_]+)$")
_NOTE = re.compile(r"^(?:(?:caveat|gap)\.noted/[0-9]+ text|each caveat)$")

_STATED = re.compile(r"^([a-z_]+\.[a-z_]+/[0-9]+) [a-z0-9_.]+$")
"""The rule of what is read from a field of an event."""
_NULL = "; null: "
"""What stands before the reason in the rule of a figure that could not be computed."""
_DIFFERENCE = "delta_percent of "


@dataclass(frozen=True)
class Shown:
    """One leaf as a page shows it."""

    text: str
    is_null: bool
    status: EvidenceStatus
    sign: str
    word: str
    title: str
    note: int
    pointer: str
    number: Fraction | None
    """What it is as a number, exactly as printed; None where it is none."""
    sure: Certainty | None = None
    """How sure it is; None where its rule does not say (rule 4)."""
    rule: str = ""
    """How it was made."""
    about: tuple[str, ...] = ()
    """The candidates that the events behind it are about."""
    stale: Stale | None = None
    """That it is the words of a decision that is stale (rule 6)."""


def view(draft: Draft, state: State, record: Record) -> dict[str, Any]:
    """Return what a layout can print, by name."""
    notes: dict[Support, int] = {}
    leaves = {leaf.pointer: leaf for leaf in draft.rendered.leaves if leaf.kind in ("leaf", "empty")}
    about = {kept.entry_hash: kept.subject.candidate for kept in record.campaigns[draft.campaign].every()}
    aged = {one.event: one for one in draft.limit.stale}
    shown = {pointer: _shown(leaf, notes, about, aged) for pointer, leaf in leaves.items()}
    limits = draft.limit.sentences(printed={leaf.value for leaf in leaves.values()})
    return {
        "title": draft.document.title,
        "schema": draft.rendered.document["schema"],
        "leaves": tuple(shown.values()),
        "document": _mirrored(draft.rendered.document, "", shown),
        "anchors": {one.note: f"stale-{one.index}" for one in draft.limit.stale},
        "limits": [text for text in limits if text not in draft.limit.failed],
        "failed": draft.limit.failed,
        "is_synthetic": draft.is_synthetic,
        "campaign": draft.campaign,
        "legend": _legend(shown.values()),
        "noted": NOTED if any(one.word == NOTED[1] for one in shown.values()) else None,
        "nulls": _nulls(shown.values()),
        **_notes(notes, draft, record),
        "ledger": {"origin": state.origin, "size": state.size, "last": state.size - 1, "root": state.root},
        "digest": draft.digest,
        "template": draft.template.digest,
    }


def members(value: Any) -> dict[str, Any]:
    """Return the members of an object; an empty one has none (rule 1)."""
    return {} if isinstance(value, Shown) else dict(value)


def items(value: Any) -> list[Any]:
    """Return the members of a list; an empty one has none (rule 1)."""
    return [] if isinstance(value, Shown) else list(value)


def _shown(
    leaf: Leaf, notes: dict[Support, int], about: Mapping[str, str | None], aged: Mapping[str, Stale]
) -> Shown:
    number = notes.setdefault(leaf.support, len(notes) + 1)
    sign, word, meaning = NOTED if _is_noted(leaf) else WORDS[leaf.status]
    title = f"{leaf.status}: {meaning}. Rule: {leaf.rule}"
    is_null, value = leaf.value is None, _number(leaf.value)
    sure = None if is_null else certainty(leaf.rule)
    sign, word = ABSENT if is_null else (sign, word)
    named = sorted({name for event in leaf.support.events if (name := about.get(event)) is not None})
    own = (_text(leaf), is_null, leaf.status, sign, word, title, number, leaf.pointer, value)
    return Shown(*own, sure, leaf.rule, tuple(named), _stale(leaf, aged))


def _stale(leaf: Leaf, aged: Mapping[str, Stale]) -> Stale | None:
    """Return the stale decision whose words a leaf is: it rests on nothing else, but for what chose it."""
    own = leaf.figures[0].support.events if leaf.figures else frozenset()
    return aged.get(next(iter(own))) if len(own) == 1 else None


def _is_noted(leaf: Leaf) -> bool:
    """Say whether it is a person's note, of which nothing is kept (rule 3)."""
    return leaf.status == "declared" and not leaf.support.artifacts and bool(_NOTE.match(leaf.rule))


def _number(value: Value) -> Fraction | None:
    if isinstance(value, Printed) or (isinstance(value, int) and not isinstance(value, bool)):
        return Fraction(value)
    return None


def _legend(shown: Iterable[Shown]) -> list[dict[str, Any]]:
    """Return each status that occurs, strongest first and notes last, and how many leaves have it (rule 2)."""
    counts = Counter((one.status, one.word) for one in shown if not one.is_null)
    kinds = [(status, *WORDS[status]) for status in STATUSES] + [("declared", *NOTED)]
    return [
        {"status": status, "sign": sign, "word": word, "meaning": meaning, "count": counts[status, word]}
        for status, sign, word, meaning in kinds
        if counts[status, word]
    ]


def _nulls(shown: Iterable[Shown]) -> list[dict[str, Any]]:
    """Return the reasons for which leaves are null, and where they are (rule 2)."""
    reasons: dict[str, list[str]] = {}
    for leaf in shown:
        if leaf.is_null:
            reasons.setdefault(leaf.text, []).append(leaf.pointer)
    return [{"reason": reason, "pointers": _places(pointers)} for reason, pointers in reasons.items()]


def _places(pointers: Iterable[str]) -> list[str]:
    """Return where leaves are: of attempts by their numbers, as they stand on the page, else by their pointers."""
    places: dict[str, list[str]] = {}
    for pointer in pointers:
        found = _OF_ATTEMPT.match(pointer)
        name = pointer if found is None else found[2].replace("_", " ")
        places.setdefault(name, []).extend([str(int(found[1]) + 1)] if found else [])
    numbered = {
        name: f"{'attempt' if len(of) == 1 else 'attempts'} {', '.join(of)}" for name, of in places.items()
    }
    return [f"{name} of {numbered[name]}" if of else name for name, of in places.items()]


def _text(leaf: Leaf) -> str:
    """Return what stands for a value; where there is none, why (rule 1)."""
    if leaf.value is None:
        return _reason(leaf.rule)
    return str(leaf.value).lower() if isinstance(leaf.value, bool) else str(leaf.value)


def _reason(rule: str) -> str:
    """Return why a figure with this rule has no value."""
    if found := _STATED.match(rule):
        return f"not stated by {found[1]}"
    if rule.startswith(_DIFFERENCE) and _NULL not in rule:
        return "one of the two figures has no value"
    return rule.rpartition(_NULL)[2]


def _mirrored(value: Any, pointer: str, shown: dict[str, Shown]) -> Any:
    if isinstance(value, dict) and value:
        keys = {key: f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}" for key in value}
        return {key: _mirrored(value[key], below, shown) for key, below in keys.items() if below != "/schema"}
    if isinstance(value, list) and value:
        return [_mirrored(item, f"{pointer}/{number}", shown) for number, item in enumerate(value)]
    return shown[pointer]


def _notes(notes: dict[Support, int], draft: Draft, record: Record) -> dict[str, Any]:
    """Return the notes, and every event that one of them names, once, in the order of the ledger (rule 5)."""
    every = sorted(record.campaigns[draft.campaign].every(), key=lambda kept: kept.index)
    index_of = {kept.entry_hash: kept.index for kept in every}
    cited = frozenset().union(*(support.events for support in notes))
    named = defaultdict(set)
    for artifact in frozenset().union(*(support.artifacts for support in notes)):
        named[artifact.event].add(artifact.name)
    return {
        "notes": [
            {
                "number": number,
                "runs": _runs(sorted(index_of[name] for name in support.events if name in index_of)),
                "artifacts": len(support.artifacts),
            }
            for support, number in notes.items()
        ],
        "events": [_event(kept, named[kept.entry_hash]) for kept in every if kept.entry_hash in cited],
    }


def _runs(indices: list[int]) -> list[tuple[int, int]]:
    """Return indices as runs, each from its first to its last."""
    runs: list[tuple[int, int]] = []
    for index in indices:
        if runs and runs[-1][1] == index - 1:
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return runs


def _event(kept: Kept, cited: set[str]) -> dict[str, Any]:
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
