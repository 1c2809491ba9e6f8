"""Citing: which earlier event a person means, and whether anything may rest on it.

A person names an event by its index in this ledger, or by its entry hash; events name it by the hash.
Before something is recorded about it:

1. The event is in this log, and this build can read it.
2. It says something about the world, not about the log itself: keys, streams and corrections are neither
   evidence nor taken back.
3. The key that signed it counts: what a revoked key signed after its last good state supports nothing.
4. It was not retracted. A decision that was superseded is not cited either: the one in its place is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from anvil.ledger.checks.keys import CONTROL_FAMILIES, CONTROL_TYPES, read_control
from anvil.ledger.entry import read_entry
from anvil.ledger.errors import LedgerError, MalformedEvent, UnknownEventType
from anvil.ledger.events import AnyEvent, DecisionRecorded, Event, EventRetracted
from anvil.ledger.header import NO_SUBJECT, Header, Subject, family
from anvil.ledger.keyring import Keyring
from anvil.ledger.merkle import leaf_hash
from anvil.ledger.recording import Ledger
from anvil.ledger.store import Row

ABOUT_THE_LOG = CONTROL_FAMILIES | {"stream.opened", "stream.closed"}
"""Families of events that are about the log itself (rule 2)."""

_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Cited:
    """An earlier event that something is to be said about."""

    index: int
    entry_hash: str
    header: Header
    event: AnyEvent


class Citations:
    """The events of an open ledger that can be cited now."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._keyrings = self._read_keyrings()
        self._retracted: dict[str, tuple[int, str]] = {}
        self._superseded: dict[str, tuple[str, int]] = {}
        for row in ledger.store.of_types((EventRetracted.event_type, DecisionRecorded.event_type)):
            self._take(_cited(row))

    def find(self, name: str) -> Cited:
        """Return the event of an index or entry hash, by rules 1 and 3.

        Raises:
            LedgerError: there is no such event here, or its key is disowned.
        """
        row = self._row(name)
        cited = _cited(row)
        if self._is_disowned(cited):
            raise LedgerError(
                f"event {cited.index} was signed by key {cited.header.key[:16]}, "
                "which was revoked from before it on: it supports nothing",
                advice="Record what still holds again, by a key that counts.",
            )
        return cited

    def standing(self, name: str) -> Cited:
        """Return the event of an index or entry hash, by all rules but that about decisions.

        Raises:
            LedgerError: it cannot be cited; the message says why.
        """
        return self._standing(name, "Name what stands in its place; see `anvil log`.")

    def stands(self, name: str) -> bool:
        """Say whether an event can be cited, by the rules of `standing`."""
        try:
            self.standing(name)
        except LedgerError:
            return False
        return True

    def to_retract(self, name: str) -> Cited:
        """Return the event of an index or entry hash that is to be taken back, by the same rules.

        Raises:
            LedgerError: it is not taken back, or was before; the message says why.
        """
        return self._standing(
            name,
            "Nothing was recorded, and nothing is to be done: it supports nothing any more. `anvil status` shows "
            "what had rested on it.",
        )

    def _standing(self, name: str, advice: str) -> Cited:
        """Return what stands; `advice` is for one that was retracted."""
        cited = self.find(name)
        if family(cited.event.type) in ABOUT_THE_LOG:
            raise LedgerError(
                f"event {cited.index} is {cited.event.type}: it is about the ledger itself, "
                "so nothing rests on it and it is not taken back",
                advice="A retraction stands: record again what it took back, and name that."
                if isinstance(cited.event, EventRetracted)
                else "Name an observation, a result, a note, a waiver or a decision; see `anvil log`.",
            )
        if cited.entry_hash in self._retracted:
            index, reason = self._retracted[cited.entry_hash]
            raise LedgerError(
                f"event {cited.index} ({cited.event.type}) was retracted at index {index}: {reason}",
                advice=advice,
            )
        return cited

    def support(self, names: Iterable[str]) -> tuple[Cited, ...]:
        """Return the events that something is to rest on, each once, by all rules.

        Raises:
            LedgerError: one cannot be cited; the message says why.
        """
        found = {cited.entry_hash: cited for cited in map(self.standing, names)}
        for cited in found.values():
            self._require_in_force(cited, "Cite that one, or what it rests on.")
        return tuple(found.values())

    def replaced(self, name: str) -> Cited:
        """Return the decision that another is to replace.

        Raises:
            LedgerError: it is no decision, or it cannot be cited, or another one replaced it before.
        """
        cited = self.standing(name)
        if not isinstance(cited.event, DecisionRecorded):
            raise LedgerError(
                f"event {cited.index} is {cited.event.type}, and only a decision is superseded by a decision",
                advice="`anvil log --event decision.recorded` lists them; `anvil retract` takes other events back.",
            )
        self._require_in_force(cited, "Supersede that one.")
        return cited

    def about(self, entry_hash: str, *types: type[Event]) -> Iterator[Cited]:
        """Yield the events of `types` whose target is that event, and whose key counts."""
        return (
            cited for cited in self.counting(*types) if getattr(cited.event, "target", None) == entry_hash
        )

    def counting(self, *types: type[Event], start: int = 0) -> Iterator[Cited]:
        """Yield the events of `types` from index `start` on whose key counts (rule 3), in order."""
        for row in self._ledger.store.of_types([cls.event_type for cls in types], start):
            cited = _cited(row)
            if not self._is_disowned(cited):
                yield cited

    def _require_in_force(self, cited: Cited, advice: str) -> None:
        by = self._superseded.get(cited.entry_hash)
        if by is not None and by[0] not in self._retracted:
            raise LedgerError(f"decision {cited.index} was superseded by decision {by[1]}", advice=advice)

    def _row(self, name: str) -> Row:
        store = self._ledger.store
        if _HASH.fullmatch(name):
            index = store.index_of(bytes.fromhex(name))
            if index is None:
                raise LedgerError(
                    f"no event of {self._ledger.origin} has the entry hash {name}",
                    advice="An event is cited in the ledger in which it lies; see `anvil log --json`.",
                )
        else:
            index = int(name)
        row = next(store.rows(index, index + 1), None)
        if row is None:
            raise LedgerError(
                f"there is no entry {index}; the ledger has {store.size()}", advice="See `anvil log`."
            )
        return row

    def _take(self, cited: Cited) -> None:
        if self._is_disowned(cited):
            return
        if isinstance(cited.event, EventRetracted):
            # Where two retracted it at the same moment, it was the first.
            self._retracted.setdefault(cited.event.target, (cited.index, cited.event.reason))
        elif isinstance(cited.event, DecisionRecorded) and cited.event.supersedes is not None:
            self._superseded[cited.event.supersedes] = cited.entry_hash, cited.index

    def _read_keyrings(self) -> dict[str, Keyring]:
        rows = self._ledger.store.of_types(CONTROL_TYPES)
        return read_control(self._ledger.origin, ((row.entry_index, row.entry) for row in rows)).keyrings

    def _is_disowned(self, cited: Cited) -> bool:
        keyring = self._keyrings.get(cited.header.ledger)
        known = None if keyring is None else keyring.keys.get(cited.header.key)
        return known is not None and known.disowns(cited.index)


def common_subject(cited: Sequence[Cited]) -> Subject:
    """Return what all of the events are about: the campaign they share, and below it what they share."""
    if not cited:
        return NO_SUBJECT
    shared: dict[str, str | None] = {}
    for name in ("campaign", "candidate", "attempt"):
        values = {each.header.subject.members().get(name) for each in cited}
        if len(values) > 1:
            break
        shared[name] = values.pop()
    return Subject(**shared)


def _cited(row: Row) -> Cited:
    try:
        header, event = read_entry(row.entry_index, row.entry)
    except (MalformedEvent, UnknownEventType) as error:
        raise LedgerError(
            f"event {row.entry_index} cannot be cited: {error}", advice=error.advice or "Run `anvil verify`."
        ) from error
    return Cited(row.entry_index, leaf_hash(row.entry).hex(), header, event)
