"""The pieces below the loop: clocks, framing and its oracle, timelines, records."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import h11
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.loading import RUN, record_of
from support.mangle import mangled

from anvil.collectors.load.clocks import Clocks, Offset
from anvil.collectors.load.framing import Frames, Framing
from anvil.collectors.load.record import RequestRecord, RunRecord, read_record, write_record
from anvil.collectors.load.rows import PARSER_VERSION, derive, read_request
from anvil.collectors.load.stamps import stamp_of
from anvil.collectors.load.timeline import Came, Timeline
from anvil.ledger import canonical
from anvil.ledger.errors import MalformedLine
from anvil.ledger.rows import Row, RunRow

# --- clocks ---------------------------------------------------------------------------------------------------


class Machine:
    """Two clocks that tick by `tick` at each reading; the realtime one is `ahead`."""

    def __init__(self, tick: int = 100) -> None:
        self.now, self.tick, self.ahead = 10**12, tick, 10**18

    def monotonic(self) -> int:
        self.now += self.tick
        return self.now

    def realtime(self) -> int:
        self.now += self.tick
        return self.now + self.ahead

    def clocks(self) -> Clocks:
        return Clocks(self.monotonic, self.realtime)


def test_the_offset_is_held_by_an_interval_that_only_narrows() -> None:
    machine = Machine()
    clocks = machine.clocks()
    true = (machine.ahead + clocks.base_ns) - clocks.base_realtime_ns
    before = clocks.offset
    machine.tick = 10
    after = clocks.watch()
    assert before.low_ns <= after.low_ns <= true <= after.high_ns <= before.high_ns
    assert after.high_ns - after.low_ns == 20
    assert not after.is_stepped


@pytest.mark.parametrize("by", [-5_000, 5_000, 10**9, -(10**9)])
def test_a_step_is_seen_and_not_forgotten(by: int) -> None:
    machine = Machine()
    clocks = machine.clocks()
    machine.ahead += by
    assert clocks.watch().is_stepped
    machine.ahead -= by
    assert clocks.watch().is_stepped


def test_the_machines_own_clocks() -> None:
    clocks = Clocks()
    for _ in range(100):
        offset = clocks.watch()
    assert not offset.is_stepped
    assert offset.low_ns <= offset.middle_ns <= offset.high_ns
    assert offset == Offset(offset.low_ns, offset.high_ns)


def test_ancillary_data_without_a_stamp() -> None:
    assert stamp_of([]) is None
    assert stamp_of([(1, 35, b"short")]) is None
    assert stamp_of([(41, 35, bytes(16))]) is None


# --- framing: what h11 says of the same bytes -------------------------------------------------------------------


def by_h11(raw: bytes) -> tuple[int, bytes]:
    """Return status and body as another implementation of RFC 9112 reads them."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="POST", target="/", headers=[("host", "x"), ("content-length", "0")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(raw)
    connection.receive_data(b"")
    status, body = 0, b""
    while True:
        event = connection.next_event()
        match event:
            case h11.Response():
                status = event.status_code
            case h11.Data():
                body += bytes(event.data)
            case h11.EndOfMessage():
                return status, body


PARTS = st.lists(st.binary(min_size=1, max_size=40), max_size=6)


