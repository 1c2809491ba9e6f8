"""What was measured of candidates under load, as documents print it, and what must be said beside it.

1. Latencies and rates are means over runs of each run's nearest-rank p50; an aggregate has no percentile, and is the
   mean over runs of what each run has. Of the longest prompts, which are few, it is the mean over requests.
2. Decode rates end with the last output (`decode.last_output/1`), times to first token are to the first visible one
   (`ttft.visible/1`).
3. A figure's rule names metric, statistic, counts, the client's resolution and the interval across runs. How many
   requests completed, runs that do not count, what came from a cache, and sizes that are not as planned are said
   in the evidence limit, too.
4. A difference is that of a candidate from the control: the one that is decided to be `qualified-control` or `current`,
   else the first. It is named by the candidate's quantization where its key ends with it, else by its key. Of what
   was not measured by one plan there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from anvil.ledger.metrics import AGGREGATE
from anvil.ledger.rows import Row
from anvil.ledger.statistics import mean, rounded
from anvil.ledger.wording import counted
from anvil.projections.figures import Figure, Group, Value, compose, derive
from anvil.projections.measurements import (
    Cell,
    Measure,
    Statistic,
    are_one_plan,
    cells,
    delta,
    joined,
    measure,
)
from anvil.projections.measurements.measures import Unit
from anvil.projections.recorded import lengths
from anvil.projections.recorded.campaign import Recorded, either, same


@dataclass(frozen=True)
class Leaf:
    """How a document prints a measure."""

    metric: str
    statistic: Statistic
    unit: Unit
    places: int


TTFT_MS = Leaf("ttft.visible/1", "mean_of_run_p50", "ms", 1)
TTFT_S = Leaf("ttft.visible/1", "mean_of_run_p50", "s", 2)
E2E_MS = Leaf("e2e/1", "mean_of_run_p50", "ms", 1)
E2E_S = Leaf("e2e/1", "mean_of_run_p50", "s", 2)
PREFILL = Leaf("prefill.effective/1", "mean_of_run_p50", "tok/s", 0)
DECODE = Leaf("decode.last_output/1", "mean_of_run_p50", "tok/s", 1)
OUTPUT = Leaf(AGGREGATE, "mean_of_runs", "tok/s", 1)
WHOLE_OUTPUT = Leaf(AGGREGATE, "mean_of_runs", "tok/s", 0)
LONG_TTFT = Leaf("ttft.visible/1", "mean_of_requests", "s", 2)
LONG_PREFILL = Leaf("prefill.effective/1", "mean_of_requests", "tok/s", 0)
LONG_DECODE = Leaf("decode.last_output/1", "mean_of_requests", "tok/s", 1)

MEASURED = {
    "ttft_p50_ms": TTFT_MS,
    "e2e_p50_ms": E2E_MS,
    "effective_prefill_tok_s_p50": PREFILL,
    "decode_tok_s_p50": DECODE,
    "aggregate_output_tok_s": OUTPUT,
}
DIFFERENCES = {
    "ttft": TTFT_MS,
    "e2e": E2E_MS,
    "effective_prefill": PREFILL,
    "decode": DECODE,
    "aggregate_output_throughput": OUTPUT,
}
LONGEST = {"ttft_s": LONG_TTFT, "effective_prefill_tok_s": LONG_PREFILL, "decode_tok_s": LONG_DECODE}

CAPACITY = ("capacity", "shared-prefix", "open-loop")
"""The kinds of protocols that measure a load."""

_CONTROLS = ("qualified-control", "current")
_OFF_PERCENT = 1
"""By how many percent the prompt tokens that were counted may differ from the target before that is said."""


@dataclass(frozen=True)
class Loads:
    """The load cells of a campaign."""

    recorded: Recorded
    by_attempt: tuple[Cell, ...]

    @classmethod
    def of(cls, recorded: Recorded) -> Loads:
        """Return the cells that give figures."""
        keys = {attempt.key for attempt in recorded.attempts}
        found = cells(recorded.evidence, recorded.campaign)
        return cls(recorded, tuple(cell for cell in found if cell.sources and keys & set(cell.attempts)))

    @cached_property
    def by_candidate(self) -> tuple[Cell, ...]:
        """The cells of each candidate, those of its attempts put together."""
        return joined(self.by_attempt)

    def capacity(self, control: str | None) -> list[tuple[Figure, Group]]:
        """Return each capacity cell by name, its candidates side by side."""
        groups: dict[str, list[Cell]] = {}
        for cell in self.by_candidate:
            if cell.kind in CAPACITY and cell.candidate in self.recorded.candidates:
                groups.setdefault(f"{capacity_name(cell.protocol)}_{spelled(cell.cell)}", []).append(cell)
        return [self._capacity(name, group, control) for name, group in groups.items()]

    def near_limit(self) -> Group:
        """Return the longest prompts, candidates side by side."""
        longest: dict[str, Cell] = {}
        for cell in self.by_candidate:
            if cell.kind == "near-limit" and cell.candidate in self.recorded.candidates:
                before = longest.get(str(cell.candidate))
                if before is None or _size(cell) >= _size(before):
                    longest[str(cell.candidate)] = cell
        counts = [prompt_tokens(cell) for cell in longest.values()]
        every = same("the prompt tokens that the endpoint counted", [c for c in counts if c is not None])
        nothing = self.recorded.nothing("no prompt near the limit was sent, or candidates had different ones")
        return Group(
            {
                "actual_prompt_tokens": either(every, nothing),
                "candidates": self.recorded.listing(
                    "candidates with a prompt near the limit",
                    [
                        (self.recorded.key_of(name), self._longest(name, cell))
                        for name, cell in longest.items()
                    ],
                ),
            }
        )

    def _capacity(self, name: str, group: list[Cell], control: str | None) -> tuple[Figure, Group]:
        marks = [s.marked("a run of it", None, "declared") for cell in group for s in cell.sources[:1]]
        key = compose("protocol and cell", lambda *_: name, *marks)
        measured = [
            (self.recorded.key_of(str(cell.candidate)), _measured(self.recorded, cell)) for cell in group
        ]
        return key, Group(
            {
                "name": key,
                "protocol": protocol(group),
                "candidates": self.recorded.listing("candidates that were measured", measured),
                "differences": self.recorded.listing(
                    "candidates that differ from the control", list(self._differences(group, control))
                ),
            }
        )

    def _differences(self, group: list[Cell], control: str | None) -> Iterator[tuple[Figure, Group]]:
        base = next((cell for cell in group if cell.candidate == control), group[0])
        for cell in group:
            if cell is base:
                continue
            planned, declared = self.recorded.plans.candidates[str(cell.candidate)]
            stem = _stem(str(cell.candidate), declared.quantization)
            name = compose("the candidate and its control", lambda *_, stem=stem: f"{stem}_delta_percent", planned.stated("key"), self.recorded.key_of(str(base.candidate)))  # fmt: skip
            called = f"{cell.candidate} against {base.candidate}"
            figures = {key: difference(base, cell, leaf, called) for key, leaf in DIFFERENCES.items()}
            yield name, Group({"name": name, **figures})

    def _longest(self, candidate: str, cell: Cell) -> Group:
        figures = {name: printed(of(cell, leaf), leaf) for name, leaf in LONGEST.items()}
        return Group({"key": self.recorded.key_of(candidate), "status": answered(cell), **figures})

    def notes(self, *, by_attempt: bool = False) -> Iterator[str]:
        """Yield what must be said beside the figures (rule 3), by candidate or by attempt.

        Cells of which as many requests completed, failed and were planned are told together.
        """
        found = self.by_attempt if by_attempt else self.by_candidate
        named = [
            (f"{cell.protocol} {cell.cell} of {cell.attempts[0] if by_attempt else cell.candidate}", cell)
            for cell in found
        ]
        counts: dict[str, list[str]] = {}
        for name, cell in named:
            if cell.runs:
                counts.setdefault(of(cell, OUTPUT).counts.words, []).append(name)
        yield from (f"Load, {words}: {', '.join(names)}." for words, names in counts.items())
        for name, cell in named:
            yield from (f"Left out: {one.name}, since {one.words}." for one in cell.left_out)
            yield from _conditions(cell, name)
        yield from lengths.differing(
            [(cell.attempts[0] if by_attempt else str(cell.candidate), cell) for _, cell in named]
        )
        if by_attempt:
            yield from _protocols(self.by_attempt)
        if any(cell.kind == "near-limit" for cell in self.by_candidate):
            yield (
                "Near the limit, passed says that each request was answered whole; nothing was asked of what stood in "
                "the prompt."
            )


def difference(base: Cell, cell: Cell, leaf: Leaf, called: str) -> Figure:
    """Return a difference as it is printed; null where it is not of the candidates alone (rule 4)."""
    before, after = of(base, leaf), of(cell, leaf)
    found = delta(before, after, called).figure
    if base.runs and cell.runs and not are_one_plan(base, cell):
        rule = f"{found.rule}; null: the two were not measured by one plan"
        found = derive(rule, lambda *_: None, before.figure, after.figure)
    return found.places(1)


def control_of(verdicts: dict[str, list[Figure]]) -> str | None:
    """Return the candidate that others are compared with (rule 4); None when no decision says it."""
    for word in _CONTROLS:
        for candidate, figures in verdicts.items():
            if any(figure.value == word for figure in figures):
                return candidate
    return None


def of(cell: Cell, leaf: Leaf) -> Measure:
    """Return a cell's measure for a leaf of the document."""
    return measure(cell, leaf.metric, leaf.statistic, leaf.unit)


