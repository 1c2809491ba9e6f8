"""What stands in the way of comparing cells of which one at least was imported.

1. Compared are: the protocol (of one tool its name and its parameters; of two tools, or of one and ours, the cap of
   completion tokens), repetitions, the prompts that were really sent, the state of the prefix cache, and the hardware.
2. What is known on both sides and differs is an obstacle, always.
3. What is not known on a side is one too, by its name in `UNKNOWN`; so is a parameter that one of two files of a tool does
   not state. Who compares may accept not to know it: then it is a note that says so, with the figures.
4. The state of a cache follows from what is in the rows (`cached_tokens`), or from what was found at the import:
   prompts that shared a prefix. A hint by timing is no state: it is a note.
5. A file names its hardware by a word of its own (`rtx-5090`): it is that which was observed here when all its words are
   in the product's name.
6. What files do not say of what was tested is a note: nobody can say that only one thing differs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Literal, get_args

from anvil.ledger.events import HostObserved
from anvil.ledger.statistics import mean, rounded
from anvil.ledger.wording import counted
from anvil.projections.comparing import obstacles as ours
from anvil.projections.comparing.importedcells import Any_, ImportedCell, ImportedRun
from anvil.projections.comparing.obstacles import Obstacle
from anvil.projections.comparing.sides import Side
from anvil.projections.figures import Value

Unknown = Literal["protocol", "repetitions", "prompts", "cache", "hardware"]
UNKNOWN: tuple[Unknown, ...] = get_args(Unknown)
"""What may be unknown, and be accepted as such."""

NOT_STATED = "not stated"
"""What stands in the place of what nobody knows of a side."""

_CAPS = ("max_tokens", "output_cap_tokens", "random_output_len", "sharegpt_output_len")
_CACHED = "prompt tokens came from a cache"
_NO_PLAN = frozenset({"context_seed"})
"""Parameters that make other prompts of the same kind, which are compared themselves."""


def imported_obstacles(
    control: Any_, treatment: Any_, sides: tuple[Side, Side], accepted: frozenset[Unknown]
) -> tuple[tuple[Obstacle, ...], tuple[str, ...]]:
    """Return why two cells cannot be compared, and what has to be said if they are (rules 2 and 3)."""
    found: list[Obstacle] = []
    said: list[str] = []
    for name, what, before, after in _compared(control, treatment, sides):
        if before is not None and after is not None:
            if before != after:
                found.append(Obstacle(what, before, after))
        elif name in accepted:
            known = before or after
            told = f", the other side has {known}" if known else " on either side"
            said.append(f"accepted as unknown, {name}: {what}{told}")
        else:
            found.append(Obstacle(f"{what} (unknown)", before or NOT_STATED, after or NOT_STATED))
    return tuple(found), (*said, *_notes(control, treatment))


def _compared(
    control: Any_, treatment: Any_, sides: tuple[Side, Side]
) -> Iterator[tuple[Unknown, str, str | None, str | None]]:
    """Yield what is compared: by which name it may be unknown, in words, and what it is on both sides (rule 1)."""
    if (_protocol(control)) == (_protocol(treatment)):
        for name in dict.fromkeys((*_parameters(control), *_parameters(treatment))):
            before, after = (_parameters(one).get(name) for one in (control, treatment))
            yield "protocol", f"parameter {name}", before, after
    else:
        yield "protocol", "cap of completion tokens", _cap(control), _cap(treatment)
    yield "repetitions", "repetitions", _repetitions(control), _repetitions(treatment)
    yield ("prompts", "actual prompt tokens, by more than 1 %", *_prompts(control, treatment))
    yield "cache", "state of the prefix cache", _cache(control), _cache(treatment)
    yield ("hardware", "hardware", *_both_hardware(control, treatment, sides))


def _protocol(cell: Any_) -> str:
    return cell.protocol if isinstance(cell, ImportedCell) else "ours"


def _parameters(cell: Any_) -> dict[str, str]:
    """Return with what parameters the runs of a cell were carried out; of several values all."""
    found: dict[str, dict[str, None]] = {}
    for run in cell.runs if isinstance(cell, ImportedCell) else ():
        for one in run.event.parameters:
            if one.name not in _NO_PLAN:
                found.setdefault(one.name, {})[_told(one.value)] = None
    return {name: " and ".join(values) for name, values in found.items()}


def _cap(cell: Any_) -> str | None:
    if not isinstance(cell, ImportedCell):
        return None if cell.plan is None else str(cell.plan.output_cap_tokens)
    known = _parameters(cell)
    return next((known[name] for name in _CAPS if name in known), None)


def _repetitions(cell: Any_) -> str | None:
    requests = [run.event.expected for run in cell.runs]
    known = sorted({count for count in requests if count is not None})
    if None in requests or not known:
        return None
    return f"{counted(len(requests), 'run')} of {' or '.join(map(str, known))} requests"


def _prompts(control: Any_, treatment: Any_) -> tuple[str | None, str | None]:
    """Return the prompts' sizes in words: the same ones where they are as long as rules allow."""
    before, after = prompt_tokens(control), prompt_tokens(treatment)
    if before is not None and after is not None and ours.are_as_long(before, after):
        return "alike", "alike"
    return _tokens(before), _tokens(after)