@st.composite
def responses(draw: st.DrawFn) -> bytes:
    parts = draw(PARTS)
    interim = draw(
        st.sampled_from([b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 X\r\nlink: a\r\n\r\n"])
    )
    match draw(st.sampled_from(["chunked", "length", "close"])):
        case "chunked":
            body = b"".join(
                b"%x%s\r\n%s\r\n" % (len(part), draw(st.sampled_from([b"", b";a=b"])), part) for part in parts
            )
            end = draw(st.sampled_from([b"0\r\n\r\n", b"0\r\nx-trailer: 1\r\n\r\n"]))
            return interim + b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body + end
        case "length":
            body = b"".join(parts)
            return interim + b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
        case _:
            return interim + b"HTTP/1.1 200 OK\r\n\r\n" + b"".join(parts)


def framed(raw: bytes, cuts: list[int]) -> Frames:
    frames = Frames()
    for start, end in pairwise(sorted({0, len(raw), *(cut for cut in cuts if cut < len(raw))})):
        frames.feed(raw[start:end])
    return frames


@given(responses(), st.lists(st.integers(0, 300), max_size=8))
def test_two_implementations_frame_alike_wherever_it_is_cut(raw: bytes, cuts: list[int]) -> None:
    frames = framed(raw, cuts)
    assert (frames.status, bytes(frames.body)) == by_h11(raw)
    assert frames.is_complete is not frames.ends_with_connection
    assert frames.broken == ""
    assert frames.ends == sorted(frames.ends)
    assert "x-trailer" not in frames.headers
    assert "link" not in frames.headers
    live = Framing()
    live.feed(raw)
    assert (live.is_complete, live.status, live.has_body) == (frames.is_complete, 200, bool(frames.body))


@given(
    st.one_of(st.binary(max_size=100), responses().flatmap(mangled)),
    st.lists(st.integers(0, 100), max_size=4),
)
def test_no_bytes_raise(raw: bytes, cuts: list[int]) -> None:
    frames = framed(raw, cuts)
    assert len(frames.body) <= len(raw)
    read_request(RUN, record_of([raw[:50], raw[50:]]))


def test_headers_that_stand_several_times_are_one_list() -> None:
    frames = framed(b"HTTP/1.1 200 OK\r\nA: 1\r\nb: x\r\na: 2\r\ncontent-length: 0\r\n\r\n", [])
    assert frames.headers == {"a": "1, 2", "b": "x", "content-length": "0"}


def test_a_switch_to_another_protocol_is_broken() -> None:
    frames = framed(b"HTTP/1.1 101 X\r\nupgrade: y\r\nconnection: upgrade\r\n\r\nabc", [])
    assert frames.broken == "the endpoint changes to another protocol"


# --- timelines ----------------------------------------------------------------------------------------------------


HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


def timeline(*pieces: bytes, stamps: list[int] | None = None) -> Timeline:
    frames = Frames()
    for piece in pieces:
        frames.feed(piece)
    return Timeline(frames, stamps or [1000 * n for n in range(1, len(pieces) + 1)])


def test_the_last_event_of_a_read_has_its_stamp_and_the_others_are_between_reads() -> None:
    found = timeline(HEAD, b"4\r\nabcd\r\n", b"2\r\nef\r\n2\r\ngh\r\n")
    assert found.of_event(4) == Came(2000, 2000, 1)
    assert found.of_event(2) == Came(1000, 2000, 1)
    assert found.of_event(6) == Came(2000, 3000, 2)
    assert found.of_event(8) == Came(3000, 3000, 2)


def test_before_the_first_read_there_is_the_start() -> None:
    assert timeline(HEAD + b"4\r\nabcd\r\n").of_event(2) == Came(0, 1000, 0)


def test_more_framing_behind_an_event_makes_it_censored() -> None:
    """What ended the stream, or began another chunk, may have come later than the event."""
    for more in (b"0\r\n\r\n", b"5\r\n"):
        assert timeline(HEAD, b"4\r\nabcd\r\n" + more).of_event(4) == Came(1000, 2000, 1)


def test_a_stamp_that_goes_back_waits_for_those_before_it() -> None:
    found = timeline(HEAD, b"4\r\nabcd\r\n", b"2\r\nef\r\n", stamps=[1000, 3000, 2000])
    assert found.of_event(6) == Came(3000, 3000, 2)


# --- records and rows --------------------------------------------------------------------------------------------


MOMENTS = st.integers(-(2**53) + 1, 2**53 - 1)


@given(st.lists(st.binary(min_size=1, max_size=30), max_size=5), st.data())
def test_a_record_comes_back_as_it_was_written(pieces: list[bytes], data: Any) -> None:
    moments = tuple(data.draw(MOMENTS) for _ in pieces)
    record = record_of(
        pieces,
        kernel_ns=data.draw(st.sampled_from([None, moments])),
        client_ns=moments,
        request=data.draw(st.binary(max_size=20)),
        message=data.draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=20)),
    )
    raw = write_record(RUN, [record])
    assert read_record(raw) == (RUN, (record,))
    assert write_record(*read_record(raw)) == raw


def test_rows_are_made_of_bytes_alone_and_come_back() -> None:
    raw = write_record(RUN, [record_of([b"HTTP/1.1 200 OK\r\n", b"\r\n"], "close"), record_of([b"x"])])
    head, *rows, end = derive(raw).split(b"\n")
    assert derive(raw) == derive(raw)
    assert end == b""
    assert RunRow.read(head).parser_version == PARSER_VERSION
    assert [Row.read(row).spelled() for row in rows] == [row + b"\n" for row in rows]
    assert [Row.read(row).failure for row in rows] == ["truncated_stream", "malformed_body"]


@pytest.mark.parametrize(
    "change",
    [
        {"sizes": [1]},
        {"kernel_ns": [1]},
        {"client_ns": []},
        {"response": "eA="},
        {"response": "eB=="},
        {"attempt": 3},
        {"index": -1},
        {"failure": "bad_luck"},
        {"started_ns": 1.5},
        {"is_fresh": 1},
        {"surplus": None},
    ],
    ids=str,
)
def test_a_line_that_contradicts_itself_is_refused(change: dict[str, object]) -> None:
    line = canonical.decode(record_of([b"x", b"y"]).spelled().rstrip(b"\n")) | change
    if change == {"response": "eB=="}:
        line |= {"sizes": [1], "client_ns": [1], "kernel_ns": [1]}
    with pytest.raises(MalformedLine):
        RequestRecord.read(orjson.dumps(line, option=orjson.OPT_SORT_KEYS))


def test_a_run_whose_bounds_are_the_wrong_way_round_is_refused() -> None:
    line = canonical.decode(RUN.spelled().rstrip(b"\n")) | {"offset_low_ns": 1}
    with pytest.raises(MalformedLine, match="the wrong way round"):
        RunRecord.read(canonical.encode(line))


@given(mangled(write_record(RUN, [record_of([b"HTTP/1.1 200 OK\r\n", b"\r\nx"])])))
def test_a_mangled_record_is_refused_or_read(raw: bytes) -> None:
    try:
        run, records = read_record(raw)
    except MalformedLine:
        return
    assert write_record(run, records) == raw
