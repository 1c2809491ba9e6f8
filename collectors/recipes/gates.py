"""Restoration gates: what a recipe says of them (`[[restoration]]`), and what a host does (`[restoration.GATE]`).

1. The recipe says what must hold, and can be published. The site says where to look, and is private.
2. A key belongs to the kinds of gate that can use it; with another it is refused.
3. A gate whose `direct` names another is a router's: what answers behind the alias must be that other engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from anvil.collectors.endpoints import EnvironmentName, HeaderName, Url
from anvil.collectors.recipes.parts import Part, Seconds, Text
from anvil.collectors.recipes.problems import Complaint
from anvil.ledger.public import Digest, Label

GateKind = Literal["http", "container", "file", "command", "memory"]

ExitCode = Annotated[int, Field(ge=0, le=255)]
"""How a program ended."""


class RestorationGate(Part):
    """Something recorded before the campaign and compared after it: a `[[restoration]]` block."""

    gate: Label
    """What it is called."""
    kind: GateKind
    """How it is looked at; the site says where."""
    about: Text
    """What it shows, for people."""
    served_model: Text | None = None
    """Of `http`: the name or alias that is asked for; without one only the list of models is."""
    answers_as: Text | None = None
    """Of `http`: the model name that the answer must state, where it is not as before."""
    fingerprint: Text | None = None
    """Of `http`: the `system_fingerprint` that the answer must state."""
    direct: Label | None = None
    """Of `http`: the gate of the engine that a router's alias must lead to."""
    digest: Digest | None = None
    """Of `container`: the image, by id or repository digest; of `file`: its bytes."""
    exit_code: ExitCode = 0
    """Of `command`: how it must end."""
    same_output: bool = False
    """Of `command`: whether what it prints must be as before, too."""


class GatePlace(Part):
    """Where a gate is looked at on this host: `[restoration.GATE]` of a site."""

    base_url: Url | None = None
    """Of `http`: ``http://HOST:PORT``; requests go to ``/v1/…`` below it."""
    api_key_env: EnvironmentName | None = None
    """Of `http`: the variable whose value is sent as a bearer token."""
    headers_env: Mapping[HeaderName, EnvironmentName] = Field(default_factory=dict)
    """Of `http`: headers, each with the variable that holds its value."""
    container: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$")] | None = None
    """Of `container`: its name."""
    path: Annotated[str, StringConstraints(pattern=r"^[/~][^\x00-\x1f]*$", max_length=1000)] | None = None
    """Of `file`: its absolute path; ``~`` is the user's home."""
    argv: Annotated[tuple[str, ...], Field(max_length=100)] = ()
    """Of `command`: the program and its arguments; no shell reads them."""
    deadline_s: Seconds = 60
    """How long looking may take."""


_ONLY_OF: Mapping[str, tuple[GateKind, ...]] = {
    "served_model": ("http",),
    "answers_as": ("http",),
    "fingerprint": ("http",),
    "direct": ("http",),
    "digest": ("container", "file"),
    "exit_code": ("command",),
    "same_output": ("command",),
}


def gate_complaints(gates: Sequence[RestorationGate]) -> Iterator[Complaint]:
    """Complain of keys that a gate's kind has no use for, and of gates that lead nowhere."""
    kinds = {gate.gate: gate.kind for gate in gates}
    for position, gate in enumerate(gates):
        for name in sorted(gate.model_fields_set & _ONLY_OF.keys()):
            if gate.kind not in _ONLY_OF[name]:
                wanted = " or ".join(f"`{kind}`" for kind in _ONLY_OF[name])
                yield Complaint(
                    ("restoration", position, name),
                    f"{name} has no meaning for a gate of kind {gate.kind}",
                    f"Leave it out, or write another kind: {wanted}",
                )
        if gate.answers_as and not gate.served_model:
            yield Complaint(
                ("restoration", position, "answers_as"),
                "nothing is asked that could answer as it",
                "Write the name to ask for as `served_model`",
            )
        if gate.direct is not None and (gate.direct == gate.gate or kinds.get(gate.direct) != "http"):
            yield Complaint(
                ("restoration", position, "direct"),
                f"{gate.direct!r} is no other gate of kind http",
                "Name the gate that asks the engine itself",
            )
