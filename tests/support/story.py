"""A small ledger with every event type in it, the same bytes each time: fixed keys, salts and times.

The seeds and salts are no secrets. The events form one history that the keyring and the chain accept,
so that single events can be compared by byte and the whole can be verified by today's code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anvil.ledger import canonical
from anvil.ledger.checkpoint import Checkpoint, sign_checkpoint
from anvil.ledger.commitments import Opening
from anvil.ledger.events import (
    AnyEvent,
    ArtifactDisclosed,
    ArtifactMissing,
    ArtifactRedacted,
    EventRetracted,
    EvidenceAttached,
    InitialKey,
    KeyAdded,
    KeyRevoked,
    KeyRotated,
    LedgerCreated,
    ObservationNoted,
    SealedRedacted,
    StreamAbandoned,
    StreamClosed,
    StreamOpened,
    TreeState,
)
from anvil.ledger.events.observations import Claims, NotKept, ObservedCheck, ObservedHardware
from anvil.ledger.events.recipes import Setting
from anvil.ledger.header import NO_SUBJECT, ArtifactEntry, Header, Subject, header_hash
from anvil.ledger.merkle import CompactRange, leaf_hash
from anvil.ledger.public import Role
from anvil.ledger.signing import PrivateKey
from support.signed import sign
from support.story_imports import tell_imports, tell_results
from support.story_publications import tell_publications
from support.story_runs import tell_runs

ORIGIN = "ledger.test.invalid/story-00000000"
ROOT, LEDGER, OPERATOR, COLLECTOR, NEW_COLLECTOR, NEW_OPERATOR = (
    PrivateKey.from_seed(bytes([number]) * 32) for number in range(1, 7)
)
FIRST_KEYS: dict[Role, PrivateKey] = {
    "ledger": LEDGER,
    "root": ROOT,
    "operator": OPERATOR,
    "collector": COLLECTOR,
}
KEYS_STREAM, TALK_STREAM, LOST_STREAM = (f"20261130T07261{n}Z-{n:016x}" for n in range(3))
LATER_STREAM = "20261130T072615Z-0000000000000005"
SECRET = "Host zürich-7 answered “no” 😀"
SUBJECT = Subject(campaign="qwen38-27b", candidate="official_fp8", attempt="a1")
BLOB = "sha256:" + "b1" * 32
CLAIMS = Claims(
    engine="vllm",
    version="0.12.0rc1+g0123abc",
    hardware=ObservedHardware(gpus=1, product="NVIDIA H200", memory_gib=141, architecture="sm_90"),
    settings=(Setting(name="context_tokens", value=262_144),),
    health="reached",
    http_status=200,
    checks=(
        ObservedCheck(
            check="tools-batch",
            thinking="disabled",
            outcome="failed",
            failure="no_call",
            expected=20,
            passed=0,
        ),
    ),
    not_kept=(NotKept(what="response-bodies", reason="container-recreated"),),
    supported=("checks",),
)


STATE = sign_checkpoint(Checkpoint(ORIGIN, 14, b"\x14" * 32), [LEDGER, ROOT]).decode()
"""A signed checkpoint, as `ledger.created` of a restored ledger carries it."""


def _moment(seconds: int) -> str:
    """The moment so many seconds after 07:26."""
    return f"2026-11-30T07:{26 + seconds // 60:02d}:{seconds % 60:02d}.123456Z"


@dataclass(frozen=True)
class Told:
    """One event of the story as it lies in the log, with the openings that lie beside it."""

    index: int
    event: AnyEvent
    header: Header
    entry: bytes
    openings: Mapping[str, Opening]
    """By field, or by artifact as `artifact:NAME`."""

    @property
    def leaf(self) -> str:
        """The hash that other events name it by."""
        return leaf_hash(self.entry).hex()


@dataclass
class Story:
    """The writer: adds an event to a stream, signs it, and remembers."""

    told: list[Told] = field(default_factory=list)

    def tell(
        self,
        stream: str,
        event: AnyEvent,
        *signers: PrivateKey,
        subject: Subject = NO_SUBJECT,
        artifacts: tuple[ArtifactEntry, ...] = (),
        openings: Mapping[str, Opening] | None = None,
    ) -> Told:
        """Append `event` to `stream`, signed by each of `signers`, the stream's own key first."""
        before = [told.header for told in self.told if told.header.stream == stream]
        openings = openings or {}
        unsigned = Header(
            ledger=ORIGIN,
            stream=stream,
            stream_seq=len(before),
            stream_prev=header_hash(before[-1].raw) if before else None,
            at=_moment(16 + len(self.told)),
            event=event.type,
            key=signers[0].public_key.key_id,
            facts=event.facts(),
            subject=subject,
            artifacts=artifacts,
            sealed={name: openings[name].commitment() for name in event.sealed_fields if name in openings},
        )
        header = unsigned.with_raw(unsigned.encode())
        entry = sign(header.raw, signers).encode()
        self.told.append(Told(len(self.told), event, header, entry, openings))
        return self.told[-1]

    def state(self) -> TreeState:
        """Return what a checkpoint would say now."""
        tree = CompactRange()
        tree.extend(leaf_hash(told.entry) for told in self.told)
        return TreeState(origin=ORIGIN, size=tree.size, root=tree.root().hex())


def _at(number: int) -> str:
    minute, second = divmod(16 + number, 60)
    return f"2026-11-30T07:{26 + minute}:{second:02d}.123456Z"


