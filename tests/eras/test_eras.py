"""Old evidence must stay readable for ever: ledgers written by earlier versions, read by today's code.

Each folder beside this file is one era: `entries` holds the entries of a whole small ledger, one a line,
`openings` a line `COMMITMENT SALT VALUE` each, `checkpoint` and `vkey` what its ledger key signed.
These files are never written again. When the format or an event gets a new version, today's ledger is
added as the next era with `PYTHONPATH=tests python tests/eras/test_eras.py NAME`, which refuses a name
that is taken.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import story as today

from anvil.ledger.chain import StreamHead, follow
from anvil.ledger.checkpoint import Checkpoint, open_checkpoint, sign_checkpoint
from anvil.ledger.commitments import Opening
from anvil.ledger.envelope import Envelope, pae
from anvil.ledger.events import CATALOGUE, AnyEvent, StreamAbandoned, decode
from anvil.ledger.header import Header, family
from anvil.ledger.keyring import Keyring
from anvil.ledger.merkle import CompactRange, leaf_hash
from anvil.ledger.note import VerifierKey

HERE = Path(__file__).parent
ERAS = sorted(path for path in HERE.iterdir() if (path / "entries").is_file())
GOLDEN_EVENTS = HERE.parent / "vectors" / "golden" / "events"


def entries_of(era: Path) -> list[bytes]:
    return (era / "entries").read_bytes().splitlines()


def openings_of(era: Path) -> dict[str, Opening]:
    lines = [line.split(b" ", 2) for line in (era / "openings").read_bytes().splitlines()]
    return {name.decode(): Opening(bytes.fromhex(salt.decode()), value) for name, salt, value in lines}


def event_of(header: Header, openings: dict[str, Opening]) -> AnyEvent:
    return decode(header.event, header.facts, {n: openings.get(c, c) for n, c in header.sealed.items()})


def test_there_is_an_era() -> None:
    assert ERAS


@pytest.mark.parametrize("era", ERAS, ids=lambda era: era.name)
def test_the_checkpoint_of_an_era_covers_its_entries(era: Path) -> None:
    tree = CompactRange()
    tree.extend(leaf_hash(entry) for entry in entries_of(era))
    key = VerifierKey.parse((era / "vkey").read_text().strip())
    signed = open_checkpoint((era / "checkpoint").read_bytes(), [key])
    assert signed == Checkpoint(key.name, tree.size, tree.root())


@pytest.mark.parametrize("era", ERAS, ids=lambda era: era.name)
def test_the_openings_of_an_era_open_their_commitments(era: Path) -> None:
    for commitment, opening in openings_of(era).items():
        assert opening.commitment() == commitment


@pytest.mark.parametrize("era", ERAS, ids=lambda era: era.name)
def test_an_era_is_decoded_chained_and_signed_by_keys_that_may(era: Path) -> None:
    openings, heads, seen = openings_of(era), dict[str, StreamHead](), set()
    keyring: Keyring | None = None
    for index, entry in enumerate(entries_of(era)):
        parsed = Envelope.parse(entry)
        header = Header.parse(parsed.header)
        event = event_of(header, openings)
        heads[header.stream] = follow(heads.get(header.stream), header)
        if isinstance(event, StreamAbandoned):
            heads[event.abandoned] = heads[event.abandoned].abandoned()
        signed_by = [signature.key_id for signature in parsed.signatures]
        keyring = keyring or Keyring(header.ledger)
        if index:
            keyring.require(header.key, header.event, index, header.stream_seq)
        keyring = keyring.apply(event, index, signed_by)
        assert signed_by[0] == header.key
        for signature in parsed.signatures:
            keyring.keys[signature.key_id].public_key.verify(signature.value, pae(parsed.header))
        seen.add(family(header.event))
    assert all(head.state != "open" for head in heads.values())
    assert len(seen) >= 12


@pytest.mark.parametrize("era", ERAS, ids=lambda era: era.name)
def test_an_era_is_decoded_with_its_private_parts_gone(era: Path) -> None:
    for entry in entries_of(era):
        header = Header.parse(Envelope.parse(entry).header)
        assert event_of(header, {}).type.partition("/")[0] == family(header.event)


@pytest.mark.parametrize("path", sorted(GOLDEN_EVENTS.iterdir()), ids=lambda path: path.name)
def test_a_golden_event_is_decoded(path: Path) -> None:
    raw, entry, *lines = path.read_bytes().splitlines()
    openings = {}
    for line in lines:
        name, salt, value = line.split(b" ", 2)
        openings[name.decode()] = Opening(bytes.fromhex(salt.decode()), value)
    header = Header.parse(raw)
    assert Envelope.parse(entry).header == raw
    assert {name: openings[name].commitment() for name in header.sealed} == header.sealed
    event = decode(header.event, header.facts, {name: openings[name] for name in header.sealed})
    assert event.type in CATALOGUE
    if event.type == header.event:
        assert event.facts() == header.facts


def write_era(era: Path) -> None:
    told = today.story()
    openings = {o.commitment(): o for event in told for o in event.openings.values()}
    tree = CompactRange()
    tree.extend(leaf_hash(event.entry) for event in told)
    era.mkdir()
    (era / "entries").write_bytes(b"".join(event.entry + b"\n" for event in told))
    lines = [f"{name} {o.salt.hex()} ".encode() + o.value + b"\n" for name, o in openings.items()]
    (era / "openings").write_bytes(b"".join(lines))
    state = Checkpoint(today.ORIGIN, tree.size, tree.root())
    (era / "checkpoint").write_bytes(sign_checkpoint(state, [today.LEDGER]))
    (era / "vkey").write_text(f"{VerifierKey(today.ORIGIN, today.LEDGER.public_key)}\n")


if __name__ == "__main__":
    write_era(HERE / sys.argv[1])