def printed(found: Measure, leaf: Leaf) -> Figure:
    """Return a measure as it is printed, with what goes along in its rule."""
    figure = found.figure.places(leaf.places)
    said = figure.rule
    if found.resolution is not None and isinstance(found.resolution.value, Fraction | int):
        said += (
            f"; ± {rounded(found.resolution.value, leaf.places + 2)} {leaf.unit} by the client's resolution"
        )
    if found.interval is not None:
        ends = [
            rounded(end.value, leaf.places + 1) for end in found.interval if isinstance(end.value, Fraction)
        ]
        said += f"; 95 % interval over runs: {' to '.join(ends)}"
    return replace(figure, rule=said)


def capacity_name(protocol: str) -> str:
    """Return what a capacity protocol is called in a document."""
    name = spelled(protocol)
    return name if name.startswith("capacity") else f"capacity_{name}"


def spelled(name: str) -> str:
    """Return a name as documents spell names."""
    return name.replace("-", "_")


def prompt_tokens(cell: Cell) -> Figure | None:
    """Return the prompt tokens that the endpoint counted: the fewest, of requests that completed."""
    sizes = [
        Figure(
            min(counts),
            f"the fewest prompt tokens counted in {run.name}",
            run.source.support,
            run.source.status,
        )
        for run in cell.runs
        if (counts := _counted(run.rows))
    ]
    return (
        derive("the fewest prompt tokens that the endpoint counted", lambda *n: min(n), *sizes)
        if sizes
        else None
    )


