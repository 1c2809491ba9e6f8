"""What a reader of engine reports is: a table of rules from a line to figures, and what they make.

1. A figure is what the engine printed or exposed about itself, as a number or a word; a reader never
   measures. The one arithmetic is exact: a size in MiB as GiB, and the sum of two sizes on one line.
2. Each figure from the log has the number of its line in the retained log, from 1, and that line's text
   beside it, sealed.
3. The same figure with the same value is taken once, from the first line that has it; different values
   are all kept.
4. What does not fit the public types of an event is left out: a log can say anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

from pydantic import ValidationError

from anvil.ledger.events.engines import EngineReported, ReportedFigure

MAX_FIGURES = 200
"""Figures in one report at most; the rest of a log that repeats itself is left out."""

_MAX_LINE = 20_000  # characters of a line that are looked at: an engine's configuration is one long line
_MAX_KEPT = 500  # characters of a line that are kept beside its figures
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True)
class Found:
    """A figure: its name, and a number or a word as text."""

    name: str
    number: str | None = None
    word: str | None = None


@dataclass(frozen=True)
class Rule:
    """A pattern, and what a line says where it matches."""

    pattern: re.Pattern[str]
    figures: Callable[[re.Match[str]], Iterable[Found]]


class Reader(Protocol):
    """Takes figures out of one engine's log, metrics and properties."""

    name: str
    """The engine."""
    version: int
    """Raised with every change of what is taken out."""

    @property
    def rules(self) -> Sequence[Rule]:
        """What lines of the log say."""

    def exposed(self, metrics: str, props: Mapping[str, Any]) -> Iterator[tuple[str, Found]]:
        """Yield what the endpoint exposes: `metrics` or `props`, and the figure."""


@dataclass(frozen=True)
class Report:
    """What one reader took out."""

    reader: str
    version: int
    figures: tuple[ReportedFigure, ...]
    lines: tuple[tuple[int, str], ...]
    """Number and text of each line that a figure came from."""

    def event(self) -> EngineReported:
        """Return the event; whoever appends it attaches the log that was read as `startup-log`."""
        return EngineReported(
            reader=self.reader,
            reader_version=self.version,
            figures=self.figures,
            lines=[[str(number), text] for number, text in self.lines] or None,
        )


def number(name: str, group: str | int = 1) -> Callable[[re.Match[str]], Iterable[Found]]:
    """Return a rule's reading of one group as a number; thousands separators are taken out."""
    return lambda match: [Found(name, number=match.group(group).replace(",", ""))]


def word(name: str, group: str | int = 1) -> Callable[[re.Match[str]], Iterable[Found]]:
    """Return a rule's reading of one group as a word."""
    return lambda match: [Found(name, word=match.group(group))]


def fixed(name: str, text: str) -> Callable[[re.Match[str]], Iterable[Found]]:
    """Return a rule's reading as a word of ours, where the line says something in a sentence."""
    return lambda _match: [Found(name, word=text)]


def exact(value: Decimal) -> str:
    """Return a decimal as plain text, without trailing zeros beyond those of its own."""
    return format(value, "f")


def gib_of_mib(text: str) -> str:
    """Return a size in MiB as GiB, exactly."""
    return exact((Decimal(text) / 1024).normalize())


def lines_of(log: bytes) -> Iterator[tuple[int, str]]:
    """Yield the lines of a retained log with their numbers, from 1, without colours."""
    for position, line in enumerate(log.split(b"\n"), start=1):
        yield position, _ESCAPES.sub("", line.decode("utf-8", "replace"))[:_MAX_LINE].rstrip("\r")


def read(reader: Reader, log: bytes, metrics: str = "", props: Mapping[str, Any] | None = None) -> Report:
    """Return what a reader takes out of a retained log and what the endpoint exposes."""
    figures: dict[tuple[str, str | None, str | None], ReportedFigure] = {}
    lines: dict[int, str] = {}
    for position, text in lines_of(log):
        for rule in reader.rules:
            match = rule.pattern.search(text)
            for found in rule.figures(match) if match else ():
                if _add(figures, found, "log", position):
                    lines[position] = text[:_MAX_KEPT]
    for source, found in reader.exposed(metrics, props or {}):
        _add(figures, found, source, None)
    return Report(reader.name, reader.version, tuple(figures.values()), tuple(lines.items()))


def _add(
    figures: dict[tuple[str, str | None, str | None], ReportedFigure],
    found: Found,
    source: str,
    line: int | None,
) -> bool:
    key = (found.name, found.number, found.word)
    if key in figures or len(figures) >= MAX_FIGURES:
        return False
    value = int(found.number) if found.number is not None and found.number.isdigit() else found.number
    members = {"name": found.name, "number": value, "word": found.word, "source": source, "line": line}
    try:
        figures[key] = ReportedFigure.model_validate(members)
    except ValidationError:
        return False
    return True


def metric(metrics: str, name: str) -> tuple[Mapping[str, str], str] | None:
    """Return the labels and the value of the first sample of a metric (Prometheus text format 0.0.4)."""
    found = re.search(rf"^{re.escape(name)}(?:\{{([^}}]*)\}})?[ \t]+(\S+)", metrics, re.MULTILINE)
    if found is None:
        return None
    labels = dict(re.findall(r'([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"', found.group(1) or ""))
    return labels, found.group(2)
