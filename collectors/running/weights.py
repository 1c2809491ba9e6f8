"""The weights of an attempt, as a step of a run: found on this host, looked through, recorded.

1. A model file from a package lies in anvil's cache; a repository in the Hugging Face cache that the site
   names, or else the environment that the engine gets. Nothing is fetched.
2. What an earlier attempt of the campaign found is taken over for files that did not change, and cited.
3. Weights that the recipe describes and that are not on this host are recorded as not found: the engine may
   fetch them itself. Weights that it does not describe are looked through where they are found.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from anvil.collectors.cleaning import clean_event
from anvil.collectors.engines.models import cached_path
from anvil.collectors.interface import Recorder
from anvil.collectors.recipes import Attempt
from anvil.collectors.running.narration import Narrator
from anvil.collectors.running.planning import Planned
from anvil.collectors.site import Site
from anvil.collectors.weights.hashing import Hashing
from anvil.collectors.weights.inspection import Inspection, Wanted, inspect
from anvil.collectors.weights.rates import spell_rate
from anvil.collectors.weights.recording import event_of, event_without, inventory_of, recall, remember
from anvil.ledger.clock import system_clock
from anvil.ledger.drafts import Attachment
from anvil.ledger.errors import CollectorError
from anvil.ledger.events import WeightsInspected
from anvil.ledger.wording import counted, spell_bytes

_TOLD_EVERY_S = 10.0


@dataclass(frozen=True)
class WeightsStep:
    """What looking through weights needs: whom to tell and where earlier looks are found."""

    recorder: Recorder
    narrator: Narrator
    private: Path
    """The folder beside the ledger where the place of earlier looks is noted."""
    read: Callable[[str], bytes]
    """Gives the bytes of a blob."""

    async def run(self, planned: Planned) -> WeightsInspected | None:
        """Look through the weights of an attempt; return the event, or None when there is nothing to say.

        Raises:
            AnvilError: what was seen could not be kept.
        """
        attempt = planned.attempt
        if planned.plan.target is not None:
            return None  # somebody else's engine: its files are not ours to name
        place = weights_place(attempt, planned.site, {**planned.environ, **planned.plan.env})
        if place is None:
            if attempt.model.weights is None:
                return None
            self.narrator.say(f"{attempt.key}: the weights are not on this host")
            return self._record(planned, event_without("snapshot-not-found", None, attempt.model.model))
        return await self._look(planned, place)

    async def _look(self, planned: Planned, place: Path) -> WeightsInspected:
        attempt, campaign = planned.attempt, planned.subject.campaign or ""
        self.narrator.begin(f"{attempt.key}: looking through the weights")
        earlier = recall(self.private, campaign, place, self.read)
        hashing = Hashing(progress=_Told(self.narrator, attempt.key, asyncio.get_running_loop()))
        wanted = Wanted(
            attempt.model.model,
            attempt.model.revision,
            attempt.model.weights,
            attempt.model.package.sha256 if attempt.model.package else None,
        )
        now_ns = int(system_clock().timestamp() * 1e9)
        try:
            seen = await asyncio.to_thread(
                inspect, place, wanted, hashing=hashing, known=earlier.known, now_ns=now_ns
            )
        except CollectorError as error:
            return self._record(planned, event_without("unreadable", place, str(error)))
        except asyncio.CancelledError:
            hashing.stop.set()
            raise
        event = clean_event(event_of(seen, earlier), planned.secrets)
        blob = self.recorder.keep(inventory_of(seen), name="inventory")
        attachment = Attachment("inventory", "application/json", blob)
        entry = self.recorder.append(event, subject=planned.subject, attachments=(attachment,))
        remember(self.private, campaign, place, entry, blob.digest)
        self.narrator.say(f"{attempt.key}: {_said(seen)}")
        return event

    def _record(self, planned: Planned, event: WeightsInspected) -> WeightsInspected:
        event = clean_event(event, planned.secrets)
        self.recorder.append(event, subject=planned.subject)
        return event


def weights_place(attempt: Attempt, site: Site, environ: Mapping[str, str]) -> Path | None:
    """Return where the weights of an attempt lie on this host; null when they do not (rule 1)."""
    if attempt.model.package is not None:
        path = cached_path(attempt.model.package)
        return path if path.is_file() else None
    repository = f"models--{attempt.model.model.replace('/', '--')}"
    for hub in _hubs(site, environ):
        folder = hub / repository
        place = folder / "snapshots" / attempt.model.revision if attempt.model.revision else folder
        if place.is_dir():
            return place
    return None


def _hubs(site: Site, environ: Mapping[str, str]) -> list[Path]:
    if "huggingface" in site.caches:
        folder = Path(site.caches["huggingface"]).expanduser()
        return [folder / "hub", folder]
    if environ.get("HF_HUB_CACHE"):
        return [Path(environ["HF_HUB_CACHE"])]
    if environ.get("HF_HOME"):
        return [Path(environ["HF_HOME"]) / "hub"]
    return [Path("~/.cache/huggingface/hub").expanduser()]


def _said(seen: Inspection) -> str:
    found = len(dict.fromkeys(found.kind for found in seen.found))
    digests = (
        f"digests of {spell_rate(seen.read_bytes, seen.elapsed_ns)}"
        if seen.read_bytes
        else f"{spell_bytes(seen.size)} unchanged since they were last looked through"
    )
    return f"weights: {digests}; {counted(found, 'kind') + ' of finding' if found else 'nothing found'}"


class _Told:
    """Tells a narrator now and then, from whatever thread, how far digests are."""

    def __init__(self, narrator: Narrator, key: str, loop: asyncio.AbstractEventLoop) -> None:
        self._narrator = narrator
        self._key = key
        self._loop = loop
        self._started = self._told = time.monotonic()

    def __call__(self, done: int, everything: int) -> None:
        now = time.monotonic()
        if now - self._told < _TOLD_EVERY_S:
            return
        self._told = now
        rate = spell_bytes(done / (now - self._started))
        text = f"{self._key}: digests of {spell_bytes(done)} of {spell_bytes(everything)}, {rate}/s"
        self._loop.call_soon_threadsafe(self._narrator.begin, text)
