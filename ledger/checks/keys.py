"""Keys, redactions and abandoned streams: what must be known before the entries are read.

1. Events of a few types are read first, in order of index: those about keys, corrections, and
   ends of streams. From them come the keyrings (one for each home ledger), the redactions and the
   abandonments. Their signatures are checked with all others; a forged one fails there.
2. The log's own ``ledger.created`` is its entry 0. Another ledger's is allowed at the start of a
   range that ``predecessor`` announces, and nowhere else.
3. A key event that contradicts the keyring is a finding and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from anvil.ledger.checks.finding import Finding
from anvil.ledger.envelope import Envelope
from anvil.ledger.errors import LedgerError, Malformed, UnknownEventType
from anvil.ledger.events import (
    CATALOGUE,
    AnyEvent,
    ArtifactDisclosed,
    ArtifactRedacted,
    EventRetracted,
    LedgerCreated,
    SealedRedacted,
    StreamAbandoned,
    decode,
)
from anvil.ledger.header import Header, family
from anvil.ledger.keyring import KEY_FAMILIES, Keyring, changes_keys
from anvil.ledger.upcasts import UPCASTS

CONTROL_FAMILIES = KEY_FAMILIES | {
    "stream.abandoned",
    "sealed.redacted",
    "artifact.redacted",
    "artifact.disclosed",
    "event.retracted",
}
CONTROL_TYPES = tuple(sorted(t for t in {*CATALOGUE, *UPCASTS} if family(t) in CONTROL_FAMILIES))
"""The event types that are read first."""

Correction = SealedRedacted | ArtifactRedacted | ArtifactDisclosed | EventRetracted


@dataclass(frozen=True, slots=True)
class CarriedRange:
    """Entries that came from a predecessor: which ledger, from where to where, and their root."""

    origin: str
    start: int
    stop: int
    root: bytes


@dataclass
class Control:
    """What the control events say."""

    keyrings: dict[str, Keyring] = field(default_factory=dict)
    carried: list[CarriedRange] = field(default_factory=list)
    abandoned: list[tuple[int, StreamAbandoned]] = field(default_factory=list)
    corrections: list[tuple[int, Correction]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def redactions(self) -> set[tuple[str, str, str]]:
        """Return what was redacted: (entry hash, ``sealed`` or ``artifact``, name)."""
        found: set[tuple[str, str, str]] = set()
        for _, event in self.corrections:
            if isinstance(event, SealedRedacted):
                found.add((event.target, "sealed", event.field))
            elif isinstance(event, ArtifactRedacted):
                found.add((event.target, "artifact", event.artifact))
        return found

    def range_of(self, origin: str, index: int) -> CarriedRange | None:
        """Return the carried range of `origin` that holds `index`."""
        return next((r for r in self.carried if r.origin == origin and r.start <= index < r.stop), None)


def read_control(origin: str, entries: Iterable[tuple[int, bytes]], known: Control | None = None) -> Control:
    """Fold the control events of the log of `origin`, given as (index, entry) in order.

    `known` is what earlier entries said, for a verification that begins in the middle.
    """
    control = known or Control()
    for index, entry in entries:
        try:
            envelope = Envelope.parse(entry)
            header = Header.parse(envelope.header)
            event = decode(header.event, header.facts, header.sealed)
        except (Malformed, UnknownEventType) as error:
            control.findings.append(Finding("non-canonical", str(error), index))
            continue
        signed_by = tuple(signature.key_id for signature in envelope.signatures)
        try:
            _take(control, origin, index, header, event, signed_by)
        except LedgerError as error:
            control.findings.append(
                Finding("not-permitted", f"{header.event}: {error}", index, stream=header.stream)
            )
    return control


def _take(
    control: Control, origin: str, index: int, header: Header, event: AnyEvent, signed_by: tuple[str, ...]
) -> None:
    if isinstance(event, StreamAbandoned):
        control.abandoned.append((index, event))
    elif isinstance(event, SealedRedacted | ArtifactRedacted | ArtifactDisclosed | EventRetracted):
        control.corrections.append((index, event))
    elif changes_keys(event.type):
        if isinstance(event, LedgerCreated) and not _may_begin(control, origin, index, header.ledger):
            control.findings.append(
                Finding("not-permitted", f"{header.ledger} cannot begin here", index, stream=header.stream)
            )
            return
        keyring = control.keyrings.get(header.ledger, Keyring(header.ledger))
        control.keyrings[header.ledger] = keyring.apply(event, index, signed_by)
        if isinstance(event, LedgerCreated) and event.predecessor is not None:
            restored = event.predecessor.restored
            control.carried.append(
                CarriedRange(
                    restored.origin, index + 1, index + 1 + restored.size, bytes.fromhex(restored.root)
                )
            )


def _may_begin(control: Control, origin: str, index: int, home: str) -> bool:
    if index == 0:
        return home == origin
    return any(r.origin == home and r.start == index for r in control.carried)
