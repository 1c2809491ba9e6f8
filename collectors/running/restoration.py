"""Restoration around a run: gates recorded before the first launch, and compared after the last stop.

1. All of it is in a stream of its own, which is open as long as the run.
2. What is recorded before stays what later looks are compared with. Only a run that begins when the gate had
   passed records it anew: one that does not would take what it finds half way for what was before. Where it is
   recorded is noted beside the ledger, in `BASELINE`; what counts is the kept state, which the note names by digest.
3. anvil puts nothing back. Gates that fail right after the last stop are looked at again when somebody has:
   `anvil run RECIPE --gates`.
4. An interrupted run does not wait for gates; each is incomplete.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anvil.collectors.cleaning import clean_event
from anvil.collectors.journal import Journal
from anvil.collectors.launchers.containers import ContainerEngine, NoSuchObject
from anvil.collectors.recipes import Recipe
from anvil.collectors.recipes.gates import RestorationGate
from anvil.collectors.recorder import LedgerRecorder
from anvil.collectors.restoration.gates import Gates, compared, not_compared, recorded
from anvil.collectors.restoration.state import State, read_state
from anvil.collectors.running.narration import Narrator
from anvil.collectors.site import Site
from anvil.collectors.withholding import Secrets
from anvil.ledger.drafts import Attachment
from anvil.ledger.errors import AnvilError, CollectorError, LedgerError
from anvil.ledger.events import RestorationChecked
from anvil.ledger.files import make_private_directory, write_whole
from anvil.ledger.header import Subject
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import Stream

PURPOSE = "restoration"
BASELINE = "baseline.json"


@dataclass(frozen=True)
class RestorationPlan:
    """Whose gates are looked at, on which host, for which campaign."""

    recipe: Recipe
    site: Site
    campaign: str
    private: Path
    """The folder beside the ledger where the place of what was before is noted."""
    narrator: Narrator
    environ: Mapping[str, str]

    @property
    def secrets(self) -> Secrets:
        """What must not be kept."""
        named = [
            name
            for place in self.site.restoration.values()
            for name in (place.api_key_env, *place.headers_env.values())
        ]
        return Secrets.of(
            self.environ, [self.environ[name] for name in named if name and self.environ.get(name)]
        )


@asynccontextmanager
async def restoration(plan: RestorationPlan, ledger: Ledger) -> AsyncIterator[None]:
    """Record the gates of a recipe, let the run go on, and compare them; nothing when it has none.

    Raises:
        AnvilError: what was seen could not be kept.
    """
    if not plan.recipe.restoration:
        yield
        return
    async with _recording(plan, ledger) as looks:
        await looks.before()
        try:
            yield
        except Exception:  # whatever became of the run, what is left of it is looked at
            with suppress(AnvilError):
                await looks.after()
            raise
        await looks.after()


async def check_gates(plan: RestorationPlan, ledger: Ledger) -> list[RestorationChecked]:
    """Compare the gates of a recipe with what was recorded before, now.

    Raises:
        CollectorError: the recipe has none.
    """
    if not plan.recipe.restoration:
        raise CollectorError(
            f"the recipe {plan.recipe.name!r} has no restoration gates",
            advice="Write [[restoration]] blocks; docs/recipes.md says how.",
        )
    async with _recording(plan, ledger) as looks:
        return await looks.after()


@asynccontextmanager
async def _recording(plan: RestorationPlan, ledger: Ledger) -> AsyncIterator[_Looks]:
    stream = Stream(ledger, ledger.signer("collector"))
    journal = Journal.create(plan.private / "journals", stream.id)
    engine = ContainerEngine(plan.site.docker.base_url)
    recorder = LedgerRecorder(ledger, stream, journal).about(Subject(plan.campaign))
    looks = _Looks(plan, recorder, ledger, engine)
    stream.open(PURPOSE)
    try:
        yield looks
    except BaseException as error:
        is_interrupted = isinstance(error, asyncio.CancelledError)
        if is_interrupted:
            looks.leave()
        stream.close("interrupted" if is_interrupted else "failed")
        journal.leave()
        raise
    finally:
        engine.close()
    stream.close()
    journal.finish()


@dataclass(frozen=True)
class _Looks:
    """The looks of one stream."""

    plan: RestorationPlan
    recorder: LedgerRecorder
    ledger: Ledger
    engine: ContainerEngine

    async def before(self) -> None:
        """Record each gate, but one that an earlier run of the campaign left otherwise than it was."""
        self.plan.narrator.begin("recording what must be as before")
        states, noted = await self._gates().look(), self._noted()
        for gate in self.plan.recipe.restoration:
            if gate.gate in noted and not noted[gate.gate].get("has_passed"):
                continue
            event = recorded(gate, states[gate.gate], states.get(gate.direct or ""))
            entry, digest = self._append(event, states[gate.gate])
            if event.outcome == "recorded":
                noted[gate.gate] = {"entry": entry, "state": digest}
            self._say(event)
        self._note(noted)

    async def after(self) -> list[RestorationChecked]:
        """Compare each gate with what was recorded before."""
        self.plan.narrator.begin("looking whether all is as before")
        states, noted = await self._gates().look(), self._noted()
        events = []
        for gate in self.plan.recipe.restoration:
            state, (entry, was) = states[gate.gate], self._before(noted, gate)
            event = compared(gate, state, states.get(gate.direct or ""), was, entry)
            self._append(event, state)
            self._say(event)
            events.append(event)
            if gate.gate in noted:
                noted[gate.gate] = {**noted[gate.gate], "has_passed": event.outcome == "passed"}
        self._note(noted)
        return events

    def leave(self) -> None:
        """Record that nobody looked."""
        noted = self._noted()
        for gate in self.plan.recipe.restoration:
            entry, _ = self._before(noted, gate)
            self._append(not_compared(gate, "the run was interrupted", entry), None)

    def _gates(self) -> Gates:
        return Gates(
            self.plan.recipe.restoration,
            self.plan.site.restoration,
            self._inspect,
            self.engine.inspect_image,
            self.plan.environ,
            self.plan.secrets,
        )

    async def _inspect(self, container: str) -> Mapping[str, Any]:
        try:
            return await self.engine.inspect(container)
        except NoSuchObject:
            return {}

    def _append(self, event: RestorationChecked, state: State | None) -> tuple[str, str]:
        """Record a look with what it saw; return the entry and the digest of the state."""
        attachments = []
        digest = ""
        if state is not None:
            blob = self.recorder.keep(state.content(), name="state")
            digest = blob.digest
            attachments = [Attachment("state", "application/json", blob)]
            attachments += [
                Attachment(k.name, k.media_type, self.recorder.keep(k.content, name=k.name))
                for k in state.seen_in
            ]
        event = clean_event(event, self.plan.secrets)
        subject = Subject(self.plan.campaign)
        return self.recorder.append(event, subject=subject, attachments=attachments), digest

    def _say(self, event: RestorationChecked) -> None:
        why = f"  {', '.join(event.differences)}" if event.differences else ""
        self.plan.narrator.say(f"{event.outcome:<12} gate {event.gate:<19}{why}")

    # --- what was before --------------------------------------------------------------------------------

    def _before(self, noted: Mapping[str, Any], gate: RestorationGate) -> tuple[str | None, State | None]:
        """Return the entry that recorded a gate before, and its state."""
        row = noted.get(gate.gate)
        try:
            return str(row["entry"]), read_state(self.ledger.blobs.get(str(row["state"])))  # type: ignore[index]  # caught
        except (LedgerError, ValueError, KeyError, TypeError):
            return None, None

    def _noted(self) -> dict[str, Any]:
        rows = self._file().get(self.plan.campaign)
        return (
            {name: row for name, row in rows.items() if isinstance(row, dict)}
            if isinstance(rows, dict)
            else {}
        )

    def _note(self, noted: Mapping[str, Any]) -> None:
        rows = {**self._file(), self.plan.campaign: noted}
        make_private_directory(self.plan.private)
        write_whole(self.plan.private / BASELINE, json.dumps(rows, indent=1).encode(), mode=0o600)

    def _file(self) -> dict[str, Any]:
        try:
            rows = json.loads((self.plan.private / BASELINE).read_bytes())
        except (OSError, ValueError):
            return {}
        return rows if isinstance(rows, dict) else {}


def plan_of(
    recipe: Recipe,
    site: Site,
    campaign: str,
    private: Path,
    narrator: Narrator,
    environ: Mapping[str, str] = os.environ,
) -> RestorationPlan:
    """Return the plan for a recipe on this host."""
    return RestorationPlan(recipe, site, campaign, private, narrator, environ)
