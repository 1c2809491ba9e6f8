"""One stream goes on in two ways, both signed by its own key."""

from __future__ import annotations

from support.ledgers import (
    OTHER_STREAM,
    SIZE,
    STREAM,
    Small,
    attack,
    forge,
    header_in,
    push,
    refused,
    said,
    session,
)


def test_two_events_after_one(small: Small) -> None:
    key = small.key("operator")
    stream = session(small.origin, key, said("one"))
    fork = forge(small.origin, said("two"), key, after=header_in(stream[0]))
    with attack(small) as db:
        db.execute("DROP INDEX entries_by_stream")
        push(db, *stream, fork)
    report = small.verify()
    refused(report, "schema-altered")
    refused(report, "chain-broken", SIZE + 3)


def test_two_events_after_one_with_the_next_number(small: Small) -> None:
    key = small.key("operator")
    stream = session(small.origin, key, said("one"), close=False)
    fork = forge(small.origin, said("two"), key, after=header_in(stream[0]), stream_seq=2)
    with attack(small) as db:
        push(db, *stream, fork)
    finding = refused(small.verify(), "chain-broken", SIZE + 2)
    assert finding.stream == STREAM


def test_a_number_is_skipped(small: Small) -> None:
    key = small.key("operator")
    stream = session(small.origin, key, close=False)
    with attack(small) as db:
        push(db, *stream, forge(small.origin, said("x"), key, after=header_in(stream[0]), stream_seq=2))
    refused(small.verify(), "chain-broken", SIZE + 1)


def test_another_key_goes_on(small: Small) -> None:
    stream = session(small.origin, small.key("collector"), close=False)
    with attack(small) as db:
        push(db, *stream, forge(small.origin, said("x"), small.key("operator"), after=header_in(stream[0])))
    refused(small.verify(), "chain-broken", SIZE + 1)


def test_it_goes_on_after_its_end(small: Small) -> None:
    key = small.key("operator")
    stream = session(small.origin, key)
    with attack(small) as db:
        push(db, *stream, forge(small.origin, said("x"), key, after=header_in(stream[-1])))
    refused(small.verify(), "chain-broken", SIZE + 2)


def test_it_begins_without_an_opening(small: Small) -> None:
    with attack(small) as db:
        push(db, forge(small.origin, said("x"), small.key("operator")))
    refused(small.verify(), "chain-broken", SIZE)


def test_it_goes_on_after_it_was_abandoned(small: Small) -> None:
    from anvil.ledger.events import StreamAbandoned

    key = small.key("operator")
    lost = session(small.origin, key, close=False)
    head = header_in(lost[0])
    from anvil.ledger.header import header_hash

    ends = StreamAbandoned(abandoned=STREAM, last_seq=0, last_header=header_hash(head.raw), reason="crashed")
    late = forge(small.origin, said("late"), key, after=head)
    with attack(small) as db:
        push(db, *lost, *session(small.origin, key, ends, stream=OTHER_STREAM), late)
    refused(small.verify(), "chain-broken", SIZE + 4)
    with attack(small) as db:
        db.execute('DELETE FROM entries WHERE "index" > ?', [SIZE + 3])
    assert small.verify().exit_code == 0
