"""What a model says, put into the shapes of the chat completions and the Responses API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from support.endpoint.wire import Pause, Reply, Step, events

ID = "chatcmpl-test"
CREATED = 1_790_000_000


@dataclass(frozen=True)
class Call:
    """A tool call; `arguments` is text, JSON or not."""

    name: str
    arguments: str
    call_id: str = "call00001"

    def whole(self) -> dict[str, Any]:
        """As it stands in a message."""
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.call_id, "type": "function", "function": function}

    def deltas(self, index: int, size: int = 8) -> Iterator[dict[str, Any]]:
        """As it is streamed: id and name first, then the arguments in pieces."""
        yield {"index": index, **self.whole(), "function": {"name": self.name, "arguments": ""}}
        for at in range(0, len(self.arguments), size):
            yield {"index": index, "function": {"arguments": self.arguments[at : at + size]}}


@dataclass(frozen=True)
class Chat:
    """An answer. What is null is derived: the finish reason, the model, and the counts (in words).

    `usage` replaces the whole usage object; an empty one leaves usage out. `pace_s` is waited before
    each streamed chunk.
    """

    content: str | None = None
    reasoning: str | None = None
    reasoning_key: str = "reasoning_content"
    calls: tuple[Call, ...] = ()
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    usage: Mapping[str, Any] | None = None
    model: str | None = None
    pace_s: float = 0.0
    message: Mapping[str, Any] = field(default_factory=dict)

    def reply(self, payload: Mapping[str, Any], model: str) -> Reply:
        """The reply to a chat request, streamed when it says so."""
        named = self.model or model
        if payload.get("stream"):
            return Reply.of_events(self._streamed(payload, named))
        return Reply.of_json(self.whole(payload, named))

    def whole(self, payload: Mapping[str, Any], model: str) -> dict[str, Any]:
        """A `chat.completion` object."""
        message: dict[str, Any] = {"role": "assistant", "content": self.content}
        if self.reasoning is not None:
            message[self.reasoning_key] = self.reasoning
        if self.calls:
            message["tool_calls"] = [call.whole() for call in self.calls]
        choice = {"index": 0, "message": message | dict(self.message), "finish_reason": self._finish()}
        head = {"id": ID, "object": "chat.completion", "created": CREATED, "model": model}
        usage = self._usage(payload)
        return head | {"choices": [choice]} | ({"usage": usage} if usage else {})

    def chunks(self, payload: Mapping[str, Any], model: str) -> list[dict[str, Any]]:
        """`chat.completion.chunk` objects: a role-only one first, usage last where it was asked for."""
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{self.reasoning_key: piece} for piece in _pieces(self.reasoning)]
        deltas += [{"content": piece} for piece in _pieces(self.content)]
        for index, call in enumerate(self.calls):
            deltas += [{"tool_calls": [delta]} for delta in call.deltas(index)]
        made = [chunk(delta, model=model) for delta in deltas]
        made.append(chunk({}, finish=self._finish(), model=model))
        usage = self._usage(payload)
        if usage and (payload.get("stream_options") or {}).get("include_usage"):
            made.append({**chunk({}, model=model), "choices": [], "usage": usage})
        return made

    def response(self, payload: Mapping[str, Any], model: str) -> dict[str, Any]:
        """A `response` object of the Responses API."""
        output: list[dict[str, Any]] = []
        if self.reasoning is not None:
            text = {"type": "reasoning_text", "text": self.reasoning}
            output.append({"type": "reasoning", "id": "rs_1", "summary": [], "content": [text]})
        if self.content is not None:
            part = {"type": "output_text", "text": self.content, "annotations": []}
            output.append({"type": "message", "id": "msg_1", "role": "assistant", "content": [part]})
        output += [
            {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
            for call in self.calls
        ]
        cut = self._finish() == "length"
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": CREATED,
            "model": self.model or model,
            "status": "incomplete" if cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "error": None,
            "output": output,
            "usage": _as_responses(self._usage(payload)),
        }

    def _streamed(self, payload: Mapping[str, Any], model: str) -> Iterator[Step]:
        for event in events(*self.chunks(payload, model)):
            if self.pace_s:
                yield Pause(self.pace_s)
            yield event

    def _finish(self) -> str:
        return self.finish_reason or ("tool_calls" if self.calls else "stop")

    def _usage(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        if self.usage is not None:
            return dict(self.usage)
        prompt = prompt_tokens(payload) if self.prompt_tokens is None else self.prompt_tokens
        said = f"{self.reasoning or ''} {self.content or ''} " + " ".join(c.arguments for c in self.calls)
        completion = len(said.split()) + 1 if self.completion_tokens is None else self.completion_tokens
        usage: dict[str, Any] = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }
        if self.reasoning_tokens is not None:
            usage["completion_tokens_details"] = {"reasoning_tokens": self.reasoning_tokens}
        if self.cached_tokens is not None:
            usage["prompt_tokens_details"] = {"cached_tokens": self.cached_tokens}
        return usage


def chunk(
    delta: Mapping[str, Any], *, finish: str | None = None, model: str = "test-model"
) -> dict[str, Any]:
    """A `chat.completion.chunk` with one choice."""
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish}
    head = {"id": ID, "object": "chat.completion.chunk", "created": CREATED, "model": model}
    return head | {"choices": [choice]}


def prompt_tokens(payload: Mapping[str, Any]) -> int:
    """How many tokens the oracle says a request has: its words and marks, tools and their schemas included."""
    told = [payload.get(key) for key in ("messages", "input", "instructions", "tools")]
    return 8 + sum(
        len(re.findall(r"\w+|[^\w\s]", json.dumps(part, ensure_ascii=False))) for part in told if part
    )


def _pieces(text: str | None) -> list[str]:
    return re.findall(r"\s*\S+\s*$|\s*\S+", text) or ([text] if text else []) if text else []


def _as_responses(usage: Mapping[str, Any]) -> dict[str, Any] | None:
    if not usage:
        return None
    names = {
        "prompt_tokens": "input_tokens",
        "completion_tokens": "output_tokens",
        "prompt_tokens_details": "input_tokens_details",
        "completion_tokens_details": "output_tokens_details",
    }
    return {names.get(name, name): value for name, value in usage.items()}
