"""The processes that examine entries: runs of them, on all cores, reported in order.

1. A short log is examined in this process: starting others costs more than it saves.
2. Each process opens the source for itself and keeps it; what goes between processes is where a run
   begins and ends, and its report.
3. Only a few runs are under way at a time, so that memory stays the same however long the log is.
4. What SQLite finds wrong with the file as a whole is looked for beside all this.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice
from threading import Thread

from anvil.ledger.checks.entries import Context, Examined, examine
from anvil.ledger.checks.finding import Finding
from anvil.ledger.checks.keys import CarriedRange
from anvil.ledger.errors import LedgerError, StoreDamaged
from anvil.ledger.keyring import Keyring
from anvil.ledger.sources import Location, Source

RUN = 1024
"""Entries in a run."""

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
    starts = range(begin, size, RUN)
    if workers == 1 or size - begin <= IN_PROCESS_UP_TO:
        context = job.context(source)
        for start in starts:
            yield examine(start, source.rows(start, min(start + RUN, size)), context)
        return
    from concurrent.futures import ProcessPoolExecutor  # not needed for a short log, and slow to load
    from multiprocessing import get_context

    processes = get_context("forkserver")
    processes.set_forkserver_preload([__name__])  # imported once, not by each process
    with ProcessPoolExecutor(workers, processes, _begin_work, (job,)) as pool:
        ahead = iter(starts)
        waiting: list[Future[Examined]] = [
            pool.submit(_work, start, min(start + RUN, size)) for start in islice(ahead, workers * 3)
        ]
        while waiting:
            yield waiting.pop(0).result()
            waiting += [pool.submit(_work, start, min(start + RUN, size)) for start in islice(ahead, 1)]


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
