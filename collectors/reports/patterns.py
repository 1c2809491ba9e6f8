"""Which lines of an engine's log are worth finding again: what failed, what it fell back to, what it warned of.

Names are the same for every engine where they mean the same. A line counts under the first that finds
it, so the more telling stand first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from anvil.collectors.interface import LogPattern


def _pattern(expression: str, *words: str) -> LogPattern:
    return LogPattern(re.compile(expression), words)


_OUT_OF_MEMORY = _pattern(
    r"(?i)out of memory|OutOfMemory|\bOOM\b|cudaMalloc failed|unable to allocate|failed to allocate",
    "memory", "oom", "alloc",
)  # fmt: skip
_GPU = _pattern(
    r"CUDA error|cudaError|\bNCCL (?:WARN|error)|illegal memory access|\bXid\b",
    "cuda", "nccl", "illegal", "xid",
)  # fmt: skip
_FALLBACK = _pattern(r"(?i)\bfall(?:ing|s)? ?back\b", "fall")
_ERRORS = r"\b(?:ERROR|CRITICAL|FATAL)\b|\b(?i:fatal|error):|^[A-Za-z_.]*Error\b|^Traceback \(most recent"
_ERROR = _pattern(_ERRORS, "error", "critical", "fatal", "traceback")
_WARNINGS = r"\b(?:WARNING|WARN)\b|\bWarning:"
_WARNING = _pattern(_WARNINGS, "warn")

_OF_ENGINE: Mapping[str, Mapping[str, LogPattern]] = {
    "vllm": {"preempted": _pattern(r"(?i)\bpreempt(?:ed|ion)", "preempt"), "fallback": _FALLBACK},
    "sglang": {
        "preempted": _pattern(r"(?i)\bretract(?:ed|ing)?\b|KV cache pool is full", "retract", "pool is full"),
        "fallback": _FALLBACK,
    },
    "llamacpp": {
        "context-shift": _pattern(r"(?i)context shift|forcing full prompt re-processing", "shift", "forcing"),
        # Its server writes one letter for the level after the time.
        "error": _pattern(rf"^[0-9.]+ E |{_ERRORS}", " e ", *_ERROR.words),
        "warning": _pattern(rf"^[0-9.]+ W |{_WARNINGS}", " w ", *_WARNING.words),
    },
}


def patterns_of(engine: str | None) -> dict[str, LogPattern]:
    """Return the patterns for an engine's log by name; those of every engine for one that is not known."""
    own = _OF_ENGINE.get(engine or "", {})
    last = {"error": _ERROR, "warning": _WARNING}
    first = {name: pattern for name, pattern in own.items() if name not in last}
    every = {"out-of-memory": _OUT_OF_MEMORY, "gpu": _GPU, **first, **last}
    return {name: own.get(name, pattern) for name, pattern in every.items()}
