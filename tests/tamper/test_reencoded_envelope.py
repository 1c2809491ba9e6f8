"""An envelope is spelled in another way: the same header and signatures, another leaf."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import pytest
from support.ledgers import ATTACKER, PUBLIC, SIZE, Small, attack, push, refused, said, session
from support.signed import sign

from anvil.ledger.envelope import Envelope
from anvil.ledger.merkle import leaf_hash


def _json(entry: bytes) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(entry)
    return loaded


def _compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _url_safe(entry: bytes) -> bytes:
    """Spell header and signatures in the other alphabet; a header of ASCII has hardly ever a `+` or `/`."""
    value, envelope = _json(entry), Envelope.parse(entry)
    value["payload"] = urlsafe_b64encode(envelope.header).decode()
    for spelled, signature in zip(value["signatures"], envelope.signatures, strict=True):
        spelled["sig"] = urlsafe_b64encode(signature.value).decode()
    return _compact(value)


def _last_bits(entry: bytes) -> bytes:
    """Set the unused bits of the last base64 character of the signature."""
    at = entry.rindex(b'=="}')
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = alphabet[alphabet.index(entry[at - 1]) | 1]
    return entry[: at - 1] + bytes([other]) + entry[at:]


def _twice(entry: bytes) -> bytes:
    value = _json(entry)
    value["signatures"] *= 2
    return _compact(value)


SPELLINGS: dict[str, Callable[[bytes], bytes]] = {
    "spaces": lambda entry: json.dumps(_json(entry)).encode(),
    "order": lambda entry: _compact(dict(reversed(_json(entry).items()))),
    "order inside a signature": lambda entry: entry.replace(b'"keyid"', b'"keyid" '),
    "newline": lambda entry: entry + b"\n",
    "no padding": lambda entry: entry.replace(b'=="}', b'"}'),
    "url-safe base64": _url_safe,
    "unused bits": _last_bits,
    "upper-case key id": lambda entry: entry[:-150] + entry[-150:].replace(b"a", b"A").replace(b"b", b"B"),
    "escaped payload type": lambda entry: entry.replace(b"application/vnd", b"application\\/vnd"),
    "other payload type": lambda entry: entry.replace(b"event.v1+json", b"event.v2+json"),
    "another member": lambda entry: entry[:-1] + b',"x":1}',
    "signature twice": _twice,
    "no signature": lambda entry: entry[: entry.index(b"[") + 1] + b"]}",
    "too long": lambda entry: entry + b" " * 65_536,
    "empty": lambda entry: b"",
}


def replace_entry(small: Small, index: int, entry: bytes) -> None:
    with attack(small) as db:
        db.execute(
            'UPDATE entries SET entry = ?, leaf_hash = ? WHERE "index" = ?', [entry, leaf_hash(entry), index]
        )


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_in_another_spelling(small: Small, spelling: str) -> None:
    entries = small.entries()
    # the public one where it has such a character, else the first that has
    order = sorted(range(len(entries)), key=lambda index: index != PUBLIC)
    index = next(index for index in order if SPELLINGS[spelling](entries[index]) != entries[index])
    other = SPELLINGS[spelling](entries[index])
    replace_entry(small, index, other)
    report = small.verify()
    refused(report, "non-canonical", index)
    refused(report, "tampered", index)


@pytest.mark.parametrize("spelling", ["spaces", "newline", "unused bits"])
def test_where_no_checkpoint_covers_it_yet(small: Small, spelling: str) -> None:
    entries = session(small.origin, small.key("operator"), said("x"))
    with attack(small) as db:
        push(db, *entries)
    replace_entry(small, SIZE + 1, SPELLINGS[spelling](entries[1]))
    refused(small.verify(), "non-canonical", SIZE + 1)


def test_a_signature_by_a_stranger_is_added(small: Small) -> None:
    envelope = Envelope.parse(small.entries()[PUBLIC])
    extra = sign(envelope.header, [ATTACKER]).signatures
    replace_entry(small, PUBLIC, Envelope(envelope.header, envelope.signatures + extra).encode())
    refused(small.verify(), "unknown-key", PUBLIC)


def test_a_signature_by_a_known_key_is_added(small: Small) -> None:
    envelope = Envelope.parse(small.entries()[PUBLIC])
    extra = sign(envelope.header, [small.key("collector")]).signatures
    replace_entry(small, PUBLIC, Envelope(envelope.header, envelope.signatures + extra).encode())
    refused(small.verify(), "tampered", PUBLIC)


def test_a_strangers_signature_comes_first(small: Small) -> None:
    envelope = Envelope.parse(small.entries()[PUBLIC])
    extra = sign(envelope.header, [ATTACKER]).signatures
    replace_entry(small, PUBLIC, Envelope(envelope.header, extra + envelope.signatures).encode())
    refused(small.verify(), "not-permitted", PUBLIC)


def test_the_cosignatures_of_the_first_event_change_places(small: Small) -> None:
    envelope = Envelope.parse(small.entries()[0])
    first, *rest = envelope.signatures
    replace_entry(small, 0, Envelope(envelope.header, (first, *reversed(rest))).encode())
    refused(small.verify(), "tampered", 0)


def test_a_cosignature_of_the_first_event_is_taken_away(small: Small) -> None:
    envelope = Envelope.parse(small.entries()[0])
    replace_entry(small, 0, Envelope(envelope.header, envelope.signatures[:-1]).encode())
    refused(small.verify(), "not-permitted", 0)
