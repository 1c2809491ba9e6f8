"""What a look at a gate saw, and how two looks are compared.

1. A state is names and texts. That nothing answers, or that a file is gone, is a state too; what could not be
   looked at is a `problem`, and then there is nothing to compare.
2. A gate passes when its state is as it was before, as the recipe expects it, and, behind a router, what the
   engine itself says. Each way in which it is not is a difference, by name.
3. What the recipe expects comes before what was: an expectation that holds needs no earlier state.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from anvil.collectors.recipes.gates import RestorationGate


class Kept(NamedTuple):
    """Bytes in which something was seen."""

    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True)
class State:
    """What was seen. `value` may be published; `seen_in` are bytes to keep."""

    facts: Mapping[str, str] = field(default_factory=dict)
    value: int | str | None = None
    problem: str | None = None
    seen_in: tuple[Kept, ...] = ()

    def content(self) -> bytes:
        """Return the state as bytes to keep, from which `read_state` makes it again."""
        document = {"schema": "anvil.gate/1", "facts": dict(self.facts), "problem": self.problem}
        return json.dumps(document, ensure_ascii=True, indent=1).encode()


def read_state(raw: bytes) -> State:
    """Return the state that was kept as `raw`.

    Raises:
        ValueError, KeyError, TypeError: it is none.
    """
    document = json.loads(raw)
    facts = {str(name): str(text) for name, text in document["facts"].items()}
    return State(facts, problem=document["problem"])


class Difference(NamedTuple):
    """One way in which a gate is not as it should be."""

    name: str
    expected: str
    found: str


COMPARED: Mapping[str, tuple[str, ...]] = {
    "http": (
        "status",
        "generated",
        "model",
        "fingerprint",
        "advertised",
        "prompt-tokens",
        "listed",
        "root",
        "models",
    ),
    "container": ("running", "image", "image-id", "argv", "env", "mounts", "devices", "host"),
    "file": ("digest", "size"),
    "command": ("exit-code",),
    "memory": (),
}
"""What must be as before, by kind. Other facts are recorded only."""

_SAID_OF_AN_ENGINE = ("fingerprint", "advertised", "prompt-tokens")


def differences(
    gate: RestorationGate, now: State, before: State | None, direct: State | None = None
) -> Iterator[Difference]:
    """Yield each difference of a gate that could be looked at."""
    expected = dict(_expected(gate))
    for name, text in expected.items():
        found = now.facts.get(name, "nothing")
        accepted = (found, now.facts.get("image", "")) if name == "image-id" else (found,)
        if text not in accepted:
            yield Difference(name, text, found)
    compared = (*COMPARED[gate.kind], *(("output",) if gate.same_output else ()))
    for name in compared if before is not None and before.problem is None else ():
        was, is_now = before.facts.get(name, "nothing") if before else "", now.facts.get(name, "nothing")
        if name not in expected and was != is_now:
            yield Difference(name, was, is_now)
    if gate.kind == "memory" and before is not None:
        left = set(now.facts) - set(before.facts)
        yield from (Difference("unused-shared-memory", "nothing", name) for name in sorted(left))
    if gate.direct is not None:
        yield from _behind_a_router(gate, now, direct)


def _expected(gate: RestorationGate) -> Iterator[tuple[str, str]]:
    if gate.answers_as:
        yield "model", gate.answers_as
    if gate.fingerprint:
        yield "fingerprint", gate.fingerprint
    if gate.digest:
        yield ("image-id" if gate.kind == "container" else "digest"), gate.digest
    if gate.kind == "command":
        yield "exit-code", str(gate.exit_code)
    if gate.kind == "http":
        yield "status", "200"
        if gate.served_model:
            yield "generated", "yes"


def _behind_a_router(gate: RestorationGate, now: State, direct: State | None) -> Iterator[Difference]:
    """Yield where a router's answer is not what the engine itself says."""
    if direct is None or direct.facts.get("status") != "200":
        found = "nothing"
        if direct is not None:
            found = direct.problem or direct.facts.get("status", "nothing")
        yield Difference("direct", "an engine that answers", found)
        return
    for name in _SAID_OF_AN_ENGINE:
        says = direct.facts.get("fingerprint" if name == "advertised" else name)
        told = now.facts.get(name)
        if says is not None and told is not None and says != told:
            yield Difference(f"direct-{name}", says, told)
    names = {gate.served_model, direct.facts.get("model"), direct.facts.get("asked")}
    if now.facts.get("model") not in names:
        yield Difference(
            "direct-model", direct.facts.get("model", "nothing"), now.facts.get("model", "nothing")
        )
