"""`anvil run RECIPE --gates`: whether all is as it was before a campaign."""

from __future__ import annotations

import asyncio

import click

from anvil.collectors.recipes import Recipe
from anvil.collectors.running.interrupts import Interrupt, Interrupted, interruptible
from anvil.collectors.running.narration import Narrator, narrator
from anvil.collectors.running.restoration import check_gates, plan_of
from anvil.collectors.site import Site
from anvil.ledger.commands.output import answer, answer_json, place
from anvil.ledger.events import RestorationChecked
from anvil.ledger.header import Subject
from anvil.ledger.recording import Ledger
from anvil.ledger.wording import counted


def look_at_gates(recipe: Recipe, site: Site, campaign: str | None, *, as_json: bool) -> None:
    """Look at the gates of a recipe now, record each, and exit with 1 when one has not passed.

    Raises:
        CollectorError: the recipe has no gates.
        Interrupted: a signal ended the look.
    """
    if campaign is not None and not Subject.is_label(campaign):
        raise click.BadParameter(
            f"{campaign!r} is no label: small letters, digits, and . _ - after the first"
        )
    told, interrupt = narrator(), Interrupt()
    try:
        events = asyncio.run(_look(recipe, site, campaign or recipe.campaign, told, interrupt))
    except asyncio.CancelledError:
        raise Interrupted("looking at the gates was interrupted", interrupt.number) from None
    finally:
        told.close()
    passed = sum(event.outcome == "passed" for event in events)
    if as_json:
        rows = [{"gate": e.gate, "outcome": e.outcome, "differences": list(e.differences)} for e in events]
        answer_json("anvil.gates/1", {"gates": rows, "passed": passed})
    else:
        answer(f"{passed} of {counted(len(events), 'gate')} {'is' if len(events) == 1 else 'are'} as before.")
    click.get_current_context().exit(0 if passed == len(events) else 1)


async def _look(
    recipe: Recipe, site: Site, campaign: str, told: Narrator, interrupt: Interrupt
) -> list[RestorationChecked]:
    directory = place().directory
    with Ledger.open(directory) as ledger, interruptible(interrupt):
        return await check_gates(plan_of(recipe, site, campaign, directory / "runs", told), ledger)
