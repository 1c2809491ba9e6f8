"""How far what is measured can be from what happened: rows beside the notes of a server that knows.

1. The *error of ttfo* is the measured time to the first output less the one that really passed: from the
   request's last byte at the server to the moment before the first token was written. Both networks'
   ways through this machine are in it, and whatever the client adds: also that the first token shared its
   read with later ones, which is counted.
2. The *error of a gap* is the measured time between two tokens of a stream less the one that really
   passed, over neighbours that both have a moment of their own. Those that share a read have an interval
   instead; they are counted, and how far the truth lies outside of it is told apart.
3. The *loop's lag* is how long bytes had been here before the client had them: without the kernel's stamps
   it would be an error of everything. The *coalescing ratio* is tokens by the reads they came in.
4. A token is left out, and counted, when the server itself was held up while it wrote it, for more than
   100 µs: then nobody knows the truth.
5. The *resolution* is the 99th percentile of the size of the error of ttfo, or the largest where there are
   too few for that (`anvil.ledger.statistics`, rule 4). Percentiles are nearest rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from anvil.collectors.load.record import RequestRecord, RunRecord
from anvil.collectors.load.rows import read_request
from anvil.collectors.load.truth import Note
from anvil.ledger.rows import Row
from anvil.ledger.statistics import is_supported, nearest_rank

_HELD_UP_NS = 100_000


@dataclass(frozen=True)
class Spread:
    """How large some errors or times are, in nanoseconds; null where there are none.

    `p99_ns` is null where n is too small for it.
    """

    n: int
    p50_ns: int | None
    p99_ns: int | None
    max_ns: int | None

    @classmethod
    def of(cls, values: Sequence[int]) -> Spread:
        """Return the spread of some values."""
        n = len(values)
        return cls(
            n=n,
            p50_ns=_rank(values, 50),
            p99_ns=_rank(values, 99) if is_supported(99, n) else None,
            max_ns=max(values, default=None),
        )

    @property
    def bound_ns(self) -> int | None:
        """The 99th percentile or, without one, the largest (rule 5)."""
        return self.max_ns if self.p99_ns is None else self.p99_ns


@dataclass(frozen=True)
class Resolution:
    """What a run against the server that knows the truth comes to; rules 1 to 4 say what the members are."""

    completed: int
    expected: int
    clock: str | None
    tokens: int
    token_reads: int
    truth_unknown: int
    ttfo_censored: int
    ttfo_error: Spread
    gap_error: Spread
    outside_interval: Spread
    lag: Spread

    @property
    def resolution_ns(self) -> int | None:
        """By how much a time of this client can be wrong (rule 5)."""
        return self.ttfo_error.bound_ns


def compare(
    base_ns: int, run: RunRecord, records: Iterable[RequestRecord], notes: Mapping[int, Note], expected: int
) -> Resolution:
    """Compare a run with what really happened. `base_ns` is the run's base on the monotonic clock."""
    read = [(record, read_request(run, record).row) for record in records]
    done = [(row, notes[row.index]) for _, row in read if row.outcome == "completed" and row.index in notes]
    known = [(row, note, _known(note)) for row, note in done if len(row.delta_ns) == len(note.writes_ns)]
    return Resolution(
        completed=len(done),
        expected=expected,
        clock=next((row.clock for row, _ in done), None),
        tokens=sum(len(row.delta_ns) for row, _ in done),
        token_reads=sum(row.delta_reads for row, _ in done),
        truth_unknown=sum(is_known.count(False) for _, _, is_known in known),
        ttfo_censored=sum(row.ttfo_earliest_ns != row.ttfo_ns for row, _ in done),
        ttfo_error=Spread.of(
            [
                abs(row.delta_ns[0] - (note.writes_ns[0] - note.received_ns))
                for row, note, is_known in known
                if is_known and is_known[0]
            ]
        ),
        gap_error=Spread.of([error for found in known for error in _gap_errors(*found)]),
        outside_interval=Spread.of([error for found in known for error in _outside(*found, base_ns)]),
        lag=lag(run, [record for record, _ in read]),
    )


def lag(run: RunRecord, records: Iterable[RequestRecord]) -> Spread:
    """Return the loop's lag in any run (rule 3). Without the kernel's stamps nothing is known of it."""
    middle = (run.offset_low_ns + run.offset_high_ns) // 2
    return Spread.of(
        [
            had - came + middle
            for record in records
            if record.kernel_ns is not None and not run.stepped
            for came, had in zip(record.kernel_ns, record.client_ns, strict=True)
        ]
    )


def _known(note: Note) -> list[bool]:
    """Say of each token whether its moment is known (rule 4)."""
    return [
        after - before <= _HELD_UP_NS for before, after in zip(note.writes_ns, note.written_ns, strict=True)
    ]


def _gap_errors(row: Row, note: Note, is_known: list[bool]) -> list[int]:
    usable = [
        earliest == latest and known
        for earliest, latest, known in zip(row.delta_earliest_ns, row.delta_ns, is_known, strict=True)
    ]
    return [
        abs((after - before) - (note.writes_ns[number + 1] - note.writes_ns[number]))
        for number, (before, after) in enumerate(pairwise(row.delta_ns))
        if usable[number] and usable[number + 1]
    ]


def _outside(row: Row, note: Note, is_known: list[bool], base_ns: int) -> list[int]:
    """Return how far each true moment lies outside of the interval of a token that shares its read.

    The way through the machine counts as outside, as it does in the other errors.
    """
    start = base_ns + (row.started_ns or 0)
    return [
        max(0, start + earliest - written, written - start - latest)
        for earliest, latest, written, known in zip(
            row.delta_earliest_ns, row.delta_ns, note.writes_ns, is_known, strict=True
        )
        if known and earliest != latest
    ]


def _rank(values: Sequence[int], q: int) -> int | None:
    found = nearest_rank(values, q)
    return None if found is None else int(found)
