"""The anchor is altered, deleted, or put there by somebody else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from support.ledgers import ATTACKER, SIZE, Small, attack, grow, refused

from anvil.ledger import canonical
from anvil.ledger.checkpoint import Checkpoint, sign_checkpoint
from anvil.ledger.errors import LedgerError
from anvil.ledger.note import VerifierKey
from anvil.ledger.recording import Ledger

CLI = Callable[..., tuple[int, dict[str, Any]]]


def test_deleted(small: Small, cli: CLI) -> None:
    small.anchor.path.unlink()
    report = small.verify()
    assert (report.exit_code, [f.code for f in report.findings]) == (3, ["unanchored"])
    assert cli(small.place.directory)[0] == 3


def test_any_byte(small: Small) -> None:
    raw = small.anchor.path.read_bytes()
    for at in range(0, len(raw), 7):
        small.anchor.path.write_bytes(raw[:at] + bytes([raw[at] ^ 0xFF]) + raw[at + 1 :])
        with pytest.raises(LedgerError, match="was altered"):
            small.verify()


@pytest.mark.parametrize("content", [b"", b"{}", b"null", b"\xff", b"[" * 10_000])
def test_no_anchor_at_all(small: Small, cli: CLI, content: bytes) -> None:
    small.anchor.path.write_bytes(content)
    assert cli(small.place.directory)[0] in (1, 3)
    with pytest.raises(LedgerError, match="was altered"):
        Ledger.open(small.place.directory)


def forge(small: Small, size: int, root: bytes, key: Any = ATTACKER) -> None:
    note = sign_checkpoint(Checkpoint(small.origin, size, root), [key])
    held = json.loads(small.anchor.path.read_bytes())
    held |= {"checkpoint": note.decode(), "keys": [str(VerifierKey(small.origin, key.public_key))]}
    small.anchor.path.write_bytes(canonical.encode(held))


def test_one_signed_by_a_stranger_that_fits(small: Small) -> None:
    # Else whoever cut the end would write the anchor anew from what is left.
    root = small.verify().root
    forge(small, SIZE, root)
    refused(small.verify(), "other-ledger")


def test_one_signed_by_a_stranger_that_covers_a_cut(small: Small) -> None:
    with attack(small) as db:
        db.execute('DELETE FROM entries WHERE "index" >= 11')
        db.execute("DELETE FROM checkpoints WHERE size > 11")
    forge(small, 11, small.verify(anchored=False).root)
    refused(small.verify(), "other-ledger")


def test_one_of_a_size_that_never_was(small: Small) -> None:
    forge(small, SIZE + 5, b"\x01" * 32)
    assert small.verify().exit_code == 4


def test_an_older_one_of_ours_is_believed(small: Small) -> None:
    # Whoever may write both the database and the state directory can roll both back; a kept checkpoint
    # or a verifier's own state on another machine is what remains.
    before = small.anchor.path.read_bytes()
    grow(small)
    small.anchor.path.write_bytes(before)
    assert small.verify().exit_code == 0
