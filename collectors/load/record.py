"""The attempt record: every byte that came back and the stamp of every read. Private evidence.

1. It is NDJSON in canonical JSON (`anvil.ledger.canonical`): a first line about the run, then a line for
   each request that was sent, in the order in which they ended. docs/load.md has the members.
2. Moments are nanoseconds since the run's base: those of the kernel on the realtime clock, all others on
   the monotonic one. The first line has what is known of their difference.
3. Nothing here is derived. A response's bytes are as they left the socket (of TLS, as they left its
   layer), framing included. `sizes` cuts them into reads.
4. Reading is strict: what is not spelled so, or contradicts itself, is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from anvil.ledger.events.checks import FailureClass
from anvil.ledger.lines import Bytes, Count, Counts, Line, Moment, Moments, cut


class RunRecord(Line):
    """The first line: the run that the requests belong to."""

    form: Literal["anvil.load.record/1"] = Field(default="anvil.load.record/1", alias="schema")
    """The name and version of this format."""
    base_realtime_ns: Annotated[str, Field(pattern=r"^[1-9][0-9]{0,29}$")]
    """The realtime clock at the run's base, in digits."""
    offset_low_ns: Moment
    """The least that the realtime clock can be ahead of the monotonic one, both since the base."""
    offset_high_ns: Moment
    """The most."""
    stepped: bool
    """Whether the clock was set while the run went on: then it is void."""
    aborted: bool
    """Whether the run was ended before all was sent."""
    concurrency: Count | None
    """How many requests are in flight at most; null in an open loop, which has no limit."""
    served_model: str
    """Which model was asked."""
    ended_ns: Moment
    """When the run ended."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.offset_low_ns > self.offset_high_ns:
            raise ValueError("the offset's bounds are the wrong way round")
        return self


class RequestRecord(Line):
    """One request that was sent, or could not be, and all that came back."""

    index: Count
    """Which of the planned requests, from 0."""
    attempt: Literal[1, 2]
    """2 when it was sent again because a kept connection turned out to be stale."""
    slot: Count
    """Which of the concurrent streams, from 0."""
    cap_tokens: Count | None
    """The completion cap that the request states; null when it states none."""
    request: Bytes
    """The body that was sent."""
    is_fresh: bool
    """Whether the connection was opened for this request."""
    intended_ns: Moment
    """When the slot was free for it."""
    connect_ns: Count | None
    """How long it took to connect, TLS included; null on a kept connection or without one."""
    started_ns: Moment | None
    """The moment before its first byte was written; null when none was."""
    written_ns: Moment | None
    """When its last byte had been taken."""
    ended_ns: Moment
    """When the client was done with it."""
    is_stopped: bool
    """Whether it was given up because the run was ended."""
    is_closed: bool
    """Whether the endpoint ended the connection, in order, before the response was whole by its framing."""
    failure: FailureClass | None
    """What went wrong below HTTP; null when nothing did."""
    message: str
    """What was said of it, whole."""
    sizes: Counts
    """How many bytes each read gave."""
    kernel_ns: Moments | None
    """When the kernel received each read's last byte; null when it gave no stamp for all of them."""
    client_ns: Moments
    """When the client had each read."""
    response: Bytes
    """All that came back."""

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        stamps = len(self.client_ns) if self.kernel_ns is None else len(self.kernel_ns)
        if not len(self.sizes) == len(self.client_ns) == stamps:
            raise ValueError("there are not as many stamps as reads")
        if sum(self.sizes) != len(self.response):
            raise ValueError("the reads are not as long as the response")
        return self


def write_record(run: RunRecord, requests: Iterable[RequestRecord]) -> bytes:
    """Return the bytes of a record."""
    return b"".join([run.spelled(), *(request.spelled() for request in requests)])


def read_record(raw: bytes) -> tuple[RunRecord, tuple[RequestRecord, ...]]:
    """Return what a record says.

    Raises:
        MalformedLine: it is none; a line is not whole, not canonical, or contradicts itself.
    """
    lines = cut(raw)
    return RunRecord.read(lines[0]), tuple(RequestRecord.read(line) for line in lines[1:])
