"""Keys, redactions and abandoned streams: what must be known before the entries are read.

1. Events of a few types are read first, in order of index: those about keys, corrections, and
   ends of streams. From them come the keyrings (one for each home ledger), the redactions and the
   abandonments.
2. The log's own ``ledger.created`` is its entry 0. Another ledger's is allowed at the start of a
   range that ``predecessor`` announces, and nowhere else.
3. A control event counts when the keyring lets its key sign it and every signature on it verifies;
   otherwise it is a finding and changes nothing. The same holds for one that contradicts the keyring.
4. What a disowned key redacted or called lost is not excused, and what it abandoned is not ended: a
   stolen key must not explain why data is gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from anvil.ledger.checks.finding import Code, Finding
from anvil.ledger.envelope import Envelope, pae
from anvil.ledger.errors import LedgerError, Malformed, NotPermitted, SignatureInvalid, UnknownEventType
from anvil.ledger.events import (
    CATALOGUE,
    AnyEvent,
    ArtifactDisclosed,
    ArtifactMissing,
    ArtifactRedacted,
    EventRetracted,
    KeyRevoked,
    LedgerCreated,
    Predecessor,
    SealedRedacted,
    StreamAbandoned,
    TreeState,
    decode,
)
from anvil.ledger.header import Header, family
from anvil.ledger.keyring import KEY_FAMILIES, Keyring, RevokedKey, UnknownKey, changes_keys
from anvil.ledger.upcasts import UPCASTS

CONTROL_FAMILIES = KEY_FAMILIES | {
    "stream.abandoned",
    "sealed.redacted",
    "artifact.redacted",
    "artifact.missing",
    "artifact.disclosed",
    "event.retracted",
}
CONTROL_TYPES = tuple(sorted(t for t in {*CATALOGUE, *UPCASTS} if family(t) in CONTROL_FAMILIES))
"""The event types that are read first."""

Correction = SealedRedacted | ArtifactRedacted | ArtifactMissing | ArtifactDisclosed | EventRetracted


@dataclass(frozen=True, slots=True)
class CarriedRange:
    """Entries that came from a predecessor: which ledger, from where to where, and their root."""

    origin: str
    start: int
    stop: int
    root: bytes


@dataclass
class Control:
    """What the control events say. `signers` has the home ledger and key of each."""

    keyrings: dict[str, Keyring] = field(default_factory=dict)
    carried: list[CarriedRange] = field(default_factory=list)
    predecessors: list[tuple[int, Predecessor]] = field(default_factory=list)
    abandoned: list[tuple[int, StreamAbandoned]] = field(default_factory=list)
    corrections: list[tuple[int, Correction]] = field(default_factory=list)
    revocations: list[tuple[int, TreeState]] = field(default_factory=list)
    signers: dict[int, tuple[str, str]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def explained(self) -> dict[tuple[str, str, str], int]:
        """Return what was redacted or said to be lost, and where that stands (rule 4).

        It is given as (entry hash, what, name). What is redacted is ``sealed`` or ``artifact``; of a lost
        artifact only the ``bytes`` are explained, not an opening that is gone.
        """
        found: dict[tuple[str, str, str], int] = {}
        for index, event in self.corrections:
            if self.is_disowned(index):
                continue
            if isinstance(event, SealedRedacted):
                found[event.target, "sealed", event.field] = index
            elif isinstance(event, ArtifactRedacted):
                found[event.target, "artifact", event.artifact] = index
            elif isinstance(event, ArtifactMissing):
                found[event.target, "bytes", event.artifact] = index
        return found

    def ends(self) -> list[tuple[int, StreamAbandoned]]:
        """Return the abandonments that count, by rule 4."""
        return [(index, event) for index, event in self.abandoned if not self.is_disowned(index)]

    def is_disowned(self, index: int) -> bool:
        """Say whether the control event at `index` was signed by a key that did not count there."""
        home, key_id = self.signers[index]
        return self.keyrings[home].keys[key_id].disowns(index)


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
        try:
            _take(control, origin, index, envelope, header, event)
        except SignatureInvalid as error:
            control.findings.append(Finding("tampered", str(error), index, stream=header.stream))
        except LedgerError as error:
            code = refusal(error) if isinstance(error, NotPermitted) else "not-permitted"
            control.findings.append(Finding(code, str(error), index, stream=header.stream))
    return control


def refusal(error: NotPermitted) -> Code:
    """Return the verdict for a key that may not sign."""
    if isinstance(error, UnknownKey):
        return "unknown-key"
    return "signed-after-revocation" if isinstance(error, RevokedKey) else "not-permitted"


def _take(
    control: Control, origin: str, index: int, envelope: Envelope, header: Header, event: AnyEvent
) -> None:
    before = control.keyrings.get(header.ledger, Keyring(header.ledger))
    after = before
    if changes_keys(event.type):
        if isinstance(event, LedgerCreated) and not _may_begin(control, origin, index, header.ledger):
            raise NotPermitted(f"{header.event}: {header.ledger} cannot begin here")
        after = before.apply(event, index, (signature.key_id for signature in envelope.signatures))
    _require_signed(after if isinstance(event, LedgerCreated) else before, after, envelope, header, index)
    control.keyrings[header.ledger] = after
    control.signers[index] = (header.ledger, header.key)
    if isinstance(event, StreamAbandoned):
        control.abandoned.append((index, event))
    elif isinstance(event, Correction):
        control.corrections.append((index, event))
    elif isinstance(event, KeyRevoked):
        control.revocations.append((index, event.last_good))
    elif isinstance(event, LedgerCreated) and event.predecessor is not None:
        restored = event.predecessor.restored
        control.predecessors.append((index, event.predecessor))
        stop = index + 1 + restored.size
        control.carried.append(CarriedRange(restored.origin, index + 1, stop, bytes.fromhex(restored.root)))


def _require_signed(permits: Keyring, knows: Keyring, envelope: Envelope, header: Header, index: int) -> None:
    """Rule 3: `permits` says who may sign, `knows` also has the keys that the event introduces."""
    permits.require(header.key, header.event, index, header.stream_seq)
    if envelope.signatures[0].key_id != header.key:
        raise NotPermitted(f"{header.event}: the first signature is not by the key that the header names")
    message = pae(envelope.header)
    for signature in envelope.signatures:
        knows.require_known(signature.key_id, index).public_key.verify(signature.value, message)


def _may_begin(control: Control, origin: str, index: int, home: str) -> bool:
    if index == 0:
        return home == origin
    return any(r.origin == home and r.start == index for r in control.carried)
