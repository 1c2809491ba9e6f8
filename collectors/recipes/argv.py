"""From a block's argv to the one that is passed.

1. What an attempt removes, sets and appends is applied in that order; removing or setting what is not
   there, or is there twice, is a mistake.
2. Placeholders are whole words in braces, from a closed list. Those of the recipe (`{model}`,
   `{revision}`, `{served_model}`) are filled when it is loaded; those of the host (`{port}`,
   `{python}`, `{weights}`) when an attempt is placed. Other braces, as in JSON, are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

RECIPE_PLACEHOLDERS = ("model", "revision", "served_model")
HOST_PLACEHOLDERS = ("port", "python", "weights")

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def remove_sequence(argv: tuple[str, ...], sequence: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return `argv` without the one place where `sequence` stands; None unless there is exactly one."""
    size = len(sequence)
    places = [at for at in range(len(argv) - size + 1) if argv[at : at + size] == sequence]
    return argv[: places[0]] + argv[places[0] + size :] if len(places) == 1 else None


def set_value(argv: tuple[str, ...], flag: str, value: str) -> tuple[str, ...] | None:
    """Return `argv` with another value after `flag`; None unless the flag stands there once, with one."""
    places = [at for at, element in enumerate(argv) if element == flag]
    if len(places) != 1 or places[0] + 1 >= len(argv):
        return None
    return (*argv[: places[0] + 1], value, *argv[places[0] + 2 :])


def fill(argv: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
    """Return `argv` with the placeholders filled that `values` names."""
    return tuple(
        _PLACEHOLDER.sub(lambda match: values.get(match.group(1), match.group(0)), element)
        for element in argv
    )


def placeholders(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that stand in braces in `argv`, in order."""
    return tuple(match.group(1) for element in argv for match in _PLACEHOLDER.finditer(element))
