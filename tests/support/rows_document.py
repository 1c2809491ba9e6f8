"""A document that is computed from rows, and a ledger that it can be released from."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from pydantic import BaseModel

from anvil.ledger.drafts import Attachment, Draft
from anvil.ledger.events import LoadMeasured
from anvil.ledger.header import Subject
from anvil.ledger.publication.releasing import release
from anvil.ledger.recording import Ledger
from anvil.ledger.statistics import nearest_rank
from anvil.ledger.streams import record
from anvil.projections.document import DOCUMENTS, Document, Prepared
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Figure, Group, Listing, Source, derive
from anvil.projections.limits import EvidenceLimit
from anvil.projections.record import Campaign
from anvil.projections.releasing import Guard, Wanted, prepare
from anvil.projections.rendering import Template
from support.fine import loads
from support.laguna import CAMPAIGN, CANDIDATE, KEYS, Laguna, noon
from support.published_folders import Folder, vkey

NAME = "candidate-failure.v1"
"""It takes the place of that one: what is released has the name of a document that there is."""

LAYOUT = """{"schema": "rows.test/1", "requests": {{ requests }}, "p50_ttft_ms": {{ p50|places(1) }},
"runs": [{% for run in runs %}{{ run }},{% endfor %}]}"""


class Shape(BaseModel):
    """Whatever a layout gives."""


def numbers(evidence: Evidence, source: Source) -> list[Figure]:
    """Return the time to first token of each request of a run, in ms, each on the rows that it stands in."""
    content = evidence.content(source, "rows")
    if content is None:
        return []  # an event says that they are gone
    found = [json.loads(line)["ttft_ns"] for line in content.splitlines()]
    return [Figure(value, "ttft_ns of a row", source.support, source.status) for value in found]


def prepared(evidence: Evidence, campaign: Campaign, _candidate: str) -> Prepared:
    """Return two figures over all rows, and the runs."""
    kept = [one for launch in campaign.launches for one in launch.events]
    runs = [source for source in evidence.sources(kept) if isinstance(source.event, LoadMeasured)]
    rows = [figure for run in runs for figure in numbers(evidence, run)]
    figures = {
        "requests": derive("how many rows there are", lambda *values: len(values), *rows),
        "p50": derive(
            "nearest_rank_p50, in ms", lambda *values: Fraction(nearest_rank(values, 50), 10**6), *rows
        ),
    }
    basis = derive("how many runs there are", lambda *values: len(values), *rows)
    listed = tuple((run.marked("a run", None), run.stated("run")) for run in runs)
    return Prepared(Group({**figures, "runs": Listing(basis, listed)}), EvidenceLimit((), ()))


def first_alone(evidence: Evidence, campaign: Campaign, candidate: str) -> Prepared:
    """Return the first run alone, after the rows of all were read."""
    made = prepared(evidence, campaign, candidate)
    kept = [one for launch in campaign.launches for one in launch.events]
    first = next(one for one in evidence.sources(kept) if isinstance(one.event, LoadMeasured))
    rows = numbers(evidence, first)
    figures = {
        "requests": derive("how many rows there are", lambda *values: len(values), *rows),
        "p50": derive("the first, in ms", lambda first, *_: Fraction(first, 10**6), *rows),
        "runs": Listing(rows[0], ((first.marked("a run", None), first.stated("run")),)),
    }
    return Prepared(Group(figures), made.limit)


FIRST_ALONE = Document(NAME, "Rows", "rows.test/2", Shape, first_alone)
DOCUMENT = Document(NAME, "Rows", "rows.test/2", Shape, prepared)


@pytest.fixture
def rows_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the document in its place."""
    monkeypatch.setitem(DOCUMENTS, NAME, "support.rows_document:DOCUMENT")


def rows(*milliseconds: float) -> bytes:
    """Return rows with these times to first token."""
    lines = [json.dumps({"index": at, "ttft_ns": int(ms * 10**6)}) for at, ms in enumerate(milliseconds)]
    return "".join(f"{line}\n" for line in lines).encode()


def measured(run: int) -> LoadMeasured:
    """Return the event of a run."""
    return loads.measured((), run, cell="c5", concurrency=5, expected=3, completed=3)


def measure(made: Laguna, *runs: bytes, secret: bytes = b"what was sent and came back") -> None:
    """Record runs with these rows, which are public, and a record of each that is not."""
    with Ledger.open(made.place.directory, clock=noon) as ledger:
        drafts = [
            Draft(
                measured(number),
                Subject(CAMPAIGN, CANDIDATE, KEYS[0]),
                (
                    Attachment("rows", "application/x-ndjson", ledger.blobs.put(content), is_public=True),
                    Attachment("record", "application/octet-stream", ledger.blobs.put(secret)),
                ),
            )
            for number, content in enumerate(runs, 1)
        ]
        record(ledger, ledger.signer("collector"), drafts, purpose="run")


def publish_rows(made: Laguna, target: Path, change: Callable[[bytes], bytes] = bytes) -> Folder:
    """Release the document."""
    with Ledger.open(made.place.directory, clock=noon) as ledger:
        wanted = Wanted(NAME, template=Template("mine", LAYOUT))
        what = prepare(ledger.place, wanted, ledger.checkpoint(), Guard())
        files = {path: change(content) for path, content in what.files.items()}
        release(ledger, ledger.signer("operator"), what.event, what.subject, files, target)
    return Folder(target, vkey(made.place))
