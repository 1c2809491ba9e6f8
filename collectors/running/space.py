"""The disk of a run: how much is free where it writes, and roughly how much it will take.

1. A run writes in four places: the ledger, the blob store, the spools of engines' logs and of loads. Each may be on
   another disk; what counts is the free space that an ordinary user may take.
2. Below the site's `min_free_bytes` nothing more is begun: a ledger that cannot grow can record nothing,
   not even why.
3. The estimate is rough. It is told before a run and refuses nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anvil.collectors.checks import CHECKS
from anvil.collectors.checks.parameters import parse
from anvil.collectors.launchers.logs import DEFAULT_LIMITS
from anvil.collectors.protocols import Cell
from anvil.collectors.recipes import Attempt, SelectedCheck
from anvil.collectors.running.declaring import SelectedCells
from anvil.ledger.errors import CollectorError
from anvil.ledger.wording import spell_bytes

ADVICE = (
    "Make room there, or give a lower `min_free_bytes` in the site file; `anvil status --disk` shows what "
    "the ledger takes."
)

_TOKEN_BYTES = 6  # of a prompt: English filler has five letters and a blank, code less
_EXCHANGE_BYTES = 64 << 10  # a short request, its response and their events
_EVENT_BYTES = 400  # of a token in a stream, in base64, with its stamps and its row
_LOGS = 3  # as it started, before it is stopped, when it has ended


class DiskFull(CollectorError):
    """A disk that a run writes to has less free space than the site asks for."""


@dataclass(frozen=True)
class Disk:
    """One file system: what of a run lies on it, a path there, and its free bytes."""

    holds: tuple[str, ...]
    path: Path
    free_bytes: int


@dataclass(frozen=True)
class Space:
    """Where a run writes, by what lies there, and how many bytes must stay free on each disk."""

    places: Mapping[str, Path]
    min_free_bytes: int

    def disks(self) -> list[Disk]:
        """Return each file system that the run writes to, as it is now.

        Raises:
            CollectorError: one cannot be looked at.
        """
        found: dict[int, Disk] = {}
        for what, place in self.places.items():
            whole = place.resolve()
            path = next(path for path in (whole, *whole.parents) if path.exists())
            try:
                device, told = path.stat().st_dev, os.statvfs(path)
            except OSError as error:
                raise CollectorError(f"the free space at {path} cannot be read: {error.strerror}") from error
            known = found.get(device, Disk((), path, told.f_bavail * told.f_frsize))
            found[device] = Disk((*known.holds, what), known.path, known.free_bytes)
        return list(found.values())

    def shortage(self) -> str | None:
        """Say which disk has too little, with what was expected and found; null while all have enough.

        Raises:
            CollectorError: one cannot be looked at.
        """
        for disk in self.disks():
            if disk.free_bytes < self.min_free_bytes:
                return (
                    f"the disk that holds {_listed(disk.holds)} ({disk.path}) has {disk.free_bytes:,} bytes "
                    f"free, and the site asks for {self.min_free_bytes:,}"
                )
        return None

    def require(self, attempted: str) -> None:
        """Refuse to begin where a disk has too little; `attempted` says what, as the subject of the sentence.

        Raises:
            DiskFull: a disk has less than is asked for.
            CollectorError: one cannot be looked at.
        """
        if (shortage := self.shortage()) is not None:
            raise DiskFull(f"{attempted}: {shortage}", advice=ADVICE)

    def outlook(self, estimate: int) -> str:
        """Say before a run what it will take and what there is, and whether that may not do.

        Raises:
            CollectorError: a disk cannot be looked at.
        """
        scarcest = min(self.disks(), key=lambda disk: disk.free_bytes)
        told = f"about {spell_bytes(estimate)} will be kept; {spell_bytes(scarcest.free_bytes)} are free"
        if scarcest.free_bytes - estimate < self.min_free_bytes:
            told += f", and {spell_bytes(self.min_free_bytes)} are to stay so: the run may end before its last check"
        return told


def estimate_bytes(attempts: Iterable[tuple[Attempt, Sequence[SelectedCheck]]]) -> int:
    """Return roughly how many bytes a run will keep: logs at their limits, requests by what checks send.

    Answers are taken as short. A check's parameters were judged when the recipe was read.
    """
    logs = _LOGS * (DEFAULT_LIMITS.head_bytes + DEFAULT_LIMITS.tail_bytes)
    return sum(logs + sum(map(_check_bytes, checks)) for _, checks in attempts)


def cells_bytes(protocols: Iterable[SelectedCells]) -> int:
    """Return roughly how many bytes the attempt records of these cells will have, a warm-up included."""
    return sum(
        (cell.warmup_requests + cell.requests * cell.runs) * _request_bytes(cell)
        for chosen in protocols
        for cell in chosen.cells
    )


def _request_bytes(cell: Cell) -> int:
    prompt = _TOKEN_BYTES * (cell.input_target_tokens or 0)
    return prompt + _EVENT_BYTES * cell.output_cap_tokens + _EXCHANGE_BYTES


def _check_bytes(chosen: SelectedCheck) -> int:
    given = parse(CHECKS[chosen.id].parameters, chosen.id, chosen.parameters).model_dump()
    prompt = _TOKEN_BYTES * int(max(given.get("target_tokens", 0), given.get("floor_tokens", 0)))
    # Besides the depths there is a prompt without the needle, and one to count tokens by.
    requests = int(max(given.get("requests", 0), len(given.get("depths", ())) + 2))
    return requests * (prompt + _EXCHANGE_BYTES)


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