def story() -> list[Told]:
    """Return the whole history, in order of index."""
    teller = Story()
    _tell_keys(teller)
    _tell_observations(teller)
    tell_runs(teller, COLLECTOR, NEW_OPERATOR)
    _tell_what_came_later(teller)
    tell_imports(teller, NEW_OPERATOR)
    tell_publications(teller, NEW_OPERATOR)
    tell_results(teller, NEW_OPERATOR)
    return teller.told


def _tell_what_came_later(teller: Story) -> None:
    """Events that are younger than the rest: told last, so that nothing before them has other bytes."""
    noted = next(told for told in teller.told if isinstance(told.event, ObservationNoted))
    opened = StreamOpened(purpose="observation", synthetic=True, software="0.1.0.dev0")
    teller.tell(LATER_STREAM, opened, NEW_OPERATOR)
    lost = ArtifactMissing(target=noted.leaf, artifact="response", reason="The disk of zürich-7 died.")
    teller.tell(LATER_STREAM, lost, NEW_OPERATOR, subject=SUBJECT)
    opening = Opening(b"\x03" * 32, canonical.encode({"digest": BLOB, "size": 18234}))
    found = EvidenceAttached(
        target=noted.leaf,
        status="retained-bounded-log",
        restores=("response",),
        supports=("checks",),
        public_text=None,
        text="From the mail to “Ü” 😀",
    )
    teller.tell(
        LATER_STREAM,
        found,
        NEW_OPERATOR,
        subject=SUBJECT,
        artifacts=(ArtifactEntry("attachment-1", "application/json", commitment=opening.commitment()),),
        openings={
            "text": Opening(b"\x04" * 32, canonical.encode("From the mail to “Ü” 😀")),
            "artifact:attachment-1": opening,
        },
    )
    teller.tell(LATER_STREAM, StreamClosed(outcome="completed", reason=None), NEW_OPERATOR)


def _tell_keys(teller: Story) -> None:
    opened = StreamOpened(purpose="run", synthetic=True, software="0.1.0.dev0")
    keys = tuple(InitialKey(role=r, public_key=k.public_key.raw.hex()) for r, k in FIRST_KEYS.items())
    created = LedgerCreated(origin=ORIGIN, keys=keys, predecessor=None, software="0.1.0.dev0")
    teller.tell(KEYS_STREAM, created, ROOT, LEDGER, OPERATOR, COLLECTOR)
    added = KeyAdded(role="collector", public_key=NEW_COLLECTOR.public_key.raw.hex())
    teller.tell(KEYS_STREAM, added, ROOT, NEW_COLLECTOR)
    good = teller.state()
    teller.tell(LOST_STREAM, opened, NEW_COLLECTOR)
    rotated = KeyRotated(old_key=OPERATOR.public_key.key_id, new_public_key=NEW_OPERATOR.public_key.raw.hex())
    teller.tell(KEYS_STREAM, rotated, ROOT, OPERATOR, NEW_OPERATOR)
    revoked = KeyRevoked(key=NEW_COLLECTOR.public_key.key_id, last_good=good, cause="compromised")
    teller.tell(KEYS_STREAM, revoked, ROOT)
    teller.tell(KEYS_STREAM, StreamClosed(outcome="completed", reason=None), ROOT)


def _tell_observations(teller: Story) -> None:
    lost = next(told for told in teller.told if told.header.stream == LOST_STREAM)

    def tell(event: AnyEvent, **more: object) -> Told:
        return teller.tell(TALK_STREAM, event, NEW_OPERATOR, **more)  # type: ignore[arg-type]

    tell(StreamOpened(purpose="observation", synthetic=True, software="0.1.0.dev0"))
    private = Opening(b"\x02" * 32, canonical.encode({"digest": BLOB, "size": 18234}))
    noted = tell(
        ObservationNoted(status="operator-observed-incomplete", public_text=None, claims=CLAIMS, text=SECRET),
        subject=SUBJECT,
        artifacts=(
            ArtifactEntry("samples", "application/x-ndjson", digest="sha256:" + "a0" * 32, size=0),
            ArtifactEntry("response", "application/json", commitment=private.commitment()),
        ),
        openings={"text": Opening(b"\x01" * 32, canonical.encode(SECRET)), "artifact:response": private},
    )
    words = "Ü: it <b>started</b> | twice 😀"
    public = ObservationNoted(status="declared", public_text=words, claims=None, text=None)
    said = tell(public, subject=Subject(campaign="qwen38-27b"))
    tell(EventRetracted(target=said.leaf, reason="It started once."))
    tell(
        ArtifactDisclosed(
            target=noted.leaf,
            artifact="response",
            extent="digest",
            digest=BLOB,
            size=18234,
            salt=private.salt.hex(),
            reason="It shows nothing of anybody.",
            exceptions=(),
        )
    )
    tell(SealedRedacted(target=noted.leaf, field="text", reason="It names a host."))
    tell(ArtifactRedacted(target=noted.leaf, artifact="samples", reason="Not ours to keep."))
    tell(
        StreamAbandoned(
            abandoned=LOST_STREAM,
            last_seq=lost.header.stream_seq,
            last_header=header_hash(lost.header.raw),
            reason="crashed",
        )
    )
    tell(StreamClosed(outcome="aborted", reason="interrupted"))


STORY_BY_TYPE = {told.event.type: told for told in reversed(story())}
"""The first event of each type."""
