"""`openssl pkeyutl` verifies the signature of a checkpoint: it is plain Ed25519 over the note's text."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.logs import ORIGIN, SIGNER

from anvil.ledger.checkpoint import Checkpoint, sign_checkpoint
from anvil.ledger.note import SignedNote

pytestmark = pytest.mark.needs("openssl")

ED25519_SPKI = bytes.fromhex("302a300506032b6570032100")
"""What stands before the 32 bytes of an Ed25519 key in a SubjectPublicKeyInfo (RFC 8410, section 4)."""


def openssl_accepts(directory: Path, text: bytes, signature: bytes) -> bool:
    """Say what openssl says of an Ed25519 signature of the test logs' key over `text`."""
    files = {"key.der": ED25519_SPKI + SIGNER.public_key.raw, "text": text, "signature": signature}
    for name, content in files.items():
        (directory / name).write_bytes(content)
    argv = ["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", "key.der", "-rawin"]
    argv += ["-in", "text", "-sigfile", "signature"]
    done = subprocess.run(argv, cwd=directory, capture_output=True, text=True, timeout=30)
    assert ("Signature Verified Successfully" in done.stdout) == (done.returncode == 0), done.stderr
    return done.returncode == 0


def test_it_accepts_a_checkpoint_and_refuses_another_text(tmp_path: Path) -> None:
    checkpoint = Checkpoint(ORIGIN, 257, bytes(range(32)))
    note = SignedNote.parse(sign_checkpoint(checkpoint, [SIGNER]))
    text, signature = note.text.encode(), note.signatures[0].signature
    assert openssl_accepts(tmp_path, text, signature)
    assert not openssl_accepts(tmp_path, text.replace(b"257", b"258"), signature)
    assert not openssl_accepts(tmp_path, text, signature[:-1] + bytes([signature[-1] ^ 1]))
