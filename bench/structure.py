"""Measure 4: verification without signatures, against a bare scan that hashes and parses each entry."""

from __future__ import annotations

from base64 import b64decode
from hashlib import sha256

import orjson
from ledgers import NEW_EVENTS, Site, built
from measure import LONG, Row, Setting, interleaved, seconds
from sqlite_utils.utils import sqlite3

from anvil.ledger.verify import Expectations, verify


def measure(setting: Setting) -> list[Row]:
    site = built(setting.cache, setting.events)
    events = setting.events + NEW_EVENTS
    ours, floor = interleaved(
        5 if setting.events < LONG else 2,
        lambda: seconds(lambda: verify(site.location, Expectations(), signatures=False)),
        lambda: seconds(lambda: _bare_scan(site)),
    )
    name = "a bare scan that hashes and parses"
    return [Row(f"verify --structure of {events:,} events", ours, "s", 2.0, floor, name)]


def _bare_scan(site: Site) -> None:
    """Hash each entry and parse its envelope and header, with the fastest parser at hand, in one process."""
    connection = sqlite3.connect(f"file:{site.place.database}?mode=ro", uri=True)
    for (entry,) in connection.execute('SELECT entry FROM entries ORDER BY "index"'):
        sha256(b"\0" + entry).digest()
        orjson.loads(b64decode(orjson.loads(entry)["payload"]))
    connection.close()
