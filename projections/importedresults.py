"""What imported files of measuring tools hold, as `anvil status` and the limits of documents tell it.

1. A result belongs to the file that it names, in the stream that recorded the import.
2. A finding was made at the import, from the rows. It is said in one sentence, with its numbers.
3. What a file does not say of what was tested is a finding of its own, of the file.
4. Of the many figures of a source people are shown the *main* ones: of each metric the median, p95 and p99, of a count
   the median alone; its mean where it has no median; rates; and every share of a suite.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from anvil.ledger.events import CheckImported, ImportRecorded, LoadImported, StatementImported, SuiteImported
from anvil.ledger.events.results import FindingName, ImportFinding, SourceStatistic
from anvil.ledger.statistics import percentile_of
from anvil.ledger.wording import counted

AnyResult = CheckImported | SuiteImported | LoadImported

SENTENCES: Mapping[FindingName, str] = {
    "check_without_observation": "selected, and without an observation",
    "partly_failed": "figures rest on a partly failed run: {found} of {out_of} did not pass",
    "reasoning_counted_not_seen": "reasoning tokens were counted and not seen, in {found} of {out_of}",
    "reasoning_seen_not_counted": "reasoning was seen and not counted apart, in {found} of {out_of}",
    "reasoning_despite_disabled": "reasoning came although thinking was disabled, in {found} of {out_of}",
    "shared_prefix": "prompts shared a prefix, or seem to ({about})",
    "percentile_unsupported": "{found} samples do not support a percentile that needs {out_of}: {about}",
    "statistic_differs": "the rows give {found} of {out_of} figures otherwise: {about}",
    "count_differs": "{found} are counted, and {out_of} are said: {about}",
    "zero_without_samples": "a number stands where there are no samples: {about}",
    "message_missing": "{found} of {out_of} failures do not say why",
    "target_missed": "the prompt had {found} tokens, {out_of} were aimed at",
    "verdict_differs": "by its own rule the verdict would be another: {about}",
    "rows_missing": "without rows {found} figures cannot be made again, and stand at the tool's word",
}
_BESIDE: Mapping[FindingName, str] = {"rows_missing": "; rows come with {about}"}
"""What is added where a finding is about something by name."""

_SHOWN = (50, 95, 99)
COUNTS = frozenset({"tokens", "requests", "chars", "chunks", "bytes"})
"""The units of what is counted, and neither timed nor a rate."""
_RATES = frozenset({"tokens_per_s", "requests_per_s"})
_STATISTIC = re.compile(
    r"(?:^|(?<=[._]))(?:mean|median|avg|std|min|max|p[0-9]{1,2}|percentiles|successful)(?:[._]|$)"
)

_BRIEF = 4
"""How many names one sentence lists."""


@dataclass(frozen=True)
class ImportedResult:
    """One check, suite or load of a file."""

    what: str
    """`check`, `suite` or `load`."""
    called: str
    passed: int | None
    """Null when nobody says what passed."""
    expected: int | None
    """Null when the file does not say."""
    outcome: str
    findings: tuple[ImportFinding, ...]
    index: int
    """Of its event in this ledger."""
    figures: tuple[SourceStatistic, ...]
    """The main ones (rule 4)."""

    @classmethod
    def of(cls, event: AnyResult, index: int) -> ImportedResult:
        """Return what is told of an event."""
        shown = (event.findings, index, tuple(main_figures(event.statistics)))
        match event:
            case CheckImported():
                return cls("check", event.called, event.passed, event.expected, event.outcome, *shown)
            case SuiteImported():
                outcome = "passed" if event.passed == event.expected else "failed"
                if event.passed is None:
                    outcome = "inconclusive"
                return cls("suite", event.called, event.passed, event.expected, outcome, *shown)
            case LoadImported():
                parts = (
                    event.called,
                    _each(event.concurrency, "c{}"),
                    _each(event.target_tokens, "{}-tokens"),
                )
                outcome = "failed" if event.failed else "incomplete"
                if event.completed == event.expected:
                    outcome = "passed"
                called = " ".join(part for part in parts if part)
                return cls("load", called, event.completed, event.expected, outcome, *shown)


@dataclass(frozen=True)
class ImportedDecision:
    """What a published document says was decided: somebody else's words about another run."""

    index: int
    candidate: str | None
    said: tuple[str, ...]

    @classmethod
    def of(cls, event: StatementImported, candidate: str | None, index: int) -> ImportedDecision:
        """Return what is told of a statement about a decision."""
        texts = (value.texts or ((value.text,) if value.text is not None else ()) for value in event.values)
        return cls(index, candidate, tuple(text for each in texts for text in each))


