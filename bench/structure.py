"""Measure 4: verification without signatures, against a bare scan that hashes and parses each entry.

The scan that the limit was set for reads base64 with Python's own library, and JSON with orjson. The row notes
the ratio to the same scan with the library that anvil reads base64 with, too.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from hashlib import sha256

import orjson
import pybase64
from ledgers import NEW_EVENTS, Site, built
from measure import LONG, Row, Setting, interleaved, seconds
from sqlite_utils.utils import sqlite3

from anvil.ledger.verify import Expectations, verify


def measure(setting: Setting) -> list[Row]:
    site = built(setting.cache, setting.events)
    events = setting.events + NEW_EVENTS
    rounds = 5 if setting.events < LONG else 2
    ours, floor = interleaved(
        rounds,
        lambda: seconds(lambda: verify(site.location, Expectations(), signatures=False)),
        lambda: seconds(lambda: _bare_scan(site, b64decode)),
    )
    ours_again, faster = interleaved(
        rounds,
        lambda: seconds(lambda: verify(site.location, Expectations(), signatures=False)),
        lambda: seconds(lambda: _bare_scan(site, pybase64.b64decode)),
    )
    name = "a bare scan that hashes and parses, with base64 and orjson"
    note = f"{ours_again / faster:.2f} x the same scan with pybase64"
    return [Row(f"verify --structure of {events:,} events", ours, "s", 2.0, floor, name, note=note)]


def _bare_scan(site: Site, decode: Callable[[bytes], bytes]) -> None:
    """Hash each entry and parse its envelope and header, in one process."""
    connection = sqlite3.connect(f"file:{site.place.database}?mode=ro", uri=True)
    for (entry,) in connection.execute('SELECT entry FROM entries ORDER BY "index"'):
        sha256(b"\0" + entry).digest()
        orjson.loads(decode(orjson.loads(entry)["payload"]))
    connection.close()
