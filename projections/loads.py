"""What became of the load cells of a run of an attempt: how many runs, and what their requests came to.

1. A cell is measured when each run that the recipe planned went to its end, or is void. Warm-ups do not count.
2. A cell that is not has a reason: how its run ended.
3. Requests are added up over the runs of the cell; those of an aborted run are counted too, and told apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from anvil.ledger.events import LoadMeasured
from anvil.ledger.events.recipes import DeclaredProtocol

Key = tuple[str, str]
"""A protocol and a cell of it."""


@dataclass(frozen=True)
class RunState:
    """One measured run."""

    run: int
    outcome: str
    expected: int
    completed: int
    failed: int
    canary: str
    entry_hash: str

    @classmethod
    def of(cls, event: LoadMeasured, entry_hash: str) -> RunState:
        """Return what an event says."""
        return cls(
            event.run, event.outcome, event.expected, event.completed, event.failed, event.canary, entry_hash
        )


@dataclass(frozen=True)
class CellState:
    """One cell: its runs in their order, and how many were planned; null when no recipe says so."""

    protocol: str
    cell: str
    planned: int | None
    runs: tuple[RunState, ...]

    def counted(self, outcome: str) -> int:
        """Return how many runs came to this."""
        return sum(run.outcome == outcome for run in self.runs)

    @property
    def ended(self) -> int:
        """How many runs went to their end, void ones too."""
        return len(self.runs) - self.counted("aborted")

    @property
    def is_measured(self) -> bool:
        """Whether nothing of it is left (rule 1)."""
        return self.planned is None or self.ended >= self.planned

    @property
    def requests(self) -> tuple[int, int, int]:
        """Completed, failed and expected requests over all its runs."""
        return (
            sum(run.completed for run in self.runs),
            sum(run.failed for run in self.runs),
            sum(run.expected for run in self.runs),
        )

    @property
    def is_invalid(self) -> bool:
        """Whether a canary had failed before one of its runs, or had got no answer."""
        return bool(self.bad_canaries)

    @property
    def bad_canaries(self) -> tuple[str, ...]:
        """What became of the canaries before its runs that did not pass."""
        return tuple(dict.fromkeys(run.canary for run in self.runs if run.canary in ("failed", "unanswered")))


def cells(
    planned: Iterable[DeclaredProtocol], runs: Mapping[Key, tuple[RunState, ...]]
) -> Iterator[CellState]:
    """Yield the cells that were planned, and then those that were measured without a plan."""
    known = {(protocol.protocol, cell.cell): cell.runs for protocol in planned for cell in protocol.cells}
    for protocol, cell in dict.fromkeys([*known, *runs]):
        yield CellState(protocol, cell, known.get((protocol, cell)), runs.get((protocol, cell), ()))
