"""The qualification summary as a page reads it: answers first, then figures side by side, then all the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anvil.projections.pages.comparisons import compared
from anvil.projections.pages.importedevidence import SECTION, blocks
from anvil.projections.pages.limits import loads
from anvil.projections.pages.matrix import judged, listed, matrix
from anvil.projections.pages.outline import outline
from anvil.projections.pages.seen import seen
from anvil.projections.pages.setup import copies
from anvil.projections.pages.verdicts import NOT_TAKEN, explained
from anvil.projections.pages.view import Shown, items, members

_FILES = "artifact_safety"
_LONGEST = "near_limit_context"
_SHOWN_FIRST = ("retained_failures_and_caveats", "observations", _LONGEST)


def parts(document: Mapping[str, Any], limits: Sequence[str] = ()) -> dict[str, Any]:
    """Return what the layout prints besides the document's leaves."""
    candidates = members(document["candidates"])
    cells = {key: value for key, value in document.items() if key.startswith("capacity_")}
    comparisons = [
        compared(key, members) for key, members in (*cells.items(), (_LONGEST, document[_LONGEST]))
    ]
    rest = {key: value for key, value in document.items() if key not in (*_SHOWN_FIRST, SECTION, *cells)}
    for name, left in (("functional", _but_checks), ("bounded_quality", _failures)):
        if not isinstance(document[name], Shown):  # an empty one stays: it says that none is recorded
            rest[name] = {key: left(value) for key, value in document[name].items()}
    told_of = {one.name: loads(one.name, limits) for one in comparisons}
    verdicts = explained(one.text for value in candidates.values() for one in items(value["decision"]))
    return {
        "order": tuple(candidates),
        "verdicts": verdicts,
        "is_taken": not any(word in NOT_TAKEN for word, _ in verdicts),
        "comparisons": comparisons,
        "told_of": told_of,
        "besides": [sentence for sentences in told_of.values() for sentence in sentences],
        "copies": copies(document["hardware"]["topology"]),
        "without_difference": [one.name.replace("_", " ") for one in comparisons if not one.differences],
        "matrix": matrix(_outcomes(document)),
        "observations": seen(document),
        "rest": outline(_named(rest), level=3),
        "imported": blocks(document),
    }


def _outcomes(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the checks that are listed for each candidate, then its suites, then the longest prompt."""
    found: dict[str, dict[str, Any]] = {key: {} for key in members(document["candidates"])}
    for key, value in members(document["functional"]).items():
        found.setdefault(key, {}).update({one.text: listed(one) for one in items(value["checks"])})
    for key, value in members(document["bounded_quality"]).items():
        suites = {f"suite {name}": judged(one) for name, one in value.items() if name != "failures"}
        found.setdefault(key, {}).update(suites)
    for key, value in document[_LONGEST].items():
        if isinstance(value, Mapping):
            found.setdefault(key, {})["near the limit of the context"] = judged(value["status"])
    return found


def _named(rest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rest; what is looked at in files has the candidates whose files they are in each of its names."""
    looked = {f"{key}{_whose(value)}": value for key, value in members(rest[_FILES]).items()}
    return {key: looked or value if key == _FILES else value for key, value in rest.items()}


def _whose(value: Any) -> str:
    first = value if isinstance(value, Shown) else next(iter(items(value)), None)
    about = first.about if isinstance(first, Shown) else ()
    return f" ({', '.join(about)})" if about else ""


def _but_checks(tested: Mapping[str, Any]) -> dict[str, Any]:
    """Return all but a list of checks that has members, which stand in the matrix."""
    return {key: one for key, one in tested.items() if key != "checks" or isinstance(one, Shown)}


def _failures(suites: Mapping[str, Any]) -> dict[str, Any]:
    """Return what stands beside the suites, which stand in the matrix."""
    return {"failures": suites["failures"]}
