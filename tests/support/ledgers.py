"""A small real ledger, and what an attacker who can write its files does to it.

1. `small_ledger` makes one with `create_ledger`, `record` and every kind of sealed thing, and `Small.verify`
   checks it against the anchor of this machine.
2. `attack` opens the database with a plain connection, without the triggers, and puts them back after.
3. The rest is what a careful attacker does: give the row of a changed entry all its columns, add rows,
   rebuild what follows from entries, and sign with whatever keys were stolen.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anvil.ledger.anchor import Anchor
from anvil.ledger.checkpoint import Checkpoint, sign_checkpoint
from anvil.ledger.checks.finding import Code, Finding
from anvil.ledger.creation import Created, create_ledger
from anvil.ledger.drafts import Attachment, Draft
from anvil.ledger.envelope import Envelope
from anvil.ledger.events import Event, InitialKey, LedgerCreated, ObservationNoted, StreamClosed, StreamOpened
from anvil.ledger.header import Header, Subject, header_hash
from anvil.ledger.merkle import leaf_hash
from anvil.ledger.note import VerifierKey
from anvil.ledger.places import LedgerPlace, state_directory
from anvil.ledger.public import Role
from anvil.ledger.recording import Ledger
from anvil.ledger.schema import TRIGGERS, leaf_prefix
from anvil.ledger.signing import PrivateKey, PublicKey, Signer
from anvil.ledger.sources import DatabaseLocation
from anvil.ledger.streams import record
from anvil.ledger.tiledtree import TiledTree
from anvil.ledger.verifierstate import VerifierState
from anvil.ledger.verify import Expectations, Report, verify
from support.signed import sign

LOG, SAMPLES = b"one line of a log\n" * 3, b'{"prompt_tokens":12}\n'
CREATED, SEALED, PUBLIC, COLLECTED, PRIVATE = 0, 3, 4, 6, 9
"""Indices in a small ledger: first event; sealed text with both artifacts; public text; a collector's; sealed text."""
SIZE = 14
ATTACKER = PrivateKey.from_seed(b"attacker" * 4)
AT = "2026-11-30T07:26:16.123456Z"
STREAM = "20261130T072616Z-00000000000000aa"
OTHER_STREAM = "20261130T072616Z-00000000000000bb"


# --- 1. the ledger -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Small:
    """A ledger on disk and what its owner knows of it."""

    created: Created

    @property
    def place(self) -> LedgerPlace:
        return self.created.place

    @property
    def origin(self) -> str:
        return self.created.origin

    @property
    def vkey(self) -> VerifierKey:
        return self.created.verifier_key

    @property
    def anchor(self) -> Anchor:
        return Anchor(state_directory(), self.origin)

    def key(self, role: Role) -> PrivateKey:
        """Return the first key of a role, as somebody who stole its file has it."""
        return PrivateKey.from_pem(self.created.key_files[role].read_bytes())

    def verify(
        self,
        *,
        anchored: bool = True,
        pinned: bytes | None = None,
        state: VerifierState | None = None,
        signatures: bool = True,
    ) -> Report:
        """Verify as `anvil verify` does on the owner's machine."""
        held = self.anchor.read() if anchored else None
        expectations = Expectations((self.vkey,), held, state, pinned)
        return verify(DatabaseLocation.of(self.place), expectations, signatures=signatures, workers=1)

    def state(self) -> VerifierState:
        """Return what `anvil verify --since` keeps now."""
        state = self.verify().state
        assert state is not None
        return state

    def entries(self) -> list[bytes]:
        with closing(sqlite3.connect(self.place.database)) as db:
            return [row[0] for row in db.execute('SELECT entry FROM entries ORDER BY "index"')]

    def header(self, index: int) -> Header:
        return Header.parse(Envelope.parse(self.entries()[index]).header)

    def leaf(self, index: int) -> str:
        return leaf_hash(self.entries()[index]).hex()

    def checkpoint(self) -> bytes:
        """Return the newest checkpoint, as somebody kept it."""
        with closing(sqlite3.connect(self.place.database)) as db:
            return bytes(db.execute("SELECT note FROM checkpoints ORDER BY size DESC").fetchone()[0])


