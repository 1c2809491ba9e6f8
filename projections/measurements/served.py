"""What a run was measured on: what its launch was planned to serve, who its engine was, and the hardware observed.

1. The plan is that of the newest recipe which was declared before the launch in its stream, as far as it says what is
   served: candidate, engine, launcher, image and settings. What else a recipe selects is not part of it, and neither
   is a placement: hardware is compared by what was observed.
2. The hardware is the last that was observed before the run: processor, cores, and the GPUs that the attempt was
   placed on by product, memory and power limit.
3. Engines that were identified differ where a source says one thing of the one and another of the other.
4. What nobody knows of one of two runs tells them apart from nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from anvil.ledger.events import EngineIdentified, HostObserved, RecipeDeclared
from anvil.ledger.events.engines import contradictions
from anvil.projections.evidence import Evidence
from anvil.projections.record import Campaign, Launch


@dataclass(frozen=True)
class Served:
    """Both; None where nobody knows."""

    plan: tuple[object, ...] | None
    hardware: tuple[object, ...] | None
    engine: EngineIdentified | None = None

    def is_like(self, other: Served) -> bool:
        """Say whether nothing that is known of both differs (rules 3 and 4)."""
        if self.engine is not None and other.engine is not None and contradictions(self.engine, other.engine):
            return False
        pairs = ((self.plan, other.plan), (self.hardware, other.hardware))
        return all(one is None or another is None or one == another for one, another in pairs)


@dataclass(frozen=True)
class Launched:
    """A launch: its plan, who its engine was, and the hosts that were observed for its attempt, by index."""

    plan: tuple[object, ...] | None
    hosts: tuple[tuple[int, HostObserved], ...]
    engine: EngineIdentified | None

    @classmethod
    def of(cls, evidence: Evidence, campaign: Campaign, launch: Launch) -> Launched:
        """Return what is known of a launch (rules 1 and 2)."""
        hosts = tuple(
            (kept.index, kept.event)
            for kept in campaign.general
            if isinstance(kept.event, HostObserved) and kept.subject.attempt in (launch.attempt, None)
        )
        asked = (kept for kept in launch.events if isinstance(kept.event, EngineIdentified))
        engines = (kept.event for kept in asked if evidence.source(kept) is not None)
        engine = next((event for event in engines if isinstance(event, EngineIdentified)), None)
        return cls(_plan(evidence, campaign, launch), hosts, engine)

    def at(self, index: int) -> Served:
        """Return what the run at an index was measured on."""
        before = [host for at, host in self.hosts if at < index]
        return Served(self.plan, _hardware(before[-1]) if before else None, self.engine)


def _plan(evidence: Evidence, campaign: Campaign, launch: Launch) -> tuple[object, ...] | None:
    found: tuple[object, ...] | None = None
    for kept in campaign.recipes:
        event = kept.event
        is_before = bool(launch.events) and kept.index < launch.events[0].index
        if not (isinstance(event, RecipeDeclared) and is_before and kept.stream == launch.events[0].stream):
            continue
        candidates = {one.key: (one.model, one.revision, one.quantization) for one in event.candidates}
        for one in event.attempts:
            if one.key == launch.attempt and evidence.source(kept) is not None:
                settings = tuple((setting.name, setting.value) for setting in one.settings)
                what = (one.engine, one.launcher, one.image, one.image_id, settings)
                found = (candidates.get(one.candidate), *what)
    return found


def _hardware(host: HostObserved) -> tuple[object, ...]:
    gpus = (
        (str(gpu.product), gpu.memory_bytes or 0, gpu.power_limit_milliwatts or 0)
        for gpu in host.gpus
        if gpu.is_placed
    )
    return (host.cpu_product, host.cpu_cores, *sorted(gpus))
