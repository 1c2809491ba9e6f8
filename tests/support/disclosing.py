"""A disclosure of the private artifact of a small ledger, as its operator signs it; true, or with something changed."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing

from anvil.ledger.events import ArtifactDisclosed
from support.ledgers import LOG, SEALED, Small


def disclosed(small: Small, **changes: object) -> ArtifactDisclosed:
    """Return the event; `changes` are what it says otherwise."""
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
