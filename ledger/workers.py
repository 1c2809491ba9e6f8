"""The processes that examine entries: runs of them, on all cores, reported in order.

1. A short log is examined in this process: starting others costs more than it saves. Of a long one
   this process examines its share, from the first moment on, while the others still start.
2. Each process opens the source for itself and keeps it; what goes between processes is where a run
   begins and ends, and its report.
3. Only a few runs are under way at a time, so that memory stays the same however long the log is.
4. What SQLite finds wrong with the file as a whole is looked for beside all this.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from threading import Thread
from typing import TYPE_CHECKING

from anvil.ledger.checks.entries import Context, Examined, examine
from anvil.ledger.checks.finding import Finding
from anvil.ledger.checks.keys import CarriedRange
from anvil.ledger.errors import LedgerError, StoreDamaged
from anvil.ledger.keyring import Keyring
from anvil.ledger.sources import Location, Source

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

RUN = 256
"""Entries in a run."""

_AHEAD = 2
"""Runs that a process has before it: the one under way, and the next, so that it never waits. More would be left
to it alone when the others have come to the end."""

_ROOM = 8
"""Reports for each process that may wait for an earlier one: more than a slow process can hold up the others."""

IN_PROCESS_UP_TO = 4096
"""Entries that are examined in this process, about as fast as others start (rule 1)."""


@dataclass(frozen=True)
class Job:
    """What a process needs to examine runs of entries."""

    location: Location
    keyrings: dict[str, Keyring]
    carried: tuple[CarriedRange, ...]
    signatures: bool

    def context(self, source: Source) -> Context:
        """Return what `examine` needs, looking up bytes in `source`."""
        return Context(
            source.origin,
            self.keyrings,
            self.carried,
            self.signatures,
            source.opening if source.has_openings else None,
            source.blob if source.has_blobs else None,
        )


def examine_all(source: Source, job: Job, begin: int, size: int, workers: int) -> Iterator[Examined]:
    """Yield the reports on all runs in order; a few runs at a time are in memory."""
    starts = iter(range(begin, size, RUN))
    context = job.context(source)

    def examine_here(start: int) -> Examined:
        return examine(start, source.rows(start, min(start + RUN, size)), context)

    if workers == 1 or size - begin <= IN_PROCESS_UP_TO:
        yield from map(examine_here, starts)
        return
    with ExitStack() as stack:
        started = stack.enter_context(_others(job, workers - 1))
        # in order: what was examined here waits among what others still examine
        waiting: deque[Future[Examined] | Examined] = deque()
        room = workers * _ROOM
        while True:
            if started.done():
                busy = sum(isinstance(run, Future) and not run.done() for run in waiting)
                free = min((workers - 1) * _AHEAD - busy, room - len(waiting))
                for start in islice(starts, max(0, free)):
                    waiting.append(started.result().submit(_work, start, min(start + RUN, size)))
            is_due = bool(waiting) and (not isinstance(waiting[0], Future) or waiting[0].done())
            if not is_due and len(waiting) < room and (own := next(starts, None)) is not None:
                waiting.append(examine_here(own))
                continue
            if not waiting:
                return
            first = waiting.popleft()
            yield first.result() if isinstance(first, Future) else first


@contextmanager
def _others(job: Job, count: int) -> Iterator[Future[ProcessPoolExecutor]]:
    """Start other processes beside what this one does; give the pool when they are there."""
    from concurrent.futures import ProcessPoolExecutor  # not needed for a short log, and slow to load
    from multiprocessing import get_context

    processes = get_context("forkserver")
    processes.set_forkserver_preload([__name__])  # imported once, not by each process
    with ProcessPoolExecutor(count, processes, _begin_work, (job,)) as pool, ThreadPoolExecutor(1) as beside:

        def start() -> ProcessPoolExecutor:
            pool.submit(_begun).result()
            return pool

        yield beside.submit(start)


def _begun() -> None:
    """Do nothing: who waits for this knows that a process has started."""


def damage(location: Location) -> list[Finding]:
    """Return what is wrong with the container as a whole; reads all of it, through a source of its own."""
    source = location.open()
    try:
        return source.damage()
    except StoreDamaged as error:
        return [Finding("store-damaged", str(error))]
    finally:
        source.close()


_source: Source | None = None
_context: Context | None = None


def _begin_work(job: Job) -> None:
    global _source, _context  # noqa: PLW0603  # a worker process has one job for its whole life
    Thread(target=_end_with_parent, daemon=True).start()
    _source = job.location.open()
    _context = job.context(_source)


def _end_with_parent() -> None:
    """End this process when the one that started it is killed; it would wait for work for ever."""
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(start: int, stop: int) -> Examined:
    if _source is None or _context is None:
        raise LedgerError("a verification process was not started properly")
    return examine(start, _source.rows(start, stop), _context)
