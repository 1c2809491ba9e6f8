"""Whether an engine answers: health with a closed vocabulary, and readiness as one generated token.

1. `/health` is asked until it is reached; what became of the last try is recorded, with its status.
2. Ready means that a chat request generated at least one token within the deadline. `/health` alone
   never means ready, and an endpoint without `/health` can be ready.
3. Only until ready are these waited for: no connection yet, a connection that broke, 503 while the
   engine loads, and 429, for as long as `Retry-After` says. Every other answer ends the wait: it is an
   observation, and is not asked for again.
4. The request for the first token has a cap of 1, in each of the two fields that engines know. The
   field that was honoured is the one that checks use; a field that is refused, or that lets more than
   one token through, is not.
5. An engine that exits ends the wait.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Literal

from anvil.collectors.client import Client
from anvil.collectors.completion import read_chat
from anvil.collectors.interface import Answer, Exchange, Recorder
from anvil.ledger.clock import system_clock
from anvil.ledger.drafts import Attachment
from anvil.ledger.events.engines import CapField, HealthObserved, Reachability

CAP_FIELDS: tuple[Literal["max_completion_tokens", "max_tokens"], ...] = (
    "max_completion_tokens",
    "max_tokens",
)
"""The two spellings, the newer one first."""

HEALTH = "/health"
CHAT = "/v1/chat/completions"
QUESTION = "Count from one to twenty in words."
"""Its answer has more tokens than one, so that a cap of 1 shows."""

End = Literal["token", "exit", "deadline", "answer", "unreadable"]

_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
_PROBE_S = 10.0
_TELLING_S = 1.0
_WAITED_FOR = frozenset({"connection_failed", "connection_reset", "connection_stale"})
_NEXT_FIELD = frozenset({400, 422})
_SECOND = 1_000_000_000
_SAID_CHARACTERS = 500  # each check that it leaves without a verdict repeats it


@dataclass(frozen=True)
class Health:
    """What was observed: the event, what it attaches, and the answers for whoever goes on."""

    event: HealthObserved
    attachments: tuple[Attachment, ...]
    end: End = "token"
    """What ended the wait."""
    answer: str = ""
    """The status and class of the last answer without a token, in words of ours."""
    said: str = ""
    """What it said of that, which may repeat anything."""

    @property
    def is_ready(self) -> bool:
        """Whether a token was generated within the deadline."""
        return self.event.is_ready

    @property
    def cap_field(self) -> CapField | None:
        """The field that caps completion tokens."""
        return self.event.cap_field

    @property
    def outcome(self) -> str:
        """What became of the wait for a token, without a word of the endpoint's."""
        return {
            "token": "the engine generated a token",
            "exit": "the engine exited before it was ready",
            "deadline": "the engine did not generate a token within its deadline",
            "answer": f"the engine answered, and not with a token ({self.answer})",
            "unreadable": f"what the engine answered could not be read ({self.answer})",
        }[self.end]

    @property
    def reason(self) -> str:
        """The same with its cause, in the endpoint's words where it was an answer; the event has all of it."""
        is_answer = self.end in ("answer", "unreadable")
        return f"{self.outcome}: {self.said}" if is_answer and self.said else self.outcome


@dataclass
class _Watch:
    """One engine being waited for."""

    client: Client
    model: str
    started_ns: int
    deadline_ns: int
    has_exited: Callable[[], Awaitable[bool]]
    recorder: Recorder
    engine: Client
    attachments: list[Attachment] = field(default_factory=list)
    health: Exchange | None = None
    ready: Exchange | None = None
    cap_field: CapField | None = None
    details: list[str] = field(default_factory=list)
    end: End = "deadline"
    answer: str = ""
    said: str = ""

    def _left_s(self) -> float:
        return (self.deadline_ns - time.monotonic_ns()) / _SECOND

    async def run(self) -> None:
        """Wait for health and then for a token, until the deadline, an exit or an answer that is final."""
        while self._left_s() > 0:
            if await self.has_exited():
                self.details.append("the engine exited before it was ready")
                self.end = "exit"
                return
            await self._ask_health()
            pause = _pause_of(self.health)
            if pause is None:
                pause = await self._ask_token()
                if pause is None:
                    return
            await asyncio.sleep(max(0.0, min(pause, self._left_s())))
        self.details.append("the deadline passed before a token was generated")

    async def _ask_health(self) -> None:
        limit = min(self.deadline_ns, time.monotonic_ns() + int(_PROBE_S * _SECOND))
        exchange = await self.engine.exchange("GET", HEALTH, deadline_ns=limit)
        # One that the deadline cut short tells less than the one before it.
        was_cut = exchange.failure == "timeout" and exchange.latency_ns < _TELLING_S * _SECOND
        if self.health is None or not was_cut:
            self.health = exchange

    async def _ask_token(self) -> float | None:
        """Ask for one token in each field; return how long to wait before the next try, None for done."""
        for name in CAP_FIELDS:
            payload = {"model": self.model, "messages": [{"role": "user", "content": QUESTION}]}
            exchange = await self.client.exchange(
                "POST", CHAT, {**payload, name: 1, "temperature": 0}, deadline_ns=self.deadline_ns
            )
            pause = _pause_of(exchange)
            if pause is not None:
                return pause
            if exchange.status is not None:
                self._keep("ready_response", exchange)
            answer = read_chat(exchange)
            if not _generated(answer):
                self.details.append(f"{name}: {_said(exchange, answer)}")
                self._answered(exchange, answer)
                if exchange.status in _NEXT_FIELD:
                    continue
                return None
            self.ready, self.end = self.ready or exchange, "token"
            if _is_capped(answer):
                self.cap_field = name
                return None
            self.details.append(f"{name}: a cap of 1 let {answer.usage.completion_tokens} tokens through")
        if self.ready is not None:
            self.cap_field = "neither"
        return None

    def _answered(self, exchange: Exchange, answer: Answer) -> None:
        """Note an answer that is not waited for and brought no token."""
        if self.ready is None:
            self.end = "unreadable" if exchange.status is None else "answer"
        status = None if exchange.status is None else f"status {exchange.status}"
        self.answer = ", ".join(filter(None, (status, answer.failure or exchange.failure)))
        self.said = (answer.message or exchange.message)[:_SAID_CHARACTERS]

    def _keep(self, name: str, exchange: Exchange) -> None:
        number = sum(item.name.startswith(name) for item in self.attachments)
        name = f"{name}-{number + 1}" if number else name
        blob = self.recorder.keep(exchange.body, name=name)
        self.attachments.append(Attachment(name, _media_type(exchange), blob))

    def keep_health(self) -> None:
        """Keep what the last health request brought."""
        if self.health is not None and self.health.status is not None:
            self._keep("health_response", self.health)


