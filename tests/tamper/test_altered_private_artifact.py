"""The opening of a private artifact is altered: it names other bytes, or none."""

from __future__ import annotations

import pytest
from support.ledgers import (
    SEALED,
    SIZE,
    STREAM,
    Small,
    attack,
    forge,
    header_in,
    push,
    refused,
    said,
    session,
)

from anvil.ledger import canonical
from anvil.ledger.commitments import Opening
from anvil.ledger.header import ArtifactEntry


def commitment(small: Small) -> str:
    (private,) = (a for a in small.header(SEALED).artifacts if not a.is_public)
    return str(private.commitment)


@pytest.mark.parametrize("column", ["value", "salt"])
def test_value_or_salt(small: Small, column: str) -> None:
    with attack(small) as db:
        db.execute(f"UPDATE openings SET {column} = zeroblob(32) WHERE commitment = ?", [commitment(small)])
    refused(small.verify(), "sealed-altered", SEALED)


def test_it_names_other_bytes_that_are_there(small: Small) -> None:
    public = next(a for a in small.header(SEALED).artifacts if a.is_public)
    value = canonical.encode({"digest": public.digest, "size": public.size})
    with attack(small) as db:
        db.execute("UPDATE openings SET value = ? WHERE commitment = ?", [value, commitment(small)])
    refused(small.verify(), "sealed-altered", SEALED)


def test_the_row_is_removed(small: Small) -> None:
    with attack(small) as db:
        db.execute("DELETE FROM openings WHERE commitment = ?", [commitment(small)])
    refused(small.verify(), "artifact-missing", SEALED)


BLANK = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"null",
        b'{"digest":"sha256:../../../../../../etc/passwd","size":1}',
        b'{"digest":"' + BLANK.encode() + b'","size":"1"}',
        b'{"digest":"' + BLANK.encode() + b'","size":-1}',
        b'{"digest":"' + BLANK.encode() + b'","size":true}',
        b'{"digest":null,"size":1}',
        b'{"digest":"' + BLANK.encode() + b'","size": 1}',
        b'{"digest":"' + BLANK.encode() + b'","name":"x","size":1}',
        b"[" * 100_000,
    ],
)
def test_a_signer_commits_to_something_that_names_no_bytes(small: Small, value: bytes) -> None:
    opening, key = Opening.of(value), small.key("operator")
    artifact = ArtifactEntry("log", "text/plain", commitment=opening.commitment())
    opened = session(small.origin, key, stream=STREAM, close=False)
    noted = forge(small.origin, said("x"), key, after=header_in(opened[0]), artifacts=(artifact,))
    with attack(small) as db:
        push(db, *opened, noted)
        db.execute("INSERT INTO openings VALUES (?,?,?)", [opening.commitment(), opening.salt, opening.value])
    refused(small.verify(), "sealed-altered", SIZE + 1)
