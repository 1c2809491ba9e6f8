"""The chat completions interface, whole and streamed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from anvil.collectors.bodies import Unreadable, read_json, read_object
from anvil.collectors.completion.reading import Reading, error_text, read_body
from anvil.collectors.completion.usage import CHAT
from anvil.collectors.interface import Answer, Exchange
from anvil.collectors.sse import Parser, ServerSentEvent
from anvil.ledger.events.checks import ReasoningChannel
from anvil.ledger.wording import counted

DONE = "[DONE]"
KEEPALIVES = frozenset({"", '""'})
_CHANNELS: tuple[ReasoningChannel, ...] = ("reasoning", "reasoning_content")
_PIECE = 1 << 16


def read_chat(exchange: Exchange) -> Answer:
    """Return what a whole `chat.completion` means."""
    reading = Reading(exchange, "malformed_body")
    body = read_body(reading)
    if body is None:
        return reading.answer(CHAT)
    try:
        reading.raw = told = read_object(body)
    except Unreadable as error:
        reading.malform(error.message)
        return reading.answer(CHAT)
    if not reading.take_error(told):
        _take_head(reading, told)
        if not _take_choices(reading, told, "message"):
            reading.malform("no choice with index 0 and a message")
        elif reading.finish_reason is None:
            reading.fail("unexpected_finish_reason", "no finish reason")
    return reading.answer(CHAT)


class Watch(Protocol):
    """Looks on while a stream is read."""

    def see(self, event: ServerSentEvent, reading: Reading) -> None:
        """Called after each event; `reading.output` is what this one held."""

    def end(self, parser: Parser) -> None:
        """Called after the last."""


def read_chat_stream(exchange: Exchange, watch: Watch | None = None) -> Answer:
    """Return what a stream of `chat.completion.chunk` means."""
    reading = Reading(exchange, "malformed_stream")
    body = read_body(reading)
    if body is not None:
        parser, told = Parser(), _Told()
        for at in range(0, len(body), _PIECE):
            for event in parser.feed(body[at : at + _PIECE]):
                reading.output.clear()
                told.take(reading, event)
                if watch:
                    watch.see(event, reading)
        if watch:
            watch.end(parser)
        if told.events == 0 and body:
            _take_other(reading, body)
        _take_end(reading, parser, told)
    return reading.answer(CHAT)


class _Told:
    """How far a stream has come: how many events it told, and whether it said that it is done."""

    def __init__(self) -> None:
        self.events = 0
        self.is_done = False

    def take(self, reading: Reading, event: ServerSentEvent) -> None:
        self.events += 1
        if event.data in KEEPALIVES:
            return
        if self.is_done:
            reading.warn("data_after_done")
            return
        if event.data == DONE:
            self.is_done = True
            return
        try:
            chunk = read_json(event.data)
        except Unreadable as error:
            chunk = None
            if event.event != "error":
                reading.malform(f"event {self.events}: {error.message}")
        if event.event == "error":
            _take_error_event(reading, event, chunk)
        elif isinstance(chunk, dict):
            _take_chunk(reading, chunk)
        elif chunk is not None or event.data == "null":
            reading.malform(f"event {self.events} is no object but {type(chunk).__name__}")


def _take_error_event(reading: Reading, event: ServerSentEvent, told: object) -> None:
    if not (isinstance(told, dict) and reading.take_error(told)):
        reading.fail("error_in_stream", event.data if told is None else error_text(told))


def _take_chunk(reading: Reading, chunk: dict[str, Any]) -> None:
    if reading.take_error(chunk):
        return
    _take_head(reading, chunk)
    if "choices" not in chunk:
        reading.warn("chunk_without_choices")
    else:
        _take_choices(reading, chunk, "delta")


def _take_head(reading: Reading, told: Mapping[str, Any]) -> None:
    reading.take_model(told.get("model"))
    reading.take_usage(told.get("usage"))


def _take_choices(reading: Reading, told: Mapping[str, Any], holder: str) -> bool:
    """Take the choice with index 0, and say whether there was one with a message or delta."""
    choices = told.get("choices")
    if not isinstance(choices, list):
        if choices is not None:
            reading.malform(f"`choices` is no array but {type(choices).__name__}")
        return False
    taken = False
    for choice in choices:
        if not isinstance(choice, dict):
            reading.malform(f"a choice is no object but {type(choice).__name__}")
        elif choice.get("index", 0) != 0:
            reading.warn("several_choices")
        else:
            taken |= _take_choice(reading, choice, holder)
    return taken


def _take_choice(reading: Reading, choice: Mapping[str, Any], holder: str) -> bool:
    if finish := reading.text_of(choice, "finish_reason"):
        reading.finish_reason = finish
    message = choice.get(holder)
    if message is None:
        return False
    if not isinstance(message, dict):
        reading.malform(f"`{holder}` is no object but {type(message).__name__}")
        return False
    reading.take_visible(reading.text_of(message, "content"))
    for channel in _CHANNELS:
        reading.take_reasoning(channel, reading.text_of(message, channel))
    if message.get("refusal"):
        reading.warn("refusal")
    reading.calls.take(message.get("tool_calls"), reading.malform, streamed=holder == "delta")
    return True


def _take_other(reading: Reading, body: bytes) -> None:
    """Take a body without a single event: an error told whole, or something that is no stream."""
    try:
        reading.raw = told = read_object(body)
    except Unreadable:
        if not _is_event_stream(reading.exchange):
            reading.malform("no event stream")
        return
    if not reading.take_error(told):
        reading.malform("one JSON object, no event stream")


def _is_event_stream(exchange: Exchange) -> bool:
    kinds = [value for name, value in exchange.headers.items() if name.lower() == "content-type"]
    return any(kind.partition(";")[0].strip().lower() == "text/event-stream" for kind in kinds)


def _take_end(reading: Reading, parser: Parser, told: _Told) -> None:
    if parser.replaced:
        reading.warn("invalid_utf8")
    if told.events and parser.pending:
        reading.warn("event_unfinished")
    if reading.finish_reason is None:
        reading.fail("truncated_stream", f"no finish reason in {counted(told.events, 'event')}")
    elif not told.is_done:
        reading.warn("done_missing")
