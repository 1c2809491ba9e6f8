"""What lanes and candidates ran on and were set to: what a reader must know before comparing them.

1. How many GPUs a copy has is read from how the attempts were placed, as long as that is made of events; of words that
   a file brings nothing is concluded.
2. What lanes differ in, beside the checkpoint, is every setting that they do not share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anvil.projections.pages.metrics import metric
from anvil.projections.pages.view import Shown

_PLACED = "which candidate ran on which placement"
"""The rule of a topology that is made of events."""
_GPUS = re.compile(r"placement-[0-9]+(?: \(([^()]*)\))?")
_NO_SETTINGS = frozenset(
    {"functional_checks", "repeated_quality", "context", "caveat", "warning", "retained_failure"}
)


@dataclass(frozen=True)
class Differing:
    """One setting that lanes do not share: its name, and for each lane its value, or None."""

    name: str
    values: tuple[tuple[str, Shown | None], ...]


def copies(topology: Shown) -> str:
    """Return on how many GPUs each copy runs, in words; empty where that is not known, or not the same (rule 1)."""
    if topology.rule != _PLACED or topology.is_null:
        return ""
    sizes = {len(found.split(", ")) if found else 0 for found in _GPUS.findall(topology.text)}
    if len(sizes) != 1 or 0 in sizes:
        return ""
    (size,) = sizes
    return "each copy on one GPU" if size == 1 else f"each copy on {size} GPUs"


def differing(lanes: Mapping[str, Mapping[str, Any]]) -> list[Differing]:
    """Return the settings that lanes do not share (rule 2)."""
    own = {
        key: {name: one for name, one in lane.items() if _is_setting(name, one)}
        for key, lane in lanes.items()
    }
    names = dict.fromkeys(name for found in own.values() for name in found)
    if len(lanes) < 2:
        return []
    return [Differing(name, tuple((key, found.get(name)) for key, found in own.items())) for name in names]


def _is_setting(name: str, value: Any) -> bool:
    return isinstance(value, Shown) and name not in _NO_SETTINGS and metric(name) is None
