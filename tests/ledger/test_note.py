"""Signed notes and verifier keys: round trips, strictness, and what is refused by name."""

from __future__ import annotations

import base64
import contextlib
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.mangle import assert_every_flip_refused, mangled

from anvil.ledger.errors import Malformed, MalformedKey, MalformedNote, SignatureInvalid
from anvil.ledger.note import SignedNote, VerifierKey, decode_base64, open_note, sign_note
from anvil.ledger.signing import PrivateKey

ALICE, BOB = PrivateKey.from_seed(bytes(32)), PrivateKey.from_seed(bytes([1]) * 32)
ALICE_KEY, BOB_KEY = VerifierKey("alice.test.invalid", ALICE.public_key), VerifierKey("bob", BOB.public_key)
TEXT = "first line\n\nthird line, äöü\n"
RAW = sign_note(TEXT, [(ALICE_KEY.name, ALICE), (BOB_KEY.name, BOB)])
SIMPLE = sign_note("text\n", [("bob", BOB)])

CONTROLS = "".join(map(chr, range(32)))
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=CONTROLS.replace("\n", "")))
NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"], exclude_characters="+"), min_size=1
)


@given(TEXTS, NAMES)
def test_what_is_signed_opens_and_is_written_again_alike(text: str, name: str) -> None:
    key = VerifierKey(name, ALICE.public_key)
    raw = sign_note(text + "\n", [(name, ALICE), ("bob", BOB)])
    note, signed_by = open_note(raw, [key, BOB_KEY])
    assert note.text == text + "\n"
    assert signed_by == (key, BOB_KEY)
    assert note.to_bytes() == raw


@given(NAMES, st.binary(min_size=32, max_size=32))
def test_a_verifier_key_is_read_as_it_is_written(name: str, seed: bytes) -> None:
    key = VerifierKey(name, PrivateKey.from_seed(seed).public_key)
    assert VerifierKey.parse(str(key)) == key


def test_the_last_empty_line_divides() -> None:
    assert SignedNote.parse(RAW).text == TEXT


def test_a_fingerprint_is_the_digest_of_the_whole_key_text() -> None:
    key = VerifierKey.parse("example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k")
    assert key.fingerprint == "SHA256:oFQlyPX0c5pKlpksnb1Yfb4i6jhzOxYWfzmdRO+52fA"


# --- which signatures count ------------------------------------------------------------------------


def test_an_unknown_signature_is_kept_and_not_judged() -> None:
    raw = RAW + "— alice.test.invalid AAAAAAECAwQ=\n— witness.test.invalid {}\n".format("A" * 3240).encode()
    note, signed_by = open_note(raw, [BOB_KEY])
    assert signed_by == (BOB_KEY,)
    assert [signature.name for signature in note.signatures][2:] == [
        "alice.test.invalid",
        "witness.test.invalid",
    ]
    assert note.to_bytes() == raw


def test_no_known_signature_is_a_refusal() -> None:
    with pytest.raises(SignatureInvalid, match="none of the known keys"):
        open_note(RAW, [])
    with pytest.raises(SignatureInvalid, match="none of the known keys"):
        open_note(RAW, [VerifierKey("bobby", BOB.public_key)])


def test_a_bad_signature_of_a_known_key_condemns_the_note() -> None:
    note = SignedNote.parse(RAW)
    forged = SignedNote("another text\n", note.signatures[1:])
    mixed = (
        sign_note("another text\n", [(ALICE_KEY.name, ALICE)]) + (forged.signatures[0].line() + "\n").encode()
    )
    for raw in (forged.to_bytes(), mixed):
        with pytest.raises(SignatureInvalid, match="does not verify"):
            open_note(raw, [ALICE_KEY, BOB_KEY])
    assert open_note(mixed, [ALICE_KEY])[1] == (ALICE_KEY,)


def test_a_second_bad_signature_of_the_same_key_is_not_overlooked() -> None:
    good = SignedNote.parse(SIMPLE).signatures[0]
    other = SignedNote.parse(sign_note("other\n", [("bob", BOB)])).signatures[0]
    with pytest.raises(SignatureInvalid):
        open_note(SignedNote("text\n", (good, other)).to_bytes(), [BOB_KEY])
    assert open_note(SignedNote("text\n", (good, good)).to_bytes(), [BOB_KEY, BOB_KEY])[1] == (BOB_KEY,)


def test_every_changed_byte_of_a_note_is_refused() -> None:
    assert_every_flip_refused(
        SIMPLE, lambda raw: open_note(raw, [BOB_KEY]), (MalformedNote, SignatureInvalid)
    )


# --- what is malformed -----------------------------------------------------------------------------

