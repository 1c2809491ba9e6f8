"""A private artifact is said to be some bytes that it never was."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing

import pytest
from support.ledgers import LOG, SEALED, SIZE, Small, attack, found, push, refused, session

from anvil.ledger.events import ArtifactDisclosed


def disclosed(small: Small, **changes: object) -> ArtifactDisclosed:
    (private,) = (a for a in small.header(SEALED).artifacts if not a.is_public)
    with closing(sqlite3.connect(small.place.database)) as db:
        sql = "SELECT salt FROM openings WHERE commitment = ?"
        (salt,) = db.execute(sql, [private.commitment]).fetchone()
    true: dict[str, object] = {
        "target": small.leaf(SEALED),
        "artifact": "log",
        "digest": f"sha256:{hashlib.sha256(LOG).hexdigest()}",
        "size": len(LOG),
        "salt": salt.hex(),
        "extent": "bytes",
        "reason": None,
        "exceptions": (),
    }
    return ArtifactDisclosed.model_validate({**true, **changes})


def record_it(small: Small, event: ArtifactDisclosed) -> None:
    with attack(small) as db:
        push(db, *session(small.origin, small.key("operator"), event))


def test_the_truth(small: Small) -> None:
    record_it(small, disclosed(small))
    assert small.verify().exit_code == 0


@pytest.mark.parametrize(
    "change",
    [{"digest": "sha256:" + "0" * 64}, {"size": len(LOG) + 1}, {"salt": "0" * 64}, {"artifact": "samples"}],
)
def test_a_lie(small: Small, change: dict[str, object]) -> None:
    record_it(small, disclosed(small, **change))
    finding = refused(small.verify(), "sealed-altered", SIZE + 1)
    assert finding.expected != finding.found


@pytest.mark.parametrize("change", [{"artifact": "other"}, {"target": "0" * 64}])
def test_of_something_that_is_not_there(small: Small, change: dict[str, object]) -> None:
    record_it(small, disclosed(small, **change))
    assert found(small.verify(), "dangling-reference", SIZE + 1)
