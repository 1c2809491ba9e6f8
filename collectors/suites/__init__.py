"""Suites: sets of checks that are repeated, ours and those that a user brings as files.

`SUITES` are the built-in ones; `chosen` and `suite_run` are how a run uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from anvil.collectors.checks.parameters import misfits, parse
from anvil.collectors.recipes import FileRefused, SelectedSuite
from anvil.collectors.suites.execution import Obstacle, SuiteRun, suite_run
from anvil.collectors.suites.external import read_suite
from anvil.collectors.suites.intelligence import INTELLIGENCE
from anvil.collectors.suites.interface import KEPT_FOR, MAX_NAMES, MAX_REQUESTS, Chosen, Suite
from anvil.collectors.suites.multimodal import multimodal
from anvil.collectors.suites.retrieval import RETRIEVAL
from anvil.collectors.suites.session import SESSION
from anvil.collectors.suites.tool import TOOL_SUITE

__all__ = [
    "KEPT_FOR",
    "MAX_NAMES",
    "MAX_REQUESTS",
    "SUITES",
    "Chosen",
    "Obstacle",
    "Suite",
    "SuiteRun",
    "chosen",
    "complaints_of_suite",
    "suite_run",
]

SUITES: Mapping[str, Callable[[], Suite]] = {
    "intelligence": lambda: INTELLIGENCE,
    "session": lambda: SESSION,
    "tool": lambda: TOOL_SUITE,
    "retrieval": lambda: RETRIEVAL,
    "multimodal": multimodal,
}
"""How each built-in suite is made, by id."""


def chosen(selected: SelectedSuite, content: bytes | None) -> Chosen:
    """Return a suite as a recipe selects it; `content` are the bytes of its file, null for a built-in one.

    Raises:
        CollectorError: a parameter or the file is wrong.
        KeyError: there is no such suite.
    """
    return _chosen(_suite(selected, content), selected)


def _suite(selected: SelectedSuite, content: bytes | None) -> Suite:
    if selected.file is None or content is None:
        return SUITES[selected.id]()
    return read_suite(content, selected.file)


def _chosen(suite: Suite, selected: SelectedSuite) -> Chosen:
    parameters = parse(suite.parameters, suite.id, selected.parameters)
    return Chosen(suite, selected.name, selected.repetitions, selected.required_rate, parameters)


def complaints_of_suite(
    selected: SelectedSuite, content: bytes | None
) -> Iterable[tuple[tuple[str, ...], str, str]]:
    """Yield what is wrong with a suite that a recipe selects: where in its block, what, and what to write."""
    if not 0 < Fraction(selected.required_rate) <= 1:
        yield (
            ("required_rate",),
            f"{selected.required_rate} is no share of repetitions that can be required",
            'Write a decimal above 0 and at most 1: "1.0"',
        )
        return
    if selected.file is None and selected.id not in SUITES:
        own = "for one of your own write `file` too"
        yield ("id",), f"there is no suite {selected.id!r}", f"One of {', '.join(SUITES)}; {own}"
        return
    if selected.file is not None and selected.id in SUITES:
        yield ("file",), f"the suite {selected.id!r} comes with anvil", "Leave it out, or give another `id`"
        return
    try:
        suite = _suite(selected, content)
    except FileRefused as error:
        for problem in error.problems:
            yield ("file",), f"{error.source}:{problem.line}: {problem.what}", problem.write
        return
    yield from _combination(suite, selected)


def _combination(suite: Suite, selected: SelectedSuite) -> Iterable[tuple[tuple[str, ...], str, str]]:
    if suite.id != selected.id:
        yield (
            ("id",),
            f"the file names its suite {suite.id!r}",
            f'Write `id = "{suite.id}"`, and a `key` if need be',
        )
    if selected.digest is not None and suite.source is None:
        yield ("digest",), f"the suite {suite.id!r} is made of no file", "Leave it out"
    elif selected.digest is not None and suite.source and suite.source.digest != selected.digest:
        what = f"the {suite.source.name} that comes with this anvil is another one than {selected.digest}"
        yield ("digest",), what, f'Write `digest = "{suite.source.digest}"` if that is meant'
    wrong = list(misfits(suite.parameters, f"suite {suite.id!r}", selected.parameters))
    for where, what, write in wrong:
        yield ("parameters", *([where] if where else [])), what, write
    if wrong:
        return
    one = _chosen(suite, selected)
    if one.expected_requests > MAX_REQUESTS:
        yield (
            ("repetitions",),
            f"suite {selected.name!r} sends {one.expected_requests} requests, and one event can name {MAX_REQUESTS}",
            "Write fewer repetitions, or split the suite",
        )
    elif one.expected_names > MAX_NAMES:
        what = f"the names of the {one.expected_requests} requests of suite {selected.name!r} have "
        what += f"{one.expected_names} characters, and one event can hold {MAX_NAMES}"
        write = "Give its items shorter ids, write fewer repetitions, or split the suite"
        yield ("repetitions",), what, write
