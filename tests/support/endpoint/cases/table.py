"""The table of misbehaviours, and the pieces that they are made of."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from support.endpoint.chat import chunk
from support.endpoint.wire import Pause, Reply, Request, Step

USAGE = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
FIVE = ("one", " two", " three", " four", " five")
OSLO = '{"city": "Oslo"}'
MIB = 1 << 20
HTML = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
ERROR = {"error": {"message": "CUDA error: an illegal memory access", "type": "internal", "code": 500}}


@dataclass(frozen=True)
class Case:
    """One misbehaviour. Called with a request it gives the reply; each call makes a new one."""

    about: str
    make: Callable[[], Reply]

    def __call__(self, request: Request) -> Reply:
        return self.make()

    @property
    def body(self) -> bytes:
        """The body's bytes until something bad happens."""
        return self.make().content()


CASES: dict[str, Case] = {}


def case(name: str) -> Case:
    """Look a misbehaviour up."""
    return CASES[name]


def add(name: str, about: str, reply: Reply | Callable[[], Reply]) -> None:
    """Put a misbehaviour into the table."""
    CASES[name] = Case(about, (lambda: reply) if isinstance(reply, Reply) else reply)


def add_stream(name: str, about: str, *steps: Step, **more: Any) -> None:
    """Put one into the table that is an event stream."""
    add(name, about, Reply.of_events(steps, **more))


def usage(**changed: object) -> dict[str, Any]:
    """The chunk that only carries usage."""
    return {**chunk({}), "choices": [], "usage": {**USAGE, **changed}}


def words(*texts: str, key: str = "content") -> list[dict[str, Any]]:
    """One delta for each text."""
    return [chunk({key: text}) for text in texts]


ROLE = chunk({"role": "assistant", "content": ""})
STOP = chunk({}, finish="stop")
TOOLS = chunk({}, finish="tool_calls")
GOOD = [ROLE, *words(*FIVE), STOP, usage()]


def spell(payloads: Iterable[object], *, start: str = "data: ", end: str = "\n") -> bytes:
    """A whole event stream in another of the spellings that the grammar allows."""
    lines = [json.dumps(payload, ensure_ascii=False) for payload in payloads] + ["[DONE]"]
    return "".join(f"{start}{line}{end}{end}" for line in lines).encode()


def split(raw: bytes, *sizes: int) -> list[Step]:
    """Bytes in pieces, with a pause after each so that each comes in a read of its own."""
    steps: list[Step] = []
    for size in sizes:
        steps += [raw[:size], Pause(0.02)]
        raw = raw[size:]
    return [*steps, raw]
