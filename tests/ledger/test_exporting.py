"""Exports that are repeated: what they hold is what the ledger holds, and nothing private stays behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.ledgers import LOG, SAMPLES, SEALED, SIZE, Small, attack, said, small_ledger

from anvil.ledger.disclosure import disclose, find
from anvil.ledger.drafts import Attachment, Draft
from anvil.ledger.errors import LedgerError
from anvil.ledger.exporting import BLOBS, export
from anvil.ledger.header import NO_SUBJECT
from anvil.ledger.recording import Ledger
from anvil.ledger.redaction import redact
from anvil.ledger.sources import OPENINGS_FILE, TilesLocation
from anvil.ledger.streams import record
from anvil.ledger.verify import Expectations, verify


@pytest.fixture
def small(tmp_path: Path, home: Path) -> Small:
    return small_ledger(tmp_path / "ledger")


def redacted(small: Small) -> None:
    with Ledger.open(small.place.directory) as ledger:
        redact(ledger, [SEALED], "It named a customer.", fields=(), artifacts=())


def contents(directory: Path) -> dict[str, bytes]:
    return {str(p.relative_to(directory)): p.read_bytes() for p in directory.rglob("*") if p.is_file()}


def codes(small: Small, directory: Path) -> set[str]:
    return {f.code for f in verify(TilesLocation(directory), Expectations((small.vkey,)), workers=1).findings}


def test_an_audit_export_repeated_after_a_redaction_loses_what_was_redacted(
    small: Small, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    export(small.place, out, audit=True)
    before = contents(out)
    assert {LOG, SAMPLES} <= set(before.values())
    redacted(small)
    export(small.place, out, audit=True)
    after = contents(out)
    assert not {LOG, SAMPLES} & set(after.values())
    assert b"a private remark".hex().encode() in before[OPENINGS_FILE]
    assert b"a private remark".hex().encode() not in after[OPENINGS_FILE]
    export(small.place, tmp_path / "fresh", audit=True)
    for part in (OPENINGS_FILE, BLOBS, "checkpoint"):
        assert {n: c for n, c in after.items() if n.startswith(part)} == {
            n: c for n, c in contents(tmp_path / "fresh").items() if n.startswith(part)
        }
    assert codes(small, out) == {"unanchored", "redacted"}


def test_only_blobs_are_deleted_and_only_in_the_export_s_own_folder(small: Small, tmp_path: Path) -> None:
    out, strange = tmp_path / "out", "0" * 62
    export(small.place, out, audit=True)
    kept = [out / "notes.txt", out / BLOBS / "README", out / BLOBS / "sha256" / "README", out / strange]
    gone = [
        out / BLOBS / "sha256" / "00" / strange,
        out / BLOBS / "sha256" / "00" / f".{strange}.{'a' * 12}",
        out / BLOBS / "sha256" / f".{'a' * 16}",
        out / f".{OPENINGS_FILE}.{'a' * 12}",
    ]
    for path in [*kept, *gone]:
        path.parent.mkdir(exist_ok=True)
        path.write_text("left")
    export(small.place, out, audit=True)
    assert all(path.exists() for path in kept)
    assert not any(path.exists() for path in gone)
    assert codes(small, out) == {"unanchored"}


@pytest.mark.parametrize("link", [BLOBS, f"{BLOBS}/sha256"])
def test_nothing_is_deleted_behind_a_link(small: Small, tmp_path: Path, link: str) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    export(small.place, out, audit=True)
    (out / link).rename(elsewhere)
    (out / link).symlink_to(elsewhere)
    before = contents(elsewhere)
    redacted(small)
    with pytest.raises(LedgerError, match="is a link"):
        export(small.place, out, audit=True)
    assert contents(elsewhere) == before


@pytest.mark.parametrize("content", [b"", b"other bytes"])
def test_a_damaged_blob_is_written_anew(small: Small, tmp_path: Path, content: bytes) -> None:
    export(small.place, tmp_path / "out", audit=True)
    before = contents(tmp_path / "out")
    for path in (tmp_path / "out" / BLOBS / "sha256").glob("*/*"):
        path.write_bytes(content)
    export(small.place, tmp_path / "out", audit=True)
    assert contents(tmp_path / "out") == before


@pytest.mark.parametrize("left", [OPENINGS_FILE, BLOBS, f".{OPENINGS_FILE}.{'a' * 12}"])
def test_an_export_for_everybody_is_refused_where_something_private_lies(
    small: Small, tmp_path: Path, left: str
) -> None:
    out = tmp_path / "out"
    export(small.place, out, audit=True)
    (out / OPENINGS_FILE).rename(out / "moved")
    (out / BLOBS).rename(out / "moved too")
    (out / "moved").rename(out / left)
    before = contents(out)
    with pytest.raises(LedgerError, match="for an auditor") as refused:
        export(small.place, out)
    assert left in str(refused.value)
    assert refused.value.advice
    assert contents(out) == before


def test_an_export_for_everybody_becomes_one_for_an_auditor(small: Small, tmp_path: Path) -> None:
    done = export(small.place, tmp_path / "out")
    assert (done.size, done.openings, done.blobs) == (SIZE, 0, 1)
    assert export(small.place, tmp_path / "out").size == SIZE
    done = export(small.place, tmp_path / "out", audit=True)
    assert (done.openings, done.blobs) == (3, 2)
    assert codes(small, tmp_path / "out") == {"unanchored"}


def test_a_blob_that_no_event_names_is_nobody_s_to_give_away(small: Small, tmp_path: Path) -> None:
    # A crash leaves such blobs, and the next export would have handed them to an auditor.
    out = tmp_path / "out"
    with Ledger.open(small.place.directory) as ledger:
        ledger.blobs.put(b"nobody said what this is")
    done = export(small.place, out, audit=True)
    assert done.blobs == 2
    assert {LOG, SAMPLES} <= set(contents(out).values())
    assert b"nobody said what this is" not in contents(out).values()
    assert codes(small, out) == {"unanchored"}


@pytest.mark.parametrize("content", [LOG, SAMPLES], ids=["disclosed", "public"])
def test_what_was_redacted_is_not_handed_out_when_the_same_bytes_are_private_later(
    small: Small, tmp_path: Path, content: bytes
) -> None:
    """A redaction is the end of it: that somebody keeps the same bytes again makes nothing public."""
    with Ledger.open(small.place.directory) as ledger:
        disclose(ledger, find(ledger, str(SEALED), "log", "bytes"), None)
    export(small.place, tmp_path / "out")
    assert content in contents(tmp_path / "out").values()
    redacted(small)
    with Ledger.open(small.place.directory) as ledger:
        again = Attachment("again", "text/plain", ledger.blobs.put(content))
        drafts = [Draft(said("a remark", private=True), NO_SUBJECT, (again,))]
        record(ledger, ledger.signer("operator"), drafts, purpose="observation")
    for out in (tmp_path / "out", tmp_path / "fresh"):
        export(small.place, out)
        assert content not in contents(out).values()
        assert codes(small, out) == {"unanchored", "redacted", "not-checked"}


def test_an_altered_opening_is_left_to_verification(small: Small, tmp_path: Path) -> None:
    with attack(small) as db:
        db.execute("UPDATE openings SET value = x'5b5d' WHERE instr(value, x'646967657374')")
    done = export(small.place, tmp_path / "out", audit=True)
    assert done.blobs == 1
    assert "sealed-altered" in codes(small, tmp_path / "out")
