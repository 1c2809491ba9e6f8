"""`anvil status`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import click

from anvil.ledger.artifacts import disclosures
from anvil.ledger.checks.disclosures import Disclosure
from anvil.ledger.clock import system_clock, timestamp
from anvil.ledger.commands.output import answer, answer_json, json_option, place
from anvil.ledger.events.suites import spell_stability
from anvil.ledger.places import LedgerPlace
from anvil.ledger.store import Store
from anvil.ledger.wording import counted
from anvil.projections.attempts import AttemptState, Runs, SuiteState, numbers
from anvil.projections.campaigns import UNNAMED, Campaigns, CampaignState, fold
from anvil.projections.commands import imports
from anvil.projections.commands.conclusions import Conclusions
from anvil.projections.commands.published import Publications
from anvil.projections.loads import CellState
from anvil.projections.seen import Reading


@click.command()
@click.option("--campaign", help="Only this campaign.")
@click.option("--disk", is_flag=True, help="Show what the ledger takes on disk, and what is free.")
@json_option
def status(campaign: str | None, disk: bool, as_json: bool) -> None:
    """Show campaigns, what is incomplete, and what people concluded.

    Of every run of an attempt: what passed, what did not, and why a selected check has no verdict. A later run
    covers no earlier one. Observations with the status that their evidence has now; caveats and gaps; waivers,
    what they let pass and until when; decisions, what they rest on, and which of them are stale and why. Last,
    what was published, whether it was withdrawn, and what of it no longer holds; and which private artifacts were
    disclosed.

    \b
    Example:
      anvil status --campaign qwen38
    """
    ledger = place()
    store = Store.open_readonly(ledger.database)
    try:
        public = sorted(disclosures(store).values(), key=lambda found: found.index)
        _show(Reading(store), public, campaign, _disk(ledger) if disk else None, as_json=as_json)
    finally:
        store.close()


def _show(
    reading: Reading,
    public: list[Disclosure],
    campaign: str | None,
    usage: dict[str, int] | None,
    *,
    as_json: bool,
) -> None:
    state = fold(reading.events())
    concluded = Conclusions(state, reading.find, timestamp(system_clock()))
    published = Publications(state, reading.find)
    shown = [c for c in state.campaigns.values() if campaign in (None, c.name)]
    if as_json:
        members: dict[str, Any] = {
            "campaigns": [
                {
                    **_members(c, state, concluded),
                    "publications": published.members(c),
                    "disclosed": _disclosed(c, public),
                }
                for c in shown
            ]
        }
        members["disowned"] = state.disowned
        answer_json("anvil.status/1", members if usage is None else {**members, "disk": usage})
        return
    for one in shown:
        _print_campaign(one, state)
        concluded.print(one)
        published.print(one)
        for found in _disclosed(one, public):
            how = "with its bytes" if found["extent"] == "bytes" else "by its digest"
            answer(
                f"  Disclosed {how}: {found['artifact']} of event {found['target']} (event {found['index']})"
            )
    if state.disowned:
        answer(f"{counted(state.disowned, 'event')} of a revoked key: disowned, counting for nothing.")
    if not shown and state.campaigns:
        answer(f"There is no campaign {campaign!r}; there are {', '.join(state.campaigns)}.")
    elif not shown:
        answer("No campaign yet. Start one with `anvil run RECIPE`.")
    if usage is not None:
        for name, size in usage.items():
            answer(f"{name:<20} {size:>15,} bytes")


def _disclosed(campaign: CampaignState, public: list[Disclosure]) -> list[dict[str, Any]]:
    """Return the private artifacts of a campaign that everybody may have, or know the digest of."""
    return [
        {"index": f.index, "target": f.target, "artifact": f.event.artifact, "extent": f.event.extent}
        for f in public
        if (f.subject.campaign or UNNAMED) == campaign.name
    ]


def _print_campaign(campaign: CampaignState, state: Campaigns) -> None:
    recipe = f"  recipe {campaign.recipe}" if campaign.recipe else ""
    answer(f"{campaign.name}{recipe}")
    for key, candidate in campaign.candidates.items():
        revision = f" @ {candidate.revision[:12]}" if candidate.revision else ""
        answer(f"  candidate {key}: {candidate.model}{revision}")
    for runs in campaign.attempts.values():
        _print_runs(runs, state)
    for file in campaign.imports.values():
        imports.show(file)


def _print_runs(runs: Runs, state: Campaigns) -> None:
    for attempt, number in zip(runs, numbers(runs), strict=True):
        is_only = len(runs) == 1 and number in (None, 1)
        which = f"launch {number}" if number is not None else "not launched"
        _print_attempt(attempt, "" if is_only else f" ({which})", state)
        if _can_go_on(attempt, runs, state):
            answer(f"    to go on with it: anvil run --resume {attempt.stream}")


def _can_go_on(attempt: AttemptState, runs: Runs, state: Campaigns) -> bool:
    """Say whether a run was ended early with something left, and no other has gone on with it."""
    was_ended = attempt.ended(state.streams) in ("aborted", "abandoned")
    unjudged = {**attempt.incomplete(state.streams), **attempt.incomplete_suites(state.streams)}
    is_left = bool(unjudged) or not all(cell.is_measured or cell.is_invalid for cell in attempt.cells)
    return was_ended and is_left and all(other.continues != attempt.stream for other in runs)


def _print_attempt(attempt: AttemptState, which: str, state: Campaigns) -> None:
    goes_on = "" if attempt.continues is None else f", goes on with {attempt.continues}"
    answer(f"  attempt {attempt.key}{which}: {_standing(attempt, state)}{goes_on}")
    incomplete = attempt.incomplete(state.streams)
    for name, check in attempt.checks.items():
        reason = check.failure or incomplete.get(name)
        why = f"  {reason}" if reason not in (None, check.outcome) else ""
        answer(f"    {check.outcome:<12} {name:<24} {check.passed}/{check.expected}{why}")
    for name, why in incomplete.items():
        if name not in attempt.checks:
            answer(f"    {'incomplete':<12} {name:<24} {'-':<3} {why}")
    _print_suites(attempt, state)
    for cell in attempt.cells:
        reason = attempt.why_unfinished(state.streams)
        is_told = cell.is_measured or (reason == "aborted" and cell.counted("aborted") > 0)
        ended = "" if is_told else f"  {reason}"
        answer(f"    {_how(cell):<12} {f'{cell.protocol} {cell.cell}':<24} {_came(cell)}{ended}")


def _how(cell: CellState) -> str:
    if cell.is_invalid:
        return "invalid"
    return "measured" if cell.is_measured else "incomplete"


_CANARIES = {"failed": "a canary failed", "unanswered": "a canary got no answer"}


def _came(cell: CellState) -> str:
    """Say what the runs and requests of a cell came to; nothing is left out."""
    completed, failed, expected = cell.requests
    planned = cell.ended if cell.planned is None else cell.planned
    told = [f"{cell.ended}/{planned} runs", f"{completed}/{expected} requests completed"]
    told += [f"{failed} failed"] if failed else []
    for outcome in ("aborted", "void"):
        told += [f"{count} {outcome}"] if (count := cell.counted(outcome)) else []
    told += [_CANARIES[state] for state in cell.bad_canaries]
    return ", ".join(told)


def _print_suites(attempt: AttemptState, state: Campaigns) -> None:
    incomplete = attempt.incomplete_suites(state.streams)
    for name, suite in attempt.suites.items():
        reason = suite.failure or incomplete.get(name)
        said = [spell_stability(suite.is_stable, suite.required_rate)] if suite.items else []
        counts = suite.by_modality()
        if len(counts) > 1:
            said.append(", ".join(f"{kind} {passed}/{of}" for kind, (passed, of) in counts.items()))
        said += [f"{left} incomplete"] if (left := sum(item.incomplete for item in suite.items)) else []
        said += [reason] if reason not in (None, suite.outcome) else []
        answer(
            "  ".join([f"    {suite.outcome:<12} suite {name:<18} {suite.passed}/{suite.expected}", *said])
        )
    for name, why in incomplete.items():
        if name not in attempt.suites:
            answer(f"    {'incomplete':<12} suite {name:<18} {'-':<3} {why}")


def _standing(attempt: AttemptState, state: Campaigns) -> str:
    """Say how far a run came; that its recording was lost is never left out, whatever recovery found."""
    ended = attempt.ended(state.streams)
    came_to = _came_to(attempt)
    if ended == "abandoned":
        return f"{came_to}; recording lost" if came_to else "recording lost"
    if came_to:
        return came_to
    if not attempt.launches:
        return {"aborted": "aborted before its launch"}.get(ended or "", "planned")
    if attempt.is_stopped and ended != "aborted":
        return "done"
    return {"open": "running", "aborted": "aborted"}.get(ended or "", "recording lost")


def _came_to(attempt: AttemptState) -> str | None:
    """Return what ended a run early, as far as it is known; null when nothing did."""
    if attempt.launch_failure is not None:
        again = " once more" if attempt.launches else ""
        return f"could not be launched{again}: {attempt.launch_failure}"
    if attempt.has_exited:
        code = "" if attempt.exit_code is None else f", exit code {attempt.exit_code}"
        return f"engine exited by itself{code}"
    if attempt.is_ready is not False:
        return None
    if attempt.has_answered:
        return "answered, and not with a token"
    return "never generated a token" if attempt.health == "reached" else "never answered"


def _members(campaign: CampaignState, state: Campaigns, concluded: Conclusions) -> dict[str, Any]:
    return {
        "name": campaign.name,
        "recipe": campaign.recipe,
        "candidates": {
            key: {"model": c.model, "revision": c.revision, "quantization": c.quantization}
            for key, c in campaign.candidates.items()
        },
        "attempts": {
            key: [_run_members(run, number, state) for run, number in zip(runs, numbers(runs), strict=True)]
            for key, runs in campaign.attempts.items()
        },
        "imports": [imports.members(file) for file in campaign.imports.values()],
        **concluded.members(campaign),
    }


def _run_members(run: AttemptState, number: int | None, state: Campaigns) -> dict[str, Any]:
    return {
        "candidate": None if run.plan is None else run.plan.candidate,
        "stream": run.stream,
        "standing": _standing(run, state),
        "launch": number,
        "launches": run.launches,
        "checks": {
            name: {
                "outcome": c.outcome,
                "passed": c.passed,
                "expected": c.expected,
                "failure": c.failure,
                "entry_hash": c.entry_hash,
            }
            for name, c in run.checks.items()
        },
        "suites": {name: _suite_members(suite) for name, suite in run.suites.items()},
        "incomplete": run.incomplete(state.streams),
        "incomplete_suites": run.incomplete_suites(state.streams),
        "continues": run.continues,
        "cells": [_cell_members(cell, run, state) for cell in run.cells],
    }


def _suite_members(suite: SuiteState) -> dict[str, Any]:
    return {
        "outcome": suite.outcome,
        "passed": suite.passed,
        "expected": suite.expected,
        "failure": suite.failure,
        "required_rate": suite.required_rate,
        "is_stable": suite.is_stable,
        "purpose": suite.purpose,
        "items": {
            item.item: {
                "modality": item.modality,
                "repetitions": item.repetitions,
                "passed": item.passed,
                "incomplete": item.incomplete,
                "failure": item.failure,
                "is_stable": item.is_stable,
            }
            for item in suite.items
        },
        "modalities": {
            kind: {"passed": passed, "expected": of} for kind, (passed, of) in suite.by_modality().items()
        },
        "entry_hash": suite.entry_hash,
    }


def _cell_members(cell: CellState, run: AttemptState, state: Campaigns) -> dict[str, Any]:
    completed, failed, expected = cell.requests
    return {
        "protocol": cell.protocol,
        "cell": cell.cell,
        "planned_runs": cell.planned,
        "runs": cell.ended,
        "aborted_runs": cell.counted("aborted"),
        "void_runs": cell.counted("void"),
        "completed": completed,
        "failed": failed,
        "expected": expected,
        "is_invalid": cell.is_invalid,
        "incomplete": None if cell.is_measured else run.why_unfinished(state.streams),
        "entry_hashes": [one.entry_hash for one in cell.runs],
    }


def _disk(ledger: LedgerPlace) -> dict[str, int]:
    """Return what the ledger and its artifacts take, and what is free where each lies."""
    database = sum(p.stat().st_size for p in ledger.directory.glob("ledger.db*"))
    blobs = _size_below(ledger.blobs)
    free, elsewhere = (shutil.disk_usage(where).free for where in (ledger.directory, ledger.blobs))
    return {"database": database, "artifacts": blobs, "free": free, "free_for_artifacts": elsewhere}


def _size_below(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
