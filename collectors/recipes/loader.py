"""Recipes, from a path or by the name of one that comes with anvil.

A name has no slash and no suffix: ``quickstart`` is `anvil.recipes`' ``quickstart.toml``. Everything
else is a path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from anvil.collectors.recipes.consistency import JudgeCheck, complaints
from anvil.collectors.recipes.experiments import JudgePair
from anvil.collectors.recipes.protocols import JudgeProtocol
from anvil.collectors.recipes.recipe import Recipe, RecipeFile
from anvil.collectors.recipes.resolve import resolve_attempt
from anvil.collectors.recipes.suitefiles import JudgeSuite, SuiteFiles, suite_complaints
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


@dataclass(frozen=True)
class Judges:
    """Who knows which checks, protocols and suites there are, and what each can be told.

    `pair` knows what two protocols of an experiment may differ in. What nobody knows is not looked at.
    """

    check: JudgeCheck | None = None
    protocol: JudgeProtocol | None = None
    suite: JudgeSuite | None = None
    pair: JudgePair | None = None


NOBODY = Judges()


def load_recipe(path_or_name: str | Path, judges: Judges = NOBODY) -> Recipe:
    """Return a recipe, read, found consistent and resolved.

    Raises:
        FileRefused: it is no recipe, or combines what cannot be; each problem has its line and what
            to write instead.
        CollectorError: there is no such file, and no packaged recipe of that name.
    """
    source, content = _content(path_or_name)
    directory = None if source != str(path_or_name) else Path(source).parent
    return parse_recipe(content, source, judges, directory=directory)


def parse_recipe(
    content: bytes,
    source: str,
    judges: Judges = NOBODY,
    *,
    directory: Path | None = None,
    suite_files: Mapping[str, bytes] | None = None,
) -> Recipe:
    """Return the recipe that these bytes are; `source` is how its problems name the file.

    `directory` is the recipe's folder, where the files of its suites are looked for; of a run that is continued
    they are at hand as `suite_files`.

    Raises:
        FileRefused: as for `load_recipe`.
    """
    toml = read_toml(content, source, "recipe")
    file = validated(toml, RecipeFile)
    suites = SuiteFiles(file, directory, suite_files or {})
    found = complaints(file, judges.check, judges.protocol, judges.pair)
    toml.refuse([*found, *suites.complaints, *suite_complaints(file, suites, judges.suite)])
    return _recipe(toml, file, suites)


def _recipe(toml: TomlFile, file: RecipeFile, suites: SuiteFiles) -> Recipe:
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
        base_revision=file.base_revision,
        suite_files=suites.content,
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
