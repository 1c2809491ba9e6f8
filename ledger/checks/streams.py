"""Streams across runs: each run's first event of a stream follows where the last run left it.

1. The events of a stream, in order of index, obey `anvil.ledger.chain`.
2. Nothing comes in a stream after the event elsewhere that abandons it, and that event names the
   stream's last event.
3. A stream that has ended does not begin again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from anvil.ledger.chain import StreamHead, follow
from anvil.ledger.checks.entries import Examined, Segment, stepped_back
from anvil.ledger.checks.finding import Finding
from anvil.ledger.errors import ChainBroken
from anvil.ledger.events import StreamAbandoned


@dataclass
class StreamCheck:
    """The heads of open streams, and which streams have ended.

    `seen_before` says whether a stream has entries before where this verification began.
    """

    seen_before: Callable[[str], bool]
    heads: dict[str, StreamHead] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    _last_at: dict[str, str] = field(default_factory=dict)
    _ended: set[str] = field(default_factory=set)

    def take(self, report: Examined, abandoned: Iterable[tuple[int, StreamAbandoned]]) -> None:
        """Take in a run, and the abandonments whose index lies in it."""
        for stream, segment in report.segments.items():
            self._join(stream, segment)
        for index, event in abandoned:
            ended = report.segments.get(event.abandoned)
            if ended is not None and ended.last_index > index:
                message = "expected nothing after the stream was abandoned"
                self._broken(ended.last_index, event.abandoned, message)
            self._abandon(event.abandoned, index, event)

    def _join(self, stream: str, segment: Segment) -> None:
        head = self.heads.get(stream)
        before = self._last_at.get(stream)
        if head is None and (
            stream in self._ended or (segment.first.stream_seq == 0 and self.seen_before(stream))
        ):
            self._broken(segment.first_index, stream, "expected nothing after the stream had ended")
        else:
            try:
                follow(head, segment.first)
            except ChainBroken as error:
                self._broken(segment.first_index, stream, str(error))
        if before is not None and segment.first.at < before:
            self.findings.append(stepped_back(segment.first_index, stream, before, segment.first.at))
        if segment.head.state == "open":
            self.heads[stream], self._last_at[stream] = segment.head, segment.last_at
        else:
            self._end(stream)

    def _abandon(self, stream: str, index: int, event: StreamAbandoned) -> None:
        head = self.heads.get(stream)
        if head is None:
            self._broken(index, stream, "expected an open stream, found stream.abandoned for one that is not")
        elif (head.seq, head.header_hash) != (event.last_seq, event.last_header):
            self._broken(
                index, stream, f"stream.abandoned names event {event.last_seq} as the last, found {head.seq}"
            )
        self._end(stream)

    def _end(self, stream: str) -> None:
        self.heads.pop(stream, None)
        self._last_at.pop(stream, None)
        self._ended.add(stream)

    def _broken(self, index: int, stream: str, message: str) -> None:
        self.findings.append(Finding("chain-broken", message, index, stream=stream))
