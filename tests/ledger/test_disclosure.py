"""What comes between looking at an artifact and disclosing it: nothing is said twice, or of what is gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.ledgers import LOG, SEALED, Small, small_ledger

from anvil.ledger.artifacts import disclosures, public_blobs
from anvil.ledger.disclosure import Disclosing, Extent, disclose, find
from anvil.ledger.drafts import Draft
from anvil.ledger.errors import LedgerError
from anvil.ledger.events import ArtifactMissing, ArtifactRedacted
from anvil.ledger.recording import Ledger
from anvil.ledger.redaction import redact
from anvil.ledger.streams import record


@pytest.fixture
def small(tmp_path: Path, home: Path) -> Small:
    return small_ledger(tmp_path / "ledger")


def looked_at(ledger: Ledger, extent: Extent = "bytes") -> Disclosing:
    return find(ledger, str(SEALED), "log", extent)


def test_two_people_disclose_it_at_once(small: Small) -> None:
    with Ledger.open(small.place.directory) as one, Ledger.open(small.place.directory) as other:
        mine, theirs = looked_at(one), looked_at(other)
        done = disclose(one, mine, None)
        before = other.store.size()
        with pytest.raises(LedgerError, match=f"event {done.index} disclosed it with its bytes"):
            disclose(other, theirs, None)
        assert other.store.size() == before


def test_bytes_were_disclosed_while_somebody_looked_at_the_digest(small: Small) -> None:
    with Ledger.open(small.place.directory) as one, Ledger.open(small.place.directory) as other:
        theirs = looked_at(other, "digest")
        disclose(one, looked_at(one), None)
        with pytest.raises(LedgerError, match="is public already"):
            disclose(other, theirs, None)


def test_it_was_redacted_meanwhile(small: Small) -> None:
    with Ledger.open(small.place.directory) as ledger:
        seen = looked_at(ledger)
        redact(ledger, [SEALED], "It named a customer.", artifacts=["log"])
        before = ledger.store.size()
        with pytest.raises(LedgerError, match="was redacted, as event"):
            disclose(ledger, seen, None)
        assert ledger.store.size() == before


@pytest.mark.parametrize("kind", [ArtifactRedacted, ArtifactMissing])
def test_it_is_said_to_be_gone_and_the_bytes_are_still_there(
    small: Small, kind: type[ArtifactRedacted] | type[ArtifactMissing]
) -> None:
    """A redaction that a crash interrupted, and a loss that was none."""
    with Ledger.open(small.place.directory) as ledger:
        said = kind(target=small.leaf(SEALED), artifact="log", reason="It is gone.")
        record(ledger, ledger.signer("operator"), [Draft(said)], purpose="redaction")
        with pytest.raises(LedgerError, match="as event"):
            looked_at(ledger)


def test_what_an_export_hands_out_ends_where_its_checkpoint_does(small: Small) -> None:
    with Ledger.open(small.place.directory) as ledger:
        before = ledger.store.size()
        done = disclose(ledger, looked_at(ledger), None)
        (known,) = disclosures(ledger.store).values()
        assert known.index == done.index
        sizes = [blob.size for blob, _ in public_blobs(ledger.store, before)]
        assert len(LOG) not in sizes
        assert sorted([*sizes, len(LOG)]) == sorted(
            b.size for b, _ in public_blobs(ledger.store, done.index + 1)
        )
