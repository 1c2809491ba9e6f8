"""From blocks to attempts: nothing inherited is left, and every reference is followed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from anvil.collectors.endpoints import NO_BLOCK
from anvil.collectors.interface import LogPattern
from anvil.collectors.recipes.argv import fill, remove_sequence, set_value
from anvil.collectors.recipes.blocks import AttemptBlock, EngineBlock
from anvil.collectors.recipes.parts import Candidate, Selected
from anvil.collectors.recipes.recipe import Attempt, RecipeFile

SelectedT = TypeVar("SelectedT", bound=Selected)


def attempt_argv(block: AttemptBlock, engine: EngineBlock, candidate: Candidate) -> tuple[str, ...]:
    """Return the attempt's argv with the recipe's placeholders filled.

    A change that does not fit is left out here; `consistency` complains of it.
    """
    argv = engine.argv if block.argv is None else block.argv
    if block.argv_remove:
        argv = remove_sequence(argv, block.argv_remove) or argv
    for flag, value in block.argv_set.items():
        argv = set_value(argv, flag, value) or argv
    return fill(argv + block.argv_append, _values(block, candidate))


def _values(block: AttemptBlock, candidate: Candidate) -> Mapping[str, str]:
    values = {"model": candidate.model, "served_model": block.served_model}
    return values if candidate.revision is None else {**values, "revision": candidate.revision}


def resolve_attempt(file: RecipeFile, block: AttemptBlock) -> Attempt:
    """Return one attempt, whole.

    Raises:
        KeyError: it names a candidate or an engine that is not there.
    """
    engine, candidate = file.engines[block.engine], file.candidates[block.candidate]
    return Attempt(
        key=block.key,
        candidate=block.candidate,
        model=candidate,
        engine=engine.engine,
        launcher=engine.launcher,
        argv=attempt_argv(block, engine, candidate),
        served_model=block.served_model,
        port=engine.port,
        placement=block.placement,
        side_by_side=block.side_by_side,
        image=engine.image,
        image_id=engine.image_id,
        entrypoint=engine.entrypoint,
        version=engine.version,
        revision=engine.revision,
        cuda=engine.cuda,
        recipe_revision=engine.recipe_revision,
        env={**engine.env, **block.env},
        env_names=engine.env_names,
        container=engine.container,
        endpoint=engine.endpoint or NO_BLOCK,
        log_patterns={name: LogPattern(re.compile(text)) for name, text in engine.log_patterns.items()},
        settings={**engine.settings, **block.settings},
        checks=_selected(file.checks, block.checks),
        suites=_selected(file.suites, block.suites),
        protocols=_selected(file.protocols, block.protocols),
        deadlines=file.deadlines,
        on_exit=file.on_exit,
    )


def _selected(known: Sequence[SelectedT], wanted: Sequence[str] | None) -> tuple[SelectedT, ...]:
    """Return what an attempt selects, in the recipe's order."""
    return tuple(item for item in known if wanted is None or item.name in wanted)
