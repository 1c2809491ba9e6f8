"""Which declared experiment two sides are, what it names, and whether its runs were carried out alternately.

1. An experiment of attempts is found by its two attempts, whole or by one protocol that it measures on both; one of
   protocols by its two protocols of one attempt. The newest recipe that declares one counts. Sides may be exchanged.
2. What an experiment names may differ in the plans of protocols; it is then what is compared. Whatever else differs
   stays an obstacle.
3. What is named and cannot be seen in plans (a flag, a variable) differs as well: a recipe that declares otherwise is
   refused before it is run.
4. Runs *alternate* when, in the order in which they were recorded and in one launch, each two hold one of both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from anvil.ledger.events import LoadMeasured, RecipeDeclared
from anvil.ledger.events.recipes import DeclaredExperiment
from anvil.projections.comparing.sides import Side
from anvil.projections.evidence import Evidence
from anvil.projections.measurements import Cell
from anvil.projections.plans import Plans

PARAMETERS: Mapping[str, str] = {
    "input_target_tokens": "input_tokens",
    "output_cap_tokens": "output_tokens",
    "ignores_eos": "ignore_eos",
    "shared_prefix_tokens": "shared_prefix_tokens",
    "rate_per_s": "rate_per_s",
    "concurrency": "concurrency",
}
"""What of a run's plan is which parameter of its protocol; others have their own name among its parameters."""

_FOLLOWS: Mapping[str, frozenset[str]] = {"engine": frozenset({"launcher", "image"})}


@dataclass(frozen=True)
class Experiment:
    """A declared experiment that two sides are; the other way round when the control stands as the treatment."""

    declared: DeclaredExperiment
    is_reversed: bool

    @property
    def changes(self) -> tuple[str, ...]:
        """What it names, by the names that differences have."""
        return tuple(name.removeprefix("settings.") for name in self.declared.only_change)

    @property
    def followed(self) -> frozenset[str]:
        """What goes with what it names: another engine is another launcher and image too."""
        return frozenset(name for change in self.changes for name in _FOLLOWS.get(change, ()))

    def names(self, difference: str) -> bool:
        """Say whether a difference is part of its change."""
        return difference in self.changes or difference in self.followed


def experiment(evidence: Evidence, control: Side, treatment: Side) -> Experiment | None:
    """Return the declared experiment that two sides are; None when they are none (rule 1)."""
    if control.campaign.name != treatment.campaign.name:
        return None
    found = None
    for source in Plans.of(evidence, control.campaign).recipes:
        for declared in source.event.experiments if isinstance(source.event, RecipeDeclared) else ():
            for is_reversed, sides in ((False, (control, treatment)), (True, (treatment, control))):
                if _is_of(declared, *sides):
                    found = Experiment(declared, is_reversed)
    return found


def _is_of(declared: DeclaredExperiment, control: Side, treatment: Side) -> bool:
    protocols = (control.protocol, treatment.protocol)
    if declared.protocol is not None:
        is_one = len(control.attempts) == 1 and control.attempts == treatment.attempts
        return is_one and protocols == (declared.control_protocol, declared.protocol)
    is_measured = protocols[0] is None or not declared.protocols or protocols[0] in declared.protocols
    attempts = (control.attempts, treatment.attempts)
    return (
        protocols[0] == protocols[1]
        and is_measured
        and attempts == ((declared.control,), (declared.attempt,))
    )


def parameters(plan: LoadMeasured) -> Mapping[str, str]:
    """Return with what parameters a run was carried out, by name."""
    named = {name: _told(getattr(plan, field)) for field, name in PARAMETERS.items()}
    return {**named, **{one.name: _told(one.value) for one in plan.parameters}}


def order(control: Cell, treatment: Cell, sides: tuple[Side, Side]) -> str:
    """Return in which order the runs of two cells were carried out, and whether they alternate (rule 4)."""
    whose = {run.source.entry_hash: "C" for run in control.runs}
    whose |= {run.source.entry_hash: "T" for run in treatment.runs}
    runs = sorted(
        {
            (kept.index, whose[kept.entry_hash], (launch.attempt, launch.number))
            for one in sides
            for launch in one.launches
            for kept in launch.events
            if kept.entry_hash in whose
        }
    )
    told = " ".join(side for _, side, _ in runs)
    twos = [runs[at : at + 2] for at in range(0, len(runs), 2)]
    is_alternate = all(len({side for _, side, _ in two}) == 2 for two in twos)
    if is_alternate and len({launch for _, _, launch in runs}) == 1:
        return f"the runs of both sides alternate: {told}"
    return f"the runs of both sides do not alternate ({told}): what drifts does so on one side"


def protocol_differences(pairs: Iterator[tuple[Cell, Cell]]) -> Iterator[tuple[str, str, str]]:
    """Yield each parameter that is not the same in the cells of two protocols, and what it is on both sides."""
    found: dict[str, dict[tuple[str, str], None]] = {}
    for control, treatment in pairs:
        if control.plan is None or treatment.plan is None:
            continue
        before, after = parameters(control.plan), parameters(treatment.plan)
        for name in dict.fromkeys((*before, *after)):
            both = (before.get(name, "none"), after.get(name, "none"))
            if both[0] != both[1]:
                found.setdefault(name, {})[both] = None
    for name, values in found.items():
        yield name, " | ".join(one for one, _ in values), " | ".join(other for _, other in values)


def _told(value: object) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
