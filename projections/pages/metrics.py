"""Metrics: what the names of measured figures say, in words.

1. A name is its metric, with the load before it (`c5`: five requests at once) and unit and statistic behind it
   in either order: `ttft_p50_ms`, `c1_decode_tok_s_p50`.
2. A metric is one of those listed here, alone or at the end of a longer name. A name without one is no metric:
   it is shown, not drawn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Better = Literal["lower", "higher"]

KINDS: dict[str, tuple[str, Better]] = {
    "ttft": ("Time to first token", "lower"),
    "e2e": ("Whole answer, end to end", "lower"),
    "effective_prefill": ("Effective prefill", "higher"),
    "decode": ("Decode", "higher"),
    "aggregate_output": ("Aggregate output", "higher"),
    "engine_kv_tokens": ("KV cache, as the engine reports it", "higher"),
    "reported_full_window_concurrency": ("Full windows at once, as the engine reports it", "higher"),
}
"""What each metric is called, and which of two values is the better one."""

UNITS = {"tok_s": "tok/s", "ms": "ms", "s": "s"}
_LOAD = re.compile(r"^c([1-9][0-9]*)_")
_STATISTIC = re.compile(r"_(p[0-9]{1,2})(?=_|$)")
_OWN_UNIT = {"engine_kv_tokens": "tokens", "reported_full_window_concurrency": "times"}


@dataclass(frozen=True)
class Metric:
    """A metric as a name spells it."""

    kind: str
    words: str
    unit: str
    better: Better
    said: tuple[str, ...] = ()
    """What else its name says: the load, the statistic."""

    @property
    def full(self) -> str:
        """All that its name says, in words."""
        return f"{self.words} ({', '.join(self.said)})" if self.said else self.words

    @property
    def hint(self) -> str:
        """How its values are read: the unit, which is better, what else its name says."""
        unit = (self.unit,) if self.unit else ()
        return "; ".join((*unit, *self.said, f"{self.better} is better"))

    @property
    def is_speed(self) -> bool:
        """Whether it is a time or a rate, so that the better one is the faster one."""
        return self.unit in UNITS.values()


def metric(name: str) -> Metric | None:
    """Return what a name says, or None when it names no metric."""
    rest, said = name, []
    if found := _LOAD.match(rest):
        said.append("one request at a time" if found[1] == "1" else f"{found[1]} requests at once")
        rest = rest[found.end() :]
    if found := _STATISTIC.search(rest):
        said.append(found[1])
        rest = rest[: found.start()] + rest[found.end() :]
    unit = _OWN_UNIT.get(rest) or next(
        (words for end, words in UNITS.items() if rest.endswith(f"_{end}")), ""
    )
    if rest not in KINDS:
        rest = next((rest.removesuffix(f"_{end}") for end in UNITS if rest.endswith(f"_{end}")), rest)
    kind = next((kind for kind in KINDS if rest == kind or rest.endswith(f"_{kind}")), None)
    if kind is None:
        return None
    words, better = KINDS[kind]
    before = rest.removesuffix(kind).strip("_").replace("_", " ")
    said += [before] if before else []
    return Metric(kind, words, unit, better, tuple(said))


def of_difference(name: str) -> str:
    """Return the kind of metric that a difference is about."""
    return next((kind for kind in KINDS if name == kind or name.startswith(f"{kind}_")), name)
