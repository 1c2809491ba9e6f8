"""What is flushed to disk, in which order, and what happens when flushing fails."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest
from support import faults
from support.faults import Worker

from anvil.ledger import blobs, files
from anvil.ledger.drafts import Attachment, Draft
from anvil.ledger.errors import LedgerError
from anvil.ledger.events import ObservationNoted
from anvil.ledger.files import write_whole
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import Stream


def test_a_file_has_its_content_when_it_is_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The anchor is small enough to lie in Python's own buffer until the file is closed."""
    sizes = []
    monkeypatch.setattr(files, "flush", lambda descriptor: sizes.append(os.fstat(descriptor).st_size))
    write_whole(tmp_path / "anchor", b"x" * 100)
    write_whole(tmp_path / "blob", b"x" * 100_000)
    assert sizes == [100, 100_000]


def test_an_event_is_recorded_only_when_what_it_names_is_on_disk(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes that were held lie in the page cache alone: a power cut would leave an event without them."""

    def refuse(path: Path) -> NoReturn:
        raise OSError(5, "Input/output error")

    with Ledger.open(place) as ledger:
        log = Attachment("log", "text/plain", ledger.blobs.hold(b"the last lines of the engine\n"))
        draft = Draft(
            ObservationNoted(text="kept", public_text=None, claims=None, status="retained-complete"),
            attachments=(log,),
        )
        with Stream.start(ledger, ledger.signer("operator"), purpose="observation") as stream:
            before = ledger.store.size()
            with monkeypatch.context() as disk:
                disk.setattr(blobs, "flush_path", refuse)
                with pytest.raises(LedgerError, match="Input/output error"):
                    stream.append([draft])
            assert ledger.store.size() == before
            order: list[str] = []
            flush, insert = ledger.blobs.flush, ledger.store.insert_entries
            with monkeypatch.context() as watched:
                watched.setattr(ledger.blobs, "flush", lambda d: (order.append("flush"), flush(d)))
                watched.setattr(ledger.store, "insert_entries", lambda r: (order.append("insert"), insert(r)))
                stream.append([draft])
            assert order == ["flush", "insert"]
    faults.require_sound(place)


CALLS = "fsync,fdatasync"


def failing(when: str) -> tuple[str, ...]:
    """The command line of a tracer that lets the given calls fail with an input/output error."""
    injected = ("-e", f"trace={CALLS}", "-e", f"inject={CALLS}:error=EIO:when={when}")
    return ("strace", "-f", "--seccomp-bpf", "-qq", "-o", os.devnull, *injected)


@pytest.mark.needs("strace")
@pytest.mark.parametrize("style", ["single", "sealed"])
@pytest.mark.parametrize(
    "when",
    ["1", "2", "3", "5..8", "2+3", *(pytest.param(f"{n}", marks=pytest.mark.soak) for n in range(4, 40))],
)
def test_a_flush_that_fails_while_appending(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, style: str, when: str
) -> None:
    monkeypatch.setenv("FAULT_TRACER", "strace")
    worker = Worker.start(place, tmp_path / "acks", style, 12, under=failing(when), go_on="1")
    said = worker.finish(code=None)
    assert worker.process.returncode in (0, 1), said
    assert "Traceback" not in said, said
    failures = worker.failures() + ([said] if said else [])
    if not when.isdigit():  # a single one may hit the directory's flush, which SQLite ignores
        assert failures, "no flush failed"
    assert all("Error: " in line for line in failures), failures
    assert not faults.missing(place, worker.acknowledged())
    faults.require_sound(place)
    faults.observe(place, "the disk is well again").done()
    faults.require_sound(place)
    assert faults.anchored_size(place) == faults.size(place)
    assert not faults.missing(place, worker.acknowledged())


@pytest.mark.needs("strace")
@pytest.mark.parametrize(
    "when", [1, 2, 4, 11, 31, *(pytest.param(n, marks=pytest.mark.soak) for n in range(3, 50))]
)
def test_a_flush_that_fails_while_a_ledger_is_made(tmp_path: Path, when: int) -> None:
    place = tmp_path / "here" / "ledger"
    place.parent.mkdir()
    ran = faults.anvil(place, "init", "--origin", faults.NAME, under=failing(str(when)))
    if ran.code:
        ran.refused()
        assert list(place.parent.iterdir()) == []
        faults.anvil(place, "init", "--origin", faults.NAME).done()
    faults.observe(place, "works").done()
    faults.require_sound(place)


@pytest.mark.needs("strace")
def test_no_flush_works_at_all(place: Path, tmp_path: Path) -> None:
    faults.observe(place, "nothing is recorded", under=failing("1+")).refused("disk I/O error")
    faults.require_sound(place)
    faults.anvil(place, "backup", tmp_path / "copy.db", under=failing("1+")).refused()
    assert not list(tmp_path.glob("*copy.db*"))
    faults.observe(place, "the disk is well again").done()
    faults.require_sound(place)