LINE = SIMPLE.decode().split("\n\n")[1]
BAD_NOTES = {
    "empty": b"",
    "no_signature_block": b"text\n",
    "empty_signature_block": b"text\n\n",
    "no_empty_line": f"text\n{LINE}".encode(),
    "no_final_newline": SIMPLE[:-1],
    "two_final_newlines": SIMPLE + b"\n",
    "line_after_signatures": SIMPLE + b"more\n",
    "carriage_return": SIMPLE.replace(b"\n", b"\r\n"),
    "tab": b"\t" + SIMPLE,
    "nul": b"\0" + SIMPLE,
    "invalid_utf8": b"\xff" + SIMPLE,
    "utf8_surrogate": b"\xed\xa0\x80" + SIMPLE,
    "utf16": SIMPLE.decode().encode("utf-16"),
    "hyphen_for_dash": SIMPLE.replace("—".encode(), b"-"),
    "name_with_plus": SIMPLE.replace(b" bob ", b" b+b "),
    "name_with_space": SIMPLE.replace(b" bob ", b" b b "),
    "name_with_no_break_space": SIMPLE.replace(b" bob ", " b\u00a0b ".encode()),
    "name_with_line_separator": SIMPLE.replace(b" bob ", " b\u2028b ".encode()),
    "no_name": SIMPLE.replace(b" bob ", b"  "),
    "no_signature": "text\n\n— bob\n".encode(),
    "key_id_only": "text\n\n— bob AAAAAA==\n".encode(),
    "base64_without_padding": SIMPLE.replace(b"=", b""),
    "base64_url_alphabet": "text\n\n— bob AAAAA-__\n".encode(),
    "base64_loose_bits": "text\n\n— bob AAAAAAB=\n".encode(),
    "too_many_signatures": SIMPLE + LINE.encode() * 100,
}


@pytest.mark.parametrize("name", BAD_NOTES)
def test_malformed_note(name: str) -> None:
    with pytest.raises(MalformedNote):
        SignedNote.parse(BAD_NOTES[name])


def test_a_hundred_signatures_are_read() -> None:
    assert len(SignedNote.parse(SIMPLE + LINE.encode() * 99).signatures) == 100


@pytest.mark.parametrize("text", ["", "no newline", "tab\t\n", "cr\r\n", "lone \ud800\n"])
def test_a_text_that_no_note_can_carry_is_not_signed(text: str) -> None:
    with pytest.raises(MalformedNote):
        sign_note(text, [("bob", BOB)])


def test_a_note_without_signers_or_with_too_many_is_not_made() -> None:
    for count in (0, 101):
        with pytest.raises(MalformedNote):
            sign_note("text\n", [("bob", BOB)] * count)


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\tb", "a\nb", "a\u3000b", "\x01", "\ud800"])
def test_a_name_that_no_key_can_have(name: str) -> None:
    with pytest.raises(MalformedKey):
        VerifierKey(name, BOB.public_key)
    with pytest.raises(MalformedKey):
        sign_note("text\n", [(name, BOB)])


def vkey_of(raw: bytes, kind: int = 1) -> str:
    """The vkey of any bytes at all, with the key id that fits them."""
    typed = bytes([kind]) + raw
    return f"bob+{hashlib.sha256(b'bob' + bytes([10]) + typed).hexdigest()[:8]}+{base64.b64encode(typed).decode()}"


BAD_KEYS = {
    "empty": "",
    "no_parts": "bob",
    "no_name": str(BOB_KEY).removeprefix("bob"),
    "newline_after": f"{BOB_KEY}\n",
    "wrong_key_id": f"bob+00000000+{str(BOB_KEY).split('+', 2)[2]}",
    "other_name": str(BOB_KEY).replace("bob", "rob"),
    "short_key_id": str(BOB_KEY).replace(BOB_KEY.key_hash.hex(), BOB_KEY.key_hash.hex()[:7]),
    "upper_case_key_id": str(BOB_KEY).replace(BOB_KEY.key_hash.hex(), BOB_KEY.key_hash.hex().upper()),
    "no_key": vkey_of(b""),
    "short_key": vkey_of(BOB.public_key.raw[:31]),
    "long_key": vkey_of(BOB.public_key.raw + b"\0"),
    "cosignature_type": vkey_of(BOB.public_key.raw, 4),
    "small_order": vkey_of(bytes(32)),
    "not_canonical": vkey_of(b"\xed" + b"\xff" * 30 + b"\x7f"),
    "not_on_the_curve": vkey_of(b"\x02" + bytes(31)),
}


@pytest.mark.parametrize("name", BAD_KEYS)
def test_malformed_verifier_key(name: str) -> None:
    with pytest.raises(MalformedKey):
        VerifierKey.parse(BAD_KEYS[name])


# --- arbitrary input -------------------------------------------------------------------------------


@given(st.binary() | mangled(RAW) | mangled(SIMPLE))
def test_arbitrary_bytes_raise_malformed_or_signature_invalid(raw: bytes) -> None:
    try:
        assert SignedNote.parse(raw).to_bytes() == raw
        open_note(raw, [ALICE_KEY, BOB_KEY])
    except (MalformedNote, SignatureInvalid):
        pass


@given(st.text() | mangled(str(BOB_KEY).encode()).map(lambda raw: raw.decode(errors="surrogateescape")))
def test_arbitrary_verifier_keys_raise_malformed(text: str) -> None:
    with contextlib.suppress(Malformed):
        assert str(VerifierKey.parse(text)) == text


@given(st.binary())
def test_base64_has_one_spelling(raw: bytes) -> None:
    encoded = base64.b64encode(raw).decode()
    assert decode_base64(encoded) == raw
    for other in (encoded + "\n", encoded + "=", " " + encoded, encoded + "é"):
        assert decode_base64(other) is None
