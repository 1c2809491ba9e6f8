"""Figures of rows counted again, by code that shares nothing with what computes documents.

It reads the NDJSON of runs as plain JSON, sorts, and rounds with the decimal module.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any

Raw = dict[str, Any]


def requests(content: bytes) -> list[Raw]:
    """Return the requests of a run."""
    return [json.loads(line) for line in content.splitlines()[1:]]


def ttft(raw: Raw) -> Fraction | None:
    return Fraction(raw["ttft_ns"]) if raw["outcome"] == "completed" else None


def e2e(raw: Raw) -> Fraction | None:
    return Fraction(raw["end_ns"]) if raw["outcome"] == "completed" else None


def prefill(raw: Raw) -> Fraction | None:
    return Fraction(raw["prompt_tokens"] * 10**9, raw["ttfo_ns"]) if raw["outcome"] == "completed" else None


def decode(raw: Raw) -> Fraction | None:
    if raw["outcome"] != "completed":
        return None
    return Fraction((raw["completion_tokens"] - 1) * 10**9, raw["last_output_ns"] - raw["ttfo_ns"])


def middle(run: Sequence[Raw], of: Callable[[Raw], Fraction | None]) -> Fraction:
    """Return the lower median: of ten values the fifth."""
    values = sorted(value for raw in run if (value := of(raw)) is not None)
    return values[(len(values) + 1) // 2 - 1]


def average(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def output(run: Sequence[Raw]) -> Fraction:
    """Return the tokens of a run by its time."""
    tokens = sum(raw["completion_tokens"] for raw in run if raw["outcome"] == "completed")
    ends = [raw["started_ns"] + (raw["end_ns"] or raw["gave_up_ns"]) for raw in run]
    return Fraction(tokens * 10**9, max(ends) - min(raw["started_ns"] for raw in run))


def p50(runs: Sequence[Sequence[Raw]], of: Callable[[Raw], Fraction | None]) -> Fraction:
    return average([middle(run, of) for run in runs])


def outputs(runs: Sequence[Sequence[Raw]]) -> Fraction:
    return average([output(run) for run in runs])


def percent(control: Fraction, other: Fraction) -> Fraction:
    return (other - control) / control * 100


def spell(value: Fraction, places: int) -> str:
    """Return a number as a document spells it."""
    with localcontext(prec=60):
        exact = Decimal(value.numerator) / Decimal(value.denominator)
        return str(exact.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP))
