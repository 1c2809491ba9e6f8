"""What a ledger that is open for appending says of its streams."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.ledgers import Small, small_ledger

from anvil.ledger.drafts import Draft
from anvil.ledger.events import StreamAbandoned
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import Stream, record


@pytest.fixture
def small(tmp_path: Path, home: Path) -> Small:
    return small_ledger(tmp_path / "ledger")


def test_a_stream_that_another_one_abandoned_is_not_open(small: Small) -> None:
    with Ledger.open(small.place.directory) as ledger:
        lost = Stream.start(ledger, ledger.signer("collector"), purpose="run")
        head = ledger.head(lost.id)
        assert head is not None
        assert head.state == "open"
        ended = StreamAbandoned(
            abandoned=lost.id, last_seq=head.seq, last_header=head.header_hash, reason="crashed"
        )
        record(ledger, ledger.signer("operator"), [Draft(ended)], purpose="recovery")
        assert ledger.head(lost.id) == head.abandoned()
    with Ledger.open(small.place.directory) as again:
        assert again.head(lost.id) == head.abandoned()
        assert again.head("20261130T072616Z-00000000000000ff") is None
        with Ledger.open(small.place.directory) as other:
            stream = Stream.start(other, other.signer("operator"), purpose="observation")
            stream.close()
        seen = again.head(stream.id)
        assert seen is not None
        assert seen.state == "closed"
