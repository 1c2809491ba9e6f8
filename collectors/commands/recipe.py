"""`anvil recipe`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from anvil.collectors.recipes import Attempt, Recipe, load_recipe
from anvil.collectors.running.judges import JUDGES, foreseen
from anvil.collectors.site import Site, load_site
from anvil.ledger.commands.output import answer, answer_exactly, answer_json, json_option, visible
from anvil.ledger.wording import counted


@click.group()
def recipe() -> None:
    """Check a recipe, or show what it would run.

    FILE is a path, or the name of a recipe that comes with anvil: quickstart.
    """


@recipe.command()
@click.argument("file")
@json_option
def check(file: str, as_json: bool) -> None:
    """Say whether FILE can be run; what is wrong has its line and what to write instead.

    A selected check that lacks what it needs for a verdict is warned of; the recipe can be run all the same.

    \b
    Example:
      anvil recipe check recipes/mine.toml
    """
    found = load_recipe(file, JUDGES)
    warnings = [
        (attempt.key, lack) for attempt in found.attempts for lack in foreseen(attempt, attempt.checks)
    ]
    if as_json:
        attempts = [attempt.key for attempt in found.attempts]
        members = {
            "name": found.name,
            "campaign": found.campaign,
            "digest": found.digest,
            "attempts": attempts,
            "warnings": [{"attempt": key, **vars(lack)} for key, lack in warnings],
        }
        answer_json("anvil.recipe.check/1", members)
        return
    checks = len({check.name for attempt in found.attempts for check in attempt.checks})
    suites = len({suite.name for attempt in found.attempts for suite in attempt.suites})
    measured = len({chosen.name for attempt in found.attempts for chosen in attempt.protocols})
    answer(
        f"{found.name}: {counted(len(found.attempts), 'attempt')}, {counted(checks, 'check')}, "
        f"{counted(suites, 'suite')}, {counted(measured, 'protocol')}, "
        f"{counted(len(found.experiments), 'experiment')}"
    )
    answer(f"digest {found.digest}")
    for lack in dict.fromkeys(lack for _, lack in warnings):
        keys = ", ".join(key for key, other in warnings if other == lack)
        answer(f"warning: {lack.name} of {keys} will end as prerequisite_failed: {lack.why}. {lack.write}.")


@recipe.command()
@click.argument("file")
@click.option("--attempt", "keys", multiple=True, metavar="KEY", help="Only this attempt; may be repeated.")
@click.option(
    "--site",
    "site_file",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Fill in what belongs to this host.",
)
@json_option
def show(file: str, keys: tuple[str, ...], site_file: Path | None, as_json: bool) -> None:
    """Show what FILE would launch: each attempt's argv, one element a line, nothing inherited left.

    \b
    Example:
      anvil recipe show qwen38-27b-vllm-262k --attempt fp8-text-mtp3
    """
    found = load_recipe(file, JUDGES)
    for key in keys:
        if found.attempt(key) is None:
            known = ", ".join(attempt.key for attempt in found.attempts)
            raise click.BadParameter(f"{key!r} is none of {known}", param_hint="--attempt")
    site = load_site(site_file) if site_file else None
    chosen = [_placed(site, a) for a in found.attempts if not keys or a.key in keys]
    if as_json:
        answer_json("anvil.recipe.show/1", _members(found, chosen))
    else:
        for source in _sources(found):
            answer(f"{source}\n")
        for position, attempt in enumerate(chosen):
            answer(f"\n{_text(attempt)}" if position else _text(attempt))
            answer_exactly("\n".join(f"    {visible(element)}" for element in attempt.argv))


def _placed(site: Site | None, attempt: Attempt) -> Attempt:
    """Return the attempt with the host's own filled in, as far as that is known before a run."""
    return attempt if site is None else site.place(attempt, weights=Path("{weights}"))


def _members(found: Recipe, attempts: list[Attempt]) -> dict[str, Any]:
    return {
        "name": found.name,
        "digest": found.digest,
        "base_revision": found.base_revision,
        "attempts": [
            {
                "key": attempt.key,
                "candidate": attempt.candidate,
                "model": attempt.model.model,
                "revision": attempt.model.revision,
                "placement": attempt.placement,
                "side_by_side": attempt.side_by_side,
                "launcher": attempt.launcher,
                "engine": attempt.engine,
                "image": attempt.image or attempt.image_id,
                "recipe_revision": attempt.recipe_revision,
                "entrypoint": attempt.entrypoint,
                "argv": list(attempt.argv),
                "env": dict(attempt.env),
                "env_names": list(attempt.env_names),
                "port": attempt.host_port or attempt.port or None,
                "settings": dict(attempt.settings),
                "checks": [check.name for check in attempt.checks],
                "suites": [suite.name for suite in attempt.suites],
                "protocols": [chosen.name for chosen in attempt.protocols],
            }
            for attempt in attempts
        ],
    }


def _sources(found: Recipe) -> list[str]:
    """Return what the recipe says that it builds on, if it says so."""
    return [] if found.base_revision is None else [f"builds on base revision {found.base_revision}"]


def _text(attempt: Attempt) -> str:
    """Return an attempt for people, up to its argv, whose elements stand alone on their lines, as they are passed."""
    lines = [f"{attempt.key}: {attempt.model.model} on {attempt.engine} ({attempt.launcher})"]
    about = {
        "placement": attempt.placement,
        "image": attempt.image or attempt.image_id,
        "follows": attempt.recipe_revision and f"recipe revision {attempt.recipe_revision}",
        "port": attempt.host_port or attempt.port or "a free one, chosen when the run begins",
        "settings": ", ".join(f"{name} {_spell(value)}" for name, value in attempt.settings.items()),
        "checks": ", ".join(check.name for check in attempt.checks),
        "suites": ", ".join(suite.name for suite in attempt.suites),
        "protocols": ", ".join(chosen.name for chosen in attempt.protocols),
        "env": " ".join([*(f"{n}={v}" for n, v in attempt.env.items()), *attempt.env_names]),
    }
    lines += [f"  {name:<10} {visible(str(value))}" for name, value in about.items() if value]
    return "\n".join([*lines, "  argv"])


def _spell(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
