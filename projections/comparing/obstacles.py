"""What stands in the way of comparing two cells. A figure beside another one claims that only one thing changed.

1. Both were carried out by one plan: kind and version of the protocol, arrival, concurrency, rate, target and cap
   of tokens, shared prefix, whether the engine was to go on to the cap, and every other parameter that events name;
   and were read by one parser, so that a metric's id means the same. Of two protocols that are a declared experiment
   the parameter that it names is what is compared, and no obstacle.
2. As many runs of as many requests count on both sides.
3. The prompts that were really sent are as long: their means differ by at most 1 %.
4. The prefix cache was in the same state. Where neither side could prove one, that is a note.
5. The hardware that was observed is the same: processor, cores, and the GPUs of the placement by product, memory
   and power limit. What was not observed is a note, and so is a request that failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from anvil.ledger.events import HostObserved, LoadMeasured
from anvil.ledger.statistics import mean, rounded
from anvil.ledger.wording import counted
from anvil.projections.comparing.experiments import PARAMETERS
from anvil.projections.comparing.sides import Side
from anvil.projections.measurements import Cell
from anvil.projections.record import Campaign

_TOLERANCE = Fraction(1, 100)

_PLAN = {
    "kind": "kind of protocol",
    "version": "version of the protocol",
    "arrival": "arrival of requests",
    "concurrency": "concurrency",
    "rate_per_s": "rate of requests",
    "input_target_tokens": "target of prompt tokens",
    "output_cap_tokens": "cap of completion tokens",
    "ignores_eos": "whether the end of a text is ignored",
    "shared_prefix_tokens": "shared prefix",
    "parser_version": "parser of the rows, so that definitions differ",
}


_FOUND_OUT = frozenset({"window_tokens", "aimed_tokens"})
"""Parameters that the endpoint decides; what came of them are prompts, which are compared themselves (rule 3)."""


class Obstacle(NamedTuple):
    """One thing that is not the same, and what it is on both sides."""

    what: str
    control: str
    treatment: str


def obstacles(
    control: Cell, treatment: Cell, sides: tuple[Side, Side], allowed: frozenset[str] = frozenset()
) -> tuple[Obstacle, ...]:
    """Return why two cells cannot be compared; nothing when they can. Parameters in `allowed` may differ."""
    before, after = control.plan, treatment.plan
    if before is None or after is None:
        return (Obstacle("runs that count", str(len(control.runs)), str(len(treatment.runs))),)
    return (
        *_plans(before, after, allowed),
        *_repetitions(control, treatment),
        *_prompts(control, treatment),
        *_caches(control, treatment),
        *_hardware(control, treatment, sides),
    )


def notes(control: Cell, treatment: Cell, sides: tuple[Side, Side]) -> tuple[str, ...]:
    """Return what a reader has to know of a comparison that is made (rules 4 and 5)."""
    found = []
    if _states(control) == _states(treatment) == "unknown":
        found.append("neither side proves the state of its prefix cache")
    looked = [host(cell, one) for cell, one in zip((control, treatment), sides, strict=True)]
    if None in looked:
        found.append("the hardware was not observed on both sides")
    for name, cell in (("control", control), ("treatment", treatment)):
        failed = sum(run.event.failed for run in cell.runs)
        if failed:
            found.append(f"{failed} requests of the {name} failed and are no samples")
        found += [f"{name}: {left.name} is left out, {left.words}" for left in cell.left_out]
        if impossible := sorted({finding for run in cell.runs for finding in run.event.findings}):
            found.append(f"{name}: found in its runs: {', '.join(impossible)}")
    return tuple(found)


def _plans(before: LoadMeasured, after: LoadMeasured, allowed: frozenset[str]) -> Iterator[Obstacle]:
    for name, words in _PLAN.items():
        one, other = getattr(before, name), getattr(after, name)
        if one != other and PARAMETERS.get(name) not in allowed:
            yield Obstacle(words, _told(one), _told(other))
    ours, theirs = (
        {item.name: item.value for item in plan.parameters if item.name not in _FOUND_OUT}
        for plan in (before, after)
    )
    for name in dict.fromkeys((*ours, *theirs)):
        if ours.get(name) != theirs.get(name) and name not in allowed:
            yield Obstacle(f"parameter {name}", _told(ours.get(name)), _told(theirs.get(name)))


def _repetitions(control: Cell, treatment: Cell) -> Iterator[Obstacle]:
    before, after = (sorted(run.event.expected for run in cell.runs) for cell in (control, treatment))
    if before != after:
        yield Obstacle("repetitions", _counts(before), _counts(after))


def _counts(requests: list[int]) -> str:
    per_run = sorted(set(requests))
    return f"{counted(len(requests), 'run')} of {' or '.join(map(str, per_run))} requests"


def _prompts(control: Cell, treatment: Cell) -> Iterator[Obstacle]:
    before, after = prompt_tokens(control), prompt_tokens(treatment)
    if before is None or after is None:
        if before is not after:
            yield Obstacle("actual prompt tokens", _tokens(before), _tokens(after))
    elif not are_as_long(before, after):
        yield Obstacle("actual prompt tokens, by more than 1 %", _tokens(before), _tokens(after))


def are_as_long(before: Fraction, after: Fraction) -> bool:
    """Say whether prompts of these mean sizes may be compared (rule 3)."""
    return abs(before - after) <= _TOLERANCE * before


def prompt_tokens(cell: Cell) -> Fraction | None:
    """Return the mean of what the endpoint reported; None when it did not for a request that completed."""
    reported = [row.prompt_tokens for run in cell.runs for row in run.rows if row.outcome == "completed"]
    known = [tokens for tokens in reported if tokens is not None]
    return mean(known) if len(known) == len(reported) else None


def _tokens(value: Fraction | None) -> str:
    return "not reported" if value is None else f"{rounded(value, 1)} on average"


def _caches(control: Cell, treatment: Cell) -> Iterator[Obstacle]:
    before, after = _states(control), _states(treatment)
    if before != after:
        yield Obstacle("state of the prefix cache", before, after)


def _states(cell: Cell) -> str:
    return " and ".join(sorted({run.event.cache_state for run in cell.runs}))


def _hardware(control: Cell, treatment: Cell, sides: tuple[Side, Side]) -> Iterator[Obstacle]:
    before, after = (host(cell, one) for cell, one in zip((control, treatment), sides, strict=True))
    if before is not None and after is not None and before != after:
        yield Obstacle("hardware", before, after)


def host(cell: Cell, one: Side) -> str | None:
    """Return the hardware that was observed last before each of a cell's runs, in words; None when nobody looked."""
    seen = [None if found is None else _words(found) for found in hosts(cell, one)]
    known = sorted({word for word in seen if word is not None})
    return " and ".join(known) if known and None not in seen else None


