"""A file of evidence taken apart, and what is asked of it."""

from __future__ import annotations

import hashlib
from typing import Any

from anvil.collectors.importers import importer_of
from anvil.collectors.importers.interface import Taken
from anvil.ledger.events import CheckImported, LoadImported, SuiteImported
from anvil.ledger.events.results import ImportFinding
from anvil.ledger.rowtable import RowTable
from support.evidence_files import spelled

Result = CheckImported | SuiteImported | LoadImported


def taken(file: dict[str, Any] | bytes) -> Taken:
    """Return what an importer takes from a file."""
    content = file if isinstance(file, bytes) else spelled(file)
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    return importer_of(content, None).take_apart(content, digest)


def results(file: dict[str, Any]) -> list[tuple[Any, RowTable | None]]:
    """Return its results, each with its rows."""
    return [(said.event, said.rows) for said in taken(file).said if isinstance(said.event, Result)]


def found(event: Any, name: str) -> ImportFinding | None:
    """Return a finding of an event by its name."""
    return next((one for one in event.findings if one.finding == name), None)


def names(event: Any) -> set[str]:
    """Return the names of all its findings."""
    return {one.finding for one in event.findings}