def small_ledger(directory: Path, name: str = "ledger.test.invalid/small") -> Small:
    """Make a ledger of `SIZE` events in five streams, with checkpoints at 2, 6, 8, 11 and 14."""
    small = Small(create_ledger(directory, name))
    with Ledger.open(directory) as ledger:
        log = Attachment("log", "text/plain", ledger.blobs.put(LOG))
        samples = Attachment("samples", "application/x-ndjson", ledger.blobs.put(SAMPLES), is_public=True)
        operator, subject = ledger.signer("operator"), Subject(campaign="qwen38")
        first = [
            Draft(said("a private remark", private=True), subject, (log, samples)),
            Draft(said("a public remark"), subject),
        ]
        record(ledger, operator, first, purpose="observation")
        ledger.checkpoint()
        record(ledger, ledger.signer("collector"), [], purpose="run")
        ledger.checkpoint()
        record(ledger, operator, [Draft(said("another", private=True))], purpose="observation")
        ledger.checkpoint()
        record(ledger, operator, [Draft(said("the last"))], purpose="observation")
    return small


def said(text: str, *, private: bool = False) -> ObservationNoted:
    """Return an observation."""
    if private:
        return ObservationNoted(status="declared", claims=None, public_text=None, text=text)
    return ObservationNoted(status="declared", claims=None, public_text=text, text=None)


def grow(small: Small, text: str = "later") -> None:
    """Record one more stream of three events, as the owner does."""
    with Ledger.open(small.place.directory) as ledger:
        record(ledger, ledger.signer("operator"), [Draft(said(text))], purpose="observation")


@dataclass(frozen=True)
class Pretends:
    """A signer that names a key which it does not hold."""

    public_key: PublicKey

    def sign(self, message: bytes) -> bytes:
        return ATTACKER.sign(message)


# --- what verification must say ----------------------------------------------------------------------


def found(report: Report, code: Code, index: int | None = None) -> Finding:
    """Return the finding of this verdict, which must name `index` when one is given."""
    fitting = [f for f in report.findings if f.code == code]
    assert fitting, f"expected {code}, found {[(f.code, f.message) for f in report.findings]}"
    if index is None:
        return fitting[0]
    named = [f for f in fitting if f.index == index or _spans(f, index)]
    assert named, f"expected {code} at {index}, found at {[(f.index, f.until) for f in fitting]}"
    return named[0]


def refused(report: Report, code: Code, index: int | None = None, exit_code: int = 1) -> Finding:
    """Return the finding, in a report that fails with `exit_code`."""
    finding = found(report, code, index)
    assert report.exit_code == exit_code, [(f.code, f.message) for f in report.findings]
    assert report.state is None, "a refused ledger must leave no state to go on from"
    return finding


def _spans(finding: Finding, index: int) -> bool:
    return finding.index is not None and finding.until is not None and finding.index <= index < finding.until


# --- 2. the attacker's connection --------------------------------------------------------------------


@contextmanager
def attack(small: Small, *, restore_triggers: bool = True) -> Iterator[sqlite3.Connection]:
    """Yield a plain connection without triggers; afterwards all is committed and lies in one file."""
    with closing(sqlite3.connect(small.place.database, isolation_level=None)) as db:
        for trigger in TRIGGERS:
            db.execute(f"DROP TRIGGER {trigger}")
        yield db
        if restore_triggers:
            for statement in TRIGGERS.values():
                db.execute(statement)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


# --- 3. careful attackers ----------------------------------------------------------------------------


def row_of(index: int, entry: bytes) -> tuple[Any, ...]:
    """Return the row of an entry with every column as it should be."""
    header = Header.parse(Envelope.parse(entry).header)
    return (
        index,
        leaf_hash(entry),
        entry,
        header.event,
        header.stream,
        header.stream_seq,
        header.subject.campaign,
        leaf_prefix(leaf_hash(entry)),
    )


def put(db: sqlite3.Connection, index: int, entry: bytes) -> None:
    """Put `entry` at `index`, in place of what is there."""
    db.execute('DELETE FROM entries WHERE "index" = ?', [index])
    db.execute("INSERT INTO entries VALUES (?,?,?,?,?,?,?,?)", row_of(index, entry))


