"""A stored checkpoint is forged: by another key, for another size or root, beyond the end."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from support.ledgers import ATTACKER, SIZE, Pretends, Small, attack, refused, sign_head

from anvil.ledger.checkpoint import Checkpoint, sign_checkpoint
from anvil.ledger.signing import Signer

CLI = Callable[..., tuple[int, dict[str, Any]]]


def forged(db: sqlite3.Connection, size: int, note: bytes) -> None:
    db.execute("INSERT OR REPLACE INTO checkpoints VALUES (?,?)", [size, note])


@pytest.mark.parametrize("who", ["attacker", "operator", "root", "pretends"])
def test_by_another_key(small: Small, who: str) -> None:
    signer: Signer = Pretends(small.vkey.public_key) if who == "pretends" else ATTACKER
    if who in ("operator", "root"):
        signer = small.key(who)  # type: ignore[arg-type]
    with attack(small) as db:
        sign_head(db, small.origin, signer)
    refused(small.verify(), "checkpoint-invalid", SIZE - 1)


@pytest.mark.parametrize("size", [1, 7, SIZE])
def test_with_another_root(small: Small, size: int) -> None:
    with attack(small) as db:
        forged(db, size, sign_checkpoint(Checkpoint(small.origin, size, b"\x01" * 32), [small.key("ledger")]))
    refused(small.verify(), "tampered", size - 1)


@pytest.mark.parametrize("size", [SIZE + 1, SIZE + 100, 2**62])
@pytest.mark.parametrize("stolen", [False, True])
def test_beyond_the_end(small: Small, size: int, stolen: bool) -> None:
    key = small.key("ledger") if stolen else ATTACKER
    with attack(small) as db:
        forged(db, size, sign_checkpoint(Checkpoint(small.origin, size, b"\x01" * 32), [key]))
    if stolen:
        refused(small.verify(), "rolled-back", SIZE, exit_code=4)
    else:
        refused(small.verify(), "checkpoint-invalid", size - 1)


def test_filed_under_another_size(small: Small) -> None:
    with attack(small) as db:
        db.execute("UPDATE checkpoints SET size = 7 WHERE size = 6")
    refused(small.verify(), "checkpoint-invalid", 6)


def test_of_another_origin(small: Small) -> None:
    with attack(small) as db:
        sign_head(db, "other.test.invalid/x", small.key("ledger"))
    refused(small.verify(), "checkpoint-invalid", SIZE - 1)


@pytest.mark.parametrize("change", [b"", b"\n", b"not a note\n", b"\xff"])
def test_no_checkpoint_at_all(small: Small, change: bytes) -> None:
    with attack(small) as db:
        forged(db, SIZE, change)
    refused(small.verify(), "checkpoint-invalid", SIZE - 1)


def test_a_bad_signature_beside_the_good_one(small: Small) -> None:
    note = small.checkpoint()
    line = note.rindex("\u2014".encode())
    broken = bytearray(note[line:])
    broken[-20] ^= 1
    with attack(small) as db:
        forged(db, SIZE, note + bytes(broken))
    refused(small.verify(), "checkpoint-invalid", SIZE - 1)


def test_the_command_line_names_the_index(small: Small, cli: CLI) -> None:
    with attack(small) as db:
        sign_head(db, small.origin, ATTACKER)
    code, report = cli(small.place.directory)
    named = {(f["code"], f["index"]) for f in report["findings"]}
    assert code == 1
    assert ("checkpoint-invalid", SIZE - 1) in named


def test_by_a_ledger_key_after_it_was_revoked(small: Small) -> None:
    from anvil.ledger.keychanges import find_key, new_signer, revoke_key, rotate_key
    from anvil.ledger.recording import Ledger

    old = small.key("ledger")
    with Ledger.open(small.place.directory) as ledger:
        known = find_key(ledger, "ledger")
        rotate_key(ledger, known, new_signer(ledger, "ledger", agent_key=None, encrypt=False))
        revoke_key(ledger, find_key(ledger, known.public_key.key_id), "compromised", None)
        size = ledger.store.size()
    assert small.verify().exit_code == 0
    with attack(small) as db:
        sign_head(db, small.origin, old)
    refused(small.verify(), "checkpoint-invalid", size - 1)
