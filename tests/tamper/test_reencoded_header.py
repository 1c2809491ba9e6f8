"""A header is spelled in another way: the same value, other bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from support.ledgers import (
    ATTACKER,
    PUBLIC,
    SIZE,
    Pretends,
    Small,
    attack,
    push,
    refused,
    row_of,
    said,
    session,
)
from support.signed import sign

from anvil.ledger.envelope import Envelope, Signature, pae
from anvil.ledger.signing import Signer

CLI = Callable[..., tuple[int, dict[str, Any]]]

SPELLINGS: dict[str, Callable[[bytes], bytes]] = {
    "spaces": lambda raw: json.dumps(json.loads(raw), sort_keys=True).encode(),
    "order": lambda raw: json.dumps(
        dict(reversed(json.loads(raw).items())), separators=(",", ":"), ensure_ascii=False
    ).encode(),
    "escapes": lambda raw: raw.replace(b"public remark", b"public\\u0020remark"),
    "duplicate": lambda raw: raw.replace(b'"v":1', b'"v":1,"v":1'),
    "newline": lambda raw: raw + b"\n",
    "byte order mark": lambda raw: b"\xef\xbb\xbf" + raw,
    "float": lambda raw: raw.replace(b'"stream_seq":2', b'"stream_seq":2.0'),
    "minus zero": lambda raw: raw.replace(b'"v":1', b'"v":1,"w":-0'),
}


def replace_entry(small: Small, index: int, entry: bytes) -> None:
    """Put other bytes at `index`, with the columns of the entry that was there and the new leaf hash."""
    row = row_of(index, small.entries()[index])
    from anvil.ledger.merkle import leaf_hash

    with attack(small) as db:
        db.execute('DELETE FROM entries WHERE "index" = ?', [index])
        db.execute("INSERT INTO entries VALUES (?,?,?,?,?,?,?,?)", (index, leaf_hash(entry), entry, *row[3:]))


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_with_the_old_signature(small: Small, spelling: str) -> None:
    envelope = Envelope.parse(small.entries()[PUBLIC])
    raw = SPELLINGS[spelling](envelope.header)
    assert raw != envelope.header
    replace_entry(small, PUBLIC, Envelope(raw, envelope.signatures).encode())
    refused(small.verify(), "non-canonical", PUBLIC)


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("thief", [False, True])
def test_signed_anew(small: Small, spelling: str, thief: bool) -> None:
    envelope = Envelope.parse(small.entries()[PUBLIC])
    raw = SPELLINGS[spelling](envelope.header)
    replace_entry(small, PUBLIC, sign(raw, [small.key("operator") if thief else ATTACKER]).encode())
    refused(small.verify(), "non-canonical", PUBLIC)


def test_the_command_line_names_the_index(small: Small, cli: CLI) -> None:
    envelope = Envelope.parse(small.entries()[PUBLIC])
    replace_entry(small, PUBLIC, Envelope(envelope.header + b" ", envelope.signatures).encode())
    code, report = cli(small.place.directory)
    assert code == 1
    assert ("non-canonical", PUBLIC) in {(f["code"], f["index"]) for f in report["findings"]}


def test_one_word_changed_and_the_old_signature_kept(small: Small) -> None:
    envelope = Envelope.parse(small.entries()[PUBLIC])
    raw = envelope.header.replace(b"public remark", b"public praise")
    replace_entry(small, PUBLIC, Envelope(raw, envelope.signatures).encode())
    report = small.verify()
    refused(report, "tampered", PUBLIC)
    refused(report, "chain-broken", PUBLIC + 1)


@pytest.mark.parametrize(
    ("signer", "code"), [(ATTACKER, "not-permitted"), (None, "tampered")], ids=["other key", "named key"]
)
def test_one_word_changed_and_signed_by_the_attacker(small: Small, signer: Signer | None, code: Any) -> None:
    raw = Envelope.parse(small.entries()[PUBLIC]).header.replace(b"public remark", b"public praise")
    signers = [signer or Pretends(small.key("operator").public_key)]
    replace_entry(small, PUBLIC, sign(raw, signers).encode())
    refused(small.verify(), code, PUBLIC)


def test_another_version(small: Small) -> None:
    raw = Envelope.parse(small.entries()[PUBLIC]).header.replace(b'"v":1', b'"v":2')
    replace_entry(small, PUBLIC, sign(raw, [small.key("operator")]).encode())
    refused(small.verify(), "unsupported-version", PUBLIC)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"stream_prev":null', b'"stream_prev":"' + b"0" * 64 + b'"'),
        (b'"subject":{}', b'"subject":{"campaign":null}'),
        (b'"v":1', b'"extra":1,"v":1'),
        (b'"alg":"sha256-salted/1"', b'"alg":"none/1"'),
        (b'"artifacts":[]', b'"artifacts":{}'),
        (b'"stream_seq":0', b'"stream_seq":-1'),
    ],
)
def test_a_header_that_no_recorder_writes_by_a_stolen_key(small: Small, old: bytes, new: bytes) -> None:
    key = small.key("operator")
    entries = session(small.origin, key, said("x"))
    raw = Envelope.parse(entries[0]).header.replace(old, new)
    entry = sign(raw, [key]).encode()
    with attack(small) as db:
        push(db, *entries)
        db.execute('UPDATE entries SET entry = ? WHERE "index" = ?', [entry, SIZE])
    report = small.verify()
    assert report.exit_code == 1
    assert {f.code for f in report.findings if f.index == SIZE} & {"non-canonical", "unsupported-version"}


def test_a_signature_is_no_signature_of_something_else(small: Small) -> None:
    # DSSE's PAE covers the payload type: a signature over the bare header serves for nothing.
    key = small.key("operator")
    entries = session(small.origin, key, said("x"))
    raw = Envelope.parse(entries[0]).header
    for message in (raw, pae(raw, "application/json")):
        bad = Envelope(raw, (Signature(key.public_key.key_id, key.sign(message)),)).encode()
        with attack(small) as db:
            db.execute('DELETE FROM entries WHERE "index" >= ?', [SIZE])
            push(db, bad, *entries[1:])
        refused(small.verify(), "tampered", SIZE)
