"""Which way of counting tokens is found at an endpoint, and that its count is the one `usage` reports."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from support.endpoint import Chat, Reply, Request, Server

from anvil.collectors.client import Client
from anvil.collectors.interface import Endpoint
from anvil.collectors.load.prompts import Messages, Sized, TokenSource, Wanted, make_prompt, size_prompts
from anvil.collectors.running.counting import Counting

MODEL = "test-model"
TEMPLATE = 11
CHAT = make_prompt(5, 1, 40).messages


def words(asked: Mapping[str, Any]) -> int:
    return sum(len(message["content"].split()) for message in asked["messages"])


def answered(asked: Mapping[str, Any]) -> Chat:
    return Chat("more", prompt_tokens=words(asked) + TEMPLATE)


def whole_chat(request: Request) -> Any:
    asked = request.json
    return {"count": words(asked) + TEMPLATE} if "messages" in asked else {"tokens": []}


def content_only(request: Request) -> Any:
    return {"tokens": request.json.get("content", "").split()}


def found(server: Server, **members: Any) -> tuple[TokenSource | None, int | None]:
    async def find() -> tuple[TokenSource | None, int | None]:
        async with Client(Endpoint(server.base_url, MODEL)) as client:
            source = await Counting(client, MODEL, "max_tokens", members).source(1)
            return source, None if source is None else await source.count(CHAT)

    return asyncio.run(find())


@pytest.mark.parametrize(
    ("tokenize", "name", "is_reading"),
    [
        (whole_chat, "tokenize_messages", False),
        (content_only, "tokenize_content", False),
        (None, "usage", True),
    ],
)
def test_the_count_is_what_usage_reports(tokenize: Any, name: str, is_reading: bool) -> None:
    with Server(chat=answered) as server:
        if tokenize:
            server.on("/tokenize", tokenize)
        source, counted = found(server)
    assert source is not None
    assert (source.name, source.is_reading) == (name, is_reading)
    assert counted == words({"messages": CHAT}) + TEMPLATE


def test_a_dialect_that_usage_contradicts_is_not_used() -> None:
    with Server(chat=answered) as server:
        server.on("/tokenize", lambda request: {"count": 3})
        source, _ = found(server)
    assert source is not None
    assert source.name == "usage"


def test_an_endpoint_that_counts_nothing() -> None:
    with Server(chat=lambda asked: Chat("more", usage={})) as server:
        assert found(server) == (None, None)


def test_an_endpoint_that_fails_counts_nothing() -> None:
    with Server(every=lambda request: Reply.of_json({"error": {"message": "no"}}, 500)) as server:
        assert found(server) == (None, None)


def test_what_changes_the_prompt_is_counted_too() -> None:
    with Server(chat=answered) as server:
        server.on("/tokenize", whole_chat)
        found(server, chat_template_kwargs={"enable_thinking": False})
        asked = [request.json for request in server.requests if request.path != "/health"]
    assert all(body.get("chat_template_kwargs") for body in asked if "messages" in body)


def test_prompts_come_out_exact() -> None:
    async def size(server: Server) -> Sized:
        async with Client(Endpoint(server.base_url, MODEL)) as client:
            source = await Counting(client, MODEL, "max_tokens").source(1)
            return await size_prompts(Wanted(700, 1, "cell"), range(3), source)

    with Server(chat=answered) as server:
        server.on("/tokenize", whole_chat)
        sized = asyncio.run(size(server))
    assert sized.counted == (700, 700, 700)
    assert [words({"messages": prompt.messages}) + TEMPLATE for prompt in sized.prompts] == [700] * 3


def test_messages_are_a_list_for_the_endpoint() -> None:
    kept: list[Messages] = []
    with Server(chat=lambda asked: kept.append(asked["messages"]) or answered(asked)) as server:  # type: ignore[func-returns-value]
        found(server)
    assert kept[0] == [{"role": "user", "content": make_prompt(1, 0, 24).text}]


@pytest.mark.parametrize(
    ("cached", "template"),
    [((0, 16, 16, 16), 16), ((0, 0, 24, 26), 24), ((40, 0, 0, 0), 0), ((None,) * 4, None)],
)
def test_the_template_is_what_the_cache_has_of_prompts_that_share_nothing(
    cached: tuple[int | None, ...], template: int | None
) -> None:
    async def measure(server: Server) -> int | None:
        async with Client(Endpoint(server.base_url, MODEL)) as client:
            return await Counting(client, MODEL, "max_tokens").template(1)

    left = iter(cached)
    with Server(chat=lambda asked: Chat("x", prompt_tokens=60, cached_tokens=next(left))) as server:
        assert asyncio.run(measure(server)) == template
        said = [request.json["messages"][0]["content"].split()[0] for request in server.requests]
    assert len(set(said)) == 4
