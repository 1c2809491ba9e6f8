"""Checkpoints: the text that is signed, who must have signed it, and what is refused by name."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.logs import ORIGIN, SIGNER, key_of
from support.mangle import assert_every_flip_refused, mangled

from anvil.ledger.checkpoint import Checkpoint, open_checkpoint, parse_decimal, sign_checkpoint
from anvil.ledger.errors import MalformedCheckpoint, MalformedKey, MalformedNote, SignatureInvalid
from anvil.ledger.merkle import EMPTY_ROOT
from anvil.ledger.note import VerifierKey, sign_note
from anvil.ledger.signing import PrivateKey

ROOT = bytes(range(32))
ROOT_LINE = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
CHECKPOINT = Checkpoint(ORIGIN, 5, ROOT)
KEY = key_of(SIGNER)
RAW = sign_checkpoint(CHECKPOINT, [SIGNER])
NEXT = PrivateKey.from_seed(bytes([7]) * 32)

CONTROLS = "".join(map(chr, range(32)))
LINES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=CONTROLS), min_size=1, max_size=20
)


def test_the_body_is_three_lines() -> None:
    assert CHECKPOINT.body() == f"{ORIGIN}\n5\n{ROOT_LINE}\n"


@given(LINES, st.integers(1, 2**63 - 1), st.binary(min_size=32, max_size=32), st.lists(LINES))
def test_a_body_is_read_as_it_is_written(origin: str, size: int, root: bytes, extensions: list[str]) -> None:
    checkpoint = Checkpoint(origin, size, root, tuple(extensions))
    assert Checkpoint.parse_body(checkpoint.body()) == checkpoint


def test_what_is_signed_opens() -> None:
    assert open_checkpoint(RAW, [KEY]) == CHECKPOINT
    extended = Checkpoint(ORIGIN, 0, EMPTY_ROOT, ("one", "two"))
    assert open_checkpoint(sign_checkpoint(extended, [SIGNER]), [KEY]) == extended


def test_during_a_rotation_either_key_opens_it() -> None:
    raw = sign_checkpoint(CHECKPOINT, [SIGNER, NEXT])
    for keys in ([KEY], [key_of(NEXT)], [KEY, key_of(NEXT)]):
        assert open_checkpoint(raw, keys) == CHECKPOINT


def test_only_a_key_named_like_the_origin_counts() -> None:
    witness = VerifierKey("witness.test.invalid", NEXT.public_key)
    both = sign_note(CHECKPOINT.body(), [(ORIGIN, SIGNER), (witness.name, NEXT)])
    assert open_checkpoint(both, [KEY, witness]) == CHECKPOINT
    with pytest.raises(SignatureInvalid, match=r"signed only by 'witness.test.invalid'"):
        open_checkpoint(both, [witness])
    with pytest.raises(SignatureInvalid, match="none of the known keys"):
        open_checkpoint(RAW, [key_of(NEXT)])


def test_every_changed_byte_of_a_checkpoint_is_refused() -> None:
    refusals = (MalformedNote, MalformedCheckpoint, SignatureInvalid)
    assert_every_flip_refused(RAW, lambda raw: open_checkpoint(raw, [KEY]), refusals)


def test_an_origin_that_no_key_can_be_named_like_is_not_signed() -> None:
    with pytest.raises(MalformedKey):
        sign_checkpoint(Checkpoint("two words", 5, ROOT), [SIGNER])


BAD_BODIES = {
    "empty": "",
    "two_lines": f"{ORIGIN}\n5\n",
    "no_final_newline": f"{ORIGIN}\n5\n{ROOT_LINE}",
    "empty_origin": f"\n5\n{ROOT_LINE}\n",
    "empty_extension": f"{ORIGIN}\n5\n{ROOT_LINE}\n\n",
    "carriage_return": f"{ORIGIN}\r\n5\r\n{ROOT_LINE}\r\n",
    "leading_zero": f"{ORIGIN}\n05\n{ROOT_LINE}\n",
    "plus_sign": f"{ORIGIN}\n+5\n{ROOT_LINE}\n",
    "negative": f"{ORIGIN}\n-5\n{ROOT_LINE}\n",
    "underscore": f"{ORIGIN}\n1_0\n{ROOT_LINE}\n",
    "arabic_digits": f"{ORIGIN}\n٥\n{ROOT_LINE}\n",
    "space": f"{ORIGIN}\n 5\n{ROOT_LINE}\n",
    "too_large": f"{ORIGIN}\n{2**63}\n{ROOT_LINE}\n",
    "endless": f"{ORIGIN}\n{'9' * 5000}\n{ROOT_LINE}\n",
    "short_root": f"{ORIGIN}\n5\nAAAA\n",
    "long_root": f"{ORIGIN}\n5\n{'A' * 44}\n",
    "empty_root": f"{ORIGIN}\n5\n\n",
    "hex_root": f"{ORIGIN}\n5\n{ROOT.hex()}\n",
    "loose_bits": f"{ORIGIN}\n5\n{ROOT_LINE.replace('8=', '9=')}\n",
    "size_0_with_a_root": f"{ORIGIN}\n0\n{ROOT_LINE}\n",
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_malformed_checkpoint(name: str) -> None:
    with pytest.raises(MalformedCheckpoint):
        Checkpoint.parse_body(BAD_BODIES[name])


def test_a_signed_note_that_is_no_checkpoint_is_malformed() -> None:
    with pytest.raises(MalformedCheckpoint):
        open_checkpoint(sign_note("hello\n", [(ORIGIN, SIGNER)]), [KEY])


@pytest.mark.parametrize(
    ("origin", "size", "root"),
    [("", 1, ROOT), ("a\nb", 1, ROOT), ("a", -1, ROOT), ("a", 2**63, ROOT), ("a", 1, b"")],
)
def test_a_checkpoint_that_no_text_can_carry_is_not_made(origin: str, size: int, root: bytes) -> None:
    with pytest.raises(MalformedCheckpoint):
        Checkpoint(origin, size, root)


@given(st.text() | mangled(CHECKPOINT.body().encode()).map(lambda raw: raw.decode(errors="replace")))
def test_arbitrary_text_raises_malformed(text: str) -> None:
    with contextlib.suppress(MalformedCheckpoint):
        assert Checkpoint.parse_body(text).body() == text


@given(st.binary() | mangled(RAW))
def test_arbitrary_bytes_raise_malformed_or_signature_invalid(raw: bytes) -> None:
    with pytest.raises((MalformedNote, MalformedCheckpoint, SignatureInvalid)):
        open_checkpoint(raw if raw != RAW else b"", [KEY])


@given(st.integers(0, 2**64))
def test_decimals(number: int) -> None:
    assert parse_decimal(str(number)) == (number if number < 2**63 else None)
