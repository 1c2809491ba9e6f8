"""What a run was measured on: what its launch was planned to serve, and the hardware that was observed before it.

1. The plan is that of the newest recipe which was declared before the launch in its stream, as far as it says what is
   served: candidate, engine, launcher, image and settings. What else a recipe selects is not part of it, and neither
   is a placement: hardware is compared by what was observed.
2. The hardware is the last that was observed before the run: processor, cores, and the GPUs that the attempt was
   placed on by product, memory and power limit.
3. What nobody knows of one of two runs tells them apart from nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from anvil.ledger.events import HostObserved, RecipeDeclared
from anvil.projections.evidence import Evidence
from anvil.projections.record import Campaign, Kept, Launch


@dataclass(frozen=True)
class Served:
    """Both; None where nobody knows."""

    plan: tuple[object, ...] | None
    hardware: tuple[object, ...] | None

    def is_like(self, other: Served) -> bool:
        """Say whether nothing that is known of both differs (rule 3)."""
        pairs = ((self.plan, other.plan), (self.hardware, other.hardware))
        return all(one is None or another is None or one == another for one, another in pairs)


def served(evidence: Evidence, campaign: Campaign, launch: Launch, run: Kept) -> Served:
    """Return what a run of a launch was measured on."""
    return Served(_plan(evidence, campaign, launch, run), _hardware(campaign, launch.attempt, run.index))


def _plan(evidence: Evidence, campaign: Campaign, launch: Launch, run: Kept) -> tuple[object, ...] | None:
    first = launch.events[0].index
    found: tuple[object, ...] | None = None
    for kept in campaign.recipes:
        event = kept.event
        if not isinstance(event, RecipeDeclared) or kept.stream != run.stream or kept.index > first:
            continue
        candidates = {one.key: (one.model, one.revision, one.quantization) for one in event.candidates}
        for one in event.attempts:
            if one.key == launch.attempt and evidence.source(kept) is not None:
                settings = tuple((setting.name, setting.value) for setting in one.settings)
                what = (one.engine, one.launcher, one.image, one.image_id, settings)
                found = (candidates.get(one.candidate), *what)
    return found


def _hardware(campaign: Campaign, attempt: str, index: int) -> tuple[object, ...] | None:
    found: tuple[object, ...] | None = None
    for kept in campaign.general:
        is_of = kept.subject.attempt in (attempt, None) and kept.index < index
        if is_of and isinstance(kept.event, HostObserved):
            placed = [gpu for gpu in kept.event.gpus if gpu.is_placed]
            gpus = sorted(
                (str(gpu.product), gpu.memory_bytes or 0, gpu.power_limit_milliwatts or 0) for gpu in placed
            )
            found = (kept.event.cpu_product, kept.event.cpu_cores, *gpus)
    return found
