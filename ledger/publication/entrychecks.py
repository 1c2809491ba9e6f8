"""The events of a folder: each by itself, in its stream, and under the root that is stated.

Control events come first, as everywhere (docs/format.md, section 14): they give the keys. A folder has no
run of entries without gaps, so each event is proved to stand at its index. A disclosure of what an event here
carries opens the commitment that stands there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from anvil.ledger.chain import StreamHead, follow, head_after
from anvil.ledger.checkpoint import Checkpoint
from anvil.ledger.checks.disclosures import Disclosure, Place, opens, standing
from anvil.ledger.checks.finding import Code, Finding
from anvil.ledger.checks.keys import CONTROL_TYPES, Control, read_control, refusal
from anvil.ledger.envelope import Envelope, pae
from anvil.ledger.errors import (
    ChainBroken,
    Malformed,
    MalformedProof,
    NotPermitted,
    SignatureInvalid,
    UnknownEventType,
)
from anvil.ledger.events import AnyEvent, ArtifactDisclosed, EventRetracted, decode
from anvil.ledger.header import Header
from anvil.ledger.keyring import Keyring
from anvil.ledger.merkle import verify_inclusion
from anvil.ledger.publication.evidence import Proved

Find = Callable[[Code, object, str | None], None]


@dataclass
class Checked:
    """What the events say, as far as they hold; by entry hash."""

    control: Control = field(default_factory=Control)
    heads: dict[str, StreamHead] = field(default_factory=dict)
    by_hash: dict[str, tuple[Header, AnyEvent]] = field(default_factory=dict)
    indices: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def keyrings(self) -> Mapping[str, Keyring]:
        """The keys, by home ledger."""
        return self.control.keyrings

    @property
    def events(self) -> list[tuple[str, Header, AnyEvent]]:
        """The events as (entry hash, header, event), in order of index."""
        return [(name, header, event) for name, (header, event) in self.by_hash.items()]

    def disclosures(self) -> dict[Place, Disclosure]:
        """Return the disclosures that count, of artifacts of events that are here."""
        return standing(self.control, self.find)

    def find(self, name: str) -> tuple[int, Header] | None:
        """Return the index and header of an event; None when it is not here."""
        return (self.indices[name], self.by_hash[name][0]) if name in self.by_hash else None

    def counts(self, name: str) -> bool:
        """Say whether the key that signed an event is known and was not disowned by then."""
        header, _ = self.by_hash[name]
        keyring = self.keyrings.get(header.ledger)
        known = None if keyring is None else keyring.keys.get(header.key)
        return known is not None and not known.disowns(self.indices[name])

    def supports(self, name: str) -> bool:
        """Say whether an event stands: not disowned, nor retracted by an event that counts."""
        return self.counts(name) and not any(
            isinstance(e, EventRetracted) and e.target == name and not self.control.is_disowned(index)
            for index, e in self.control.corrections
        )


def check_entries(
    origin: str, proved: Iterable[Proved], state: Checkpoint, before: Checked | None = None
) -> Checked:
    """Check events under `state`; `before` is what earlier ones of the same folder gave."""
    proved = list(proved)
    control = _copied(before)
    wanted = ((one.index, one.entry) for one in proved if _type(one.entry) in CONTROL_TYPES)
    control = read_control(origin, wanted, control)
    checked = Checked(control, dict(before.heads) if before else {}, findings=list(control.findings))
    control.findings.clear()
    ends = {event.abandoned: index for index, event in control.ends()}
    for one in proved:
        _check(one, state, checked, ends, is_whole=before is None)
    _check_disclosures(checked)
    if before is None:
        for head in checked.heads.values():
            if head.state == "open" and head.stream not in ends:
                message = f"stream {head.stream} was open: what came in it later is not here"
                checked.findings.append(Finding("stream-open", message, stream=head.stream))
    return checked


def _check_disclosures(checked: Checked) -> None:
    """Say which disclosures do not open what they name; what is not here nobody can judge."""
    for index, event in checked.control.corrections:
        target = checked.find(event.target) if isinstance(event, ArtifactDisclosed) else None
        if not isinstance(event, ArtifactDisclosed) or target is None:
            continue
        is_there = any(artifact.name == event.artifact for artifact in target[1].artifacts)
        if is_there and not opens(event, target[1]):
            message = f"the disclosure of {event.artifact!r} does not open what event {target[0]} shows of it"
            checked.findings.append(Finding("sealed-altered", message, index))


def _copied(before: Checked | None) -> Control:
    if before is None:
        return Control()
    old = before.control
    return Control(
        dict(old.keyrings),
        list(old.carried),
        list(old.predecessors),
        list(old.abandoned),
        list(old.corrections),
        list(old.revocations),
        dict(old.signers),
    )


def _type(entry: bytes) -> str | None:
    try:
        return Header.parse(Envelope.parse(entry).header).event
    except Malformed:
        return None


def _check(
    one: Proved, state: Checkpoint, checked: Checked, ends: Mapping[str, int], *, is_whole: bool
) -> None:
    def find(code: Code, message: object, stream: str | None) -> None:
        checked.findings.append(Finding(code, str(message), one.index, stream=stream))

    try:
        verify_inclusion(one.leaf, one.index, state.size, one.hashes, state.root)
    except MalformedProof as error:
        find("tampered", f"the event is not the one that the ledger signed for at this index: {error}", None)
    try:
        envelope = Envelope.parse(one.entry)
        header = Header.parse(envelope.header)
        event = decode(header.event, header.facts, header.sealed)
    except (Malformed, UnknownEventType) as error:
        find("non-canonical", error, None)
        return
    _check_signed(envelope, header, one.index, checked, find)
    head = checked.heads.get(header.stream)
    try:
        if header.stream in ends and ends[header.stream] < one.index:
            raise ChainBroken(f"stream {header.stream}: expected nothing after it was abandoned")
        checked.heads[header.stream] = follow(head, header)
    except ChainBroken as error:
        if is_whole or head is not None or header.stream_seq == 0:
            find("chain-broken", f"an event is missing or out of place: {error}", header.stream)
        checked.heads[header.stream] = head_after(header)
    name = one.leaf.hex()
    checked.indices[name] = one.index
    checked.by_hash[name] = (header, event)


def _check_signed(envelope: Envelope, header: Header, index: int, checked: Checked, find: Find) -> None:
    keyring = checked.keyrings.get(header.ledger)
    if keyring is None:
        find("unknown-key", f"no event here introduces the keys of {header.ledger}", header.stream)
        return
    try:
        if envelope.signatures[0].key_id != header.key:
            raise NotPermitted("the first signature is not by the key that the header names")
        keyring.require(header.key, header.event, index, header.stream_seq)
        message = pae(envelope.header)
        for signature in envelope.signatures:
            keyring.require_known(signature.key_id, index).public_key.verify(signature.value, message)
    except NotPermitted as error:
        find(refusal(error), error, header.stream)
    except SignatureInvalid as error:
        find("tampered", error, header.stream)
