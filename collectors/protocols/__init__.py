"""Load protocols: one file for each kind, behind one interface, each versioned.

`PROTOCOLS` is the registry; what is the same for all of them is done by `anvil.collectors.running.measuring`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from anvil.collectors.protocols.capacity import Capacity, SharedPrefix
from anvil.collectors.protocols.context_ladder import ContextLadder
from anvil.collectors.protocols.interface import (
    NOTHING_MORE,
    Cell,
    Concluded,
    LoadProtocol,
    Phase,
    ProtocolContext,
    ProtocolParameters,
    RunPlan,
    RunSeen,
)
from anvil.collectors.protocols.near_limit import NearLimit
from anvil.collectors.protocols.open_loop import OpenLoop
from anvil.collectors.protocols.pairs import complaints_of_two
from anvil.collectors.protocols.prefix_cache import PrefixCache

__all__ = [
    "NOTHING_MORE",
    "PROTOCOLS",
    "Cell",
    "Concluded",
    "LoadProtocol",
    "Phase",
    "ProtocolContext",
    "ProtocolParameters",
    "RunPlan",
    "RunSeen",
    "complaints_of_pair",
    "complaints_of_protocol",
    "parameters_of",
]

_ALL: tuple[LoadProtocol[Any], ...] = (
    Capacity(),
    SharedPrefix(),
    PrefixCache(),
    ContextLadder(),
    NearLimit(),
    OpenLoop(),
)

PROTOCOLS: Mapping[str, LoadProtocol[Any]] = {protocol.id: protocol for protocol in _ALL}
"""Every kind of protocol by id."""


def parameters_of(kind: str, given: Mapping[str, object]) -> Any:
    """Return the parameters of a selected protocol, defaults filled in.

    Raises:
        KeyError: there is no such kind.
        ValidationError: a parameter is unknown or not of its type; the recipe's check has said so before.
    """
    return PROTOCOLS[kind].parameters.model_validate(dict(given))


def complaints_of_protocol(
    kind: str, given: Mapping[str, object], window_tokens: int | None
) -> Iterable[tuple[str | None, str, str]]:
    """Yield what is wrong with a protocol that a recipe selects: which parameter, what, and what to write.

    With a window it is also asked whether prompt and cap fit it together.
    """
    known = PROTOCOLS.get(kind)
    if known is None:
        yield None, f"there is no protocol {kind!r}", f"One of {', '.join(PROTOCOLS)}"
        return
    try:
        parameters = known.parameters.model_validate(dict(given))
    except ValidationError as error:
        told = {str(item["loc"][0]) if item["loc"] else None: item for item in reversed(error.errors())}
        takes = f"It takes {', '.join(known.parameters.model_fields)}"
        for where, item in reversed(told.items()):
            if item["type"] == "missing":
                yield None, f"protocol {kind!r} needs {where}", takes
            elif item["type"] == "extra_forbidden":
                yield where, f"protocol {kind!r} knows no {where!r}", takes
            else:
                yield (
                    where,
                    f"protocol {kind!r}: {item['msg']}, found {str(item.get('input'))[:60]!r}",
                    takes,
                )
        return
    most = parameters.most_tokens
    if window_tokens is not None and most > window_tokens:
        yield (
            None,
            f"protocol {kind!r} has prompts and answers of {most} tokens together, and the window is {window_tokens}",
            "Lower input_tokens or output_tokens, or select another protocol in the attempt's `protocols`",
        )


def complaints_of_pair(
    kind: str, control: Mapping[str, object], treatment: Mapping[str, object], only_change: Sequence[str]
) -> Iterable[tuple[str | None, str, str]]:
    """Yield why two protocols of a kind are no experiment in `only_change`: which name or none, what, and what to write.

    What is wrong with one of them alone `complaints_of_protocol` has said before.
    """
    one, other = (parameters_of(kind, given) for given in (control, treatment))
    yield from complaints_of_two(PROTOCOLS[kind], one, other, only_change)
