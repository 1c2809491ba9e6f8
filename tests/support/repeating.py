"""Carries one suite out against a server of ours, and shows what it leaves.

done = suite("session", lambda payload: "4715")
done.event                      # the SuiteCompleted
done.kept["recall.1.1.request"] # bytes that the recorder kept
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from anvil.collectors.checks import History, UnderTest
from anvil.collectors.checks.control import ThinkingControl
from anvil.collectors.checks.judging import Judgement
from anvil.collectors.client import Client
from anvil.collectors.interface import Deadlines, Endpoint
from anvil.collectors.recipes import SelectedSuite
from anvil.collectors.suites import Chosen, Obstacle, SuiteRun, chosen, suite_run
from anvil.ledger import canonical
from anvil.ledger.drafts import Attachment
from anvil.ledger.events.checks import RequestOutcome
from anvil.ledger.events.suites import SuiteCompleted, SuiteItem
from support.checking import SEED, Chat, MemoryRecorder
from support.endpoint import Server


@dataclass(frozen=True)
class Done:
    """What a suite left."""

    event: SuiteCompleted
    kept: Mapping[str, bytes]
    attachments: tuple[Attachment, ...]
    server: Server

    @property
    def verdict(self) -> tuple[str, str | None, int, int]:
        """Outcome, failure class, passed and expected repetitions."""
        event = self.event
        return event.outcome, event.failure, event.passed, event.expected

    @property
    def items(self) -> dict[str, SuiteItem]:
        """What became of each item."""
        return {item.item: item for item in self.event.items}

    @property
    def requests(self) -> dict[str, RequestOutcome]:
        """What became of each request."""
        return {request.name: request for request in self.event.requests}

    @property
    def messages(self) -> dict[str, str]:
        """The messages by request."""
        return dict(self.event.messages or [])  # type: ignore[arg-type]


def suite(
    name: str,
    chat: Chat | None = None,
    *,
    server: Server | None = None,
    content: bytes | None = None,
    history: History | None = None,
    thinking: ThinkingControl | None = None,
    obstacle: Callable[[], Awaitable[Obstacle | None]] | None = None,
    broke_off: Callable[[Judgement], Awaitable[bool]] | None = None,
    endpoint: Mapping[str, Any] | None = None,
    window_tokens: int | None = None,
    idle_s: float = 2.0,
    recorder: Any = None,
    **selected: Any,
) -> Done:
    """Carry a suite out. Without `server` one is made that answers chats with `chat`."""
    if server is None:
        with Server(chat=chat) as made:
            return suite(
                name, server=made, content=content, history=history, thinking=thinking, obstacle=obstacle,
                broke_off=broke_off, endpoint=endpoint, window_tokens=window_tokens, idle_s=idle_s,
                recorder=recorder, **selected,
            )  # fmt: skip
    one = chosen(SelectedSuite(id=name, **selected), content)
    recorder = recorder or MemoryRecorder()

    async def run() -> tuple[SuiteCompleted, SuiteRun]:
        where = Endpoint(server.base_url, server.model, **(endpoint or {}))
        deadlines = Deadlines(connect_s=5, first_byte_s=idle_s, idle_s=idle_s, total_s=30)
        async with Client(where, deadlines=deadlines) as client:
            shared = UnderTest(
                recorder=recorder,
                client=client,
                endpoint=where,
                thinking=thinking or ThinkingControl(),
                seed=SEED,
                window_tokens=window_tokens,
                history=history if history is not None else History(),
            )
            made = suite_run(shared, one)
            asked = {"obstacle": obstacle, "broke_off": broke_off}
            given = {key: value for key, value in asked.items() if value is not None}
            return await made.carry_out(**given), made  # type: ignore[arg-type]

    event, made = asyncio.run(run())
    require_recordable(event)
    return Done(event, getattr(recorder, "kept", {}), made.attachments, server)


def require_recordable(event: SuiteCompleted) -> None:
    """Require that an event is what it says, and can be sealed and spelled."""
    assert type(event).model_validate(event.model_dump()) == event
    event.openings()
    canonical.encode(event.facts())


def chosen_for(name: str, **selected: Any) -> Chosen:
    """A built-in suite as a recipe that says no more selects it."""
    return chosen(SelectedSuite(id=name, **selected), None)
