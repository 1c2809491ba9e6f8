"""`kill -9` at random moments while four processes append: nothing acknowledged is lost."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from support import faults
from support.faults import Worker

STYLES = ("single", "batch", "sealed", "reopen")


def kill_round(place: Path, acks: Path, chance: random.Random) -> list[str]:
    """Start four workers, kill them at a random moment, return what they had acknowledged."""
    workers = [
        Worker.start(place, acks / f"{chance.getrandbits(64):016x}", style, 1_000_000, pause="0.01")
        for style in STYLES
    ]
    try:
        chance.choice(workers).wait_for(1)  # so that at least one of them is in the middle of its work
        time.sleep(chance.uniform(0, 0.5))
    finally:
        for worker in chance.sample(workers, len(workers)):
            worker.kill()
    return [name for worker in workers for name in worker.acknowledged()]


def survive(place: Path, acks: Path, rounds: int, seed: int) -> int:
    chance, acknowledged = random.Random(seed), []
    for number in range(rounds):
        acknowledged += kill_round(place, acks, chance)
        assert not faults.missing(place, acknowledged), f"lost in round {number} of seed {seed}"
        faults.require_sound(place)
        done = faults.observe(place, f"after round {number}").done()  # the next append works
        acknowledged.append(done.json["entry_hash"])
        assert faults.anchored_size(place) == faults.size(place)  # and finishes what was not anchored
    faults.anvil(place, "verify").done()
    return len(acknowledged)


def test_nothing_acknowledged_is_lost_in_6_rounds(place: Path, tmp_path: Path) -> None:
    assert survive(place, tmp_path, 6, 1) > 50


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_nothing_acknowledged_is_lost_in_200_rounds(place: Path, tmp_path: Path, seed: int) -> None:
    assert survive(place, tmp_path, 10, 1000 + seed) > 100
