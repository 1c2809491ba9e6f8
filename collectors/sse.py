"""Server-sent events: the event stream grammar of the WHATWG HTML standard, section 9.2.

1. A stream is UTF-8. One byte order mark at its very start is dropped, any other is content.
2. A line ends with CR LF, LF or CR and with nothing else: U+0085 and U+2028 are content. All three are
   single bytes in UTF-8, so lines are found in bytes, and bytes stay bytes until an event's border.
3. A line that starts with a colon is a comment. Of the others, what stands before the first colon is the
   field and what follows it the value, less one space directly after the colon. Nothing else is
   stripped. A line without a colon is a field with an empty value.
4. `data` values are joined with LF; `event` names the type; `id` holds until the next one unless it
   contains NUL; `retry` counts only when it is all digits; other fields are ignored.
5. An empty line is an event's border. Without any `data` line there is no event.
6. What follows the last border is no event, even at the end of the stream.

Bytes that are no UTF-8 become U+FFFD, as the standard says, and are counted. The parser takes any
bytes, in pieces of any size, and what it gives does not depend on where they were cut.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE_END = re.compile(rb"[\r\n]")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LF = b"\n"


@dataclass(frozen=True)
class ServerSentEvent:
    """One event. `end` is the offset in the stream of the first byte after its border.

    With the reads of an exchange, `end` tells when the event was complete. Of a border in CR LF it is
    the offset after the CR: what follows cannot change the event.
    """

    data: str
    event: str = "message"
    last_event_id: str = ""
    end: int = 0


class Parser:
    """Takes the bytes of a stream as they come and gives its events.

    `comments` counts comment lines, `dataless` borders after fields without a `data` line, and
    `replaced` fields that were no UTF-8; `retry` is the reconnection time in milliseconds, null when
    the stream named none.
    """

    def __init__(self) -> None:
        self.comments = 0
        self.dataless = 0
        self.replaced = 0
        self.retry: int | None = None
        self._offset = 0
        self._line = bytearray()
        self._at_start = True
        self._after_cr = False
        self._data: list[bytes] = []
        self._type = b""
        self._id = b""
        self._fields = False

    @property
    def pending(self) -> bool:
        """Whether something follows the last border: the stream was cut inside an event."""
        return bool(self._line or self._fields)

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Take the next bytes and return the events that they complete."""
        events: list[ServerSentEvent] = []
        at = 0
        if self._after_cr and piece:
            self._after_cr = False
            at = 1 if piece.startswith(_LF) else 0
        while found := _LINE_END.search(piece, at):
            self._line += piece[at : found.start()]
            at = found.end()
            line, self._line = bytes(self._line), bytearray()
            event = self._take(line, self._offset + at)
            if found[0] == b"\r":
                # An LF that is not here yet may come with the next piece.
                self._after_cr = at == len(piece)
                at += piece.startswith(_LF, at)
            if event:
                events.append(event)
        self._line += piece[at:]
        self._offset += len(piece)
        return events

    def _take(self, line: bytes, end: int) -> ServerSentEvent | None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if not line:
            return self._dispatch(end)
        name, _, value = line.partition(b":")
        if not name:
            self.comments += 1
            return None
        self._fields = True
        self._set(name, value.removeprefix(b" "))
        return None

    def _set(self, name: bytes, value: bytes) -> None:
        match name:
            case b"data":
                self._data.append(value)
            case b"event":
                self._type = value
            case b"id" if b"\0" not in value:
                self._id = value
            case b"retry" if value.isdigit() and len(value) < 20:
                self.retry = int(value)

    def _dispatch(self, end: int) -> ServerSentEvent | None:
        data, kind, told = self._data, self._type, self._fields
        self._data, self._type, self._fields = [], b"", False
        if not data:
            self.dataless += told
            return None
        return ServerSentEvent(
            self._text(_LF.join(data)), self._text(kind) or "message", self._text(self._id), end
        )

    def _text(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            self.replaced += 1
            return raw.decode(errors="replace")


def parse(body: bytes) -> tuple[ServerSentEvent, ...]:
    """Return the events of a whole stream."""
    return tuple(Parser().feed(body))