async def observe_health(
    client: Client,
    recorder: Recorder,
    *,
    model: str,
    started_ns: int,
    deadline_ns: int,
    has_exited: Callable[[], Awaitable[bool]],
    engine: Client | None = None,
) -> Health:
    """Wait until an engine generates a token, and return what was seen; the bytes are kept.

    `engine` is where health is asked, when not where the token is: a router answers for others before
    the engine behind it is there.
    `started_ns` is when it was launched and `deadline_ns` until when it is waited for, both moments of
    the monotonic clock. The attachments are `health_response`, and a `ready_response` for each answer to
    a request for the first token that was not waited for.

    Raises:
        CollectorError: the bytes could not be kept.
    """
    watch = _Watch(client, model, started_ns, deadline_ns, has_exited, recorder, engine or client)
    await watch.run()
    watch.keep_health()
    event = HealthObserved(
        health=reachability(watch.health),
        http_status=watch.health.status if watch.health else None,
        is_ready=watch.ready is not None,
        ready_after_ns=watch.ready.ended_ns - started_ns if watch.ready else None,
        cap_field=watch.cap_field,
        detail=_detail(watch),
    )
    attachments = tuple(sorted(watch.attachments, key=lambda item: item.name))
    return Health(event, attachments, watch.end, watch.answer, watch.said)


def reachability(exchange: Exchange | None) -> Reachability:
    """Return what became of a health request, in the closed vocabulary."""
    if exchange is None:
        return "not_attempted"
    if exchange.status is not None:
        return "reached"
    return "timed_out" if exchange.failure == "timeout" else "unreachable"


def retry_after_s(header: str | None) -> float | None:
    """Return how long a `Retry-After` header asks to wait (RFC 9110, section 10.2.3); None if it does not."""
    if header is None:
        return None
    text = header.strip()
    if text.isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    at = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (at - system_clock()).total_seconds())


def _pause_of(exchange: Exchange | None) -> float | None:
    """Return how long to wait before asking again, or None for an answer that is not waited for."""
    if exchange is None or exchange.failure in _WAITED_FOR:
        return _PAUSE_S
    if exchange.status is None:
        return _PAUSE_S if exchange.failure == "timeout" else None
    if exchange.status not in (429, 503):
        return None
    asked = retry_after_s(_header(exchange, "retry-after"))
    return min(_PAUSE_S if asked is None else max(asked, 0.05), _LONGEST_PAUSE_S)


def _header(exchange: Exchange, name: str) -> str | None:
    return next((value for key, value in exchange.headers.items() if key.lower() == name), None)


def _generated(answer: Answer) -> bool:
    """Whether at least one token came, by any account."""
    if answer.exchange.status != 200 or answer.raw is None:
        return False
    counted = answer.usage.completion_tokens
    return bool(counted) or bool(answer.visible) or any(answer.reasoning.values()) or bool(answer.tool_calls)


def _is_capped(answer: Answer) -> bool:
    """Whether a cap of 1 was honoured; an endpoint that counts nothing is believed by its finish reason."""
    counted = answer.usage.completion_tokens
    return counted == 1 if counted is not None else answer.finish_reason == "length"


def _said(exchange: Exchange, answer: Answer) -> str:
    status = "no response" if exchange.status is None else f"HTTP {exchange.status}"
    body = exchange.body[:2000].decode("utf-8", "replace")
    return " ".join(filter(None, (status, answer.message or exchange.message, body)))


def _detail(watch: _Watch) -> str | None:
    details = list(watch.details)
    if watch.health is not None and watch.health.message:
        details.insert(0, f"health: {watch.health.message}")
    return "\n".join(details) or None


def _media_type(exchange: Exchange) -> str:
    declared = (_header(exchange, "content-type") or "").partition(";")[0].strip().lower()
    return (
        declared
        if declared in ("application/json", "text/plain", "text/html")
        else "application/octet-stream"
    )
