"""Requests as they came in and replies as they go out: bytes, pauses, and ways to end badly.

1. A reply whose body is bytes has a Content-Length; one whose body is a series of steps is chunked, each
   run of bytes one chunk and one write.
2. After `HANG` nothing more is sent until the client goes away or the server stops; after `RESET` the
   client gets an RST, after `CLOSE` a FIN in the middle of the body.
3. A `raw` reply is written as it stands, status line and framing included.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Ending = Literal["hang", "reset", "close"]
HANG: Ending = "hang"
RESET: Ending = "reset"
CLOSE: Ending = "close"


@dataclass(frozen=True)
class Pause:
    """Wait before the next step."""

    seconds: float


Step = bytes | Pause | Ending


@dataclass(frozen=True)
class Request:
    """A request. Header names are in lower case; `connection` counts accepted connections from 0."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    connection: int
    at_ns: int

    @property
    def json(self) -> Any:
        """The body as JSON; null when there is none."""
        return json.loads(self.body) if self.body else None


@dataclass(frozen=True)
class Reply:
    """What is sent back. An iterable body is drawn while it is sent, so it may be endless."""

    body: bytes | Iterable[Step] = b""
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bool = False

    @classmethod
    def of_json(cls, value: object, status: int = 200) -> Reply:
        """A whole JSON body."""
        return cls(json.dumps(value).encode(), status)

    @classmethod
    def of_events(cls, steps: Iterable[Step], **more: Any) -> Reply:
        """A stream of server-sent events."""
        return cls(steps, content_type="text/event-stream; charset=utf-8", **more)

    def steps(self) -> Iterator[Step]:
        """All that goes over the wire, in order."""
        if self.raw:
            yield from [self.body] if isinstance(self.body, bytes) else self.body
            return
        if isinstance(self.body, bytes):
            framing = f"content-length: {len(self.body)}"
        else:
            framing = "transfer-encoding: chunked"
        lines = [f"HTTP/1.1 {self.status} X", f"content-type: {self.content_type}", framing]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        yield "\r\n".join([*lines, "", ""]).encode()
        if isinstance(self.body, bytes):
            yield self.body
            return
        for step in self.body:
            yield b"%x\r\n%s\r\n" % (len(step), step) if isinstance(step, bytes) and step else step
        yield b"0\r\n\r\n"

    def content(self) -> bytes:
        """The body's bytes alone, as far as they are sent before anything bad happens."""
        if isinstance(self.body, bytes):
            return self.body
        kept = bytearray()
        for step in self.body:
            if isinstance(step, bytes):
                kept += step
            elif not isinstance(step, Pause):
                break
        return bytes(kept)


def events(*payloads: object, done: bool = True) -> list[bytes]:
    """Server-sent events, one for each JSON value, and `[DONE]`."""
    lines = [b"data: " + json.dumps(payload, ensure_ascii=False).encode() + b"\n\n" for payload in payloads]
    return [*lines, b"data: [DONE]\n\n"] if done else lines
