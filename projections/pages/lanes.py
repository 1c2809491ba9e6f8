"""The summary of lanes and experiments as a page reads it.

1. Lanes stand side by side in each load cell that two of them have, or one.
2. An experiment stands beside each lane that has a figure of the same name. Which of them is its control is said
   where the document names it, and not otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from anvil.projections.pages.comparisons import Comparison, beside
from anvil.projections.pages.matrix import Cell, judged, matrix
from anvil.projections.pages.metrics import metric
from anvil.projections.pages.outline import outline
from anvil.projections.pages.seen import seen
from anvil.projections.pages.verdicts import NOT_TAKEN, explained
from anvil.projections.pages.view import Shown, items, members

_WORDS = ("functional_checks", "repeated_quality")
_ELSEWHERE = ("gaps", "observations", "setting_experiments")
_CORPUS = ("corpus_sha256", "attempts", "passed")


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


def parts(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the layout prints besides the document's leaves."""
    lanes = {key: value for key, value in document["baseline"].items() if key != "shared"}
    experiments = [
        _experiment(key, value, lanes) for key, value in members(document["setting_experiments"]).items()
    ]
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
        "comparisons": list(_cells(lanes)),
        "ladder": [(key, _rungs(lane)) for key, lane in lanes.items() if _rungs(lane)],
        "matrix": matrix(_outcomes(lanes, document["setting_experiments"])),
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
    name: str, experiment: Mapping[str, Any], lanes: Mapping[str, Mapping[str, Any]]
) -> Experiment:
    own = {key: value for key, value in experiment.items() if isinstance(value, Shown)}
    measured = {key: value for key, value in own.items() if metric(key) is not None}
    facts = tuple((key, value) for key, value in own.items() if key not in measured)
    within = {key: value for key, value in experiment.items() if isinstance(value, Mapping)}
    against = {key: _of_the_same_name(lane, measured) for key, lane in lanes.items()}
    columns = {f"with {name}": measured, **{key: value for key, value in against.items() if value}}
    found = [beside(name, columns)] if measured else []
    return Experiment(name, facts, (*found, *([beside(name, within)] if within else ())))


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
    named = {f"with {key}": _said(value) for key, value in members(experiments).items()}
    return {**columns, **{key: cells for key, cells in named.items() if cells}}


def _said(tested: Mapping[str, Any]) -> dict[str, Cell]:
    return {name.replace("_", " "): judged(tested[name]) for name in _WORDS if name in tested}


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
