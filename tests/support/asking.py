"""Requests of the real client to a server of ours."""

from __future__ import annotations

import asyncio
from typing import Any

from anvil.collectors.client import Client
from anvil.collectors.interface import Deadlines, Endpoint, Exchange
from support.endpoint import Server

CHAT = "/v1/chat/completions"
SHORT = Deadlines(connect_s=2.0, first_byte_s=0.6, idle_s=0.4, total_s=1.2)
PATIENT = Deadlines(connect_s=10.0, first_byte_s=10.0, idle_s=10.0, total_s=30.0)


def ask(
    server: Server | str, times: int = 1, *, path: str = CHAT, deadlines: Deadlines = PATIENT, **more: Any
) -> list[Exchange]:
    """Send a request, or several one after the other, with one client."""
    url = server if isinstance(server, str) else server.base_url
    endpoint = Endpoint(url, "test-model", more.pop("headers", {}))
    options = {name: more.pop(name) for name in ("stream", "deadline_ns") if name in more}
    payload = more.pop("payload", {"stream": True})

    async def run() -> list[Exchange]:
        async with Client(endpoint, deadlines=deadlines, **more) as client:
            return [await client.exchange("POST", path, payload, **options) for _ in range(times)]

    return asyncio.run(run())
