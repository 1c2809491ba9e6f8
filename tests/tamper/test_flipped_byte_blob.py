"""Each byte of each blob is inverted, one at a time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from support.flips import flips
from support.ledgers import SEALED, Small, refused


def blobs(small: Small) -> list[Path]:
    found = [path for path in small.place.blobs.rglob("*") if path.is_file()]
    assert len(found) == 2
    return found


def each_is_caught(small: Small, path: Path, positions: Iterable[int]) -> None:
    for _ in flips(path, positions):
        refused(small.verify(), "artifact-altered", SEALED)


def test_a_sample(small: Small) -> None:
    for path in blobs(small):
        each_is_caught(small, path, range(0, path.stat().st_size, 4))
    assert small.verify().exit_code == 0


@pytest.mark.soak
def test_every_byte(small: Small) -> None:
    for path in blobs(small):
        each_is_caught(small, path, range(path.stat().st_size))
