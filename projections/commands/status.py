"""`anvil status`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import click

from anvil.ledger.clock import system_clock, timestamp
from anvil.ledger.commands.output import answer, answer_json, json_option, place
from anvil.ledger.places import LedgerPlace
from anvil.ledger.store import Store
from anvil.projections.campaigns import AttemptState, Campaigns, CampaignState, fold
from anvil.projections.commands.conclusions import Conclusions
from anvil.projections.seen import Reading


@click.command()
@click.option("--campaign", help="Only this campaign.")
@click.option("--disk", is_flag=True, help="Show what the ledger takes on disk, and what is free.")
@json_option
def status(campaign: str | None, disk: bool, as_json: bool) -> None:
    """Show campaigns, what is incomplete, and what people concluded.

    What passed, what did not, and why a selected check has no verdict. Observations with the status that their
    evidence has now; caveats and gaps; waivers, what they let pass and until when; decisions, what they rest
    on, and which of them are stale and why.

    \b
    Example:
      anvil status --campaign qwen38
    """
    ledger = place()
    store = Store.open_readonly(ledger.database)
    try:
        _show(Reading(store), campaign, _disk(ledger) if disk else None, as_json=as_json)
    finally:
        store.close()


def _show(reading: Reading, campaign: str | None, usage: dict[str, int] | None, *, as_json: bool) -> None:
    state = fold(reading.events())
    concluded = Conclusions(state, reading.find, timestamp(system_clock()))
    shown = [c for c in state.campaigns.values() if campaign in (None, c.name)]
    if as_json:
        members: dict[str, Any] = {"campaigns": [_members(c, state, concluded) for c in shown]}
        members["disowned"] = state.disowned
        answer_json("anvil.status/1", members if usage is None else {**members, "disk": usage})
        return
    for one in shown:
        _print_campaign(one, state)
        concluded.print(one)
    if state.disowned:
        answer(f"{state.disowned} events of a revoked key are disowned and count for nothing.")
    if not shown and state.campaigns:
        answer(f"There is no campaign {campaign!r}; there are {', '.join(state.campaigns)}.")
    elif not shown:
        answer("No campaign yet. Start one with `anvil run RECIPE`.")
    if usage is not None:
        for name, size in usage.items():
            answer(f"{name:<20} {size:>15,} bytes")


def _print_campaign(campaign: CampaignState, state: Campaigns) -> None:
    recipe = f"  recipe {campaign.recipe}" if campaign.recipe else ""
    answer(f"{campaign.name}{recipe}")
    for key, candidate in campaign.candidates.items():
        revision = f" @ {candidate.revision[:12]}" if candidate.revision else ""
        answer(f"  candidate {key}: {candidate.model}{revision}")
    for attempt in campaign.attempts.values():
        _print_attempt(attempt, state)
    for name in campaign.imports.values():
        answer(f"  imported: {name}")


def _print_attempt(attempt: AttemptState, state: Campaigns) -> None:
    again = f" (launch {attempt.launches})" if attempt.launches > 1 else ""
    answer(f"  attempt {attempt.key}{again}: {_standing(attempt, state)}")
    for name, check in attempt.checks.items():
        why = f"  {check.failure}" if check.failure else ""
        answer(f"    {check.outcome:<12} {name:<24} {check.passed}/{check.expected}{why}")
    for name, why in attempt.incomplete(state.streams).items():
        if name not in attempt.checks:
            answer(f"    {'incomplete':<12} {name:<24} {'-':<3} {why}")


def _standing(attempt: AttemptState, state: Campaigns) -> str:
    if attempt.launch_failure is not None:
        again = " once more" if attempt.launches else ""
        return f"could not be launched{again}: {attempt.launch_failure}"
    if not attempt.launches:
        return "planned"
    if attempt.has_exited:
        code = "" if attempt.exit_code is None else f", exit code {attempt.exit_code}"
        return f"engine exited by itself{code}"
    if attempt.is_ready is False:
        return "never answered"
    ended = state.streams.get(attempt.stream or "")
    if attempt.is_stopped and ended != "aborted":
        return "done"
    return {"open": "running", "aborted": "aborted"}.get(ended or "", "recording lost")


def _members(campaign: CampaignState, state: Campaigns, concluded: Conclusions) -> dict[str, Any]:
    return {
        "name": campaign.name,
        "recipe": campaign.recipe,
        "candidates": {
            key: {"model": c.model, "revision": c.revision, "quantization": c.quantization}
            for key, c in campaign.candidates.items()
        },
        "attempts": {
            attempt.key: {
                "candidate": None if attempt.plan is None else attempt.plan.candidate,
                "standing": _standing(attempt, state),
                "launches": attempt.launches,
                "checks": {
                    name: {
                        "outcome": c.outcome,
                        "passed": c.passed,
                        "expected": c.expected,
                        "failure": c.failure,
                        "entry_hash": c.entry_hash,
                    }
                    for name, c in attempt.checks.items()
                },
                "incomplete": attempt.incomplete(state.streams),
            }
            for attempt in campaign.attempts.values()
        },
        "imports": list(campaign.imports.values()),
        **concluded.members(campaign),
    }


def _disk(ledger: LedgerPlace) -> dict[str, int]:
    """Return what the ledger and its artifacts take, and what is free where each lies."""
    database = sum(p.stat().st_size for p in ledger.directory.glob("ledger.db*"))
    blobs = _size_below(ledger.blobs)
    free, elsewhere = (shutil.disk_usage(where).free for where in (ledger.directory, ledger.blobs))
    return {"database": database, "artifacts": blobs, "free": free, "free_for_artifacts": elsewhere}


def _size_below(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