@dataclass(frozen=True)
class ImportedFile:
    """One file and its results, by entry hash."""

    kind: str
    format: str
    digest: str
    stream: str
    not_said: tuple[str, ...]
    withheld: tuple[str, ...]
    index: int
    """Of the event that records it."""
    results: Mapping[str, ImportedResult] = field(default_factory=dict)
    decisions: Mapping[str, ImportedDecision] = field(default_factory=dict)
    """What a published document says was decided, by entry hash."""

    @classmethod
    def of(cls, event: ImportRecorded, stream: str, index: int) -> ImportedFile:
        """Return what is told of an import."""
        return cls(event.kind, event.format, event.digest, stream, event.not_said, event.withheld, index)

    def sentences(self) -> Iterator[str]:
        """Yield what a reader must know of it, one sentence each."""
        if self.not_said:
            yield f"not said: {', '.join(self.not_said)}"
        if self.withheld:
            yield f"said only in the file: {', '.join(self.withheld)}"


def figure_words(figure: SourceStatistic) -> str:
    """Return a figure of a source in words: its name there, of what, the number as it is spelled, what it is."""
    of = "" if figure.of is None else f" of {figure.of}"
    meant = figure.definition or "the tool's own"
    again = {"same": "same from rows", "differs": "otherwise from rows", "no_rows": "not made again"}
    number = "null" if figure.number is None else f"{figure.number} {figure.unit}"
    return f"{figure.called}{of} = {number}  {meant}, {again[figure.remade]}"


def _each(value: int | None, form: str) -> str:
    return "" if value is None else form.format(value)


def sentence(found: ImportFinding) -> str:
    """Return a finding in words."""
    listed = ", ".join(found.about[:_BRIEF])
    more = len(found.about) - _BRIEF
    about = f"{listed} and {more} more" if more > 0 else listed
    form = SENTENCES[found.finding] + (_BESIDE.get(found.finding, "") if about else "")
    return form.format(about=about, found=found.found, out_of=found.out_of)


def limits(files: Iterable[ImportedFile]) -> list[str]:
    """Return what documents must say of imported evidence: each kind of finding once, with how many results have it."""
    held = list(files)
    found: dict[FindingName, list[str]] = {}
    missing: dict[str, int] = {}
    for file in held:
        for name in file.not_said:
            missing[name] = missing.get(name, 0) + 1
        for result in file.results.values():
            for one in result.findings:
                found.setdefault(one.finding, []).append(f"{result.what} {result.called}: {sentence(one)}")
    said = [_limit(name, sentences) for name, sentences in found.items()]
    if missing:
        listed = ", ".join(f"{name} in {number}" for name, number in missing.items())
        said.append(f"Of {counted(len(held), 'imported file')} what was tested is not wholly said: {listed}.")
    return said


def _limit(name: FindingName, sentences: list[str]) -> str:
    more = f" (and {len(sentences) - 1} more like it)" if len(sentences) > 1 else ""
    return f"Imported evidence, {name.replace('_', ' ')}: {sentences[0]}{more}."


def main_figures(figures: Iterable[SourceStatistic]) -> list[SourceStatistic]:
    """Return the main figures of a source, in its order (rule 4)."""
    every = list(figures)
    medians = {_of(one) for one in every if percentile_of(one.statistic or "") == 50}
    chosen: dict[tuple[str | None, str, int | None], SourceStatistic] = {}
    for one in every:
        q = percentile_of(one.statistic or "")
        is_shown = q in (_SHOWN[:1] if one.unit in COUNTS else _SHOWN)
        is_mean = one.statistic == "mean" and _of(one) not in medians
        is_rate = one.unit in _RATES and one.statistic in (None, "sum_over_wall") and one.own != "std"
        if is_shown or is_mean or is_rate or (one.unit == "ratio" and one.statistic is None):
            chosen.setdefault((*_of(one), q), one)
    return list(chosen.values())


def _of(figure: SourceStatistic) -> tuple[str | None, str]:
    """Return of what a figure is a statistic: the item or group, and the column or the metric's name."""
    return figure.of, figure.column or _STATISTIC.sub("", figure.called)
