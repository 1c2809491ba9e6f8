"""The redaction report: what was withheld behind a document, by kind, rule and count, never by value.

1. An entry says for which leaves, which class of thing, by which rule, how many. It has no value, no part
   of one, no length and no plain digest; a commitment, which is salted, stands in the events.
2. Leaves that rest on the same events share an entry.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from anvil.ledger.events import AnyEvent, HostObserved, LaunchStarted
from anvil.ledger.header import Header
from anvil.projections.artifacts import Artifacts
from anvil.projections.environment import Leaf
from anvil.projections.figures import ArtifactName
from anvil.projections.record import Record

SCHEMA = "anvil.redactions/1"

Known = Mapping[str, tuple[Header, AnyEvent]]
"""Events by entry hash."""


@dataclass(frozen=True, order=True)
class Withheld:
    """A kind of thing that was not published, and the rule that withholds it."""

    what: str
    rule: str


def redactions(leaves: tuple[Leaf, ...], known: Known, record: Record, artifacts: Artifacts) -> str:
    """Return the report on a document's leaves and on all events that go along with it."""
    behind: dict[frozenset[str], list[str]] = {}
    for leaf in leaves:
        if leaf.kind != "literal":
            pointers = behind.setdefault(leaf.support.events, [])
            if leaf.pointer not in pointers:
                pointers.append(leaf.pointer)
    entries = [
        {"pointers": pointers, "class": kind.what, "rule": kind.rule, "count": count}
        for events, pointers in behind.items()
        for kind, count in sorted(_count(events, known, record, artifacts).items())
    ]
    everything = _count(frozenset(known), known, record, artifacts)
    totals = [{"class": k.what, "rule": k.rule, "count": count} for k, count in sorted(everything.items())]
    members: dict[str, Any] = {"schema": SCHEMA, "withheld": entries, "in_all_events": totals}
    return f"{json.dumps(members, indent=1, ensure_ascii=False)}\n"


def _count(events: frozenset[str], known: Known, record: Record, artifacts: Artifacts) -> Counter[Withheld]:
    counts: Counter[Withheld] = Counter()
    for name in events:
        header, event = known[name]
        for kind, count in _withheld(name, header, event, record, artifacts):
            counts[kind] += count
    return +counts


def _withheld(
    name: str, header: Header, event: AnyEvent, record: Record, artifacts: Artifacts
) -> Iterator[tuple[Withheld, int]]:
    family = header.event.partition("/")[0]
    for field in header.sealed:
        yield Withheld(f"sealed field {field} of {family}", "sealed by its type"), 1
    for artifact in header.artifacts:
        place = ArtifactName(name, artifact.name)
        said = artifacts.disclosed(place)
        if place in record.gone:
            yield Withheld(f"artifact of {family}", "redacted"), 1
        elif said is not None and said.extent == "digest":
            yield Withheld(f"artifact of {family}", "private: its digest was disclosed, and its bytes not"), 1
        elif not artifact.is_public and said is None:
            yield Withheld(f"artifact of {family}", "private: shown as a salted commitment"), 1
    if isinstance(event, LaunchStarted):
        yield (
            Withheld("variables of the engine", "not on the list of names: never recorded"),
            event.withheld_env,
        )
        yield (
            Withheld("arguments of the engine", "not on the list of names: never recorded"),
            event.withheld_argv,
        )
    if isinstance(event, HostObserved):
        unnamed = sum(1 for gpu in event.gpus if gpu.product is None)
        yield Withheld("product names of GPUs", "not on the reviewed list"), unnamed
