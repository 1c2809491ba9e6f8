"""An answer while it is being read: what was found so far, what was odd, and what was wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import chain
from typing import Any, Literal

from anvil.collectors import failures
from anvil.collectors.bodies import Unreadable, content, read_object
from anvil.collectors.completion.calls import Calls
from anvil.collectors.completion.usage import Names, read_usage
from anvil.collectors.interface import Answer, Exchange, ToolCall
from anvil.ledger.events.checks import FailureClass, ReasoningChannel

Output = Literal["reasoning", "content", "tool"]
"""What a piece of an answer can hold that a model wrote."""

_PIECES = frozenset({"malformed_body", "malformed_stream", "truncated_stream", "unexpected_finish_reason"})
_TAGS = re.compile(
    r"</?(?:[a-z]{1,20}:)?(?:think|thinking|thought|thoughts|reasoning)\b[^<>\n]{0,40}>"
    r"|\[/?think(?:ing)?\]|◁/?think▷|<\|/?(?:start_|end_|begin_of_|end_of_)?(?:think|thinking|thought)\|>"
    r"|<\|channel\|>\s*(?:analysis|thought)",
    re.IGNORECASE,
)


class Reading:
    """Collects what the pieces of an answer say. `malformed` is the class of what cannot be read.

    `output` is what was heard since somebody emptied it; a call counts with its name, or with arguments.
    """

    def __init__(self, exchange: Exchange, malformed: FailureClass) -> None:
        self.exchange = exchange
        self.malformed = malformed
        self.finish_reason: str | None = None
        self.output: set[Output] = set()
        self.calls = Calls(self.warn, lambda: self.output.add("tool"))
        self.raw: Any = None
        self._usage: Mapping[str, Any] | None = None
        self._model: str | None = None
        self._visible: list[str] = []
        self._reasoning: dict[ReasoningChannel, list[str]] = {}
        self._seen: dict[ReasoningChannel, None] = {}
        self._warnings: dict[str, None] = {}
        self._problems: dict[FailureClass, str] = {}
        if exchange.failure is not None:
            self._problems[exchange.failure] = exchange.message

    @property
    def written(self) -> int:
        """How many characters of reasoning and visible answer came so far."""
        return sum(map(len, chain(self._visible, *self._reasoning.values())))

    # --- what is found ------------------------------------------------------------------------------

    def warn(self, name: str) -> None:
        """Note something odd that decides nothing."""
        self._warnings[name] = None

    def fail(self, failure: FailureClass, message: str) -> None:
        """Note what is wrong; of each class the first is told.

        That a piece is missing or broken says nothing where the transport failed.
        """
        if self.exchange.failure is not None and failure in _PIECES:
            return
        self._problems.setdefault(failure, message)

    def explain(self, words: str) -> None:
        """Add the endpoint's own words to what its status already told."""
        for failure in ("redirected", "http_error"):
            if failure in self._problems:
                self._problems[failure] += f": {words}"

    def malform(self, message: str) -> None:
        """Note that a piece is not what the interface promises."""
        self.fail(self.malformed, message)

    def see(self, channel: ReasoningChannel) -> None:
        """Note that reasoning was seen in a channel."""
        self._seen[channel] = None

    def take_visible(self, text: str) -> None:
        """Add to the visible answer."""
        self._visible.append(text)
        if text:
            self.output.add("content")

    def take_reasoning(self, channel: ReasoningChannel, text: str) -> None:
        """Add to the reasoning of a channel."""
        self._reasoning.setdefault(channel, []).append(text)
        if text:
            self.output.add("reasoning")

    def take_model(self, model: object) -> None:
        """Note which model answers."""
        if isinstance(model, str) and model:
            if self._model not in (None, model):
                self.warn("model_changes")
            self._model = model

    def take_usage(self, usage: object) -> None:
        """Note counts; the last that are not null stand."""
        if isinstance(usage, dict):
            self._usage = usage or self._usage
        elif usage is not None:
            self.warn("usage_malformed")

    def take_error(self, told: Mapping[str, Any]) -> bool:
        """Note the error that an object tells, if it does."""
        error = told.get("error")
        if error is None and told.get("object") == "error":
            error = told
        if error is None or error is False:
            return False
        self.fail("error_in_stream", error_text(error))
        return True

    def text_of(self, holder: Mapping[str, Any], name: str) -> str:
        """Return a member that should be text or null."""
        value = holder.get(name)
        if value is None or isinstance(value, str):
            return value or ""
        self.malform(f"`{name}` is no text but {type(value).__name__}")
        return ""

    # --- what it comes to ---------------------------------------------------------------------------

    @property
    def reported(self) -> Mapping[str, Any] | None:
        """The last usage that is not null, as it came."""
        return self._usage

    @property
    def failed(self) -> bool:
        """Whether anything was wrong so far."""
        return bool(self._problems)

    def answer(self, names: Names) -> Answer:
        """Return what it all means."""
        visible = self._text("".join(self._visible))
        reasoning = {name: self._text("".join(parts)) for name, parts in self._reasoning.items()}
        for channel, text in reasoning.items():
            if text.strip():
                self.see(channel)
        if _TAGS.search(visible):
            self.see("tags")
        calls = tuple(
            ToolCall(
                call.call_id and self._text(call.call_id), self._text(call.name), self._text(call.arguments)
            )
            for call in self.calls.put_together()
        )
        has_output = bool(visible or calls or any(reasoning.values()))
        usage = read_usage(self._usage, names, self.warn, self.see, has_output=has_output)
        if self._usage is None and not self.failed:
            self.warn("usage_absent")
        failure = failures.first(self._problems)
        told = (self._problems[name] for name in failures.ORDER if name in self._problems)
        return Answer(
            exchange=self.exchange,
            visible=visible,
            reasoning={name: text for name, text in reasoning.items() if text},
            reasoning_seen=tuple(self._seen),
            tool_calls=calls,
            finish_reason=self.finish_reason and self._text(self.finish_reason),
            usage=usage,
            model=self._model and self._text(self._model),
            warnings=tuple(self._warnings),
            failure=failure,
            message=self._text("\n".join(text for text in told if text)),
            raw=self.raw,
        )

    def _text(self, text: str) -> str:
        """Return text that can be written as UTF-8.

        JSON may escape one character as two surrogates, and a stream may part them: here they meet
        again. A surrogate that stays alone becomes U+FFFD.
        """
        try:
            text.encode()
        except UnicodeEncodeError:
            self.warn("surrogate")
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return text


def error_text(error: object) -> str:
    """Return what an error says: its message, or all of it as JSON."""
    if isinstance(error, dict) and isinstance(message := error.get("message"), str) and message:
        return message
    return error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)


def read_body(reading: Reading) -> bytes | None:
    """Return the bytes of a body that may hold an answer; null, and noted why, when there is none.

    Of a body that came with another status than 200 to 299, only the error's words are taken.
    """
    exchange = reading.exchange
    if exchange.status is None:
        return None
    try:
        body = content(exchange)
    except Unreadable as error:
        reading.fail(error.failure, error.message)
        return None
    if 200 <= exchange.status < 300:
        return body
    try:
        told = read_object(body)
    except Unreadable:
        return None
    words = next((told[name] for name in ("error", "detail", "message") if told.get(name)), told)
    reading.explain(error_text(words))
    return None
