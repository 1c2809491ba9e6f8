"""Streams: whatever is dropped, swapped, repeated, put in or taken from elsewhere breaks the chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil.ledger.chain import StreamHead, follow
from anvil.ledger.errors import ChainBroken
from anvil.ledger.header import Header, header_hash

KEY, OTHER_KEY = "a1" * 32, "b2" * 32
STREAM, OTHER_STREAM = "20261130T072616Z-" + "0" * 16, "20261130T072616Z-" + "1" * 16
TYPES = ["observation.noted/1", "check.completed/7", "stream.abandoned/1"]


def placed(header: Header, **changes: Any) -> Header:
    changed = header._replace(**changes)
    return changed.with_raw(changed.encode())


def stream_of(types: Sequence[str], stream: str = STREAM, opening: str = "stream.opened/1") -> list[Header]:
    """A valid stream: opened, then an event of each type."""
    found: list[Header] = []
    for seq, event in enumerate([opening, *types]):
        prev = header_hash(found[-1].raw) if found else None
        at = "2026-11-30T07:26:16.123456Z"
        bare = Header("a.test.invalid", stream, seq, prev, at, event, KEY, {"n": seq})
        found.append(bare.with_raw(bare.encode()))
    return found


def followed(headers: Sequence[Header], head: StreamHead | None = None) -> StreamHead | None:
    for header in headers:
        head = follow(head, header)
    return head


streams = st.lists(st.sampled_from(TYPES), min_size=3, max_size=12).map(stream_of)
FIRST, SECOND, THIRD, *_ = STEADY = stream_of([TYPES[0]] * 4)

# --- by rule ----------------------------------------------------------------------------------------


def test_rule_1_a_stream_does_not_begin_with_a_later_event() -> None:
    with pytest.raises(ChainBroken, match="no earlier event"):
        follow(None, SECOND)


@pytest.mark.parametrize(
    "event", ["observation.noted/1", "stream.closed/1", "stream.openedx/1", "key.added/1"]
)
def test_rule_1_a_stream_does_not_begin_with_another_type(event: str) -> None:
    with pytest.raises(ChainBroken, match="expected an opening event"):
        follow(None, placed(FIRST, event=event))


@pytest.mark.parametrize("seq", [0, 1, 3, 2**53 - 1])
def test_rule_2_another_number_than_the_next_is_refused(seq: int) -> None:
    prev = THIRD.stream_prev if seq else None
    with pytest.raises(ChainBroken, match="sequence number 2"):
        follow(followed([FIRST, SECOND]), placed(THIRD, stream_seq=seq, stream_prev=prev))


def test_rule_2_another_predecessor_is_refused() -> None:
    with pytest.raises(ChainBroken, match="predecessor"):
        follow(followed([FIRST, SECOND]), placed(THIRD, stream_prev=header_hash(FIRST.raw)))


def test_rule_2_a_fork_is_refused_on_its_second_branch() -> None:
    head = followed([FIRST, SECOND])
    branch = placed(SECOND, facts={"n": 99})
    with pytest.raises(ChainBroken, match="sequence number 2"):
        follow(head, branch)
    with pytest.raises(ChainBroken, match="predecessor"):
        follow(followed([FIRST, branch]), THIRD)


def test_rule_3_another_key_is_refused() -> None:
    with pytest.raises(ChainBroken, match="expected key"):
        follow(followed([FIRST]), placed(SECOND, key=OTHER_KEY))


def test_rule_3_another_home_ledger_is_refused() -> None:
    with pytest.raises(ChainBroken, match=r"of a\.test\.invalid"):
        follow(followed([FIRST]), placed(SECOND, ledger="b.test.invalid"))


def test_rule_3_an_event_of_another_stream_is_refused_though_it_names_this_predecessor() -> None:
    with pytest.raises(ChainBroken, match="expected stream"):
        follow(followed([FIRST]), placed(SECOND, stream=OTHER_STREAM))


@pytest.mark.parametrize("last", ["stream.closed/1", "stream.closed/2"])
def test_rule_4_nothing_follows_a_closed_stream(last: str) -> None:
    *before, closed = stream_of([TYPES[0], last])
    head = followed([*before, closed])
    assert head is not None
    assert head.state == "closed"
    after = placed(closed, stream_seq=3, stream_prev=header_hash(closed.raw), event=TYPES[0])
    with pytest.raises(ChainBroken, match="was closed"):
        follow(head, after)


def test_rule_4_nothing_follows_an_abandoned_stream() -> None:
    head = followed([FIRST, SECOND])
    assert head is not None
    with pytest.raises(ChainBroken, match="was abandoned"):
        follow(head.abandoned(), THIRD)


@pytest.mark.parametrize("event", ["stream.opened/1", "ledger.created/1", "stream.opened/2"])
def test_a_stream_is_not_opened_twice(event: str) -> None:
    with pytest.raises(ChainBroken, match="already open"):
        follow(followed([FIRST]), placed(SECOND, event=event))


# --- whole streams ------------------------------------------------------------------------------------


@given(streams)
def test_a_valid_stream_follows(headers: list[Header]) -> None:
    head = followed(headers)
    last = headers[-1]
    assert head == StreamHead(STREAM, "a.test.invalid", KEY, len(headers) - 1, header_hash(last.raw))


@given(streams, st.data())
def test_a_dropped_event_breaks_the_chain(headers: list[Header], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(headers) - 2), label="dropped; the last one is the anchor's matter")
    with pytest.raises(ChainBroken):
        followed(headers[:at] + headers[at + 1 :])


@given(streams, st.data())
def test_two_swapped_events_break_the_chain(headers: list[Header], data: st.DataObject) -> None:
    one, other = data.draw(st.lists(st.integers(0, len(headers) - 1), min_size=2, max_size=2, unique=True))
    headers[one], headers[other] = headers[other], headers[one]
    with pytest.raises(ChainBroken):
        followed(headers)


@given(streams, st.data())
def test_a_repeated_event_breaks_the_chain(headers: list[Header], data: st.DataObject) -> None:
    which, to = data.draw(st.integers(0, len(headers) - 1)), data.draw(st.integers(0, len(headers)))
    with pytest.raises(ChainBroken):
        followed([*headers[:to], headers[which], *headers[to:]])


@given(streams, st.data())
def test_an_inserted_event_breaks_the_chain_even_when_it_fits_what_came_before(
    headers: list[Header], data: st.DataObject
) -> None:
    at = data.draw(st.integers(1, len(headers) - 1))
    forged = placed(headers[at], facts={"forged": True})
    with pytest.raises(ChainBroken):
        followed([*headers[:at], forged, *headers[at:]])
    with pytest.raises(ChainBroken):
        followed([*headers[:at], forged, *headers[at + 1 :], placed(headers[-1], stream_seq=len(headers))])


@given(streams, st.data())
def test_an_event_replayed_from_another_stream_breaks_the_chain(
    headers: list[Header], data: st.DataObject
) -> None:
    other = stream_of([header.event for header in headers[1:]], OTHER_STREAM)
    at = data.draw(st.integers(0, len(headers) - 1))
    with pytest.raises(ChainBroken):
        followed([*headers[:at], other[at], *headers[at + 1 :]])
    with pytest.raises(ChainBroken):
        followed([*headers[:at], other[at], *headers[at:]])


@given(streams, st.data())
def test_a_changed_event_breaks_the_chain_at_the_next(headers: list[Header], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(headers) - 2))
    headers[at] = placed(headers[at], at="2026-11-30T07:26:16.123457Z")
    head = followed(headers[: at + 1])
    with pytest.raises(ChainBroken, match="predecessor"):
        follow(head, headers[at + 1])


def test_the_stream_of_a_new_ledger_begins_with_its_creation() -> None:
    head = followed(stream_of(["key.added/1", "stream.closed/1"], opening="ledger.created/1"))
    assert head is not None
    assert head.state == "closed"
