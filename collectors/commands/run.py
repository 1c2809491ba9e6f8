"""`anvil run`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path

import click

from anvil.collectors.commands.gates import look_at_gates
from anvil.collectors.endpoints import plain_url
from anvil.collectors.recipes import Attempt, Recipe, load_recipe, parse_recipe
from anvil.collectors.recovery import Recovery
from anvil.collectors.running.holding import FOLDER, held
from anvil.collectors.running.interrupts import Interrupt, Interrupted, interruptible
from anvil.collectors.running.judges import JUDGES
from anvil.collectors.running.launching import launchers
from anvil.collectors.running.narration import Narrator, narrator
from anvil.collectors.running.resuming import Continued, read_run, require_run
from anvil.collectors.running.run import Done, Running, RunPlan, carry_out
from anvil.collectors.running.space import Space
from anvil.collectors.site import Site, load_site
from anvil.collectors.withholding import Secrets
from anvil.ledger.commands.output import answer, answer_json, json_option, place
from anvil.ledger.envelope import Envelope
from anvil.ledger.errors import AnvilError, CollectorError
from anvil.ledger.events import RecipeDeclared, StreamClosed
from anvil.ledger.header import Header, Subject
from anvil.ledger.recording import Ledger
from anvil.ledger.wording import counted

_file = click.Path(path_type=Path, dir_okay=False, exists=True)


@click.command()
@click.argument("recipe", required=False)
@click.option("--site", "site_file", type=_file, help="What belongs to this host (default: anvil-site.toml).")
@click.option("--campaign", help="Record under this campaign instead of the recipe's.")
@click.option(
    "--only", multiple=True, metavar="NAME", help="Only this check, suite or protocol; may be repeated."
)
@click.option(
    "--attempt", "attempts", multiple=True, metavar="KEY", help="Only this attempt; may be repeated."
)
@click.option("--base-url", metavar="URL", help="Test what answers there; launch and stop nothing.")
@click.option("--resume", metavar="STREAM", help="Go on with a run that was interrupted or killed.")
@click.option("--recover", "only_recover", is_flag=True, help="Only collect what a crashed run left behind.")
@click.option("--gates", "only_gates", is_flag=True, help="Only look whether all is as before the campaign.")
@json_option
def run(
    recipe: str | None,
    site_file: Path | None,
    campaign: str | None,
    only: tuple[str, ...],
    attempts: tuple[str, ...],
    base_url: str | None,
    resume: str | None,
    only_recover: bool,
    only_gates: bool,
    as_json: bool,
) -> None:
    """Run a recipe: launch, look, check, measure, keep, stop.

    RECIPE is a file, or the name of a recipe that comes with anvil. Every step is an event; what a run
    left behind when it crashed is collected before anything new starts. An engine that cannot be launched
    ends its own attempt alone. Exit code 0: ran to its end, whatever the verdicts; 1: could not; 130, 143 or
    129: ended in order by Ctrl-C, SIGTERM, or because its terminal went away (start it with `nohup` to go on).

    A run that was interrupted or killed is gone on with by --resume and the stream that `anvil status`
    names: by the recipe that it kept, in a new stream that names the old one. What has a verdict and cells that
    are measured are not done again; a cell that was broken off is kept as it is, and done again whole. One process
    at a time does so, and only on the engine that the run was begun on: it is asked who it is before anything goes on.

    \b
    Examples:
      anvil run quickstart
      anvil run mine.toml --site anvil-site.toml --only tools-batch
      anvil run mine.toml --gates
      anvil run --resume 20261130T072613Z-0000000000000003
      anvil run --recover
    """
    _require_one_way(recipe, resume, only_recover=only_recover, others=bool(campaign or only or attempts))
    if only_gates and (recipe is None or only_recover):
        raise click.UsageError("--gates looks at the gates of one RECIPE, and recovers nothing.")
    site = load_site(site_file)
    if only_gates and recipe is not None:
        look_at_gates(
            load_recipe(recipe, JUDGES),
            site,
            campaign,
            as_json=as_json,
        )
        return
    planning: Planning | None = None
    if resume is not None:
        planning = partial(_plan_rest, resume, site, base_url)
    elif recipe is not None:
        known = load_recipe(recipe, JUDGES)
        ready = _plan(known, site, campaign, only, attempts, base_url)
        planning = partial(_as_it_is, ready)
    told = narrator()
    try:
        found, plan, done = asyncio.run(_run(planning, resume, site, told))
    finally:
        told.close()
    failed, others = list(done.not_launched), list(done.other_engines)
    if as_json:
        members = {
            "streams": list(done.streams),
            "recovered": found,
            "not_launched": failed,
            "another_engine": others,
        }
        answer_json("anvil.run/1", members)
    elif plan is None:
        answer(
            f"Collected what {counted(found, 'crashed run')} left."
            if found
            else "No crashed run left anything."
        )
    else:
        but = f", but for {', '.join(failed)}, which could not be launched" if failed else ""
        but += f", but for {', '.join(others)}, where another engine answered" if others else ""
        answer(f"Ran {plan.recipe.name} into campaign {plan.campaign}{but}. See `anvil status`.")


Planning = Callable[[Ledger], RunPlan]
"""Makes the plan when the ledger is open and what crashed runs left is collected."""


def _as_it_is(plan: RunPlan, _: Ledger) -> RunPlan:
    return plan


def _require_one_way(recipe: str | None, resume: str | None, *, only_recover: bool, others: bool) -> None:
    if recipe is None and not only_recover and resume is None:
        raise click.UsageError("Name a RECIPE, or give --resume or --recover.")
    if resume is not None and (recipe is not None or only_recover or others):
        raise click.UsageError(
            "--resume goes on with what its run selected, by the recipe that it kept: give no RECIPE, "
            "--campaign, --attempt, --only or --recover."
        )


def _plan_rest(stream: str, site: Site, base_url: str | None, ledger: Ledger) -> RunPlan:
    """Plan what is left of a run.

    Raises:
        CollectorError: there is no such run, or nothing is left of it.
    """
    continued, recipe, attempt = _rest(ledger, stream)
    if attempt is None:
        raise CollectorError(
            f"nothing is left of the run in stream {stream!r}: all that it selected is finished",
            advice="See `anvil status`.",
        )
    base_url = None if base_url is None else plain_url(base_url)
    return RunPlan(recipe, (attempt,), site, continued.campaign, base_url=base_url, continued=continued)


def _rest(ledger: Ledger, stream: str) -> tuple[Continued, Recipe, Attempt | None]:
    """Return a run, its recipe, and its attempt: None where nothing is left of it.

    Raises:
        CollectorError: there is no such run, another has gone on with it, or its recipe is gone.
    """
    continued = read_run(ledger, stream)
    recipe = parse_recipe(
        continued.recipe, f"the recipe of {stream}", JUDGES, suite_files=continued.suite_files
    )
    attempt = recipe.attempt(continued.attempt)
    return continued, recipe, attempt if attempt is not None and continued.left(attempt) else None


def _require_carried_out(done: Done) -> None:
    """Refuse to call a run done in which no attempt could be carried out.

    Raises:
        CollectorError: none could; the first reason is told.
    """
    failed = [*done.not_launched.values(), *done.other_engines.values()]
    if failed and len(failed) == len(done.streams):
        several = "no attempt could be launched; the first: " if len(failed) > 1 else ""
        raise CollectorError(f"{several}{failed[0]}", advice=failed[0].advice)


def _held(ledger: Ledger, private: Path, resume: str | None) -> AbstractContextManager[None]:
    """Hold the run that is gone on with, before anything of it is looked at.

    Raises:
        CollectorError: there is no such run, or another process holds it.
    """
    if resume is None:
        return nullcontext()
    require_run(ledger, resume)
    return held(private / FOLDER, resume)


async def _run(
    planning: Planning | None, resume: str | None, site: Site, told: Narrator
) -> tuple[int, RunPlan | None, Done]:
    """Recover, plan and carry the plan out; `resume` names the stream of the run that is gone on with.

    Raises:
        Interrupted: a signal ended it, in order.
    """
    ledger_place = place()
    private = ledger_place.directory / "runs"
    with (
        Ledger.open(ledger_place.directory) as ledger,
        _held(ledger, private, resume),
        launchers(private / "spools", site.docker.base_url) as by_name,
        ended_in_order(ledger),
    ):
        journals = private / "journals"
        found = await Recovery(ledger, by_name.values(), journals, Secrets.of(os.environ), told).run()
        if planning is None:
            return found, None, Done((), {})
        plan = planning(ledger)
        if plan.continued is not None:
            told.say(f"going on with {plan.continued.stream}: {plan.selected(plan.attempts[0])} left")
        places = {
            "the ledger": ledger_place.directory,
            "the blob store": ledger_place.blobs,
            "the logs of engines": private / "spools",
            "the loads under way": private / "loads",
        }
        space = Space(places, site.min_free_bytes)
        done = await carry_out(plan, Running(ledger, by_name, told, journals, space))
        _require_carried_out(done)
        return found, plan, done


@contextmanager
def ended_in_order(ledger: Ledger) -> Iterator[None]:
    """Turn a signal into its error, which says whether anything of this command is in the ledger."""
    before, interrupt = ledger.store.size(), Interrupt()
    try:
        with interruptible(interrupt):
            yield
    except asyncio.CancelledError:
        is_recorded = ledger.store.size() > before
        what = "; what it had seen is recorded" if is_recorded else " before anything was recorded"
        advice = _how_to_go_on(ledger, _aborted_since(ledger, before))
        raise Interrupted(f"the run was interrupted{what}", interrupt.number, advice=advice) from None


def _how_to_go_on(ledger: Ledger, streams: list[str]) -> str:
    """Return what to do about runs that were ended early: only what is left is gone on with."""
    left = " and ".join(f"`anvil run --resume {stream}`" for stream in streams if _is_left(ledger, stream))
    if left:
        return f"To go on with it: {left}."
    return "Nothing is left to do: all that it had begun is finished. See `anvil status`." if streams else ""


def _is_left(ledger: Ledger, stream: str) -> bool:
    try:
        return _rest(ledger, stream)[2] is not None
    except AnvilError:
        return False  # as --resume would say; that the run was interrupted is what is told here


def _aborted_since(ledger: Ledger, start: int) -> list[str]:
    """Return the streams of the runs that were ended early, of those that were closed from an index on."""
    runs, found = set(), []
    for row in ledger.store.rows(start, ledger.store.size()):
        header = Header.parse(Envelope.parse(row.entry).header)
        if header.event == RecipeDeclared.event_type:
            runs.add(header.stream)
        elif header.event == StreamClosed.event_type and header.facts.get("outcome") == "aborted":
            found += [header.stream] if header.stream in runs else []
    return found


def _plan(
    recipe: Recipe,
    site: Site,
    campaign: str | None,
    only: tuple[str, ...],
    attempts: tuple[str, ...],
    base_url: str | None,
) -> RunPlan:
    _require_known("attempt", attempts, [a.key for a in recipe.attempts])
    chosen = tuple(a for a in recipe.attempts if not attempts or a.key in attempts)
    selected = [one for a in chosen for one in (*a.checks, *a.suites, *a.protocols)]
    known = [name for one in selected for name in (one.name, one.id)]
    _require_known("check, suite or protocol", only, known)
    if campaign is not None and not Subject.is_label(campaign):
        raise click.BadParameter(
            f"{campaign!r} is no label: small letters, digits, and . _ - after the first"
        )
    if base_url is not None and len(chosen) != 1:
        raise click.UsageError("--base-url tests one attempt; choose it with --attempt KEY.")
    base_url = None if base_url is None else plain_url(base_url)
    return RunPlan(recipe, chosen, site, campaign or recipe.campaign, frozenset(only), base_url)


def _require_known(what: str, asked: tuple[str, ...], known: list[str]) -> None:
    for name in asked:
        if name not in known:
            raise click.BadParameter(
                f"the recipe has no {what} {name!r}; it has {', '.join(dict.fromkeys(known))}"
            )
