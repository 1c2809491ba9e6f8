"""The Responses API, whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from anvil.collectors.bodies import Unreadable, read_object
from anvil.collectors.completion.reading import Reading, error_text, read_body
from anvil.collectors.completion.usage import RESPONSES
from anvil.collectors.interface import Answer, Exchange

_UNSUPPORTED = frozenset({404, 501})


def read_responses(exchange: Exchange) -> Answer:
    """Return what a `response` object means.

    The finish reason is its status, `completed`; of an incomplete one the reason that it gives, for
    instance `max_output_tokens`, or `incomplete`. A status of 404 or 501 is `unsupported_by_endpoint`.
    """
    reading = Reading(exchange, "malformed_body")
    if exchange.status in _UNSUPPORTED:
        reading.fail("unsupported_by_endpoint", "there is no Responses API")
    body = read_body(reading)
    if body is None:
        return reading.answer(RESPONSES)
    try:
        reading.raw = told = read_object(body)
    except Unreadable as error:
        reading.malform(error.message)
        return reading.answer(RESPONSES)
    reading.take_model(told.get("model"))
    reading.take_usage(told.get("usage"))
    if not reading.take_error(told):
        _take_status(reading, told)
        for item in _objects(reading, told, "output"):
            _take_item(reading, item)
    return reading.answer(RESPONSES)


def _take_status(reading: Reading, told: Mapping[str, Any]) -> None:
    match told.get("status"):
        case "completed":
            reading.finish_reason = "completed"
        case "incomplete":
            details = told.get("incomplete_details")
            reason = reading.text_of(details, "reason") if isinstance(details, dict) else ""
            reading.finish_reason = reason or "incomplete"
        case "failed" | "cancelled" as status:
            reading.fail("error_in_stream", f"status {status}, without an error")
        case status:
            reading.malform(f"the status is {error_text(status)[:80]}")


def _take_item(reading: Reading, item: Mapping[str, Any]) -> None:
    match item.get("type"):
        case "message":
            for part in _objects(reading, item, "content"):
                if part.get("type") == "refusal":
                    reading.warn("refusal")
                else:
                    reading.take_visible(reading.text_of(part, "text"))
        case "reasoning":
            reading.see("responses_item")
            for member in ("summary", "content"):
                for part in _objects(reading, item, member):
                    reading.take_reasoning("responses_item", reading.text_of(part, "text"))
        case "function_call":
            function = {"name": item.get("name"), "arguments": item.get("arguments")}
            call = {"id": item.get("call_id"), "function": function}
            reading.calls.take([call], reading.malform, streamed=False)
        case _:
            reading.warn("unknown_item")


def _objects(reading: Reading, holder: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """Give the objects in an array that may be null or absent."""
    items = holder.get(name)
    if items is None:
        return
    if not isinstance(items, list):
        reading.malform(f"`{name}` is no array but {type(items).__name__}")
        return
    for item in items:
        if isinstance(item, dict):
            yield item
        else:
            reading.malform(f"`{name}` holds {type(item).__name__}, no object")
