"""Ledgers of many campaigns to fold and render: what machines record, over and over, of a fixed number of attempts.

Five hundred streams, shared out among campaigns of five attempts each: a hundred campaigns, each attempt launched once,
or one campaign, each attempt launched a hundred times. A stream has a launch, its health, and then results of twenty
checks in turn until the ledger has the events that were asked for. So events grow and attempts do not. Each stream is
signed and appended at once: that is what makes a large ledger quick to build.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ledgers import SHAPE, Site, empty

from anvil.ledger.drafts import Draft
from anvil.ledger.events import CheckCompleted, HealthObserved, LaunchStarted, RecipeDeclared
from anvil.ledger.events.checks import RequestOutcome
from anvil.ledger.events.recipes import DeclaredAttempt, DeclaredCandidate
from anvil.ledger.header import Subject
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import record

CAMPAIGNS, ATTEMPTS, STREAMS, CHECKS = 100, 5, 500, 20
CANDIDATE = "candidate_fp8"
OPENED_AND_CLOSED = 2

_CLAIMED = dict.fromkeys(("prompt_tokens", "completion_tokens"), 200)
_ABSENT = dict.fromkeys(("reasoning_tokens", "cached_tokens", "lenient_passed"))


def qualified(folder: Path, events: int, campaigns: int = CAMPAIGNS) -> Site:
    """Return the site in `folder` with so many events of so many campaigns, made now if it is not there."""
    final = folder / f"qualified-{events}-{campaigns}-{SHAPE}"
    if not final.exists():
        making = folder / f".{final.name}.{os.getpid()}"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            _build(making, events, campaigns)
            making.rename(final)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    site = Site(final, events)
    os.environ.update(site.environment())
    return site


def campaign(number: int) -> str:
    """Return the name of one of the campaigns."""
    return f"campaign-{number}"


def _build(folder: Path, events: int, campaigns: int) -> None:
    site = empty(folder)
    with Ledger.open(site.place.directory) as ledger:
        signer = ledger.signer("collector")
        for number in range(STREAMS):
            launch, attempt = divmod(number, ATTEMPTS)
            name = campaign(launch % campaigns)
            subject = Subject(name, CANDIDATE, f"a{attempt}")
            is_first = attempt == 0 and launch < campaigns
            drafts = [Draft(_recipe(), Subject(name))] if is_first else []
            drafts += [Draft(_launch(), subject), Draft(_health(), subject)]
            share = (events - ledger.store.size()) // (STREAMS - number) - len(drafts) - OPENED_AND_CLOSED
            drafts += [Draft(_check(n), subject) for n in range(share)]
            record(ledger, signer, drafts, purpose="run")


def _recipe() -> RecipeDeclared:
    return RecipeDeclared(
        recipe="bench",
        digest="sha256:" + "0" * 64,
        base_revision=None,
        candidates=(
            DeclaredCandidate(key=CANDIDATE, model="bench/Bench-27B", revision=None, quantization=None),
        ),
        attempts=tuple(
            DeclaredAttempt(
                key=f"a{attempt}",
                candidate=CANDIDATE,
                placement=None,
                launcher="process",
                engine="vllm",
                image=None,
                image_id=None,
                recipe_revision=None,
                settings=(),
                checks=tuple(f"check-{number}" for number in range(CHECKS)),
                suites=(),
                protocols=(),
            )
            for attempt in range(ATTEMPTS)
        ),
        experiments=(),
        continues=None,
        deadline_ready_ns=1_800_000_000_000,
        argv=None,
    )


def _launch() -> LaunchStarted:
    return LaunchStarted(
        launcher="process",
        placement=None,
        image=None,
        image_id=None,
        gpus=1,
        withheld_env=0,
        withheld_argv=0,
        has_launch_evidence=True,
        argv=None,
        env=None,
        identity=None,
    )


def _health() -> HealthObserved:
    return HealthObserved(
        health="unreachable",
        http_status=None,
        is_ready=False,
        ready_after_ns=None,
        cap_field=None,
        detail=None,
    )


def _check(number: int) -> CheckCompleted:
    failed = number % 3 == 0
    outcome = RequestOutcome(
        name="r1",
        outcome="failed" if failed else "passed",
        failure="wrong_value" if failed else None,
        http_status=None,
        finish_reason="stop",
        reasoning_seen=(),
        warnings=(),
        latency_ns=1_234_567_890,
        **_CLAIMED,
        **_ABSENT,
    )
    return CheckCompleted(
        check=f"check-{number % CHECKS}",
        selected_as=f"check-{number % CHECKS}",
        version=1,
        outcome=outcome.outcome,
        failure=outcome.failure,
        expected=1,
        passed=0 if failed else 1,
        requests=(outcome,),
        parameters=(),
        findings=(),
        visible_budget_tokens=256,
        reasoning_budget_tokens=0,
        prompts=(),
        messages=None,
    )
