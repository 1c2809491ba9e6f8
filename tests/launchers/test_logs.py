"""A log is kept in bounded space, whatever its length, and says what was cut."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil.collectors.launchers.logs import EMPTY_LOG, BoundedLog, LogFile, LogLimits
from anvil.collectors.withholding import Secrets

SMALL = LogLimits(head_bytes=100, tail_bytes=100)


def log_of(tmp_path: Path, content: bytes, limits: LogLimits = SMALL) -> BoundedLog:
    path = tmp_path / "log"
    path.write_bytes(content)
    return LogFile(path, limits).read()


def test_a_short_log_is_whole(tmp_path: Path) -> None:
    log = log_of(tmp_path, b"one\ntwo\nthree")
    assert log.content() == b"one\ntwo\nthree"
    assert log.is_whole
    assert list(log.numbered()) == [(1, "one"), (2, "two"), (3, "three")]
    event = log.event()
    assert (event.seen_bytes, event.kept_bytes, event.head_bytes, event.lines) == (13, 13, 13, 2)


def test_a_long_log_keeps_both_ends_and_says_what_was_cut(tmp_path: Path) -> None:
    lines = [f"line {number:05}\n".encode() for number in range(1, 1001)]
    log = log_of(tmp_path, b"".join(lines))
    assert log.head == b"".join(lines[:9])
    assert log.tail == b"".join(lines[-9:])
    assert log.content() == log.head + f"[anvil: {11_000 - 198} bytes were cut here]\n".encode() + log.tail
    assert not log.is_whole
    assert (log.seen_bytes, log.lines, log.kept_bytes) == (11_000, 1000, 198)
    numbered = list(log.numbered())
    assert numbered[0] == (1, "line 00001")
    assert numbered[9] == (992, "line 00992")
    assert numbered[-1] == (1000, "line 01000")


def test_a_log_without_line_ends_is_cut_anyway(tmp_path: Path) -> None:
    log = log_of(tmp_path, b"x" * 1000)
    assert (len(log.head), len(log.tail), log.lines) == (100, 100, 0)
    assert b"x\n[anvil: 800 bytes were cut here]\nx" in log.content()


def test_an_absent_log_says_why() -> None:
    log = BoundedLog(problem="the endpoint names no container")
    assert not log.is_whole
    assert EMPTY_LOG.is_whole
    assert EMPTY_LOG.last_lines() == []


@given(st.binary(max_size=600), st.integers(1, 200), st.integers(1, 200))
def test_the_counts_always_add_up(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, head: int, tail: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "counted"
    path.write_bytes(content)
    log = LogFile(path, LogLimits(head, tail), is_ours=False).read()
    assert log.seen_bytes == len(content)
    assert log.lines == content.count(b"\n")
    assert content.startswith(log.head)
    assert content.endswith(log.tail)
    assert log.kept_bytes + log.cut_bytes == log.seen_bytes
    if log.cut_bytes:
        assert log.kept_bytes <= head + tail
    else:
        assert log.content() == content


@pytest.fixture
def endless(tmp_path: Path) -> tuple[LogFile, Path]:
    return LogFile(tmp_path / "log", LogLimits(1 << 20, 1 << 20)), tmp_path / "log"


def write(path: Path, mebibytes: int, start: int = 0) -> int:
    with path.open("ab") as file:
        for piece in range(start, start + mebibytes):
            file.write(f"piece {piece:06}\n".encode() + (b"y" * 63 + b"\n") * 16_384)
    return start + mebibytes


def test_an_endless_log_takes_no_more_memory_and_no_more_disk(endless: tuple[LogFile, Path]) -> None:
    log, path = endless
    done = write(path, 8)
    log.count()
    tracemalloc.start()
    for _ in range(20):
        done = write(path, 8, done)
        log.count()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20
    assert path.stat().st_size > 160 << 20
    assert path.stat().st_blocks * 512 < 24 << 20, "the middle was given back"
    found = log.read()
    assert found.lines == done * 16_385
    assert found.head.startswith(b"piece 000000\n")
    assert b"\0" not in found.content()


def test_the_counts_outlive_whoever_counted(endless: tuple[LogFile, Path]) -> None:
    log, path = endless
    done = write(path, 20)
    log.count()
    done = write(path, 3, done)  # and now the first one is gone
    again = LogFile(path, LogLimits(1 << 20, 1 << 20)).read()
    assert again.lines == done * 16_385
    assert again.seen_bytes == path.stat().st_size
    assert json.loads((path.parent / "log.counts.json").read_bytes())["counted"] > 0
    assert (path.parent / "log.counts.json").stat().st_mode & 0o777 == 0o600


def followed(path: Path, *pieces: tuple[str, bytes], noted: int) -> None:
    """Append as a follower does that notes after so many pieces, and is killed after the last."""
    log = LogFile(path)
    log.expect_again()
    log.cut_to_cursor()
    with path.open("ab", buffering=0) as file:
        for number, (cursor, piece) in enumerate(pieces):
            if number == noted:
                log.note()
            log.append(file, piece, cursor)


@pytest.mark.parametrize("noted", [0, 1, 2])
@pytest.mark.parametrize("meanwhile", ["nothing", "count", "read", "note"])
def test_what_comes_again_is_there_once(meanwhile: str, noted: int, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    pieces = [("1", b"one\n"), ("2", b"two\n"), ("3", b"three\n")]
    followed(path, *pieces, noted=noted)
    again = LogFile(path)
    again.expect_again()
    assert again.cursor == (str(noted) if noted else "")
    match meanwhile:  # a reader is faster than the follower, or the engine refuses at first
        case "count":
            again.count()
        case "read":
            assert again.read().content() == b"one\ntwo\nthree\n", "all there is can be read"
        case "note":
            again.note()
    assert LogFile(path).cursor == again.cursor, "nothing is noted that the cursor does not cover"
    again.cut_to_cursor()
    with path.open("ab", buffering=0) as file:
        for cursor, piece in pieces[noted:]:
            again.append(file, piece, cursor)
    assert again.read() == BoundedLog(b"one\ntwo\nthree\n", b"", 14, 3)


def test_what_is_noted_is_what_the_cursor_covers(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    log = LogFile(path, LogLimits(1 << 20, 1 << 20))
    with path.open("ab", buffering=0) as file:
        for number in range(12):
            log.append(file, b"x" * (1 << 20), str(number))
            log.count()  # a reader; it makes holes, and notes that it did
            noted = LogFile(path)
            assert noted.cursor == "" or noted.read().seen_bytes == path.stat().st_size
    notes = json.loads((tmp_path / "log.counts.json").read_bytes())
    assert notes["counted"] == (int(notes["cursor"]) + 1) << 20


def test_no_hole_is_made_in_somebody_elses_log(tmp_path: Path) -> None:
    path = tmp_path / "theirs"
    write(path, 12)
    before = path.stat().st_blocks
    LogFile(path, SMALL, is_ours=False).read()
    assert path.stat().st_blocks == before
    assert os.listdir(tmp_path) == ["theirs"]


def test_somebody_elses_log_may_begin_anew(tmp_path: Path) -> None:
    path = tmp_path / "theirs"
    path.write_bytes(b"a\nb\nc\n")
    log = LogFile(path, is_ours=False)
    assert log.read().lines == 3
    path.write_bytes(b"d\n")
    assert log.read() == BoundedLog(b"d\n", b"", 2, 1)


def test_last_lines_hold_no_secret(tmp_path: Path) -> None:
    secrets = Secrets.of({"HF_TOKEN": "Zx9kQ2mV7tLr4"})
    log = log_of(tmp_path, b"token is Zx9kQ2mV7tLr4 here\n")
    assert log.last_lines(secrets=secrets) == ["token is [withheld] here"]


def test_last_lines_fit_a_sealed_field(tmp_path: Path) -> None:
    log = log_of(tmp_path, b"".join(b"\x01" * 3000 + b"\n" for _ in range(50)), LogLimits())
    assert 1 <= len(log.last_lines()) < 40
    assert len(json.dumps(log.last_lines())) < 65_535
    assert log_of(tmp_path, b"a\r\nb\xff\nc").last_lines(2) == ["b\ufffd", "c"]