def push(db: sqlite3.Connection, *entries: bytes) -> int:
    """Add entries at the end; return the index of the first."""
    start: int = db.execute('SELECT COALESCE(MAX("index") + 1, 0) FROM entries').fetchone()[0]
    for offset, entry in enumerate(entries):
        put(db, start + offset, entry)
    return start


def rewrite(db: sqlite3.Connection, entries: Sequence[bytes]) -> None:
    """Make the log out of `entries`: all columns, the stored tree, and only checkpoints that still fit."""
    before = [row[0] for row in db.execute('SELECT entry FROM entries ORDER BY "index"')]
    pairs = zip(before, entries, strict=False)
    same = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(before), len(entries)))
    db.execute("DELETE FROM entries")
    push(db, *entries)
    db.execute("DELETE FROM checkpoints WHERE size > ?", [same])
    db.execute("DELETE FROM nodes")
    tree = TiledTree()
    db.executemany("INSERT INTO nodes VALUES (?,?,?)", tree.extend([leaf_hash(entry) for entry in entries]))


def sign_head(db: sqlite3.Connection, origin: str, *signers: Signer) -> bytes:
    """Store a checkpoint of the log as it is now, signed by `signers`; return it."""
    leaves = [leaf_hash(row[0]) for row in db.execute('SELECT entry FROM entries ORDER BY "index"')]
    tree = TiledTree()
    tree.extend(leaves)
    note = sign_checkpoint(Checkpoint(origin, tree.size, tree.root()), signers)
    db.execute("INSERT OR REPLACE INTO checkpoints VALUES (?,?)", [tree.size, note])
    return note


def forge(
    home: str,
    event: Event | str,
    *signers: Signer,
    stream: str = STREAM,
    after: Header | None = None,
    **members: Any,
) -> bytes:
    """Return an entry of the ledger `home`, signed by `signers`, that follows the header `after` in `stream`.

    `members` replaces members of the header.
    """
    known = not isinstance(event, str)
    whole: dict[str, Any] = {
        "ledger": home,
        "stream": after.stream if after else stream,
        "stream_seq": after.stream_seq + 1 if after else 0,
        "stream_prev": header_hash(after.raw) if after else None,
        "at": AT,
        "event": event.type if known else event,
        "key": signers[0].public_key.key_id,
        "facts": event.facts() if known else {},
    }
    raw = Header(**{**whole, **members}).encode()
    return sign(raw, signers).encode()


def session(
    home: str,
    signer: Signer,
    *events: Event | str,
    stream: str = STREAM,
    cosigners: Sequence[Signer] = (),
    close: bool = True,
) -> list[bytes]:
    """Return the entries of a whole stream: opened, `events` (signed by `cosigners` too), closed."""
    opened = StreamOpened(purpose="observation", synthetic=True, software="0.1.0")
    ends = [StreamClosed(outcome="completed", reason=None)] if close else []
    entries, after = [forge(home, opened, signer, stream=stream)], None
    for event in [*events, *ends]:
        after = header_in(entries[-1])
        extra = cosigners if event in events else ()
        entries.append(forge(home, event, signer, *extra, after=after))
    return entries


def header_in(entry: bytes) -> Header:
    """Return the header of an entry."""
    return Header.parse(Envelope.parse(entry).header)


PRETENDERS: dict[Role, PrivateKey] = {
    "root": ATTACKER,
    "ledger": PrivateKey.from_seed(b"l" * 32),
    "operator": PrivateKey.from_seed(b"o" * 32),
}
"""The keys of a ledger that only has the name of another."""


def pretender(origin: str, claimed: PublicKey | None = None) -> list[bytes]:
    """Return a log of the same name whose keys are all the attacker's; with `claimed` it says that it has that one too."""
    keys = [InitialKey(role=role, public_key=key.public_key.raw.hex()) for role, key in PRETENDERS.items()]
    signers: list[Signer] = list(PRETENDERS.values())
    if claimed:
        keys.append(InitialKey(role="ledger", public_key=claimed.raw.hex()))
        signers.append(Pretends(claimed))
    created = LedgerCreated(origin=origin, keys=tuple(keys), predecessor=None, software="0.1.0")
    return [
        forge(origin, created, *signers),
        *session(origin, PRETENDERS["operator"], stream="20261130T072616Z-00000000000000cc"),
    ]
