"""Runs of `anvil run` with a load protocol, and what they leave: events, records, and what the engine was asked."""

from __future__ import annotations

import hashlib
from collections import Counter

from anvil.collectors.load.record import RequestRecord, read_record
from anvil.ledger.artifacts import blob_of
from anvil.ledger.blobs import BlobStore
from anvil.ledger.events import LoadMeasured, LogRetained, RecipeDeclared
from anvil.ledger.places import LedgerPlace
from anvil.ledger.recording import Ledger
from anvil.projections.evidence import Evidence
from anvil.projections.measurements import Cell, cells
from anvil.projections.opened import opened
from anvil.projections.seen import Seen
from support.running import Bench

SMALL = """[[protocols]]
id = "capacity"
parameters = { input_tokens = 40, output_tokens = 16, concurrency = [1, 2], requests = 3, runs = 2 }
"""
"""Two cells of two runs of three requests; warm-ups of two."""


def loads(bench: Bench) -> list[Seen]:
    """The events of load runs, in order."""
    return [seen for seen in bench.seen() if isinstance(seen.event, LoadMeasured)]


def measured(bench: Bench) -> list[LoadMeasured]:
    return [seen.event for seen in loads(bench)]  # type: ignore[misc]


def last_run(bench: Bench) -> str:
    """The stream of the newest run."""
    return [seen.header.stream for seen in bench.seen() if isinstance(seen.event, RecipeDeclared)][-1]


def cells_of(bench: Bench) -> tuple[Cell, ...]:
    """The cells as documents see them."""
    with opened(LedgerPlace(bench.ledger), None) as found:
        evidence = Evidence(found.record, found.artifacts.content)
        return cells(evidence, found.record.campaigns["mine"])


def told(event: LoadMeasured) -> tuple[str, str, int, str, int]:
    """Which run it is, and what it came to."""
    return (event.cell, event.phase, event.run, event.outcome, event.completed)


def content(bench: Bench, seen: Seen, name: str) -> bytes:
    """The bytes of an artifact of an event."""
    with Ledger.open(bench.ledger) as ledger:
        (artifact,) = (item for item in seen.header.artifacts if item.name == name)
        blob = blob_of(ledger.store, artifact)
        assert blob is not None
        return BlobStore(bench.ledger / "blobs").get(blob.digest)


def records(bench: Bench) -> list[RequestRecord]:
    """Each request of each attempt record that an event names."""
    return [record for seen in loads(bench) for record in read_record(content(bench, seen, "record"))[1]]


def asked(bench: Bench) -> Counter[str]:
    """The digest of each stream that engines were asked for, by their logs, the longest of each launch."""
    logs: dict[str, bytes] = {}
    for seen in bench.seen():
        if isinstance(seen.event, LogRetained):
            log = content(bench, seen, "log")
            first = log.splitlines()[0].decode() if log else ""
            key = f"{seen.header.subject.attempt} {first}"
            logs[key] = max(logs.get(key, b""), log, key=len)
    lines = [line for log in logs.values() for line in log.decode().splitlines()]
    return Counter(line.partition(" ")[2] for line in lines if line.startswith("asked "))


def sent(bench: Bench) -> Counter[str]:
    """The digest of each request that a record says was written."""
    return Counter(
        hashlib.sha256(record.request).hexdigest()
        for record in records(bench)
        if record.written_ns is not None
    )


def require_nothing_lost_or_doubled(bench: Bench) -> None:
    """Require that each request that an engine saw is in exactly one record, and each run in exactly one event."""
    seen, told_of = asked(bench), sent(bench)
    assert not seen - told_of, f"{sum((seen - told_of).values())} requests are in no record"
    assert max(told_of.values(), default=1) == 1, "a request was sent twice"
    runs = Counter(
        (item.header.subject.attempt, item.event.seed)  # type: ignore[union-attr]
        for item in loads(bench)
    )
    assert max(runs.values(), default=1) == 1, "a run has two events"


def finished(bench: Bench) -> Counter[tuple[str, int]]:
    """How often each measured run went to its end."""
    return Counter(
        (event.cell, event.run)
        for event in measured(bench)
        if event.phase == "measured" and event.outcome == "completed"
    )
