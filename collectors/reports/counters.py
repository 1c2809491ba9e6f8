"""What an engine counted while a cell was measured: its own metrics, read before and after.

1. Each engine's table says which of our names is which of its metrics; of several spellings the first that
   is there. Samples of one metric with different labels are parts of it, and are added up.
2. A counter only grows: what it has more after than before is what happened in between, exactly. One that
   fell was set back, by a restart for instance, and says nothing.
3. A gauge is what the engine says at one moment, often of its last batch only; it has no difference.
4. What is not there is null, with its reason. It is never 0.
5. `prompt_tokens` are all of them, `computed_prompt_tokens` those that the cache did not have: engines
   count one or the other under the same name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from anvil.collectors.reports.exposition import MalformedExposition, Sample, read_exposition
from anvil.ledger.events.load import EngineCounter

NOT_READ = "metrics-not-read"
MALFORMED = "malformed-metrics"
NOT_EXPOSED = "not-exposed"
SET_BACK = "counter-set-back"
DIFFERING = "differing-values"
NO_NUMBER = "no-decimal-number"
GAUGE = "gauge"

_PLACES = 18


@dataclass(frozen=True)
class Metric:
    """One of our names, and what an engine calls it."""

    name: str
    spellings: tuple[str, ...]
    kind: Literal["counter", "gauge"] = "counter"


def _counters(**spellings: str | tuple[str, ...]) -> tuple[Metric, ...]:
    return tuple(
        Metric(name, (found,) if isinstance(found, str) else found) for name, found in spellings.items()
    )


METRICS: Mapping[str, tuple[Metric, ...]] = {
    "vllm": _counters(
        prompt_tokens="vllm:prompt_tokens_total",
        completion_tokens="vllm:generation_tokens_total",
        prefix_cache_queried_tokens=(
            "vllm:prefix_cache_queries_total",
            "vllm:gpu_prefix_cache_queries_total",
        ),
        cached_prompt_tokens=("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"),
        finished_requests="vllm:request_success_total",
        preemptions="vllm:num_preemptions_total",
        drafts="vllm:spec_decode_num_drafts_total",
        draft_tokens="vllm:spec_decode_num_draft_tokens_total",
        accepted_draft_tokens="vllm:spec_decode_num_accepted_tokens_total",
    ),
    "sglang": (
        *_counters(
            prompt_tokens="sglang:prompt_tokens_total",
            completion_tokens="sglang:generation_tokens_total",
            cached_prompt_tokens="sglang:cached_tokens_total",
            finished_requests="sglang:num_requests_total",
            preemptions="sglang:num_retracted_requests_total",
        ),
        Metric("cache_hit_rate", ("sglang:cache_hit_rate",), "gauge"),
        Metric("accepted_length", ("sglang:spec_accept_length",), "gauge"),
        Metric("accepted_rate", ("sglang:spec_accept_rate",), "gauge"),
    ),
    "llamacpp": _counters(
        computed_prompt_tokens="llamacpp:prompt_tokens_total",
        cached_prompt_tokens="llamacpp:prompt_tokens_cached_total",
        completion_tokens="llamacpp:tokens_predicted_total",
        drafts="llamacpp:spec_decode_num_drafts_total",
        draft_tokens="llamacpp:spec_decode_num_draft_tokens_total",
        accepted_draft_tokens="llamacpp:spec_decode_num_accepted_tokens_total",
    ),
}
"""By engine."""


@dataclass(frozen=True)
class Counted:
    """What one metric said before and after, and what was counted in between, as plain decimals."""

    name: str
    """Our name of it."""
    before: str | None
    """Its value before."""
    after: str | None
    """Its value after."""
    counted: str | None
    """What came in between; null for a gauge, and where it is not known."""
    absent: str | None
    """Why `counted` is null; null when it is not."""

    @property
    def tokens(self) -> int | None:
        """What was counted, where it is a whole number."""
        return int(self.counted) if self.counted is not None and self.counted.isdigit() else None


@dataclass(frozen=True)
class Counts:
    """All metrics of an engine that are looked for."""

    figures: tuple[Counted, ...]

    def of(self, name: str) -> int | None:
        """Return what was counted under a name as a whole number; null when that is not known."""
        return next((figure.tokens for figure in self.figures if figure.name == name), None)

    @property
    def facts(self) -> tuple[EngineCounter, ...]:
        """What an event says of them: those that the engine exposed."""
        return tuple(
            EngineCounter(name=figure.name, before=figure.before, after=figure.after)
            for figure in self.figures
            if (figure.before, figure.after) != (None, None)
        )


def count(engine: str, before: str | None, after: str | None) -> Counts | None:
    """Return what an engine counted between two readings of its metrics; null for one without a table.

    A reading is null when it failed.
    """
    metrics = METRICS.get(engine)
    if metrics is None:
        return None
    earlier, later = _Reading(before), _Reading(after)
    return Counts(tuple(_counted(metric, earlier, later) for metric in metrics))


class _Reading:
    """One reading of the metrics, or why there is none."""

    def __init__(self, text: str | None) -> None:
        self.samples: tuple[Sample, ...] = ()
        self.problem: str | None = None if text is not None else NOT_READ
        try:
            self.samples = read_exposition(text or "")
        except MalformedExposition:
            self.problem = MALFORMED

    def of(self, metric: Metric) -> Fraction | str:
        """Return a metric's value, or why it has none."""
        if self.problem is not None:
            return self.problem
        for spelling in metric.spellings:
            values = [sample.value for sample in self.samples if sample.name == spelling]
            if values:
                return _together(metric, values)
        return NOT_EXPOSED


def _together(metric: Metric, values: Sequence[Fraction | None]) -> Fraction | str:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return NO_NUMBER
    if metric.kind == "counter":
        return sum(known, Fraction(0))
    return known[0] if len(set(known)) == 1 else DIFFERING


def _counted(metric: Metric, earlier: _Reading, later: _Reading) -> Counted:
    before, after = earlier.of(metric), later.of(metric)
    between: str | None = None
    problems = [value for value in (before, after) if isinstance(value, str)]
    if isinstance(before, Fraction) and isinstance(after, Fraction):
        between = _printed(after - before)
        problems = list(_problems(metric, before, after, between))
    return Counted(
        name=metric.name,
        before=_printed(before),
        after=_printed(after),
        counted=None if problems else between,
        absent=problems[0] if problems else None,
    )


def _problems(metric: Metric, before: Fraction, after: Fraction, between: str | None) -> Iterable[str]:
    if metric.kind == "gauge":
        yield GAUGE
    if after < before:
        yield SET_BACK
    if between is None:
        yield NO_NUMBER


def _printed(value: Fraction | str) -> str | None:
    """Return a number as its plain decimal; null when it has none within the public type's digits."""
    if isinstance(value, str):
        return None
    scaled = value * 10**_PLACES
    if scaled.denominator != 1 or abs(value) >= 10**18:
        return None
    whole, rest = divmod(abs(scaled.numerator), 10**_PLACES)
    digits = f"{whole}.{rest:0{_PLACES}d}".rstrip("0").rstrip(".")
    return f"-{digits}" if value < 0 else digits
