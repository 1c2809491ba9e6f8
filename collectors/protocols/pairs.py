"""Two protocols of an experiment, whose runs are carried out alternately.

1. Both have the same cells, and in each as many runs of as many requests: one for one.
2. Their parameters, defaults filled in, differ in what the experiment names and in nothing else.
3. Prompts are as long in both, since figures of prompts of two sizes are not compared.
4. `prefix-cache` is left out: a burst in between would take away what its repeat asks about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from anvil.collectors.protocols.interface import LoadProtocol
from anvil.ledger.wording import counted

BY_ITSELF = frozenset({"prefix-cache"})
"""Kinds of which no two are carried out alternately (rule 4)."""

_SIZES = frozenset({"input_tokens", "spare_tokens", "ending_tokens"})

Told = tuple[str | None, str, str]
"""Which name is meant, or none; what is wrong; what to write."""


def complaints_of_two(
    protocol: LoadProtocol[Any], control: Any, treatment: Any, only_change: Sequence[str]
) -> Iterator[Told]:
    """Yield why two protocols of one kind, by their parameters, are no experiment in what is named."""
    if protocol.id in BY_ITSELF:
        yield (
            None,
            f"protocols {protocol.id!r} are not carried out alternately",
            "Compare two attempts instead",
        )
        return
    names = tuple(protocol.parameters.model_fields)
    differing = [name for name in names if getattr(control, name) != getattr(treatment, name)]
    yield from _parameters(differing, control, treatment, only_change, names)
    before, after = (list(_cells(protocol, given)) for given in (control, treatment))
    if before != after:
        yield (
            None,
            f"their cells differ: {', '.join(before)} and {', '.join(after)}",
            "Make concurrency or rate, runs and requests equal: runs are carried out one for one",
        )


def _parameters(
    differing: Sequence[str], control: Any, treatment: Any, only_change: Sequence[str], names: Sequence[str]
) -> Iterator[Told]:
    for name in differing:
        if name not in only_change:
            told = " and ".join(str(getattr(one, name)) for one in (control, treatment))
            yield (
                name,
                f"parameter {name} differs as well: {told}",
                f"Name {name!r} too if it is part of the same change, or make it equal",
            )
    for name in only_change:
        if name in _SIZES and name in differing:
            yield name, f"{name} makes prompts of two sizes, which are not compared", "Make it equal"
        elif name not in names:
            yield name, f"these protocols have no parameter {name!r}", f"They take {', '.join(names)}"
        elif name not in differing:
            yield name, f"parameter {name} does not differ", "Leave it out, or change it in one of them"


def _cells(protocol: LoadProtocol[Any], parameters: Any) -> Iterator[str]:
    for cell in protocol.cells(parameters):
        yield f"{cell.name} of {counted(cell.runs, 'run')} of {cell.requests}"
