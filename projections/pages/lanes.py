"""The summary of lanes and experiments as a page reads it.

1. Lanes stand side by side in each load cell that two of them have, or one.
2. An experiment stands beside its control, where the document or the rule of what it changes names that, and beside
   nothing else; else beside each lane that has a figure of the same name.
3. What the evidence limit says of an experiment stands with it, beside what people note of it: where the two do not
   agree, a reader sees it.
4. A size that an experiment passed stands among what passed; a ladder of which the document prints no rungs is told in
   a sentence below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anvil.projections.pages import answers
from anvil.projections.pages.comparisons import Comparison, beside
from anvil.projections.pages.limits import about, ladders, loads
from anvil.projections.pages.matrix import Cell, Matrix, judged, listed, matrix
from anvil.projections.pages.metrics import metric
from anvil.projections.pages.outline import outline
from anvil.projections.pages.seen import seen
from anvil.projections.pages.setup import copies, differing
from anvil.projections.pages.verdicts import NOT_TAKEN, explained
from anvil.projections.pages.view import Shown, items, members

_WORDS = ("functional_checks", "repeated_quality")
_ELSEWHERE = ("gaps", "observations", "setting_experiments")
_CORPUS = ("corpus_sha256", "attempts", "passed")
_CONTROL = re.compile(r"^the settings that differ from the control, (\S+)$")
_CONTEXT = re.compile(r"^context of ([0-9]+) tokens$")
_PASSED = "actual_prompt_tokens_passed"


@dataclass(frozen=True)
class Rung:
    """One size of a ladder: three figures of the document."""

    size: Shown
    time: Shown
    outcome: Cell


@dataclass(frozen=True)
class Experiment:
    """One change: what is said of it, and its figures beside those of the same name."""

    name: str
    facts: tuple[tuple[str, Shown], ...]
    comparisons: tuple[Comparison, ...]
    control: str
    """Empty where it is not known (rule 2)."""
    told: tuple[str, ...]
    """What the evidence limit says of it (rule 3)."""

    @property
    def names_control(self) -> bool:
        """Whether the document itself names its control."""
        return any(key == "control" and not value.is_null for key, value in self.facts)

    @property
    def lines(self) -> tuple[answers.Line, ...]:
        """Its speeds in lines."""
        every = (line for one in self.comparisons for line in answers.of_comparison(one))
        return tuple(line for line in every if line.is_speed)


def parts(document: Mapping[str, Any], limits: Sequence[str] = ()) -> dict[str, Any]:
    """Return what the layout prints besides the document's leaves."""
    lanes = {key: value for key, value in document["baseline"].items() if key != "shared"}
    tried = members(document["setting_experiments"])
    columns = {**lanes, **{f"with {key}": value for key, value in tried.items()}}
    experiments = [_experiment(key, value, lanes, columns, limits) for key, value in tried.items()]
    comparisons = list(_cells(lanes))
    told_of = {one.name: loads(one.name, limits) for one in comparisons}
    rungs = {key: _rungs(lane) for key, lane in lanes.items() if _rungs(lane)}
    rest = {key: value for key, value in document.items() if key not in _ELSEWHERE}
    rest["baseline"] = {
        "shared": document["baseline"]["shared"],
        **{key: dict(_left_over(value)) for key, value in lanes.items()},
    }
    if isinstance(document["setting_experiments"], Shown):
        rest["setting_experiments"] = document["setting_experiments"]
    decisions = (
        document["decision"],
        *(fact for one in experiments for name, fact in one.facts if name == "decision"),
    )
    return {
        "order": (*lanes, *(f"with {one.name}" for one in experiments)),
        "verdicts": explained(figure.text for figure in decisions),
        "is_taken": not any(word in NOT_TAKEN for word, _ in explained([document["decision"].text])),
        "lanes": tuple(lanes),
        "models": [
            (key, value["repo"])
            for key, value in members(document["checkpoints"]).items()
            if isinstance(value, Mapping)
        ],
        "comparisons": comparisons,
        "answers": [
            *(line for one in comparisons for line in answers.of_comparison(one)),
            *answers.of_ladders({key: [(one.size, one.time) for one in each] for key, each in rungs.items()}),
        ],
        "told_of": told_of,
        "besides": [sentence for sentences in told_of.values() for sentence in sentences],
        "copies": copies(document["hardware"]["topology"]),
        "differing": differing(lanes),
        "ladder": list(rungs.items()),
        "ladders_elsewhere": ladders(limits, rungs),
        "matrix": _by_size(matrix(_outcomes(lanes, document["setting_experiments"]))),
        "experiments": experiments,
        "caveats": list(_caveats(lanes)),
        "observations": seen(document),
        "rest": outline(rest, level=3),
    }


