"""The parser of attempt records: bytes in, rows out. Pure, and it has a version.

1. The response is framed, then read by the rules of `anvil.collectors.completion`, as those of functional
   checks are. What had come before a failure is kept and told.
2. An event is output when it holds reasoning, visible content, or a tool's name or arguments that are not
   empty. The first of any kind gives `ttfo`, the first with content `ttft`.
3. When an event came is told by `anvil.collectors.load.timeline`; a body that came in a content coding has
   no such moments.
4. A request completed when its response ended by its framing or, naming none, with the connection, its
   stream had a finish reason and no error, and the model that answered is the one that was asked.
5. Of all that is wrong the first class in the closed order is named. Messages are whole; they are private
   and not part of a row.
6. A change in what any bytes give is a new `PARSER_VERSION`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from anvil.collectors import failures
from anvil.collectors.completion import read_chat_stream
from anvil.collectors.interface import Answer, Exchange
from anvil.collectors.load.framing import Frames
from anvil.collectors.load.record import RequestRecord, RunRecord, read_record
from anvil.collectors.load.timeline import Came, Timeline
from anvil.collectors.load.watching import Seen
from anvil.ledger.events.checks import FailureClass
from anvil.ledger.public import Label, Word
from anvil.ledger.rows import Clock, Outcome, Row, RunRow, Unmeasurable
from anvil.ledger.wording import counted

PARSER_VERSION = 1
"""The version of this parser (rule 6)."""

_FEW_TOKENS = 4
_TENTH = 10
"""The first output may hold a few tokens, or a tenth of all: a rate that begins after it is then off by no more."""

_WORD: TypeAdapter[str] = TypeAdapter(Word)
_LABEL: TypeAdapter[str] = TypeAdapter(Label)

Fault = tuple[FailureClass, str]


class ReadRequest(NamedTuple):
    """A row, and the whole message of what went wrong, which is private; empty when nothing did."""

    row: Row
    message: str


def derive(raw: bytes) -> bytes:
    """Return the bytes of the rows that the bytes of an attempt record give.

    Raises:
        MalformedLine: it is no attempt record.
    """
    run, requests = read_record(raw)
    return write_rows(run, (read_request(run, request).row for request in requests))


def write_rows(run: RunRecord, rows: Iterable[Row]) -> bytes:
    """Return the bytes of a run's rows."""
    head = RunRow(
        parser_version=PARSER_VERSION,
        concurrency=run.concurrency,
        stepped=run.stepped,
        aborted=run.aborted,
        offset_error_ns=-((run.offset_low_ns - run.offset_high_ns) // 2),
        ended_ns=run.ended_ns,
    )
    return b"".join([head.spelled(), *(row.spelled() for row in rows)])


def read_request(run: RunRecord, record: RequestRecord) -> ReadRequest:
    """Return what one request of a run comes to."""
    frames = _framed(record)
    answer, seen = _answered(record, frames)
    faults = list(_faults(run, answer))
    failure = None if record.is_stopped else failures.first(name for name, _ in faults)
    outcome: Outcome = "stopped" if record.is_stopped else "failed" if failure else "completed"
    timeline = Timeline(frames, _stamps(run, record))
    times = _Times(seen, frames, timeline, is_whole=outcome == "completed")
    row = Row(
        index=record.index,
        attempt=record.attempt,
        slot=record.slot,
        outcome=outcome,
        failure=failure,
        http_status=frames.status,
        finish_reason=_word(answer.finish_reason),
        clock=_clock(run, record),
        is_fresh=record.is_fresh,
        intended_ns=record.intended_ns,
        connect_ns=record.connect_ns,
        started_ns=record.started_ns,
        written_ns=_since_start(record, record.written_ns),
        gave_up_ns=None if outcome == "completed" else _since_start(record, record.ended_ns),
        head_ns=timeline.of_read(frames.head_read) if times.is_whole else None,
        first_event_ns=times.first_event_ns,
        ttfo_earliest_ns=times.first.earliest_ns if times.first else None,
        ttfo_ns=times.first.latest_ns if times.first else None,
        ttft_earliest_ns=times.content.earliest_ns if times.content else None,
        ttft_ns=times.content.latest_ns if times.content else None,
        last_output_earliest_ns=times.last.earliest_ns if times.last else None,
        last_output_ns=times.last.latest_ns if times.last else None,
        end_ns=_end(record, frames, timeline) if times.is_whole else None,
        delta_kinds=seen.kinds if times.deltas else "",
        delta_earliest_ns=tuple(came.earliest_ns for came in times.deltas),
        delta_ns=tuple(came.latest_ns for came in times.deltas),
        delta_completion_tokens=seen.tokens() if times.deltas else None,
        reads=len(record.sizes),
        events=len(seen.event_ends),
        event_reads=len({came.read for came in times.events}),
        delta_reads=len({came.read for came in times.deltas}),
        comments=seen.comments,
        empty_events=seen.empty,
        prompt_tokens=answer.usage.prompt_tokens,
        cached_tokens=answer.usage.cached_tokens,
        completion_tokens=answer.usage.completion_tokens,
        reasoning_tokens=answer.usage.reasoning_tokens,
        total_tokens=answer.usage.total_tokens,
        reasoning_seen=answer.reasoning_seen,
        decode_unmeasurable=_unmeasurable(answer, seen, times),
        warnings=_warnings(record, answer, times),
    )
    return ReadRequest(row, "\n".join(message for _, message in faults if message))


# --- 1. what came ---------------------------------------------------------------------------------------


def _framed(record: RequestRecord) -> Frames:
    frames, at = Frames(), 0
    for size in record.sizes:
        frames.feed(record.response[at : at + size])
        at += size
    return frames


def _answered(record: RequestRecord, frames: Frames) -> tuple[Answer, Seen]:
    """Return what the response means, transport and status included."""
    found = list(_below_the_answer(record, frames))
    exchange = Exchange(
        request=record.request,
        started_ns=0,
        ended_ns=0,
        status=frames.status,
        headers=frames.headers,
        body=bytes(frames.body),
        failure=failures.first(name for name, _ in found),
        message="\n".join(message for _, message in found),
    )
    seen = Seen()
    return read_chat_stream(exchange, seen), seen


def _below_the_answer(record: RequestRecord, frames: Frames) -> Iterator[Fault]:
    """Yield what is wrong with the transport, the framing and the status."""
    if frames.status is not None and (failure := failures.of_status(frames.status)):
        place = (
            f", Location: {frames.headers.get('location', 'not given')}" if failure == "redirected" else ""
        )
        yield failure, f"HTTP {frames.status}{place}"
    if record.failure is not None:
        yield record.failure, record.message
    elif frames.broken:
        yield "malformed_body", frames.broken
    elif record.is_closed and not (frames.is_complete or frames.ends_with_connection):
        came = "inside the response" if record.sizes else "before a response came"
        yield (
            "connection_reset",
            f"the connection was closed {came}; {counted(len(frames.body), 'byte')} of a body had come",
        )


def _faults(run: RunRecord, answer: Answer) -> Iterator[Fault]:
    if answer.failure is not None:
        yield answer.failure, answer.message
    elif answer.model and answer.model != run.served_model:
        yield "identity_mismatch", f"asked {run.served_model!r}, answered by {answer.model!r}"


# --- 3. when it came --------------------------------------------------------------------------------------


def _clock(run: RunRecord, record: RequestRecord) -> Clock | None:
    """Say whose stamps count: after a step of the clock the kernel's say nothing."""
    if not record.sizes:
        return None
    return "client" if run.stepped or record.kernel_ns is None else "kernel"


def _stamps(run: RunRecord, record: RequestRecord) -> list[int]:
    """Return each read's moment since the start."""
    start = record.started_ns or 0
    if run.stepped or record.kernel_ns is None:
        return [moment - start for moment in record.client_ns]
    start += (run.offset_low_ns + run.offset_high_ns) // 2
    return [moment - start for moment in record.kernel_ns]


class _Times:
    """When events came. Of a request that is not `is_whole` no moment is a sample."""

    def __init__(self, seen: Seen, frames: Frames, timeline: Timeline, *, is_whole: bool) -> None:
        coding = frames.headers.get("content-encoding", "").strip().lower()
        self.is_coded = coding not in ("", "identity")
        self.is_whole = is_whole
        self.events = [] if self.is_coded else [timeline.of_event(end) for end in seen.event_ends]
        self.deltas = [] if self.is_coded else [timeline.of_event(end) for end in seen.delta_ends]
        self.first: Came | None = None
        self.content: Came | None = None
        self.last: Came | None = None
        if is_whole and self.deltas:
            self.first, self.last = self.deltas[0], self.deltas[-1]
            self.content = None if seen.first_content is None else self.deltas[seen.first_content]

    @property
    def first_event_ns(self) -> int | None:
        """When the first event with data came."""
        return self.events[0].latest_ns if self.is_whole and self.events else None


def _end(record: RequestRecord, frames: Frames, timeline: Timeline) -> int | None:
    """Return when the response ended; an end of the connection has no stamp but the client's."""
    if frames.last_read is not None:
        return timeline.of_read(frames.last_read)
    return _since_start(record, record.ended_ns)


def _since_start(record: RequestRecord, moment: int | None) -> int | None:
    return None if moment is None or record.started_ns is None else moment - record.started_ns


# --- what follows -------------------------------------------------------------------------------------------


def _unmeasurable(answer: Answer, seen: Seen, times: _Times) -> Unmeasurable | None:
    """Return why there is no decode rate; null when there is one."""
    usage = answer.usage
    has_hidden = (usage.reasoning_tokens or 0) > 1
    reasons: tuple[tuple[bool, Unmeasurable], ...] = (
        (not times.is_whole, "not_completed"),
        (times.is_coded, "content_coding"),
        (usage.completion_tokens is None, "completion_tokens_unknown"),
        ((usage.completion_tokens or 0) < 2, "fewer_than_two_tokens"),
        (has_hidden and not any(answer.reasoning.values()), "reasoning_not_streamed"),
        (has_hidden and sum(seen.kinds.count(kind) for kind in "rm") == 1, "reasoning_in_one_delta"),
        ((usage.completion_tokens or 0) > _output_bytes(answer), "more_tokens_than_bytes"),
        (len({came.read for came in times.deltas}) < 2, "output_in_one_read"),
        (_holds_many(answer, seen), "first_output_holds_many"),
    )
    return next((reason for applies, reason in reasons if applies), None)


def _output_bytes(answer: Answer) -> int:
    """Return how many bytes of output came. A token that gives text gives at least one of them."""
    texts = [answer.visible, *answer.reasoning.values()]
    texts += [text for call in answer.tool_calls for text in (call.name, call.arguments)]
    return sum(len(text.encode()) for text in texts)


def _holds_many(answer: Answer, seen: Seen) -> bool:
    """Say whether the first output is much more than one token: what came before it took no known time.

    How many tokens it has the endpoint's counts tell, else its share of the characters.
    """
    total = answer.usage.completion_tokens or 0
    along = seen.tokens()
    characters = len(answer.visible) + sum(map(len, answer.reasoning.values()))
    if along is not None:
        first = Fraction(along[0])
    elif characters:
        first = Fraction(min(seen.first_written, characters) * total, characters)
    else:
        return False
    return first > _FEW_TOKENS and first * _TENTH > total


def _warnings(record: RequestRecord, answer: Answer, times: _Times) -> tuple[str, ...]:
    """Return what is odd, in the words that functional checks use too."""
    found = [name if _is_label(name) else "reader_warning" for name in answer.warnings]
    used, cap = answer.usage.completion_tokens, record.cap_tokens
    if used is not None and cap is not None and used > cap:
        found.append("cap_exceeded")
    if used is not None and used == cap and answer.finish_reason == "stop":
        found.append("cap_reached_with_stop")
    if answer.finish_reason is not None and _word(answer.finish_reason) is None:
        found.append("finish_reason_is_no_word")
    if times.is_coded:
        found.append("content_coding")
    return tuple(dict.fromkeys(found))


def _word(text: str | None) -> str | None:
    try:
        return None if text is None else _WORD.validate_python(text)
    except ValidationError:
        return None


def _is_label(text: str) -> bool:
    try:
        return bool(_LABEL.validate_python(text))
    except ValidationError:
        return False
