"""Plans for launching the small server of ours, and waiting for what becomes of it."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from anvil.collectors.launchers.interface import Exit, LaunchPlan, Provenance, Running
from anvil.collectors.launchers.logs import BoundedLog

SERVER = Path(__file__).with_name("openai_server.py")
PROVENANCE = Provenance("example.org/log", "20261130T102700Z-0123456789abcdef", "a1")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def server_argv(port: int, behave: str = "serve", *more: str) -> tuple[str, ...]:
    return (sys.executable, "-P", "-u", str(SERVER), "--port", str(port), "--behave", behave, *more)


def process_plan(behave: str = "serve", *more: str, **changes: Any) -> LaunchPlan:
    port = changes.pop("port", None) or free_port()
    return LaunchPlan(
        PROVENANCE, port, changes.pop("argv", None) or server_argv(port, behave, *more), **changes
    )


def answers(base_url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{base_url}/health", timeout=5) as response:
            return bool(json.loads(response.read())["status"] == "ok")
    except OSError:
        return False


async def until(look: Callable[[], Awaitable[bool]], deadline_s: float = 20) -> None:
    async with asyncio.timeout(deadline_s):
        while not await look():
            await asyncio.sleep(0.05)


async def until_answers(running: Running) -> None:
    async def look() -> bool:
        assert await running.state() is None, await running.state()
        return await asyncio.to_thread(answers, running.base_url)

    await until(look)


async def until_ended(running: Running) -> Exit:
    async def look() -> bool:
        return await running.state() is not None

    await until(look)
    ended = await running.state()
    assert ended is not None
    return ended


async def until_logged(running: Running, text: bytes) -> BoundedLog:
    async def look() -> bool:
        return text in (await running.log()).content()

    await until(look)
    return await running.log()


async def end(running: Running, deadline_s: float = 10) -> None:
    """Keep, stop and remove."""
    await running.log()
    await running.stop(deadline_s)
    await running.log()
    await running.remove()


def spools(tmp_path: Path) -> list[str]:
    """Return the names of the spools of a test's launcher."""
    return sorted(path.name for path in (tmp_path / "spools").iterdir())
