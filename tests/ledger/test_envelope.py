"""Envelopes: DSSE with one spelling only, and a signature that covers type and header."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.mangle import assert_every_flip_refused, mangled
from support.signed import sign
from support.story import COLLECTOR, OPERATOR, ROOT

from anvil.ledger.envelope import (
    MAX_ENTRY_SIZE,
    MAX_SIGNATURES,
    PAYLOAD_TYPE,
    Envelope,
    Signature,
    pae,
)
from anvil.ledger.errors import MalformedEnvelope, SignatureInvalid
from anvil.ledger.signing import PrivateKey

HEADER = b'{"a":"bytes that only look like a header"}'
ENTRY = sign(HEADER, [ROOT, OPERATOR]).encode()
PAYLOAD = base64.b64encode(HEADER)
MEMBERS = json.loads(ENTRY)
ONE = sign(HEADER, [ROOT]).encode()


def spaced(text: bytes, old: bytes, new: bytes) -> bytes:
    assert old in text
    return text.replace(old, new, 1)


# --- refused ----------------------------------------------------------------------------------------

BAD_ENTRIES = {
    "empty": b"",
    "not_json": b"entry",
    "an_array": b"[]",
    "default_spacing": json.dumps(MEMBERS).encode(),
    "blank_before": b" " + ENTRY,
    "newline_after": ENTRY + b"\n",
    "second_envelope": ENTRY + ENTRY,
    "other_order": json.dumps(dict(reversed(MEMBERS.items())), separators=(",", ":")).encode(),
    "keyid_after_sig": ONE.replace(b'"keyid"', b'"Sig"').replace(b'"sig"', b'"keyid"').replace(b'"Sig"', b'"sig"'),
    "another_payload_type": spaced(ENTRY, b"anvil.event.v1", b"anvil.event.v2"),
    "no_payload_type": spaced(ENTRY, f',"payloadType":"{PAYLOAD_TYPE}"'.encode(), b""),
    "unknown_member": spaced(ENTRY, b'"signatures"', b'"more":1,"signatures"'),
    "unknown_member_after": ENTRY[:-1] + b',"more":1}',
    "unknown_member_of_a_signature": spaced(ENTRY, b'"sig":', b'"more":1,"sig":'),
    "duplicate_payload": spaced(ENTRY, b'"payloadType"', b'"payload":"","payloadType"'),
    "no_signatures": sign(HEADER, [ROOT]).encode().split(b'"signatures":')[0] + b'"signatures":[]}',
    "signature_without_keyid": spaced(ENTRY, f'"keyid":"{ROOT.public_key.key_id}",'.encode(), b""),
    "upper_case_keyid": spaced(ENTRY, ROOT.public_key.key_id.encode(), ROOT.public_key.key_id.upper().encode()),
    "short_keyid": spaced(ENTRY, ROOT.public_key.key_id.encode(), ROOT.public_key.key_id[1:].encode()),
    "same_key_twice": spaced(ENTRY, OPERATOR.public_key.key_id.encode(), ROOT.public_key.key_id.encode()),
    "comma_after_the_last": spaced(ENTRY, b"}]}", b"},]}"),
    "payload_without_padding": spaced(sign(b"ab", [ROOT]).encode(), b'"YWI="', b'"YWI"'),
    "payload_too_much_padding": spaced(sign(b"ab", [ROOT]).encode(), b'"YWI="', b'"YWI=="'),
    "payload_loose_bits": spaced(sign(b"ab", [ROOT]).encode(), b'"YWI="', b'"YWJ="'),
    "payload_url_alphabet": spaced(sign(b"\xff\xef\xbf", [ROOT]).encode(), b"/++/", b"_--_"),
    "payload_with_newline": spaced(ENTRY, PAYLOAD, PAYLOAD[:8] + b"\n" + PAYLOAD[8:]),
    "payload_with_escape": spaced(ENTRY, PAYLOAD, b"\\u00" + PAYLOAD),
    "payload_padding_inside": spaced(ENTRY, PAYLOAD, b"YQ==" + PAYLOAD),
    "signature_loose_bits": spaced(ONE, b'=="}', b'A=="}'),
    "signature_of_63_bytes": Envelope(HEADER, (Signature("a" * 64, bytes(63)),)).encode(),
    "signature_of_65_bytes": Envelope(HEADER, (Signature("a" * 64, bytes(65)),)).encode(),
    "cut_in_the_middle": ENTRY[: len(ENTRY) // 2],
    "cut_at_the_end": ENTRY[:-1],
    "too_long": spaced(ENTRY, PAYLOAD, base64.b64encode(bytes(MAX_ENTRY_SIZE))),
    "a_mib": b'{"payload":"' + b"A" * (1 << 20),
    "deep": b'{"payload":' * 5000,
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_ENTRIES)
def test_refused_entry(name: str) -> None:
    with pytest.raises(MalformedEnvelope) as refusal:
        Envelope.parse(BAD_ENTRIES[name])
    assert len(str(refusal.value)) < 400


def test_loose_bits_of_a_signature_are_refused() -> None:
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    last = ONE.rindex(b'=="}') - 1
    neighbour = alphabet[alphabet.index(ONE[last]) + 1]
    other = ONE[:last] + bytes([neighbour]) + ONE[last + 1 :]
    assert base64.b64decode(json.loads(other)["signatures"][0]["sig"]) == base64.b64decode(
        MEMBERS["signatures"][0]["sig"]
    )
    with pytest.raises(MalformedEnvelope):
        Envelope.parse(other)


def test_more_than_sixteen_signatures_are_neither_written_nor_read() -> None:
    signers = [PrivateKey.from_seed(bytes([n]) * 32) for n in range(MAX_SIGNATURES + 1)]
    full = sign(HEADER, signers[:-1])
    assert Envelope.parse(full.encode()) == full
    with pytest.raises(MalformedEnvelope, match="1 to 16"):
        sign(HEADER, signers).encode()
    last = full.signatures[-1].key_id.encode()
    one_more = full.encode()[:-2] + full.encode()[full.encode().rindex(b',{"keyid"') :].replace(
        last, b"f" * 64
    )
    with pytest.raises(MalformedEnvelope):
        Envelope.parse(one_more)


def test_no_signature_and_two_by_one_key_are_not_written() -> None:
    with pytest.raises(MalformedEnvelope):
        sign(HEADER, []).encode()
    with pytest.raises(MalformedEnvelope, match="same key"):
        sign(HEADER, [ROOT, OPERATOR, ROOT]).encode()


def test_an_entry_of_65535_bytes_fits_and_a_longer_one_says_what_to_do() -> None:
    room = MAX_ENTRY_SIZE - len(sign(b"", [ROOT]).encode())
    longest = sign(bytes(room // 4 * 3), [ROOT])
    assert MAX_ENTRY_SIZE - 4 < len(longest.encode()) <= MAX_ENTRY_SIZE
    assert Envelope.parse(longest.encode()) == longest
    with pytest.raises(MalformedEnvelope, match="at most 65535") as refusal:
        sign(bytes(room // 4 * 3 + 3), [ROOT]).encode()
    assert "file" in refusal.value.advice


def test_every_changed_byte_is_refused_or_breaks_a_signature() -> None:
    def use(raw: bytes) -> None:
        parsed = Envelope.parse(raw)
        keys = {key.public_key.key_id: key.public_key for key in (ROOT, OPERATOR)}
        for signature in parsed.signatures:
            if signature.key_id not in keys:
                raise SignatureInvalid("unknown key")
            keys[signature.key_id].verify(signature.value, pae(parsed.header))

    use(ENTRY)
    assert_every_flip_refused(ENTRY, use, (MalformedEnvelope, SignatureInvalid))


def test_a_signature_over_another_payload_type_or_the_bare_header_is_no_signature() -> None:
    for message in (HEADER, pae(HEADER, "application/json"), b"DSSEv1 " + HEADER):
        with pytest.raises(SignatureInvalid):
            ROOT.public_key.verify(ROOT.sign(message), pae(HEADER))


# --- accepted ---------------------------------------------------------------------------------------

signer_lists = st.lists(st.sampled_from([ROOT, OPERATOR, COLLECTOR]), min_size=1, unique=True)


@given(st.binary(max_size=2000), signer_lists)
def test_an_envelope_is_read_as_it_is_written(header: bytes, signers: list[PrivateKey]) -> None:
    signed = sign(header, signers)
    entry = signed.encode()
    assert Envelope.parse(entry) == signed
    assert json.loads(entry) == {
        "payload": base64.b64encode(header).decode(),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [
            {"keyid": s.key_id, "sig": base64.b64encode(s.value).decode()} for s in signed.signatures
        ],
    }
    for key, signature in zip(signers, signed.signatures, strict=True):
        key.public_key.verify(signature.value, pae(header))


@given(mangled(ENTRY) | mangled(ONE) | st.binary())
def test_what_is_parsed_has_one_spelling(raw: bytes) -> None:
    try:
        parsed = Envelope.parse(raw)
    except MalformedEnvelope:
        return
    assert parsed.encode() == raw


@given(st.binary(max_size=60), st.binary(max_size=60), st.text(max_size=20), st.text(max_size=20))
def test_pae_is_injective(one: bytes, other: bytes, kind: str, other_kind: str) -> None:
    assert (pae(one, kind) == pae(other, other_kind)) == ((one, kind) == (other, other_kind))