def prompt_tokens(cell: Any_) -> Fraction | None:
    """Return the mean of the prompt tokens that were counted; null where not every run tells them."""
    if not isinstance(cell, ImportedCell):
        return ours.prompt_tokens(cell)
    counts: list[Fraction] = []
    for run in cell.runs:
        rows = run.measured.rows
        told = [] if rows is None or rows.column("prompt_tokens") is None else rows.values("prompt_tokens")
        if len(told) < max(1, run.event.completed):
            return None
        counts += told
    return mean(counts)


def _tokens(value: Fraction | None) -> str | None:
    return None if value is None else f"{rounded(value, 1)} on average"


def _cache(cell: Any_) -> str | None:
    """Return the state of the prefix cache; null where nobody proves one (rule 4)."""
    if isinstance(cell, ImportedCell):
        states = {_state(run) for run in cell.runs}
    else:
        states = {None if run.event.cache_state == "unknown" else run.event.cache_state for run in cell.runs}
    known = sorted(state for state in states if state is not None)
    return " and ".join(known) if known and None not in states else None


def _state(run: ImportedRun) -> str | None:
    about = {name for one in run.event.findings if one.finding == "shared_prefix" for name in one.about}
    if "declared" in about:
        return "shared_within_run"
    if "cached_tokens" in about:
        return _CACHED
    rows = run.measured.rows
    if rows is None or rows.column("cached_tokens") is None:
        return None
    cached = rows.values("cached_tokens")
    if len(cached) < run.event.completed:
        return None
    return _CACHED if any(cached) else "cold"


def _both_hardware(control: Any_, treatment: Any_, sides: tuple[Side, Side]) -> tuple[str | None, str | None]:
    """Return the hardware of both sides: the same where a file names what was observed here, in fewer words (rule 5)."""
    before, after = _hardware(control, sides[0]), _hardware(treatment, sides[1])
    for cell, side, theirs in ((control, sides[0], after), (treatment, sides[1], before)):
        if not isinstance(cell, ImportedCell) and theirs is not None:
            seen = [_products(host) for host in ours.hosts(cell, side)]
            if seen and all(any(_name_words(theirs) <= _name_words(one) for one in each) for each in seen):
                return theirs, theirs
    return before, after


def _products(host: HostObserved | None) -> list[str]:
    """Return the GPUs that a host was observed to place an engine on; without any, its processor."""
    if host is None:
        return []
    gpus = [gpu.product for gpu in host.gpus if gpu.is_placed and gpu.product is not None]
    return gpus or [host.cpu_product or ""]


def _name_words(name: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", name.lower()))


def _hardware(cell: Any_, side: Side) -> str | None:
    if not isinstance(cell, ImportedCell):
        return ours.host(cell, side)
    told = {"; ".join(run.said("hardware").values()) for run in cell.runs}
    return None if "" in told or not told else " and ".join(sorted(told))


def _notes(control: Any_, treatment: Any_) -> Iterator[str]:
    for name, cell in (("control", control), ("treatment", treatment)):
        failed = [run.event.failed for run in cell.runs]
        if any(failed):
            yield f"{sum(count or 0 for count in failed)} requests of the {name} failed and are no samples"
        if isinstance(cell, ImportedCell):
            if missing := cell.not_said():
                yield f"{name}: its files do not say, or not in words that are published: {', '.join(missing)}"
            findings = (one for run in cell.runs for one in run.event.findings)
            if any(one.finding == "shared_prefix" and "timing" in one.about for one in findings):
                yield f"{name}: by their times prompts seem to have shared a prefix"
        else:
            yield from (f"{name}: {left.name} is left out, {left.words}" for left in cell.left_out)


def _told(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
