"""What an experiment may compare: two attempts that differ in one named thing.

1. Candidate, engine, image, placement, environment, checks and endpoint are the same.
2. The settings that differ are exactly those that `only_change` names.
3. Without the flags of those settings, and without the flags that `only_change` names itself, both
   argv are equal, element by element. The served name may differ: it is how requests find the lane.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from anvil.collectors.recipes.flags import FLAGS, without_flags
from anvil.collectors.recipes.parts import Experiment
from anvil.collectors.recipes.problems import Complaint, KeyPath
from anvil.collectors.recipes.recipe import Attempt

_SAME = (
    "candidate",
    "engine",
    "launcher",
    "image",
    "image_id",
    "placement",
    "entrypoint",
    "env",
    "env_names",
)
_SERVED_NAME = ("--served-model-name", "--alias")


def experiment_complaints(
    item: Experiment, control: Attempt, attempt: Attempt, at: KeyPath
) -> Iterator[Complaint]:
    """Complain of whatever differs and is not named, or is named and does not differ."""
    for name in _SAME:
        if getattr(control, name) != getattr(attempt, name):
            yield Complaint(
                at,
                f"{control.key!r} and {attempt.key!r} differ in {name} as well",
                "Make them equal: an experiment has one change",
            )
    named = [name for name in item.only_change if not name.startswith("-")]
    differing = differing_settings(control.settings, attempt.settings)
    for name in sorted(differing - set(named)):
        yield Complaint(
            (*at, "only_change"),
            f"setting {name} differs as well: {control.settings.get(name)} and {attempt.settings.get(name)}",
            f"Name {name!r} too if it is part of the same change, or make it equal",
        )
    for name in sorted(set(named) - differing):
        yield Complaint(
            (*at, "only_change"), f"setting {name} does not differ", "Change it in the attempt's `settings`"
        )
    yield from _argv(item, control, attempt, at)


def _argv(item: Experiment, control: Attempt, attempt: Attempt, at: KeyPath) -> Iterator[Complaint]:
    table = FLAGS.get(control.engine, {})
    flags = [flag for name in item.only_change if name in table for flag in table[name].flags]
    flags += [name for name in item.only_change if name.startswith("-")]
    left = without_flags(control.argv, (*flags, *_SERVED_NAME))
    right = without_flags(attempt.argv, (*flags, *_SERVED_NAME))
    if left != right:
        odd = [e for e in (*left, *right) if (e in left) != (e in right)]
        yield Complaint(
            (*at, "only_change"),
            f"argv differs in more: {' '.join(odd[:6]) or 'in its order'}",
            "Make the rest equal, or name the flag in `only_change`",
        )


def differing_settings(left: Mapping[str, object], right: Mapping[str, object]) -> set[str]:
    """Return the names of settings that are not the same in both, absent ones included."""
    return {name for name in {*left, *right} if left.get(name) != right.get(name)}
