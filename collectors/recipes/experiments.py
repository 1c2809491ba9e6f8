"""Experiments: which two things each compares, and that they differ in what it names and in nothing else.

1. An experiment compares two attempts (`control` and `attempt`) or two protocols (`control_protocol` and `protocol`).
2. Two attempts are compared as they are resolved (`comparison`).
3. Two protocols are of one kind, some attempt selects both, and no other experiment has either: their runs are
   carried out alternately. What of their parameters may differ the protocols know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from anvil.collectors.recipes.comparison import experiment_complaints
from anvil.collectors.recipes.parts import Experiment, SelectedProtocol
from anvil.collectors.recipes.problems import Complaint, KeyPath
from anvil.collectors.recipes.recipe import Attempt, RecipeFile

JudgePair = Callable[
    [str, Mapping[str, object], Mapping[str, object], Sequence[str]],
    Iterable[tuple[str | None, str, str]],
]
"""Says why two protocols of a kind, by their parameters, differ in more or less than is named: the name in
question or none, what, and what to write."""

_FORMS = (("control", "attempt"), ("control_protocol", "protocol"))


def forms(file: RecipeFile) -> Iterator[Complaint]:
    """Complain of experiments that are not in exactly one of the two forms (rule 1)."""
    for position, item in enumerate(file.experiments):
        at = ("experiments", position)
        given = [[name for name in form if getattr(item, name) is not None] for form in _FORMS]
        names = [name for form in given for name in form]
        if sorted(map(len, given)) != [0, 2]:
            yield Complaint(
                (*at, names[0] if names else "key"),
                f"experiment {item.key!r} compares two attempts or two protocols, and here is "
                f"{' and '.join(names) or 'neither'}",
                "Write either `control` and `attempt`, or `control_protocol` and `protocol`",
            )
        for one, other in _FORMS:
            if getattr(item, one) is not None and getattr(item, one) == getattr(item, other):
                yield Complaint((*at, other), f"`{one}` and `{other}` are the same", "Name two")
        if given[1] and item.protocols:
            yield Complaint(
                (*at, "protocols"), "`protocols` says what two attempts have in common", "Leave it out"
            )


def changes_named(
    file: RecipeFile, attempts: Mapping[str, Attempt], judge: JudgePair | None
) -> Iterator[Complaint]:
    """Complain of experiments in which more differs than they say, or less; without a judge not of protocols'."""
    protocols = {chosen.name: chosen for chosen in file.protocols}
    taken: dict[str, str] = {}
    for position, item in enumerate(file.experiments):
        at: KeyPath = ("experiments", position)
        if item.attempts is not None:
            control, attempt = (attempts[key] for key in item.attempts)
            yield from experiment_complaints(item, control, attempt, at)
        if item.pair is not None:
            one, other = (protocols[name] for name in item.pair)
            yield from _selected(item, attempts.values(), taken, at)
            yield from _pair(item, one, other, at, judge)


def _selected(
    item: Experiment, attempts: Iterable[Attempt], taken: dict[str, str], at: KeyPath
) -> Iterator[Complaint]:
    """Complain of protocols that are never carried out together, or with a third one (rule 3)."""
    pair = item.pair or ()
    if not any({*pair} <= {chosen.name for chosen in attempt.protocols} for attempt in attempts):
        yield Complaint(
            (*at, "protocol"),
            f"no attempt selects both {' and '.join(map(repr, pair))}",
            "Select both in the `protocols` of one attempt",
        )
    for field, name in zip(_FORMS[1], pair, strict=True):
        other = taken.setdefault(name, item.key)
        if other != item.key:
            yield Complaint(
                (*at, field),
                f"{name!r} is in experiment {other!r} already",
                "Select it once more under another `key`: runs are carried out alternately by two",
            )


def _pair(
    item: Experiment,
    control: SelectedProtocol,
    treatment: SelectedProtocol,
    at: KeyPath,
    judge: JudgePair | None,
) -> Iterator[Complaint]:
    only = (*at, "only_change")
    if control.id != treatment.id:
        yield Complaint(
            (*at, "protocol"),
            f"{control.name!r} is {control.id} and {treatment.name!r} is {treatment.id}",
            "Compare two protocols of one kind",
        )
    elif judge is not None:
        for name, what, write in judge(
            control.id, control.parameters, treatment.parameters, item.only_change
        ):
            where = (*only, item.only_change.index(name)) if name in item.only_change else only
            yield Complaint(where, what, write)
