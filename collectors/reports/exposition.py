"""Prometheus text format 0.0.4, read strictly and exactly: numbers stay the decimals that were printed.

1. A line is blank, a comment, or a sample: a name, labels in braces, a number, and a time that is not used.
   Any other line makes the whole unreadable: what is left of a torn text may be torn as well.
2. Names and labels are spelt as the format says; in a label's value only ``\\\\``, ``\\"`` and ``\\n`` are escaped.
3. A number that is none (`NaN`, `+Inf`, `-Inf`) is null.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from anvil.ledger.errors import CollectorError

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*[ \t]*=[ \t]*"(?:[^"\\\n]|\\[\\"n])*"'
_LABELS = rf"\{{[ \t]*(?:{_LABEL}(?:[ \t]*,[ \t]*{_LABEL})*[ \t]*,?)?[ \t]*\}}"
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?|(?i:[+-]?inf(?:inity)?|nan)"
_SAMPLE = re.compile(rf"({_NAME})[ \t]*({_LABELS})?[ \t]+({_NUMBER})(?:[ \t]+-?[0-9]+)?[ \t]*")
_PAIR = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")


class MalformedExposition(CollectorError):
    """A text is not in the Prometheus text format."""


@dataclass(frozen=True)
class Sample:
    """One sample; `value` is null when it is no finite number."""

    name: str
    labels: Mapping[str, str]
    value: Fraction | None


def read_exposition(text: str) -> tuple[Sample, ...]:
    """Return the samples of a text, in its order.

    Raises:
        MalformedExposition: a line is neither a sample nor a comment.
    """
    samples = []
    for position, line in enumerate(text.split("\n"), start=1):
        bare = line.strip(" \t\r")
        if not bare or bare.startswith("#"):
            continue
        match = _SAMPLE.fullmatch(bare)
        if match is None:
            raise MalformedExposition(f"line {position} of the metrics is no sample: {bare[:80]!r}")
        samples.append(Sample(match[1], _labels(match[2] or ""), _value(match[3])))
    return tuple(samples)


def _labels(text: str) -> dict[str, str]:
    return {
        name: _ESCAPED.sub(lambda escaped: {"n": "\n"}.get(escaped[1], escaped[1]), value)
        for name, value in _PAIR.findall(text)
    }


def _value(text: str) -> Fraction | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return Fraction(number) if number.is_finite() else None