def _cells(lanes: Mapping[str, Mapping[str, Any]]) -> Iterator[Comparison]:
    """Yield the lanes side by side in each load cell (rule 1)."""
    names = dict.fromkeys(
        name for lane in lanes.values() for name, value in lane.items() if _is_cell(name, value)
    )
    for name in names:
        yield beside(name, {key: lane[name] for key, lane in lanes.items() if name in lane})


def _experiment(
    name: str,
    experiment: Mapping[str, Any],
    lanes: Mapping[str, Mapping[str, Any]],
    columns: Mapping[str, Mapping[str, Any]],
    limits: Sequence[str],
) -> Experiment:
    own = {key: value for key, value in experiment.items() if isinstance(value, Shown)}
    measured = {key: value for key, value in own.items() if metric(key) is not None}
    facts = tuple((key, value) for key, value in own.items() if key not in measured)
    within = {key: value for key, value in experiment.items() if isinstance(value, Mapping)}
    control = _control(own)
    called = next((key for key in (control, f"with {control}") if key in columns), None)
    against = lanes if called is None else {called: columns[called]}
    found = {key: _of_the_same_name(value, measured) for key, value in against.items()}
    shown = {f"with {name}": measured, **{key: value for key, value in found.items() if value}}
    comparisons = [beside(name, shown)] if measured else []
    comparisons += [beside(name, within)] if within else []
    return Experiment(name, facts, tuple(comparisons), control, about(name, limits))


def _control(own: Mapping[str, Shown]) -> str:
    """Return the control of an experiment; empty where nothing names it (rule 2)."""
    named, change = own.get("control"), own.get("only_change")
    if named is not None and not named.is_null:
        return named.text
    found = None if change is None else _CONTROL.match(change.rule)
    return found[1] if found else ""


def _of_the_same_name(lane: Mapping[str, Any], wanted: Mapping[str, Shown]) -> dict[str, Shown]:
    """Return the figures of a lane that have a wanted name (rule 2), its own before those of its load cells."""
    own = {key: value for key, value in lane.items() if isinstance(value, Shown)}
    for name, value in lane.items():
        if _is_cell(name, value):
            own = {**value, **own}
    return {key: own[key] for key in wanted if key in own}


def _rungs(lane: Mapping[str, Any]) -> list[Rung]:
    return [Rung(r["actual_prompt_tokens"], r["ttft_s"], judged(r["status"])) for r in items(lane["context"])]


def _outcomes(lanes: Mapping[str, Mapping[str, Any]], experiments: Any) -> dict[str, dict[str, Cell]]:
    columns = {key: _said(lane) for key, lane in lanes.items()}
    for key, lane in lanes.items():
        for rung in _rungs(lane):
            columns[key][f"context of {rung.size.text} tokens"] = rung.outcome
        for name, value in lane.get("multimodal", {}).items():
            if name not in _CORPUS:
                columns[key][f"multimodal {name}"] = judged(value)
    named = {f"with {key}": {**_said(value), **_passed(value)} for key, value in members(experiments).items()}
    return {**columns, **{key: cells for key, cells in named.items() if cells}}


def _by_size(made: Matrix) -> Matrix:
    """Return a matrix with its contexts together, the shortest first, where the first of them stood."""
    sizes = {row: int(found[1]) for row in made.rows if (found := _CONTEXT.match(row[0]))}
    rows = [row for row in made.rows if row not in sizes]
    at = next((number for number, row in enumerate(made.rows) if row in sizes), 0)
    return Matrix(made.columns, (*rows[:at], *sorted(sizes, key=sizes.__getitem__), *rows[at:]))


def _said(tested: Mapping[str, Any]) -> dict[str, Cell]:
    return {name.replace("_", " "): judged(tested[name]) for name in _WORDS if name in tested}


def _passed(experiment: Mapping[str, Any]) -> dict[str, Cell]:
    """Return the size that an experiment passed, which the document states without an outcome (rule 4)."""
    size = experiment.get(_PASSED)
    if not isinstance(size, Shown) or size.is_null:
        return {}
    return {f"context of {size.text} tokens": listed(size)}


def _caveats(lanes: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Shown]]:
    for key, lane in lanes.items():
        for name in ("caveat", "warning", "retained_failure"):
            if name in lane:
                yield key, lane[name]


def _left_over(lane: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what is shown nowhere else: the settings, what the engine reports, the corpus."""
    for name, value in lane.items():
        if name == "multimodal":
            yield name, {key: value[key] for key in _CORPUS if key in value}
        elif (
            name not in _WORDS
            and not _is_cell(name, value)
            and (name != "context" or isinstance(value, Shown))
        ):
            yield name, value


def _is_cell(name: str, value: Any) -> bool:
    return isinstance(value, Mapping) and name != "multimodal"
