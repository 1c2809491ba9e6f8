"""Every case of the fault server gives exactly the row it must, wherever its bytes are cut.

The rows are `tests/support/endpoint/rows.json`. In process each response is cut at every byte; over real
sockets each case goes once as it is and twenty times cut where a seeded draw says.
"""

from __future__ import annotations

import itertools
import json
import random

import pytest
from support.endpoint import CASES, HANG, Reply, Request, Server
from support.loading import EXPECTED, RUN, SHORT, cut, facts, load, record_of, sent

from anvil.collectors.load import inflight
from anvil.collectors.load.record import read_record, write_record
from anvil.collectors.load.rows import read_request
from anvil.ledger.errors import MalformedLine
from anvil.ledger.rows import Row

SMALL = 4096
TOO_LARGE = ("body_200_mb", "million_events", "gzip_bomb")
ENDLESS = ("drip_for_ever",)
SOCKET_SPLITS = 20

CUTTABLE = [
    name
    for name in CASES
    if name not in (*TOO_LARGE, *ENDLESS) and len(sent(CASES[name].make())[0]) <= SMALL + 512
]


def row(*pieces: bytes, ending: str | None = None) -> Row:
    return read_request(RUN, record_of(pieces, ending)).row  # type: ignore[arg-type]


def expected(name: str) -> dict[str, object]:
    return {key: value for key, value in EXPECTED[name].items() if key != "sends"}


def test_every_case_has_its_row() -> None:
    assert set(EXPECTED) == set(CASES) - {"body_200_mb", "million_events", *ENDLESS}
    for name, told in EXPECTED.items():
        assert told["sends"] == CASES[name].about


@pytest.mark.parametrize("name", CUTTABLE)
def test_wherever_it_is_cut_the_row_is_the_same_and_says_when_each_event_came(name: str) -> None:
    raw, ending = sent(CASES[name].make())
    assert facts(row(raw, ending=ending)) == expected(name)
    # A byte a read: each moment is exact, and says which byte ended the event (1 µs a byte).
    single = row(*[raw[at : at + 1] for at in range(len(raw))], ending=ending)
    assert facts(single) == expected(name)
    assert single.delta_earliest_ns == single.delta_ns
    last_bytes = [moment // 1000 for moment in single.delta_ns]
    for at in range(1, len(raw)):
        halves = row(raw[:at], raw[at:], ending=ending)
        assert facts(halves) == expected(name), at
        assert halves.delta_ns == tuple(1000 if last <= at else 2000 for last in last_bytes), at
        for earliest, latest, last in zip(halves.delta_earliest_ns, halves.delta_ns, last_bytes, strict=True):
            begin, end, before = (0, at, 0) if latest == 1000 else (at, len(raw), 1000)
            assert begin < last <= end
            is_last_of_its_read = raw[last:end] in (b"", b"\n", b"\r\n", b"\n\r\n")
            assert earliest == (latest if is_last_of_its_read else before), at


@pytest.mark.parametrize("name", [name for name in CASES if name not in (*TOO_LARGE, *ENDLESS)])
def test_over_a_real_socket(name: str) -> None:
    draw = random.Random(name)
    raw, ending = sent(CASES[name].make())
    numbers = itertools.count()

    def answer(request: Request) -> Reply:
        if next(numbers) == 0:
            return CASES[name].make()
        return cut([raw, ending] if ending else [raw], draw.randrange(1, len(raw)) if len(raw) > 1 else 0)

    with Server(every=answer) as server:
        deadlines = {"deadlines": SHORT} if ending == HANG else {}
        run, records = load(server, 1 + SOCKET_SPLITS, 7, **deadlines)
    assert len(records) == 1 + SOCKET_SPLITS
    assert not run.stepped
    for record in records:
        found = read_request(run, record)
        assert facts(found.row) == expected(name), found.message
        assert found.row.clock in ("kernel", "client") if record.sizes else found.row.clock is None
    assert read_record(write_record(run, records)) == (run, records)


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_is_too_large_is_refused_and_its_beginning_kept(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inflight, "BYTES_LIMIT", 1 << 20)
    with Server(every=CASES[name]) as server:
        run, (record,) = load(server)
    found = read_request(run, record).row
    assert (found.outcome, found.failure) == ("failed", "body_too_large")
    assert name == "gzip_bomb" or len(record.response) == 1 << 20
    assert found.ttfo_ns is None


def test_what_drips_for_ever_ends_with_the_deadline_over_all() -> None:
    with Server(every=CASES["drip_for_ever"]) as server:
        run, (record,) = load(server, deadlines=SHORT)
    found = read_request(run, record)
    assert (found.row.failure, found.row.comments > 5) == ("timeout", True)
    assert found.message.startswith("the response did not end within 0.6 s; ")


def test_the_role_has_a_time_of_its_own() -> None:
    with Server(every=CASES["role_first"]) as server:
        run, (record,) = load(server)
    found = read_request(run, record).row
    assert found.first_event_ns is not None
    assert found.ttfo_earliest_ns is not None
    assert found.ttfo_earliest_ns >= found.first_event_ns
    assert (found.ttfo_ns or 0) - found.first_event_ns > 250_000_000


def test_usage_that_comes_late_moves_the_end_and_not_the_last_output() -> None:
    with Server(every=CASES["usage_late"]) as server:
        run, (record,) = load(server)
    found = read_request(run, record).row
    assert (found.end_ns or 0) - (found.last_output_ns or 0) > 250_000_000


def test_ten_events_in_one_read_are_censored() -> None:
    raw, _ = sent(CASES["ten_events_in_one_read"].make())
    head = raw.index(b"\r\n\r\n") + 4
    found = row(raw[:head], raw[head:])
    assert (found.events, found.event_reads, found.delta_reads) == (11, 1, 1)
    assert found.delta_earliest_ns == (1000,) * 7
    assert found.delta_ns == (2000,) * 7
    assert found.decode_unmeasurable == "output_in_one_read"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("error_event_data", "CUDA error: an illegal memory access"),
        ("error_event_type", "out of memory"),
        ("error_json_500", "HTTP 500: CUDA error: an illegal memory access"),
        ("redirect", "HTTP 307, Location: http://elsewhere.test.invalid/"),
        ("other_model", "asked 'test-model', answered by 'fallback'"),
        ("short_body", "the connection was closed inside the response; 2 bytes of a body had come"),
    ],
)
def test_messages_are_whole(name: str, message: str) -> None:
    raw, ending = sent(CASES[name].make())
    assert message in read_request(RUN, record_of([raw], ending)).message.splitlines()


