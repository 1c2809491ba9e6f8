"""Measure 2: 1,000 events in a transaction, signing included, against a core that only signs."""

from __future__ import annotations

from itertools import count

from ledgers import drafts, empty, streams
from measure import Row, Setting, interleaved, seconds

from anvil.ledger.envelope import Envelope, pae
from anvil.ledger.recording import Ledger
from anvil.ledger.signing import Signer

BATCH = 1_000
ROUNDS = 25


def measure(setting: Setting) -> list[Row]:
    site = empty(setting.folder / "batch")
    batch = drafts(BATCH)
    with Ledger.open(site.place.directory) as ledger, streams(ledger) as open_streams:
        open_streams[0].append(batch)
        message = pae(Envelope.parse(ledger.store.entry(ledger.store.size() - 1) or b"").header)
        signer, turn = ledger.signer("operator"), count()
        ours, floor = interleaved(
            ROUNDS,
            lambda: seconds(lambda: open_streams[next(turn) % len(open_streams)].append(batch)),
            lambda: seconds(lambda: _only_sign(signer, message)),
        )
    name = "the rate at which one core only signs"
    return [Row("batch append", BATCH / ours, "events/s", 0.6, BATCH / floor, name, at_least=True)]


def _only_sign(signer: Signer, message: bytes) -> None:
    for _ in range(BATCH):
        signer.sign(message)
