"""Recipes, from a path or by the name of one that comes with anvil.

A name has no slash and no suffix: ``quickstart`` is `anvil.recipes`' ``quickstart.toml``. Everything
else is a path.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from anvil.collectors.recipes.consistency import JudgeCheck, complaints
from anvil.collectors.recipes.recipe import Recipe, RecipeFile
from anvil.collectors.recipes.resolve import resolve_attempt
from anvil.collectors.recipes.tomlfile import TomlFile, read_toml, validated
from anvil.ledger.errors import CollectorError
from anvil.ledger.files import read_plain

_PACKAGE = "anvil.recipes"
_LONGEST = 1 << 20
_SUFFIX = ".toml"


def packaged_recipes() -> tuple[str, ...]:
    """Return the names of the recipes that come with anvil, sorted."""
    names = (entry.name for entry in files(_PACKAGE).iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)))


def load_recipe(path_or_name: str | Path, judge: JudgeCheck | None = None) -> Recipe:
    """Return a recipe, read, found consistent and resolved.

    `judge` knows which checks there are and what they can be told; without one they are not looked at.

    Raises:
        FileRefused: it is no recipe, or combines what cannot be; each problem has its line and what
            to write instead.
        CollectorError: there is no such file, and no packaged recipe of that name.
    """
    source, content = _content(path_or_name)
    return parse_recipe(content, source, judge)


def parse_recipe(content: bytes, source: str, judge: JudgeCheck | None = None) -> Recipe:
    """Return the recipe that these bytes are; `source` is how its problems name the file.

    Raises:
        FileRefused: as for `load_recipe`.
    """
    toml = read_toml(content, source, "recipe")
    file = validated(toml, RecipeFile)
    toml.refuse(complaints(file, judge))
    return _recipe(toml, file)


def _recipe(toml: TomlFile, file: RecipeFile) -> Recipe:
    return Recipe(
        name=file.name,
        campaign=file.campaign,
        about=file.about,
        digest=toml.digest,
        content=toml.content,
        hardware=file.hardware,
        candidates=dict(file.candidates),
        attempts=tuple(resolve_attempt(file, block) for block in file.attempts),
        experiments=file.experiments,
        restoration=file.restoration,
        deadlines=file.deadlines,
    )


def _content(path_or_name: str | Path) -> tuple[str, bytes]:
    """Return how the file is called, and its bytes."""
    name = str(path_or_name)
    if isinstance(path_or_name, str) and "/" not in name and not name.endswith(_SUFFIX):
        if name not in packaged_recipes():
            raise CollectorError(
                f"there is no packaged recipe {name!r}",
                advice=f"There are: {', '.join(packaged_recipes())}. A file is named with its path: ./{name}.toml",
            )
        return f"{name}{_SUFFIX}", (files(_PACKAGE) / f"{name}{_SUFFIX}").read_bytes()
    try:
        content = read_plain(Path(name), _LONGEST)
    except OSError as error:
        raise CollectorError(
            f"the recipe {name!r} cannot be read: {error.strerror}",
            advice=f"Name a file, or one of: {', '.join(packaged_recipes())}.",
        ) from error
    return name, content
