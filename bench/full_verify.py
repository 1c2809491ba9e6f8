"""Measure 3: a full verification against the rate at which all cores only verify Ed25519 signatures."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import perf_counter

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from ledgers import NEW_EVENTS, Site, built
from measure import LONG, Row, Setting
from memory import run_watched

from anvil.ledger.envelope import Envelope, pae
from anvil.ledger.store import Store

ROUNDS = 3
SLICE = 20_000
"""Signatures that each core verifies for a rate: for seconds, as long as the core takes to settle at its pace."""

MAX_MB = 150.0


def measure(setting: Setting) -> list[Row]:
    site = built(setting.cache, setting.events)
    events = setting.events + NEW_EVENTS
    message = _message(site)
    _read(site.place.database)
    times, rates, peaks = [], [], []
    with ProcessPoolExecutor(os.cpu_count(), get_context("forkserver")) as pool:
        rates.append(_verify_rate(pool, message))  # the first starts the processes and does not count
        rates = [_verify_rate(pool, message)]
        for _ in range(ROUNDS if setting.events < LONG else 1):
            taken, peak = _verify(site)
            times.append(taken)
            peaks.append(peak)
            rates.append(_verify_rate(pool, message))
    name = "events / Ed25519 verify rate on all cores"
    return [
        Row(f"full verify of {events:,} events", median(times), "s", 1.35, events / median(rates), name),
        Row(f"peak memory of a process, {events:,} events", max(peaks), "MB", MAX_MB),
    ]


def _verify(site: Site) -> tuple[float, float]:
    """Return how long a verification took, and the peak MB of the largest of its processes."""
    script = Path(__file__).with_name("verify_once.py")
    command = [sys.executable, str(script), str(site.folder), str(site.history)]
    output, peaks = run_watched(command, {**os.environ, **site.environment()})
    return float(output), max(peaks.values(), default=float("nan"))


def _read(path: Path) -> None:
    """Read a file once: one kept from another day is then in memory, like one that was just built."""
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass


def _message(site: Site) -> bytes:
    store = Store.open_readonly(site.place.database)
    try:
        return pae(Envelope.parse(store.entry(store.size() // 2) or b"").header)
    finally:
        store.close()


def _verify_rate(pool: ProcessPoolExecutor, message: bytes) -> float:
    """Return signatures per second, all cores together."""
    key = Ed25519PrivateKey.generate()
    public, signature = key.public_key().public_bytes_raw(), key.sign(message)
    cores = os.cpu_count() or 1
    return sum(pool.map(_only_verify, [public] * cores, [signature] * cores, [message] * cores))


def _only_verify(public: bytes, signature: bytes, message: bytes) -> float:
    key = Ed25519PublicKey.from_public_bytes(public)
    start = perf_counter()
    for _ in range(SLICE):
        key.verify(signature, message)
    return SLICE / (perf_counter() - start)
