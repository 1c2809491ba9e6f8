"""One row for each request: what is published of it, and what every figure is made from.

1. Rows are NDJSON in canonical JSON: a first line about the run, then a row for each line of the attempt
   record, in its order. Nothing private is in them: no text, no name that an endpoint made up.
2. Durations are integers in nanoseconds since the moment before the request's first byte was written.
   What is absent is null, never 0.
3. Of a request that did not complete, no duration is a sample: those members are null. What had come is
   still told by its deltas.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from anvil.ledger.events.checks import FailureClass, ReasoningChannel
from anvil.ledger.lines import AS_TUPLE, Count, Counts, Line, Moment, cut
from anvil.ledger.public import Label, Word

Unmeasurable = Literal[
    "not_completed",
    "content_coding",
    "completion_tokens_unknown",
    "fewer_than_two_tokens",
    "reasoning_not_streamed",
    "reasoning_in_one_delta",
    "more_tokens_than_bytes",
    "output_in_one_read",
    "first_output_holds_many",
]
"""Why a request has no decode rate: the first that applies."""

Outcome = Literal["completed", "failed", "stopped"]
"""What became of a request."""

Clock = Literal["kernel", "client"]
"""Whose stamps a request's moments are."""


class RunRow(Line):
    """The first line of the rows."""

    form: Literal["anvil.load.rows/1"] = Field(default="anvil.load.rows/1", alias="schema")
    """The name and version of this format."""
    parser_version: Count
    """The version of the parser that made the rows."""
    concurrency: Count | None
    """How many requests are in flight at most; null in an open loop, which has no limit."""
    stepped: bool
    """Whether the clock was set while the run went on: then it is void."""
    aborted: bool
    """Whether the run was ended before all was sent."""
    offset_error_ns: Count
    """By how much the kernel's stamps can be wrong against the client's clock, all of them alike."""
    ended_ns: Moment
    """When the run ended, since its base."""


class Row(Line):
    """One request."""

    index: Count
    """Which of the planned requests, from 0."""
    attempt: Literal[1, 2]
    """2 when it was sent again because a kept connection turned out to be stale."""
    slot: Count
    """Which of the concurrent streams, from 0."""
    outcome: Outcome
    """Whether it was answered whole; stopped when the run was ended while it was under way."""
    failure: FailureClass | None
    """Why it failed; null when it did not."""
    http_status: Count | None
    """The status; null without a response."""
    finish_reason: Word | None
    """As the endpoint gave it; null when it gave none, or no word."""
    clock: Clock | None
    """Whose stamps its moments are; null when nothing was read."""
    is_fresh: bool
    """Whether the connection was opened for this request."""
    intended_ns: Moment
    """When its stream was free for it, since the run's base."""
    connect_ns: Count | None
    """How long it took to connect, TLS included; null on a kept connection or without one."""
    started_ns: Moment | None
    """The moment before its first byte was written, since the run's base: the zero of what follows."""
    written_ns: Moment | None
    """When its last byte had been handed to the kernel."""
    gave_up_ns: Moment | None
    """When the client was done with a request that did not complete."""
    head_ns: Count | None
    """When the head of the response was whole."""
    first_event_ns: Count | None
    """When the first event with data came, output or not: often one that only names the role."""
    ttfo_earliest_ns: Count | None
    """The earliest moment in which the first output can have come, of any kind."""
    ttfo_ns: Count | None
    """By when it had come."""
    ttft_earliest_ns: Count | None
    """The earliest moment in which the first visible content can have come."""
    ttft_ns: Count | None
    """By when it had come."""
    last_output_earliest_ns: Count | None
    """The earliest moment in which the last output can have come."""
    last_output_ns: Count | None
    """By when it had come."""
    end_ns: Count | None
    """When the response ended."""
    delta_kinds: Annotated[str, Field(pattern="^[rctm]*$")]
    """One letter for each event with output: `r` reasoning, `c` content, `t` tool call, `m` several."""
    delta_earliest_ns: Counts
    """The earliest moment in which each can have come."""
    delta_ns: Counts
    """By when each had come."""
    delta_completion_tokens: Counts | None
    """How many completion tokens the endpoint had reported with each; null unless it did so with each."""
    reads: Count
    """How many reads the response took."""
    events: Count
    """How many events had data, the last (`[DONE]`) included."""
    event_reads: Count
    """In how many reads they came."""
    delta_reads: Count
    """In how many reads the events with output came."""
    comments: Count
    """How many lines were comments."""
    empty_events: Count
    """How many events had no data, or empty data: keepalives."""
    prompt_tokens: Count | None
    """As the endpoint reported; null when it did not."""
    cached_tokens: Count | None
    """As the endpoint reported; null when it did not."""
    completion_tokens: Count | None
    """As the endpoint reported; null when it did not. Never counted by chunks, and never the cap."""
    reasoning_tokens: Count | None
    """As the endpoint reported, a part of the completion tokens; null when it did not."""
    total_tokens: Count | None
    """As the endpoint reported; null when it did not."""
    reasoning_seen: Annotated[tuple[ReasoningChannel, ...], AS_TUPLE]
    """In which channels reasoning was seen."""
    decode_unmeasurable: Unmeasurable | None
    """Why it has no decode rate; null when it has one."""
    warnings: Annotated[tuple[Label, ...], AS_TUPLE]
    """What was odd and did not decide."""


def read_rows(raw: bytes) -> tuple[RunRow, tuple[Row, ...]]:
    """Return what the rows of a run say.

    Raises:
        MalformedLine: they are none; a line is not whole or not canonical.
    """
    lines = cut(raw)
    return RunRow.read(lines[0]), tuple(Row.read(line) for line in lines[1:])
