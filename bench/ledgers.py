"""Ledgers to measure with: ten streams, headers of about 750 bytes, no artifacts.

A built ledger holds `history` events and some more, and beside it lies a verifier's state of before
those. Nothing here writes to it afterwards, so a large one is built once and kept in the cache.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from anvil.ledger.creation import create_ledger
from anvil.ledger.drafts import Draft
from anvil.ledger.events import ObservationNoted
from anvil.ledger.header import Subject
from anvil.ledger.places import LedgerPlace
from anvil.ledger.recording import Ledger
from anvil.ledger.sources import DatabaseLocation
from anvil.ledger.streams import Stream
from anvil.ledger.verifierstate import VerifierState
from anvil.ledger.verify import Expectations, verify

SHAPE = 5
"""Part of a cached ledger's name: raise it when what is built here, or the format, changes."""

STREAMS = 10
BATCH = 2_000
NEW_EVENTS = 1_000

_SENTENCE = (
    "Answered each of the sixteen probes, and repeated the last line of three of them at length, until the "
    "limit of tokens ended it; the same prompts were answered well under the other recipe, "
    "on the same host and the same day; this is "
)


@dataclass(frozen=True)
class Site:
    """A folder with a ledger, its keys, its anchor and a verifier's earlier state."""

    folder: Path
    history: int

    @property
    def place(self) -> LedgerPlace:
        """The ledger itself."""
        return LedgerPlace(self.folder / "ledger")

    @property
    def location(self) -> DatabaseLocation:
        """Where verification reads it from."""
        return DatabaseLocation.of(self.place)

    def earlier_state(self) -> VerifierState:
        """Return the state of the verifier who read the first `history` events."""
        return VerifierState.parse((self.folder / "state").read_bytes())

    def environment(self) -> dict[str, str]:
        """Return the variables with which anvil uses this site's keys and anchor."""
        return {
            "ANVIL_KEYS": str(self.folder / "keys"),
            "ANVIL_STATE": str(self.folder / "anchors"),
            "ANVIL_LEDGER": str(self.place.directory),
        }


def drafts(count: int, start: int = 0) -> list[Draft]:
    """Return `count` events whose headers take about 750 bytes."""
    subject = Subject(campaign="bench", candidate="candidate_fp8", attempt="a1")
    return [
        Draft(
            ObservationNoted(
                status="declared", claims=None, public_text=f"{_SENTENCE}event {number}.", text=None
            ),
            subject,
        )
        for number in range(start, start + count)
    ]


@contextmanager
def streams(ledger: Ledger) -> Iterator[list[Stream]]:
    """Keep ten streams open, signed by the operator key."""
    signer = ledger.signer("operator")
    with ExitStack() as stack:
        yield [stack.enter_context(Stream.start(ledger, signer, purpose="bench")) for _ in range(STREAMS)]


def empty(folder: Path) -> Site:
    """Make a new ledger in `folder`."""
    site = Site(folder, 0)
    os.environ.update(site.environment())
    create_ledger(site.place.directory, "bench.test.invalid")
    return site


def built(folder: Path, history: int, more: int = NEW_EVENTS) -> Site:
    """Return the site in `folder` with `history` events and `more`, made now if it is not there."""
    final = folder / f"ledger-{history}-{more}-{SHAPE}"
    if not final.exists():
        making = folder / f".{final.name}.{os.getpid()}"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            _build(making, history, more)
            making.rename(final)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    site = Site(final, history)
    os.environ.update(site.environment())
    return site


def _build(folder: Path, history: int, more: int) -> None:
    site = empty(folder)
    with Ledger.open(site.place.directory) as ledger, streams(ledger) as open_streams:
        _fill(open_streams, history - ledger.store.size())
        ledger.checkpoint()
        state = verify(site.location, Expectations()).state
        assert state is not None
        (site.folder / "state").write_bytes(state.encode())
        _fill(open_streams, more - STREAMS)  # and the ten events that close the streams


def _fill(open_streams: list[Stream], count: int) -> None:
    for number, start in enumerate(range(0, count, BATCH)):
        stream = open_streams[number % len(open_streams)]
        stream.append(drafts(min(BATCH, count - start), start))
