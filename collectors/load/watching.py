"""Which events of a stream held output, and where in the body each of them ends."""

from __future__ import annotations

from anvil.collectors.completion import KEEPALIVES
from anvil.collectors.completion.reading import Output, Reading
from anvil.collectors.sse import Parser, ServerSentEvent
from anvil.ledger.public import MAX_INTEGER

_LETTERS: dict[Output, str] = {"reasoning": "r", "content": "c", "tool": "t"}


class Seen:
    """Looks on while a stream is read (`anvil.collectors.completion.Watch`).

    `event_ends` are the offsets behind each event with data, `delta_ends` those of the events with
    output, `kinds` a letter for each of these; `first_content` is the number of the first with visible
    content, and `first_written` how many characters the first output had.
    """

    def __init__(self) -> None:
        self.event_ends: list[int] = []
        self.delta_ends: list[int] = []
        self.kinds = ""
        self.first_content: int | None = None
        self.first_written = 0
        self.comments = 0
        self.empty = 0
        self._tokens: list[int | None] = []
        self._usage: object = None

    def see(self, event: ServerSentEvent, reading: Reading) -> None:
        """Note an event."""
        if event.data in KEEPALIVES:
            self.empty += 1
            return
        self.event_ends.append(event.end)
        reported, before = reading.reported, self._usage
        self._usage = reported
        if not reading.output:
            return
        if "content" in reading.output and self.first_content is None:
            self.first_content = len(self.delta_ends)
        if not self.delta_ends:
            self.first_written = reading.written
        self.delta_ends.append(event.end)
        self.kinds += _LETTERS[next(iter(reading.output))] if len(reading.output) == 1 else "m"
        count = reported.get("completion_tokens") if reported is not None and reported is not before else None
        self._tokens.append(count if type(count) is int and 0 <= count <= MAX_INTEGER else None)

    def end(self, parser: Parser) -> None:
        """Note what were no events."""
        self.comments = parser.comments
        self.empty += parser.dataless

    def tokens(self) -> tuple[int, ...] | None:
        """Return the completion tokens reported with each event with output; null unless each had them."""
        known = tuple(count for count in self._tokens if count is not None)
        return known if known and len(known) == len(self._tokens) else None
