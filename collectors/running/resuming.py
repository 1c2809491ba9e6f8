"""What is left of a run that was interrupted or killed, from its events alone.

1. A check or a suite is finished when it has a verdict. One that was broken off, that its engine's end or a missing
   prerequisite left without one, or that left no event, is done again; its old event stays what it is.
2. `reasoning-leak` and `finish` judge all answers of a run. When one of them is left, all checks are done again, since
   the answers of the old run are not at hand.
3. A cell is finished when each of its measured runs left an event that is not aborted. A void run is one: nothing
   that was measured is measured again. Any other cell is done again as a whole, warm-up included, with other
   prompts; the runs that it has stay where they are, and belong to the old stream. The cells of `prefix-cache`
   belong together: a repeat means nothing without its first burst on the same engine. Of two protocols whose runs
   are carried out alternately a cell that is finished is not done again for the other's sake; that their runs did
   not alternate any more is told where they are compared.
4. What recovery told of the run in a stream of its own counts with it.
5. A run is gone on with once, so that nothing is measured twice, or by two at a time (`holding`); what is left then
   is gone on with by the run that did.
6. The recipe is the one that the run kept, byte for byte. Where the engine answers is for the site to say.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from anvil.collectors.checks import History
from anvil.collectors.checks.prerequisites import POLICIES
from anvil.collectors.protocols import Cell
from anvil.collectors.recipes import Attempt
from anvil.collectors.running.declaring import SelectedCells, Selection
from anvil.collectors.running.lineage import Lineage
from anvil.ledger.artifacts import blob_of
from anvil.ledger.entry import require_known, stated
from anvil.ledger.envelope import Envelope
from anvil.ledger.errors import CollectorError
from anvil.ledger.events import (
    CheckCompleted,
    EngineIdentified,
    LoadMeasured,
    RecipeDeclared,
    SuiteCompleted,
)
from anvil.ledger.header import Header
from anvil.ledger.recording import Ledger
from anvil.ledger.rows import Row

TOGETHER = frozenset({"prefix-cache"})
"""Protocols whose cells are done again together."""

_WANTED = frozenset(
    kind.event_type for kind in (CheckCompleted, LoadMeasured, RecipeDeclared, SuiteCompleted)
)

_NO_VERDICT = frozenset({None, "engine_exited", "prerequisite_failed"})


@dataclass(frozen=True)
class Continued:
    """A run that is continued: what it declared, and what of that is finished."""

    stream: str
    campaign: str
    recipe: bytes = field(repr=False)
    declared: RecipeDeclared
    checked: tuple[CheckCompleted, ...]
    measured: tuple[LoadMeasured, ...]
    repeated: tuple[SuiteCompleted, ...] = ()
    identified: tuple[EngineIdentified, ...] = ()
    """The looks at the engine that the attempt was begun on (`sameness`)."""
    rungs: Mapping[str, Mapping[str, tuple[Row, ...]]] = field(default_factory=dict, repr=False)
    """The rows of the rungs of ladders that are measured, by protocol and cell."""
    suite_files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """The files of external suites, as the run kept them."""

    @property
    def attempt(self) -> str:
        """Which attempt it is; each is in a stream of its own."""
        return self.declared.attempts[0].key

    def history(self) -> History:
        """Return what the checks of the old run found, for those that look back at it."""
        return History(completed=list(self.checked))

    def left(self, attempt: Attempt) -> Selection:
        """Return what is still to be carried out."""
        plan = self.declared.attempts[0]
        names = [name for name in plan.checks if not self._has_verdict(name)]
        checks = tuple(check for check in attempt.checks if check.name in names)
        if any(check.id in POLICIES for check in checks):
            checks = tuple(check for check in attempt.checks if check.name in plan.checks)
        declared = {item.protocol: {cell.cell for cell in item.cells} for item in plan.protocols}
        chosen = [SelectedCells.of(item) for item in attempt.protocols if item.name in declared]
        left = (replace(item, cells=self._cells(item, declared[item.protocol.name])) for item in chosen)
        done = [event.selected_as for event in self.repeated if not _has_no_verdict(event)]
        suites = tuple(one for one in attempt.suites if one.name in plan.suites and one.name not in done)
        return Selection(checks, tuple(item for item in left if item.cells), suites)

    def _cells(self, chosen: SelectedCells, declared: Collection[str]) -> tuple[Cell, ...]:
        """Return the cells of a protocol that are left (rule 3)."""
        name = chosen.protocol.name
        planned = tuple(cell for cell in chosen.cells if cell.name in declared)
        left = tuple(cell for cell in planned if not self._is_finished(name, cell.name, cell.runs))
        return planned if left and chosen.protocol.id in TOGETHER else left

    def _has_verdict(self, name: str) -> bool:
        return any(event.selected_as == name and not _has_no_verdict(event) for event in self.checked)

    def _is_finished(self, protocol: str, cell: str, runs: int) -> bool:
        done = Counter(
            event.run
            for event in self.measured
            if (event.protocol, event.cell, event.phase) == (protocol, cell, "measured")
            and event.outcome != "aborted"
        )
        return all(number in done for number in range(1, runs + 1))


def _has_no_verdict(event: CheckCompleted | SuiteCompleted) -> bool:
    return event.outcome == "incomplete" and event.failure in _NO_VERDICT


def read_run(ledger: Ledger, stream: str) -> Continued:
    """Return what the events say of the run in `stream`.

    Raises:
        CollectorError: there is no such run, it has no end, another has gone on with it, or its recipe is gone.
    """
    require_run(ledger, stream)
    found: list[tuple[Header, object]] = []
    streams = {stream}
    declared: tuple[Header, RecipeDeclared] | None = None
    for index, header in _since(ledger, stream):
        if header.event == RecipeDeclared.event_type and header.facts.get("continues") == stream:
            raise CollectorError(
                f"another run has gone on with the one in stream {stream!r}: what is left is its matter",
                advice=f"anvil run --resume {header.stream}",
            )
        if header.event == "stream.abandoned/1" and header.facts.get("abandoned") == stream:
            streams.add(header.stream)
        if header.stream not in streams:
            continue
        require_known(index, header.event)
        if header.event not in _WANTED:
            continue
        event = stated(index, header)
        if isinstance(event, RecipeDeclared) and header.stream == stream:
            declared = declared or (header, event)
        found.append((header, event))
    if declared is None:
        raise _no_run(stream)
    head = ledger.head(stream)
    if head is not None and head.state == "open":
        raise CollectorError(
            f"the run in stream {stream!r} has no end yet, and no process holds it",
            advice="Another process may just be collecting what it left: wait for that, and try again.",
        )
    header, event = declared
    lineage = Lineage.of(ledger, stream)
    return Continued(
        stream=stream,
        campaign=header.subject.campaign or event.recipe,
        recipe=_recipe(ledger, header),
        declared=event,
        checked=tuple(event for _, event in found if isinstance(event, CheckCompleted)),
        measured=tuple(event for _, event in found if isinstance(event, LoadMeasured)),
        repeated=tuple(event for _, event in found if isinstance(event, SuiteCompleted)),
        identified=lineage.identified(),
        rungs=lineage.rows("context-ladder"),
        suite_files=_suite_files(ledger, header),
    )


def require_run(ledger: Ledger, stream: str) -> None:
    """Refuse what is no stream of a ledger.

    Raises:
        CollectorError: it is none.
    """
    if ledger.store.first_of_stream(stream) is None:
        raise _no_run(stream)


def _no_run(stream: str) -> CollectorError:
    return CollectorError(
        f"there is no run in stream {stream!r} of this ledger",
        advice="`anvil status` names the stream of each run that can be gone on with, `--json` of every run.",
    )


def _since(ledger: Ledger, stream: str) -> Iterator[tuple[int, Header]]:
    start = ledger.store.first_of_stream(stream)
    for row in () if start is None else ledger.store.rows(start, ledger.store.size()):
        yield row.entry_index, Header.parse(Envelope.parse(row.entry).header)


def _suite_files(ledger: Ledger, header: Header) -> dict[str, bytes]:
    """Return the files of external suites that were kept with the recipe, by the names that it gives them."""
    kept: dict[str, bytes] = {}
    for artifact in header.artifacts:
        blob = blob_of(ledger.store, artifact)
        if artifact.name.startswith("suite-") and blob is not None:
            kept[artifact.name] = ledger.blobs.get(blob.digest)
    blocks = tomllib.loads(_recipe(ledger, header).decode()).get("suites", ())
    files = sorted({str(block["file"]) for block in blocks if "file" in block})
    named = {f"suite-{number}": file for number, file in enumerate(files, start=1)}
    return {named[name]: content for name, content in kept.items() if name in named}


def _recipe(ledger: Ledger, header: Header) -> bytes:
    for artifact in header.artifacts:
        blob = blob_of(ledger.store, artifact)
        if artifact.name == "recipe" and blob is not None:
            return ledger.blobs.get(blob.digest)
    raise CollectorError(
        f"the recipe of the run in stream {header.stream!r} is gone", advice="Run the recipe's file anew."
    )