def hosts(cell: Cell, one: Side) -> list[HostObserved | None]:
    """Return what was observed last of the hardware before each of a cell's runs; None where nobody looked."""
    wanted = {run.source.entry_hash: run.attempt for run in cell.runs}
    runs = [
        (kept.index, wanted[kept.entry_hash])
        for launch in one.launches
        for kept in launch.events
        if kept.entry_hash in wanted
    ]
    return [_seen_before(index, attempt, one.campaign) for index, attempt in runs]


def _seen_before(index: int, attempt: str, campaign: Campaign) -> HostObserved | None:
    found = None
    for kept in campaign.general:
        is_of = kept.subject.attempt in (attempt, None) and kept.index < index
        if is_of and isinstance(kept.event, HostObserved):
            found = kept.event
    return found


def _words(host: HostObserved) -> str:
    cpu = f"{host.cpu_product or 'a processor not on the list'}, {_told(host.cpu_cores)} cores"
    gpus = [
        f"{gpu.product or 'a GPU not on the list'} of {_told(gpu.memory_bytes)} bytes at "
        f"{_told(gpu.power_limit_milliwatts)} mW"
        for gpu in host.gpus
        if gpu.is_placed
    ]
    return "; ".join((cpu, *sorted(gpus)))


def _told(value: object) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
