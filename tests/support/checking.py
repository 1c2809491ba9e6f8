"""Carries one check out against a server of ours, and shows what it leaves.

done = check("structured-json", lambda payload: "{}")
done.event                     # the CheckCompleted
done.kept["object.response"]   # bytes that the recorder kept, in order of keeping
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anvil.collectors.checks import CHECKS, History, UnderTest, carry_out, context
from anvil.collectors.checks.control import ThinkingControl
from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.client import Client
from anvil.collectors.interface import Deadlines, Endpoint
from anvil.ledger.blobs import BlobRef
from anvil.ledger.drafts import Attachment
from anvil.ledger.events import Event
from anvil.ledger.events.checks import CheckCompleted, RequestOutcome
from anvil.ledger.header import Subject
from support.endpoint import Server

SEED = 20261130


@dataclass
class MemoryRecorder:
    """A recorder that keeps everything in memory, in order."""

    kept: dict[str, bytes] = field(default_factory=dict)
    appended: list[Event] = field(default_factory=list)

    def keep(self, content: bytes, *, name: str, check: str | None = None) -> BlobRef:
        self.kept[name] = content
        return BlobRef("sha256:" + hashlib.sha256(content).hexdigest(), len(content))

    def keep_file(self, path: Path, *, name: str) -> BlobRef:
        return self.keep(path.read_bytes(), name=name)

    def append(self, event: Event, *, subject: Subject, attachments: Sequence[Attachment] = ()) -> str:
        self.appended.append(event)
        return "0" * 64


@dataclass(frozen=True)
class Done:
    """What a check left."""

    event: CheckCompleted
    kept: Mapping[str, bytes]
    attachments: tuple[Attachment, ...]
    history: History

    @property
    def verdict(self) -> tuple[str, str | None]:
        """Outcome and failure class."""
        return self.event.outcome, self.event.failure

    @property
    def requests(self) -> dict[str, RequestOutcome]:
        """What became of each request."""
        return {request.name: request for request in self.event.requests}

    @property
    def findings(self) -> dict[str, Any]:
        """The findings by name."""
        return {finding.name: finding.value for finding in self.event.findings}

    @property
    def messages(self) -> dict[str, str]:
        """The messages by request."""
        found = self.event.messages
        assert not hasattr(found, "hex")
        return dict(found or [])  # type: ignore[arg-type]


Chat = Callable[[dict[str, Any]], Any]


def check(
    name: str,
    chat: Chat | None = None,
    *,
    server: Server | None = None,
    history: History | None = None,
    thinking: ThinkingControl | None = None,
    parameters: Mapping[str, Any] | None = None,
    recorder: MemoryRecorder | None = None,
    **under_test: Any,
) -> Done:
    """Carry a check out. Without `server` one is made that answers chats with `chat`."""
    if server is None:
        with Server(chat=chat) as made:
            return check(
                name,
                server=made,
                history=history,
                thinking=thinking,
                parameters=parameters,
                recorder=recorder,
                **under_test,
            )
    recorder = recorder or MemoryRecorder()

    async def run() -> tuple[CheckCompleted, CheckContext[Any]]:
        endpoint = Endpoint(server.base_url, server.model)
        deadlines = Deadlines(connect_s=5, first_byte_s=5, idle_s=0.5, total_s=30)
        async with Client(endpoint, deadlines=deadlines) as client:
            shared = UnderTest(
                recorder=recorder,
                client=client,
                endpoint=endpoint,
                thinking=thinking or ThinkingControl(),
                seed=SEED,
                history=history if history is not None else History(),
                **under_test,
            )
            made = context(shared, name, parameters or {})
            return await carry_out(CHECKS[name], made), made

    event, made = asyncio.run(run())
    assert type(event).model_validate(event.model_dump()) == event
    event.openings()  # what is sealed can be sealed
    return Done(event, recorder.kept, tuple(made.attachments), made.under_test.history)
