"""What a check is, and what it is given.

1. A check sends requests through its context and judges what came back; it appends nothing itself.
2. The context keeps each request's bytes before they are sent, and all that came back before anybody
   judges it: a judge that fails loses nothing.
3. The body of a request holds what its check asks for, the cap in the field that the endpoint honours,
   temperature 0, and the thinking control of the model's family. A check that names one of these
   itself is taken at its word.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from anvil.collectors.checks.control import ThinkingControl
from anvil.collectors.checks.history import History, Observed
from anvil.collectors.checks.parameters import Parameters, Thinking
from anvil.collectors.completion import read_chat, read_chat_stream, read_responses
from anvil.collectors.filler import GENERATOR, VERSION, Draws, Filler, seed_for
from anvil.collectors.interface import Answer, Endpoint, Exchange, Recorder
from anvil.ledger.blobs import BlobRef
from anvil.ledger.drafts import Attachment
from anvil.ledger.events.checks import CheckCompleted, GeneratedPrompt
from anvil.ledger.events.engines import CapField
from anvil.ledger.header import Subject
from anvil.ledger.public import MediaType

CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"

_KEPT_AT_ONCE = 64 << 10
"""Up to how many bytes are kept without a thread. To hand over so few takes longer than to keep them."""

_MEDIA_TYPE: TypeAdapter[str] = TypeAdapter(MediaType)

ParametersT = TypeVar("ParametersT", bound=Parameters)


class Sender(Protocol):
    """Sends one request and returns all that came back; `anvil.collectors.client.Client` is one."""

    async def exchange(
        self, method: str, path: str, payload: bytes | None = None, *, stream: bool = False
    ) -> Exchange:
        """Send a request. Never raises for what an endpoint does."""


@dataclass(frozen=True)
class Launched:
    """What was launched, as far as an endpoint could say it too; null where the recipe does not."""

    engine_version: str | None = None
    context_tokens: int | None = None


NOTHING_KNOWN = Launched()


@dataclass(frozen=True)
class UnderTest:
    """What all checks of one attempt share.

    `cap_field` is the one that was found to be honoured; null when that is not known. `window_tokens`
    is how many tokens prompt and answer may have together; null when that is not known.
    """

    recorder: Recorder
    client: Sender
    endpoint: Endpoint
    thinking: ThinkingControl
    seed: int
    cap_field: CapField | None = None
    window_tokens: int | None = None
    launched: Launched = NOTHING_KNOWN
    history: History = field(default_factory=History)


class CheckContext(Generic[ParametersT]):
    """One check being carried out: where its requests go, and what they leave.

    `selected_as` is what the recipe calls it; the check's id when it gives no name.
    """

    def __init__(
        self, under_test: UnderTest, check: str, parameters: ParametersT, selected_as: str | None = None
    ) -> None:
        self.under_test = under_test
        self.check = check
        self.selected_as = selected_as or check
        self.parameters = parameters
        self.serial = under_test.history.next_serial()
        self.attachments: list[Attachment] = []
        self.prompts: list[GeneratedPrompt] = []
        self._claimed: set[str] = set()

    # --- what is sent ---------------------------------------------------------------------------

    async def chat(
        self,
        name: str,
        messages: Sequence[Mapping[str, Any]],
        *,
        stream: bool = False,
        is_probe: bool = False,
        thinking: Thinking | None = None,
        **members: Any,
    ) -> Answer:
        """Send a chat request named `name` and return what came back.

        `members` are added to the body, or stand instead of what would be there.
        """
        return await self.ask(
            name,
            {"messages": list(messages), **members},
            stream=stream,
            is_probe=is_probe,
            thinking=thinking,
        )

    async def ask(
        self,
        name: str,
        payload: Mapping[str, Any],
        *,
        path: str = CHAT,
        stream: bool = False,
        is_probe: bool = False,
        thinking: Thinking | None = None,
    ) -> Answer:
        """Send a request to a completion interface and return what came back, kept and read.

        Raises:
            CollectorError: the bytes could not be kept.
            ValueError: the name is no label, or was used before.
        """
        wanted = thinking or self.parameters.thinking
        body = self._body(payload, path, wanted, stream=stream)
        exchange = await self.fetch(name, "POST", path, body, stream=stream)
        if path == RESPONSES:
            answer = read_responses(exchange)
        else:
            answer = read_chat_stream(exchange) if stream else read_chat(exchange)
        self._observe(name, answer, wanted, is_probe=is_probe)
        return answer

    async def fetch(
        self,
        name: str,
        method: str,
        path: str,
        payload: Mapping[str, Any] | None = None,
        *,
        stream: bool = False,
    ) -> Exchange:
        """Send any request, and keep what was sent before, and what came back after.

        Raises:
            CollectorError: the bytes could not be kept.
            ValueError: the name is no label, or was used before.
        """
        self._claim(name)
        body = None
        if payload is not None:
            body = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
            await self._keep(f"{name}.request", body, "application/json")
        exchange = await self.under_test.client.exchange(method, path, body, stream=stream)
        if exchange.status is not None or exchange.body:
            await self._keep(f"{name}.response", exchange.body, _media_type(exchange))
        return exchange

    async def _keep(self, name: str, content: bytes, media_type: str) -> None:
        """Keep bytes beside what else is in flight: hashing and copying them must not hold up other requests."""
        if len(content) <= _KEPT_AT_ONCE:
            self.keep(name, content, media_type)
        else:
            await asyncio.to_thread(self.keep, name, content, media_type)

    def keep(self, name: str, content: bytes, media_type: str) -> BlobRef:
        """Keep bytes as a private artifact of the event to come, and return what is kept."""
        blob = self.under_test.recorder.keep(content, name=name, check=self.check)
        self.attachments.append(Attachment(name, media_type, blob))
        return blob

    def _claim(self, name: str) -> None:
        if not Subject.is_label(f"{name}.response"):
            raise ValueError(f"request name {name!r} is no label")
        taken = {item.name for item in self.attachments}
        if name in self._claimed or taken & {f"{name}.request", f"{name}.response"}:
            raise ValueError(f"request name {name!r} was used before in this check")
        self._claimed.add(name)

    def _body(
        self, payload: Mapping[str, Any], path: str, thinking: Thinking, *, stream: bool
    ) -> dict[str, Any]:
        control, cap = self.under_test.thinking, self.parameters.cap
        body: dict[str, Any] = {"model": self.under_test.endpoint.served_model, "temperature": 0}
        if path == RESPONSES:
            body |= {"max_output_tokens": cap, **control.responses_members(thinking)}
        else:
            body |= {self.cap_member: cap, **control.members(thinking)}
        if stream:
            body["stream"] = True
            if path == CHAT:
                body["stream_options"] = {"include_usage": True}
        return {**body, **payload}

    @property
    def cap_member(self) -> str:
        """The field that caps completion tokens; the older one where none is known to be honoured."""
        honoured = self.under_test.cap_field
        return "max_tokens" if honoured in (None, "neither") else str(honoured)

    def _observe(self, name: str, answer: Answer, thinking: Thinking, *, is_probe: bool) -> None:
        self.under_test.history.observed.append(
            Observed(
                check=self.selected_as,
                serial=self.serial,
                name=name,
                thinking=thinking,
                is_probe=is_probe,
                finish_reason=answer.finish_reason,
                reasoning_seen=answer.reasoning_seen,
                reasoning_chars=sum(len(text) for text in answer.reasoning.values()),
                failure=answer.failure,
            )
        )

    # --- what is generated ------------------------------------------------------------------------

    def draws(self, purpose: str) -> Draws:
        """Return reproducible choices that belong to this attempt's seed, check and purpose."""
        return Draws(self.under_test.seed, self.check, purpose)

    def seed_for(self, purpose: str) -> int:
        """Return a seed that belongs to this attempt's seed, check and purpose."""
        return seed_for(self.under_test.seed, self.check, purpose)

    def note_filler(self, text: Filler) -> None:
        """Note that a prompt holds this filler, so that it can be made again."""
        prompt = GeneratedPrompt(generator=GENERATOR, version=VERSION, seed=text.seed, digest=text.digest)
        if prompt not in self.prompts:
            self.prompts.append(prompt)


class Check(Protocol[ParametersT]):
    """One functional check. A changed request or rule is a new version."""

    id: str
    """Its name in recipes and events."""
    version: int
    parameters: type[ParametersT]
    """What a recipe may say about it."""

    async def run(self, ctx: CheckContext[ParametersT]) -> CheckCompleted:
        """Carry it out and return what became of it; the artifacts are in `ctx.attachments`."""


def _media_type(exchange: Exchange) -> str:
    declared = next((v for k, v in exchange.headers.items() if k.lower() == "content-type"), "")
    plain = declared.partition(";")[0].strip().lower()
    try:
        return _MEDIA_TYPE.validate_python(plain)
    except ValidationError:
        return "application/octet-stream"
