"""What a request of a load said: an answer, as functional checks judge them, from its retained bytes."""

from __future__ import annotations

from dataclasses import dataclass

from anvil.collectors.completion import read_chat_stream
from anvil.collectors.interface import Answer, Exchange
from anvil.collectors.load.framing import Frames
from anvil.collectors.load.record import RequestRecord, RunRecord
from anvil.collectors.load.rows import read_request
from anvil.ledger.rows import Row


@dataclass(frozen=True)
class Answered:
    """A request's row, and the answer that the same bytes give."""

    row: Row
    answer: Answer


def answer_of(run: RunRecord, record: RequestRecord) -> Answered:
    """Return what a request's bytes say. What the parser of rows found wrong with it is wrong with the answer."""
    frames, at = Frames(), 0
    for size in record.sizes:
        frames.feed(record.response[at : at + size])
        at += size
    read = read_request(run, record)
    row = read.row
    lasted = row.end_ns if row.end_ns is not None else row.gave_up_ns
    exchange = Exchange(
        request=record.request,
        started_ns=0,
        ended_ns=lasted or 0,
        status=row.http_status,
        headers=frames.headers,
        body=bytes(frames.body),
        failure=row.failure,
        message=read.message,
    )
    return Answered(row, read_chat_stream(exchange))