def test_a_failed_request_has_no_sample_and_keeps_what_came() -> None:
    raw, ending = sent(CASES["reset_mid_stream"].make())
    found = row(raw, ending=ending)
    samples = [
        found.head_ns,
        found.first_event_ns,
        found.ttfo_ns,
        found.ttft_ns,
        found.last_output_ns,
        found.end_ns,
    ]
    assert samples == [None] * 6
    assert len(found.delta_ns) == 5
    assert found.gave_up_ns == 10**9


def test_a_stepped_clock_leaves_the_clients_own() -> None:
    raw, _ = sent(CASES["good"].make())
    record = record_of([raw], kernel_ns=(10**15,))
    assert read_request(RUN.model_copy(update={"stepped": True}), record).row.clock == "client"
    assert read_request(RUN, record).row.clock == "kernel"


def test_the_offset_of_the_clocks_is_taken_off() -> None:
    raw, _ = sent(CASES["good"].make())
    run = RUN.model_copy(update={"offset_low_ns": 400, "offset_high_ns": 600})
    assert read_request(run, record_of([raw], started_ns=200)).row.end_ns == 1000 - 500 - 200


def test_a_record_that_is_cut_is_refused() -> None:
    raw = write_record(RUN, [record_of([b"HTTP/1.1 200 OK\r\n"])])
    for at in range(len(raw)):
        if raw[:at].count(b"\n") != 1 or raw[at - 1 : at] != b"\n":
            with pytest.raises(MalformedLine):
                read_record(raw[:at])


def test_tokens_that_cannot_have_come_give_no_decode_rate() -> None:
    """Hidden reasoning that is counted and not told apart would make the visible tokens seem a hundred times as fast."""
    chunks = [{"model": "test-model", "choices": [{"index": 0, "delta": {"content": "ab"}}]}] * 2
    chunks += [
        {"model": "test-model", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"model": "test-model", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5}},
    ]
    events = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(
        b"".join(events)
    )
    found = row(head, *events)
    assert (found.outcome, found.completion_tokens) == ("completed", 5)
    assert found.decode_unmeasurable == "more_tokens_than_bytes"
    fewer = [event.replace(b'"completion_tokens": 5', b'"completion_tokens": 4') for event in events]
    assert row(head, *fewer).decode_unmeasurable is None


@pytest.mark.parametrize("along", [False, True])
def test_an_output_that_was_held_back_and_came_with_the_first_piece_gives_no_decode_rate(along: bool) -> None:
    """Ninety tokens at once and ten more in a moment are not a hundred in that moment."""

    def decode(first: int, rest: int) -> str | None:
        texts = ["word " * first, *["word "] * rest]
        counts = list(itertools.accumulate([first, *[1] * rest]))
        chunks: list[dict[str, object]] = [
            {
                "model": "test-model",
                "choices": [{"index": 0, "delta": {"content": text}}],
                **({"usage": {"completion_tokens": count}} if along else {}),
            }
            for text, count in zip(texts, counts, strict=True)
        ]
        usage = {"prompt_tokens": 9, "completion_tokens": first + rest}
        end = [{"index": 0, "delta": {}, "finish_reason": "stop"}]
        chunks.append({"model": "test-model", "choices": end, "usage": usage})
        events = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n"
        found = row(head % len(b"".join(events)), *events)
        assert (found.outcome, found.completion_tokens) == ("completed", first + rest)
        return found.decode_unmeasurable

    assert decode(90, 10) == "first_output_holds_many"
    assert decode(10, 90) is None
    assert decode(3, 5) is None