def answered(cell: Cell) -> Figure:
    """Return whether every request was answered whole."""
    counts = of(cell, OUTPUT).counts
    figures = (counts.completed, counts.failed, counts.expected)
    return derive("every request was answered whole", _answered, *figures)


def protocol(group: Sequence[Cell]) -> Figure:
    """Return the protocol of cells in words, from what was carried out."""
    stated = [
        run.source.stated(name)
        for cell in group
        for run in cell.runs[:1]
        for name in ("expected", "input_target_tokens", "output_cap_tokens", "concurrency", "rate_per_s")
    ]
    rests = stated or [source.stated("protocol") for cell in group for source in cell.sources[:1]]
    said = "; ".join(dict.fromkeys(_planned(cell) for cell in group if cell.runs))
    return compose("what was carried out, and by which statistics", lambda *_: said or None, *rests)


# --- words --------------------------------------------------------------------------------------------------


def _protocols(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield what each capacity cell was, once for all attempts that had it alike: where no figure says it."""
    planned = [
        (f"{cell.protocol} {cell.cell}", cell) for cell in cells if cell.runs and cell.kind in CAPACITY
    ]
    yield from dict.fromkeys(f"Protocol, {name}: {_planned(cell, 'attempt')}." for name, cell in planned)


def _planned(cell: Cell, of: str = "candidate") -> str:
    plan = cell.runs[-1].event
    load = (
        f"concurrency {plan.concurrency}"
        if plan.rate_per_s is None
        else f"{plan.rate_per_s} requests a second"
    )
    target = plan.input_target_tokens
    tokens = "" if target is None else f"{target} prompt tokens{_off(cell, target)}; "
    ignores = ", end of text ignored" if plan.ignores_eos else ""
    return (
        f"{counted(len(cell.runs), 'run')} of {counted(plan.expected, 'request')} per {of}; {tokens}"
        f"{plan.output_cap_tokens}-token output cap{ignores}; {load}; latencies and rates are means over runs of "
        "each run's nearest-rank p50, the aggregate is the mean over runs of each run's own value"
    )


def _off(cell: Cell, target: int) -> str:
    """Return what was counted, where it is not what was planned."""
    average = mean([count for run in cell.runs for count in _counted(run.rows)])
    if average is None or abs(average - target) * 100 <= target * _OFF_PERCENT:
        return ""
    return f" planned, {rounded(average, 0)} counted on average"


def _conditions(cell: Cell, name: str) -> Iterator[str]:
    if cell.plan is None:
        return
    rows = [row for run in cell.runs for row in run.rows if row.outcome == "completed"]
    prompt = sum(row.prompt_tokens or 0 for row in rows)
    cached = sum(row.cached_tokens or 0 for row in rows)
    if cached and prompt:
        yield f"Load, {name}: {rounded(Fraction(cached * 100, prompt), 1)} % of the prompt tokens came from a cache."
    if any(row.cached_tokens is None for row in rows) and cell.kind == "capacity":
        yield f"Load, {name}: the endpoint does not say what came from a cache."
    findings = dict.fromkeys(finding for run in cell.runs for finding in run.event.findings)
    if findings:
        yield f"Load, {name}: {', '.join(findings)}."
    off = _off(cell, cell.plan.input_target_tokens) if cell.plan.input_target_tokens else ""
    if off:
        yield f"Load, {name}: {cell.plan.input_target_tokens} prompt tokens were{off}."
    if any(run.event.resolution_ns is None for run in cell.runs):
        yield f"Load, {name}: the client's own resolution was not measured in every run."


def _measured(recorded: Recorded, cell: Cell) -> Group:
    figures = {name: printed(of(cell, leaf), leaf) for name, leaf in MEASURED.items()}
    runs = of(cell, OUTPUT).counts.runs
    return Group({"key": recorded.key_of(str(cell.candidate)), "runs": runs, **figures})


def _stem(candidate: str, quantization: str | None) -> str:
    word = (quantization or "").lower()
    return word if word and candidate.endswith((f"_{word}", f"-{word}")) else candidate


def _counted(rows: Sequence[Row]) -> list[int]:
    return [row.prompt_tokens for row in rows if row.outcome == "completed" and row.prompt_tokens is not None]


def _size(cell: Cell) -> int:
    found = prompt_tokens(cell)
    return found.value if found is not None and isinstance(found.value, int) else 0


def _answered(completed: Value, failed: Value, expected: Value) -> str:
    if completed == expected and expected:
        return "passed"
    return "failed" if failed else "incomplete"
