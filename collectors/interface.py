"""What collectors share: how they keep bytes and append events, and what an exchange and an answer are.

1. A collector holds no key and no database. It is given a `Recorder`, which keeps bytes by digest and
   appends events; whoever made the recorder signs.
2. Bytes are kept before anything is judged by them, so that nothing seen is lost to a later error.
3. Moments inside a run are integers in nanoseconds of the monotonic clock; only their differences
   are recorded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from anvil.ledger.blobs import BlobRef
from anvil.ledger.drafts import Attachment
from anvil.ledger.events import Event
from anvil.ledger.events.checks import FailureClass, ReasoningChannel
from anvil.ledger.header import Subject


@dataclass(frozen=True)
class LogPattern:
    """What lines of a log are looked for.

    One of `words`, in small letters, stands in every line that `expression` finds, whatever the case
    there; none when no such word is known. They are looked for first: a log may have a million lines.
    """

    expression: re.Pattern[str]
    words: tuple[str, ...] = ()

    def finds(self, text: str, lowered: str) -> bool:
        """Say whether a line is one of them; `lowered` is the line in small letters."""
        if self.words and not any(word in lowered for word in self.words):
            return False
        return self.expression.search(text) is not None


class Recorder(Protocol):
    """Where a collector's observations go."""

    def keep(self, content: bytes, *, name: str, check: str | None = None) -> BlobRef:
        """Note what bytes are and keep them, before anything is judged by them.

        From here on they outlive the process; they are on disk before an event that names them is recorded.
        """

    def keep_file(self, path: Path, *, name: str) -> BlobRef:
        """Keep the bytes of a file."""

    def append(self, event: Event, *, subject: Subject, attachments: Sequence[Attachment] = ()) -> str:
        """Append an event and return its entry hash."""


@dataclass(frozen=True)
class Endpoint:
    """Where a model answers, and under which name.

    `base_url` has no path but its own prefix, for instance ``http://127.0.0.1:8000``; requests go to
    ``/v1/…`` below it. `headers` may hold secrets and is never recorded.
    """

    base_url: str
    served_model: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    metrics_url: str | None = None
    via_router: bool = False
    engine_url: str | None = None
    """The engine's own address behind a router; null where nobody names it."""
    media_part: str = "image_url"
    ca_file: Path | None = None
    """Certificates that are believed besides the system's; null for none."""


@dataclass(frozen=True)
class Exchange:
    """One request and all that came back, whole or not.

    `body` are the response's bytes as they came, after transfer coding and before content coding was
    trusted; `reads` has for each read the number of bytes so far and the moment. A `failure` says that
    the transport failed; the partial bytes are still here. Moments are monotonic nanoseconds.
    """

    request: bytes
    started_ns: int
    ended_ns: int
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    reads: tuple[tuple[int, int], ...] = ()
    failure: FailureClass | None = None
    message: str = ""

    @property
    def latency_ns(self) -> int:
        """From before the request was written to the end of the response."""
        return self.ended_ns - self.started_ns


@dataclass(frozen=True)
class ToolCall:
    """One tool call, put together again. `arguments` is the text, valid JSON or not."""

    call_id: str | None
    name: str
    arguments: str


@dataclass(frozen=True)
class Usage:
    """Token counts as the endpoint reported them; null when it did not."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None


NO_USAGE = Usage()
"""What an endpoint that reports nothing reports."""


@dataclass(frozen=True)
class Answer:
    """What an exchange means: the visible answer, reasoning, calls, counts, and why it failed if it did.

    `failure` is the first class that applies so far; a check may find a later one. `reasoning` is
    the text by channel; `reasoning_seen` also names channels that only show counts or tags.
    """

    exchange: Exchange
    visible: str = ""
    reasoning: Mapping[str, str] = field(default_factory=dict)
    reasoning_seen: tuple[ReasoningChannel, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: Usage = NO_USAGE
    model: str | None = None
    warnings: tuple[str, ...] = ()
    failure: FailureClass | None = None
    message: str = ""
    raw: Any = None


@dataclass(frozen=True)
class Deadlines:
    """How long each wait may take, in seconds; `first_byte_s` and `total_s` begin with the request."""

    connect_s: float = 10.0
    first_byte_s: float = 3600.0
    idle_s: float = 120.0
    total_s: float = 7200.0
