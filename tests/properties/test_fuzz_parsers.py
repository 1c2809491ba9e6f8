"""Every parser on the verify path, over arbitrary bytes and valid ones that were mangled.

A parser gives a value or one of the errors that its docstring names; nothing else comes out, nothing
hangs, and what it accepts it would write in the same bytes. `make soak` draws many more.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.logs import SIGNER, key_of, synthetic_entries, tree_reader
from support.mangle import mangled
from support.signed import sign
from support.story import ORIGIN, ROOT, STATE, story

from anvil.ledger import anchor, canonical
from anvil.ledger.anchor import Anchor
from anvil.ledger.checkpoint import Checkpoint, open_checkpoint, sign_checkpoint
from anvil.ledger.commitments import Opening
from anvil.ledger.envelope import Envelope
from anvil.ledger.errors import AnvilError, LedgerError, Malformed, SignatureInvalid, UnknownEventType
from anvil.ledger.events import decode
from anvil.ledger.header import Header
from anvil.ledger.merkle import inclusion_proof, leaf_hash, root_at
from anvil.ledger.note import SignedNote, VerifierKey
from anvil.ledger.signing import PrivateKey, PublicKey
from anvil.ledger.tiles import decode_bundle, decode_tile, encode_bundle
from anvil.ledger.tlogproof import TlogProof

DEADLINE_S = 5.0
STORY = story()
KEY = key_of(SIGNER)
ENTRIES = synthetic_entries(5)
READ = tree_reader([leaf_hash(entry) for entry in ENTRIES])
SIGNED = Checkpoint(KEY.name, 5, root_at(5, READ))
NOTE = sign_checkpoint(SIGNED, [SIGNER])
PROOF = TlogProof(3, tuple(inclusion_proof(3, 5, READ)), NOTE, b"extra")

# --- the parsers -------------------------------------------------------------------------------------


def use_canonical(raw: bytes) -> None:
    assert canonical.encode(canonical.decode(raw)) == raw


def use_header(raw: bytes) -> None:
    header = Header.parse(raw)
    assert header.encode() == raw == canonical.encode(canonical.decode(raw))
    decode(header.event, header.facts, header.sealed)


def use_envelope(raw: bytes) -> None:
    parsed = Envelope.parse(raw)
    assert parsed.encode() == raw
    use_header(parsed.header)


def use_note(raw: bytes) -> None:
    assert SignedNote.parse(raw).to_bytes() == raw


def use_body(raw: bytes) -> None:
    text = raw.decode(errors="surrogateescape")
    assert Checkpoint.parse_body(text).body() == text


def use_checkpoint(raw: bytes) -> None:
    assert open_checkpoint(raw, [KEY]) == SIGNED


def use_vkey(raw: bytes) -> None:
    text = raw.decode(errors="surrogateescape")
    assert str(VerifierKey.parse(text)) == text


def use_proof(raw: bytes) -> None:
    proof = TlogProof.parse(raw)
    assert proof.to_bytes() == raw
    proof.verify(ENTRIES[3], [KEY])


def use_bundle(raw: bytes) -> None:
    for width in (1, 5, 256):
        try:
            assert encode_bundle(decode_bundle(raw, width)) == raw
        except Malformed:
            continue


def use_tile(raw: bytes) -> None:
    assert b"".join(decode_tile(raw, 5)) == raw


def use_public_key(raw: bytes) -> None:
    assert PublicKey.vetted(raw).raw == raw


def use_opening(raw: bytes) -> None:
    facts = {"status": "declared", "public_text": None}
    decode("observation.noted/1", facts, {"text": Opening(bytes(32), raw)})
    decode("observation.noted/2", {**facts, "claims": None}, {"text": Opening(bytes(32), raw)})


def use_facts(raw: bytes) -> None:
    facts = canonical.decode(raw)
    if isinstance(facts, dict):
        closest = max(STORY, key=lambda told: len(told.header.facts.keys() & facts.keys()))
        assert decode(closest.header.event, facts, {}).facts() == facts


def use_anchor(raw: bytes) -> None:
    anchor._parse(raw, KEY.name)


def use_pem(raw: bytes) -> None:
    PrivateKey.from_pem(raw)


@dataclass(frozen=True)
class Parser:
    use: Callable[[bytes], None]
    valid: tuple[bytes, ...]
    refusals: tuple[type[Exception], ...] = (Malformed,)


PARSERS = {
    "canonical.decode": Parser(use_canonical, tuple(t.header.raw for t in STORY)),
    "Header.parse": Parser(use_header, tuple(t.header.raw for t in STORY), (Malformed, UnknownEventType)),
    "Envelope.parse": Parser(use_envelope, tuple(t.entry for t in STORY), (Malformed, UnknownEventType)),
    "SignedNote.parse": Parser(use_note, (NOTE, STATE.encode())),
    "Checkpoint.parse_body": Parser(use_body, (NOTE.split(b"\n\n")[0] + b"\n",)),
    "open_checkpoint": Parser(use_checkpoint, (NOTE, STATE.encode()), (Malformed, SignatureInvalid)),
    "VerifierKey.parse": Parser(use_vkey, (str(KEY).encode(),)),
    "TlogProof.parse": Parser(use_proof, (PROOF.to_bytes(),), (Malformed, SignatureInvalid)),
    "decode_bundle": Parser(use_bundle, (encode_bundle(ENTRIES), encode_bundle(ENTRIES[:1]))),
    "decode_tile": Parser(use_tile, (b"\x07" * 160,)),
    "PublicKey.vetted": Parser(use_public_key, (KEY.public_key.raw, ROOT.public_key.raw)),
    "events.decode, opening": Parser(use_opening, (b'"words"', b"null")),
    "events.decode, facts": Parser(use_facts, tuple(canonical.encode(t.header.facts) for t in STORY)),
    "anchor": Parser(use_anchor, (anchor._spell(KEY.name, NOTE, [KEY]),), (Malformed, SignatureInvalid)),
    "PrivateKey.from_pem": Parser(use_pem, (SIGNER.to_pem(),)),
}


def try_out(name: str, raw: bytes) -> None:
    """Use a parser; anything but a value or a refusal that it names fails the test."""
    parser = PARSERS[name]
    started = time.monotonic()
    try:
        parser.use(raw)
    except parser.refusals as error:
        text = f"{error} {error.advice}" if isinstance(error, AnvilError) else str(error)
        assert len(text) < 2500, f"{len(text)} characters of complaint"
        assert not any(ord(character) < 32 for character in text), text
    assert time.monotonic() - started < DEADLINE_S


# --- bytes ---------------------------------------------------------------------------------------------

MIB = 1 << 20

BAD_INPUT = {
    "empty": b"",
    "nul": b"\0",
    "newlines": b"\n" * 1000,
    "duplicate_keys": b'{"v":1,"v":1}',
    "float": b'{"v":1.0}',
    "huge_integer": b'{"v":' + b"9" * 100_000 + b"}",
    "huge_exponent": b'{"v":1e999999999}',
    "nan": b'{"v":NaN}',
    "lone_surrogate": b'{"v":"\\ud800"}',
    "surrogate_in_utf8": b'{"v":"\xed\xa0\x80"}',
    "invalid_utf8": b"\xff\xfe\xfd",
    "utf16": '{"v":1}'.encode("utf-16"),
    "string_of_a_mib": b'"' + b"a" * MIB + b'"',
    "letters_of_a_mib": b"a" * MIB,
    "zeros_of_a_mib": bytes(MIB),
    "digits_of_a_mib": b"1" * MIB,
    "dashes_of_a_mib": "\u2014 ".encode() * (MIB // 4),
    "quotes_of_a_mib": b'"' * MIB,
    "newlines_of_a_mib": b"\n" * MIB,
    "pluses_of_a_mib": b"+" * MIB,
    "deep_arrays": b"[" * 100_000,
    "deep_objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "deep_for_writing_only": b"[" * 900 + b"]" * 900,
    "many_members": canonical.encode({f"k{number}": number for number in range(50_000)}),
    "unknown_header_version": STORY[0].header.raw.replace(b'"v":1', b'"v":2'),
    "unknown_event_version": STORY[0].header.raw.replace(b"ledger.created/1", b"ledger.created/2"),
    "unknown_event_type": STORY[0].header.raw.replace(b"ledger.created/1", b"ledger.destroyed/1"),
    "escape_sequences": b'{"\x1b[2J":1}',
    "escaped_escape_sequences": b'{"\\u001b[2J":"\\u001b]0;x\\u0007"}',
    "escape_in_a_note": b"\x1b[2J\n3\n" + NOTE[-60:],
    "wrapped_unknown_type": sign(b'{"v":1,"\\u001b[2J":0}', [ROOT]).encode(),
}


@pytest.mark.parametrize("bad", BAD_INPUT)
@pytest.mark.parametrize("name", PARSERS)
def test_bad_input_is_refused_by_name(name: str, bad: str) -> None:
    try_out(name, BAD_INPUT[bad])


@pytest.mark.parametrize("name", PARSERS)
def test_what_is_valid_is_accepted(name: str) -> None:
    PARSERS[name].use(PARSERS[name].valid[0])


def anything(name: str) -> st.SearchStrategy[bytes]:
    valid = st.sampled_from(PARSERS[name].valid)
    crossed = st.tuples(valid, st.sampled_from(PARSERS[name].valid), st.floats(0, 1)).map(
        lambda t: t[0][: int(len(t[0]) * t[2])] + t[1][int(len(t[1]) * t[2]) :]
    )
    return st.one_of(
        valid.flatmap(mangled), crossed, st.binary(max_size=300), st.text(max_size=100).map(_encoded)
    )


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


@pytest.mark.parametrize("name", PARSERS)
@given(data=st.data())
@settings(max_examples=100)
def test_arbitrary_and_mangled_bytes(name: str, data: st.DataObject) -> None:
    try_out(name, data.draw(anything(name)))


@pytest.mark.soak
@pytest.mark.parametrize("name", PARSERS)
@given(data=st.data())
def test_arbitrary_and_mangled_bytes_for_long(name: str, data: st.DataObject) -> None:
    try_out(name, data.draw(anything(name)))


@pytest.mark.parametrize("name", PARSERS)
def test_every_cut_and_every_flipped_byte(name: str) -> None:
    valid = min(PARSERS[name].valid, key=len)
    for position in range(len(valid)):
        try_out(name, valid[:position])
        flipped = bytearray(valid)
        flipped[position] ^= 0xFF
        try_out(name, bytes(flipped))
        flipped[position] ^= 0xFF ^ 0x20
        try_out(name, bytes(flipped))


@given(
    st.binary(max_size=200)
    | mangled(anchor._spell(ORIGIN, STATE.encode(), [VerifierKey(ORIGIN, ROOT.public_key)]))
)
def test_an_altered_anchor_file_is_one_clear_error(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes
) -> None:
    held = Anchor(Path(tmp_path_factory.mktemp("state")), ORIGIN)
    held.path.parent.mkdir(parents=True)
    held.path.write_bytes(raw)
    with contextlib.suppress(LedgerError):
        assert held.read() is not None
        return
    with pytest.raises(LedgerError, match="was altered"):
        held.read()
