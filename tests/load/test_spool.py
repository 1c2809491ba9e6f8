"""The folder of a run: what is in it however its client ended, and what a full disk or a power cut leaves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support import faults
from support.faults import Disk

from anvil.collectors.load.record import RequestRecord, RunRecord, read_record
from anvil.collectors.load.spool import Spool, _cut_to_whole_lines
from anvil.ledger.errors import CollectorError


def head(*, aborted: bool = True) -> RunRecord:
    return RunRecord(
        base_realtime_ns="1",
        offset_low_ns=0,
        offset_high_ns=0,
        stepped=False,
        aborted=aborted,
        concurrency=1,
        served_model="m",
        ended_ns=5,
    )


def request(index: int, size: int = 10) -> RequestRecord:
    return RequestRecord(
        index=index,
        attempt=1,
        slot=0,
        cap_tokens=None,
        request=b"r",
        is_fresh=True,
        intended_ns=0,
        connect_ns=0,
        started_ns=0,
        written_ns=0,
        ended_ns=1,
        is_stopped=False,
        is_closed=False,
        failure=None,
        message="",
        sizes=(size,),
        kernel_ns=None,
        client_ns=(1,),
        response=b"x" * size,
    )


def begun(root: Path) -> Spool:
    return Spool.begin(root, "s.1", {"what": "a run"})


def test_a_whole_record_says_how_it_ended(tmp_path: Path) -> None:
    spool = begun(tmp_path)
    writing = spool.writing()
    writing.begun(head())
    writing.keep(request(0))
    writing.end(head(aborted=False))
    path = spool.record()
    assert path is not None
    run, requests = read_record(path.read_bytes())
    assert (run.aborted, [item.index for item in requests]) == (False, [0])


@pytest.mark.parametrize("rest", [b"", b'{"index":7', b"x" * 200_000])
def test_without_an_end_it_is_what_was_kept(tmp_path: Path, rest: bytes) -> None:
    spool = begun(tmp_path)
    with closing(spool.writing()) as writing:
        writing.begun(head())
        for index in range(3):
            writing.keep(request(index))
    with (spool.directory / "record.part").open("ab") as part:
        part.write(rest)
    path = spool.record()
    assert path is not None
    run, requests = read_record(path.read_bytes())
    assert (run.aborted, [item.index for item in requests]) == (True, [0, 1, 2])
    assert spool.record() == path


def test_without_a_beginning_there_is_none(tmp_path: Path) -> None:
    spool = begun(tmp_path)
    assert spool.record() is None
    (spool.directory / "record.part").touch()  # the power went before it was on disk
    assert spool.record() is None


@pytest.mark.parametrize(("raw", "left"), [(b"", b""), (b"abc", b"abc"), (b"a\nb", b"a\n"), (b"a\n", b"a\n")])
def test_cutting(tmp_path: Path, raw: bytes, left: bytes) -> None:
    path = tmp_path / "part"
    path.write_bytes(raw)
    assert _cut_to_whole_lines(path) == (b"\n" in raw)
    assert path.read_bytes() == left


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Disk]:
    with faults.disk(tmp_path / "small", 64) as disk:
        yield disk


@pytest.mark.needs("mount")
def test_on_a_full_disk_what_was_kept_stays(small: Disk) -> None:
    spool = begun(small.path)
    writing = spool.writing()
    writing.begun(head())
    kept = 0
    with pytest.raises(CollectorError, match=r"cannot be written to .*No space left"):  # noqa: PT012  # until it is full
        while True:
            writing.keep(request(kept, 3000))
            kept += 1
    with pytest.raises(CollectorError, match="No space left"):
        writing.end(head(aborted=False))
    path = spool.record()
    assert path is not None
    run, requests = read_record(path.read_bytes())
    assert (run.aborted, [item.index for item in requests]) == (True, list(range(kept)))
    assert kept
