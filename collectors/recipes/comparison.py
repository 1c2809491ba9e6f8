"""What an experiment between two attempts may compare: what `only_change` names differs, and nothing else.

1. A name is a field of the attempt (`FIELDS`), `env.NAME` or `endpoint.NAME`, a flag (``--name``), or else a
   setting. ``settings.NAME`` is a setting too, for one that is called like a field.
2. Whatever differs has to be named, and whatever is named has to differ.
3. Fields are compared as they are resolved. A candidate is its model, revision, quantization and package, whatever
   its key; how its thinking is switched is `thinking`. The served name and ports may differ: they are how requests
   find the lane. So may checks, suites, protocols, log patterns, and what runs beside: nothing is launched
   or asked otherwise by them.
4. Another `engine` is another launcher, image, entrypoint, version and command line too, and another `image` another
   version: these need not be named then.
5. Without the flags of the settings that are named, and without the flags that are named themselves, both argv are
   equal, element by element, unless `argv` is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from anvil.collectors.recipes.flags import FLAGS, without_flags
from anvil.collectors.recipes.parts import Experiment
from anvil.collectors.recipes.problems import Complaint, KeyPath
from anvil.collectors.recipes.recipe import Attempt


def _candidate(attempt: Attempt) -> object:
    model = attempt.model
    return (model.model, model.revision, model.quantization, model.package, model.weights)


FIELDS: Mapping[str, Callable[[Attempt], object]] = {
    "candidate": _candidate,
    "thinking": lambda attempt: attempt.thinking,
    "engine": lambda attempt: attempt.engine,
    "launcher": lambda attempt: attempt.launcher,
    "image": lambda attempt: (attempt.image, attempt.image_id),
    "entrypoint": lambda attempt: attempt.entrypoint,
    "version": lambda attempt: (attempt.version, attempt.revision, attempt.cuda, attempt.recipe_revision),
    "argv": lambda attempt: _argv(attempt),  # noqa: PLW0108 - it is defined below
    "env_names": lambda attempt: frozenset(attempt.env_names),
    "container": lambda attempt: attempt.container,
    "placement": lambda attempt: attempt.placement,
}
"""What an experiment may change, besides settings, flags, variables and the endpoint."""

_FOLLOWS: Mapping[str, tuple[str, ...]] = {
    "engine": ("launcher", "image", "entrypoint", "version", "argv"),
    "image": ("version",),
}
"""What goes with a field that is named (rule 4)."""

_SERVED_NAME = ("--served-model-name", "--alias")
_ENDPOINT = ("via", "media_part", "api_key_env", "headers_env")
"""How a lane is reached; where it is says nothing of it."""


def experiment_complaints(
    item: Experiment, control: Attempt, attempt: Attempt, at: KeyPath
) -> Iterator[Complaint]:
    """Complain of whatever differs and is not named, or is named and does not differ (rule 2)."""
    named = frozenset(_full(name) for name in item.only_change)
    left, right = dict(_compared(control)), dict(_compared(attempt))
    differing = {name for name in {*left, *right} if left.get(name) != right.get(name)}
    followed = {name for one in named for name in _FOLLOWS.get(one, ())}
    only = (*at, "only_change")
    for name in sorted(differing - named - followed - {"argv"}):
        called = _called(name)
        yield Complaint(
            only,
            f"{called} differs as well: {_told(left.get(name))} and {_told(right.get(name))}",
            f"Name {called!r} too if it is part of the same change, or make it equal",
        )
    for position, name in enumerate(item.only_change):
        if not name.startswith("-") and _full(name) not in differing:
            yield Complaint(
                (*only, position),
                f"{name} does not differ between {control.key!r} and {attempt.key!r}",
                f"Leave it out, or change it in {attempt.key!r}",
            )
    if "argv" not in named | followed:
        yield from _argv_complaints(item, control, attempt, only)


def _argv_complaints(
    item: Experiment, control: Attempt, attempt: Attempt, at: KeyPath
) -> Iterator[Complaint]:
    """Complain of elements that belong to nothing that is named (rule 5), and of flags that are the same."""
    table = FLAGS.get(control.engine, {})
    full = [_full(name) for name in item.only_change]
    settings = [name.removeprefix("settings.") for name in full if name.startswith("settings.")]
    flags = [flag for name in settings if name in table for flag in table[name].flags]
    own = [name for name in item.only_change if name.startswith("-")]
    before, after = _argv(control), _argv(attempt)
    left, right = (without_flags(argv, (*flags, *own)) for argv in (before, after))
    if left != right:
        odd = _odd(left, right)
        yield Complaint(
            at,
            f"argv differs in more: {', '.join(odd[:6]) or 'in its order'}",
            "Make the rest equal, or name the flag in `only_change`",
        )
    for name in own:
        if _values(before, name) == _values(after, name):
            yield Complaint(
                (*at, item.only_change.index(name)),
                f"{name} does not differ between {control.key!r} and {attempt.key!r}",
                f"Leave it out, or change it in {attempt.key!r}",
            )


def _odd(left: tuple[str, ...], right: tuple[str, ...]) -> list[str]:
    """Return what stands on one side only, a flag with both of its values; nothing where only the order differs."""
    if sorted(left) == sorted(right):
        return []
    flags = dict.fromkeys(element for element in (*left, *right) if element.startswith("--"))
    found: list[str] = []
    for flag in flags:
        values = dict.fromkeys(" ".join(_values(side, flag)) for side in (left, right))
        found += [value for value in values if value] if len(values) > 1 else []
    return found or [e for e in (*left, *right) if (e in left) != (e in right)]


def _values(argv: tuple[str, ...], flag: str) -> tuple[str, ...]:
    """Return what `without_flags` takes away: the flag wherever it stands, and its values."""
    kept = list(without_flags(argv, (flag,)))
    taken = []
    for element in argv:
        if kept and element == kept[0]:
            kept.pop(0)
        else:
            taken.append(element)
    return tuple(taken)


def _argv(attempt: Attempt) -> tuple[str, ...]:
    """Return what is passed, with the candidate's own names as placeholders, and without the served name."""
    model = attempt.model
    names = {model.model: "{model}", model.revision or "": "{revision}"}
    passed = without_flags(attempt.argv, _SERVED_NAME)
    return tuple(names.get(element, element) if element else element for element in passed)


def _compared(attempt: Attempt) -> Iterator[tuple[str, Any]]:
    """Yield everything that is compared, by its full name (rule 1). What is absent is not there, or None."""
    for name, of in FIELDS.items():
        yield name, of(attempt)
    for name, value in attempt.settings.items():
        yield f"settings.{name}", value
    for variable, text in attempt.env.items():
        yield f"env.{variable}", text
    for name in _ENDPOINT:
        yield f"endpoint.{name}", getattr(attempt.endpoint, name)


def _full(name: str) -> str:
    """Return the full name of what `only_change` calls so (rule 1)."""
    is_full = name in FIELDS or name.startswith(("env.", "endpoint.", "settings.", "-"))
    return name if is_full else f"settings.{name}"


def _called(name: str) -> str:
    """Return how something is called in `only_change`, as short as it can be."""
    kind, _, rest = name.partition(".")
    return rest if kind == "settings" and _full(rest) == name else name


def _told(value: object) -> str:
    if isinstance(value, tuple | frozenset):
        told = [str(one) for one in value if isinstance(one, str | int)]
        return " ".join(sorted(told) if isinstance(value, frozenset) else told) or "none"
    return "none" if value is None else str(value)
