"""What was recorded of a campaign, by the names of the figures that the document's template prints.

1. A lane prints its load cells by protocol: at one request at a time decode rate and time to the whole answer, above it
   decode rate and aggregate. An experiment prints what it is compared by: decode rate at one, aggregate above.
2. Cells of a prefix cache are named by whether the attempt has the cache, of the experiment and its control side by
   side. Requests that share their prefix are not cold, whatever a cell is called: the limit says so.
3. The room in the KV cache is what the engine reported; how many full windows fit is computed from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from anvil.ledger.events import CheckCompleted, GapNoted
from anvil.projections.conclusions import Conclusions
from anvil.projections.figures import Figure, Group, Listing, compose, derive, weakest
from anvil.projections.limits import Claim
from anvil.projections.measurements import Cell
from anvil.projections.recorded import (
    caveats,
    checks,
    disclosed,
    ladders,
    reports,
    runtime,
    settings,
    suites,
)
from anvil.projections.recorded.campaign import Attempt, Of, Recorded, distinct, either
from anvil.projections.recorded.experiments import Experiment, divided, undivided
from anvil.projections.recorded.hardware import hardware
from anvil.projections.recorded.loads import (
    CAPACITY,
    DECODE,
    E2E_S,
    LONG_DECODE,
    TTFT_S,
    WHOLE_OUTPUT,
    Leaf,
    Loads,
    answered,
    capacity_name,
    of,
    printed,
    prompt_tokens,
    spelled,
)
from anvil.projections.recorded.observations import Observations
from anvil.projections.recorded.summaries import notes_on
from anvil.projections.recorded.weights import Inspections

_ONE = {"decode_tok_s_p50": DECODE, "e2e_s_p50": E2E_S}
_SEVERAL = {"decode_tok_s_p50": DECODE, "aggregate_output_tok_s": WHOLE_OUTPUT}
_CACHED = {"ttft_s_p50": TTFT_S, "aggregate_output_tok_s": WHOLE_OUTPUT}
_CONTROL = "thinking_control"
_EFFORT = "effort."


@dataclass(frozen=True)
class Lanes:
    """The lanes and experiments of one campaign."""

    recorded: Recorded
    said: Conclusions

    @cached_property
    def group(self) -> Group:
        """Everything that the template can print."""
        recorded, nothing = self.recorded, self.recorded.nothing
        machine = hardware(recorded).fields
        verdicts = self._verdicts
        words = compose("the verdicts", lambda *texts: "; ".join(texts), *verdicts) if verdicts else None
        return Group(
            {
                "date": recorded.day(),
                "decision": Group(
                    {"verdicts": either(words, nothing("no decision about all of it is recorded"))}
                ),
                "hardware": Group({**machine, "memory_gb": machine["memory_gib"]}),
                "runtime": runtime.runtime(recorded),
                "candidates": self._listed("candidates", list(self._candidates())),
                "weights": Group({"outcome": self._inspections.outcome()}),
                "settings": recorded.listing(
                    "settings that all lanes share", list(settings.named(self._shared))
                ),
                "thinking": self._thinking(),
                "lanes": self._listed("lanes", [self._lane(attempt) for attempt in self._lanes]),
                "experiments": self._listed(
                    "experiments", [self._experiment(one) for one in self._experiments]
                ),
                "gaps": recorded.listing("gaps", [(text, text) for text in self.said.texts(GapNoted)]),
                "observations": Observations.of(recorded.evidence, recorded.campaign).listing(
                    nothing("what people observed")
                ),
                "digests": recorded.listing("disclosed digests", list(disclosed.digests(recorded))),
            }
        )

    def claims(self) -> Iterator[Claim]:
        """Yield how strong what is said of each candidate is, lanes and experiments together."""
        for number, candidate in enumerate(self.recorded.candidates, 1):
            keys = {attempt.key for attempt in self.recorded.attempts_of(candidate)}
            for part, words in (("lanes", "the lanes"), ("experiments", "the experiments")):
                listing = self.group.fields[part]
                members = listing.members if isinstance(listing, Listing) else ()
                figures = [
                    figure
                    for reason, member in members
                    if reason.value in keys
                    for figure in every_figure(member)
                    if figure.value is not None and figure.status != "declared"
                ]
                if figures:
                    yield Claim(number, part, weakest(figure.status for figure in figures), words)

    def notes(self) -> Iterator[str]:
        """Yield what a reader must know of it first."""
        recorded = self.recorded
        yield from notes_on(recorded)
        memory = self.group.fields["hardware"]
        if isinstance(memory, Group) and getattr(memory.fields["memory_gb"], "value", None) is not None:
            yield "vram_gb_each counts GiB (2^30 bytes), as makers of cards do."
        yield from self._loads.notes(by_attempt=True)
        yield from ladders.every(recorded, self._loads.by_attempt)
        for experiment in self._experiments:
            yield from experiment.notes(self._loads.by_attempt)
        yield from undivided(recorded, self._experiments)
        yield from self._warm()
        yield from self._inspections.notes()
        if not self._verdicts:
            yield "No decision about all of it is recorded."

    # --- its parts ------------------------------------------------------------------------------------------

    @cached_property
    def _loads(self) -> Loads:
        return Loads.of(self.recorded)

    @cached_property
    def _inspections(self) -> Inspections:
        return Inspections.of(self.recorded)

    @cached_property
    def _verdicts(self) -> list[Figure]:
        """The decision about all of it, or about the one candidate that there is."""
        experiments = frozenset(one.attempt.key for one in self._experiments)
        only = self.recorded.candidates[0] if len(self.recorded.candidates) == 1 else None
        return self.said.verdicts(only, experiments)

    @cached_property
    def _divided(self) -> tuple[tuple[Attempt, ...], tuple[Experiment, ...]]:
        return divided(self.recorded)

    @property
    def _lanes(self) -> tuple[Attempt, ...]:
        return self._divided[0]

    @property
    def _experiments(self) -> tuple[Experiment, ...]:
        return self._divided[1]

    @cached_property
    def _shared(self) -> dict[str, Figure]:
        return settings.shared(self._lanes)

    def _candidates(self) -> Iterator[Group]:
        for key, (planned, _) in self.recorded.plans.candidates.items():
            yield Group(
                {
                    "key": planned.stated("key"),
                    "model": planned.stated("model"),
                    "revision": planned.stated("revision"),
                    "safetensors_files": self._inspections.stated(key, "tensor_files"),
                    "safetensors_bytes": self._inspections.stated(key, "tensor_bytes"),
                }
            )

    def _thinking(self) -> Group:
        """Return what the control of thinking did, over all lanes."""
        found = [
            check
            for attempt in self._lanes
            for check in checks.results(attempt).values()
            if check.event.check == "thinking-control"
        ]
        control = distinct("what the control of thinking did", _findings(found, _CONTROL))
        efforts: dict[str, Figure] = {}
        for check in found:
            for at, finding in enumerate(check.event.findings):
                if finding.name.startswith(_EFFORT) and finding.value is True:
                    name = finding.name.removeprefix(_EFFORT)
                    value = check.stated("findings", at, "value")
                    efforts[name] = compose("an effort that passed", lambda _, name=name: name, value)
        listed = self.recorded.listing("efforts that passed", [(each, each) for each in efforts.values()])
        nothing = self.recorded.nothing("the control of thinking was not asked")
        return Group({"control": either(control, nothing), "efforts_passed": listed})

    def _lane(self, attempt: Attempt) -> Group:
        own = {
            name: figure for name, figure in settings.declared(attempt).items() if name not in self._shared
        }
        rungs = ladders.context(self.recorded, attempt, self._cells(attempt, ladders.KIND))
        return Group(
            {
                **self._tested(attempt),
                "settings": self.recorded.listing("settings of its own", list(settings.named(own))),
                "cells": self.recorded.listing("load cells by protocol", list(self._capacity(attempt))),
                "context": self.recorded.listing("rungs of its ladders", rungs),
                "multimodal": self.recorded.listing("corpora", suites.corpora(self.recorded, attempt)),
                "reported": self.recorded.listing("what it reported", list(self._reported(attempt))),
            }
        )

    def _experiment(self, one: Experiment) -> Group:
        attempt = one.attempt
        cached = (
            [*self._cached(attempt), *self._cached(one.control)]
            if self._cells(attempt, "prefix-cache")
            else []
        )
        figures = [*self._compared(attempt), *self._long(attempt), *self._reported(attempt)]
        decision = next((s for s in self._sentences(attempt)), None)
        return Group(
            {
                **self._tested(attempt),
                "experiment": either(
                    one.stated("key"), self.recorded.nothing("no recipe declares it as an experiment")
                ),
                "control": either(
                    one.stated("control"), self.recorded.nothing("no recipe names its control")
                ),
                "only_change": one.change(),
                "workload": self._workload(attempt),
                "figures": self.recorded.listing("figures of the experiment", figures),
                "cells": self.recorded.listing("cells of a prefix cache", cached),
                "decision": either(decision, self.recorded.nothing("no decision about it is recorded")),
            }
        )

    def _tested(self, attempt: Attempt) -> dict[str, Figure | Group | Listing]:
        """Return what lanes and experiments have alike."""
        noted = list(caveats.of_attempt(self.recorded, attempt))
        return {
            "key": attempt.reason(),
            "functional_checks": checks.outcome(self.recorded, (attempt,)),
            "repeated_quality": suites.repeated(self.recorded, attempt),
            "caveats": self.recorded.listing("what must be known of it", noted),
        }

    def _capacity(self, attempt: Attempt) -> Iterator[tuple[Figure, Group]]:
        """Yield a lane's load cells by protocol (rule 1)."""
        protocols: dict[str, list[Cell]] = {}
        for cell in self._cells(attempt, *CAPACITY):
            protocols.setdefault(cell.protocol, []).append(cell)
        for protocol, found in protocols.items():
            figures = [
                _named(cell, f"{spelled(cell.cell)}_{name}", leaf)
                for cell in found
                for name, leaf in (_ONE if _is_one(cell) else _SEVERAL).items()
            ]
            name = _name(found[0], capacity_name(protocol))
            yield (
                name,
                Group({"name": name, "figures": self.recorded.listing("figures of the cell", figures)}),
            )

    def _compared(self, attempt: Attempt) -> Iterator[tuple[Figure, Group]]:
        """Yield what an experiment is compared by (rule 1)."""
        for cell in self._cells(attempt, *CAPACITY):
            wanted = (
                ("decode_tok_s_p50", DECODE) if _is_one(cell) else ("aggregate_output_tok_s", WHOLE_OUTPUT)
            )
            yield _named(cell, f"{spelled(cell.cell)}_{wanted[0]}", wanted[1])

    def _long(self, attempt: Attempt) -> Iterator[tuple[Figure, Group]]:
        """Yield the decode rate over long prompts, and the longest prompt that was answered."""
        rungs = self._cells(attempt, ladders.KIND)
        for cell in rungs:
            stem = (
                spelled(cell.protocol)
                if len(rungs) == 1
                else f"{spelled(cell.protocol)}_{spelled(cell.cell)}"
            )
            yield _named(cell, f"{stem}_decode_tok_s", LONG_DECODE)
        for cell in self._cells(attempt, "near-limit"):
            tokens = prompt_tokens(cell)
            if tokens is not None and answered(cell).value == "passed":
                name = _name(cell, "actual_prompt_tokens_passed")
                yield name, Group({"name": name, "value": tokens})

    def _reported(self, attempt: Attempt) -> Iterator[tuple[Figure, Group]]:
        """Yield the room in the KV cache, where the engine reported it (rule 3)."""
        tokens = reports.reported(self.recorded, (attempt,), "kv_capacity_tokens")
        windows = reports.concurrency(attempt)
        for text, figure in (("engine_kv_tokens", tokens), ("reported_full_window_concurrency", windows)):
            if figure is not None and figure.value is not None:
                name = compose("what was reported", lambda *_, text=text: text, attempt.reason())
                yield name, Group({"name": name, "value": figure})

    def _cached(self, attempt: Attempt) -> Iterator[tuple[Figure, Group]]:
        """Yield cells of a prefix cache (rule 2)."""
        has_cache = settings.declared(attempt).get("prefix_cache")
        word = "enabled" if has_cache is not None and has_cache.value is True else "disabled"
        for cell in self._cells(attempt, "prefix-cache"):
            name = _name(cell, f"{word}_{spelled(cell.cell)}")
            figures = [_named(cell, each, leaf) for each, leaf in _CACHED.items()]
            yield (
                name,
                Group({"name": name, "figures": self.recorded.listing("figures of the cell", figures)}),
            )

    def _workload(self, attempt: Attempt) -> Figure:
        cells = [cell for cell in self._cells(attempt, "prefix-cache") if cell.runs]
        if not cells:
            return self.recorded.nothing("what was sent stands with each cell", attempt.reason())
        source = cells[0].runs[-1].source
        stated = (source.stated("concurrency"), source.stated("shared_prefix_tokens"))
        return compose(
            "what was sent", lambda n, size: f"{n} requests at once that share {size} tokens", *stated
        )

    def _sentences(self, attempt: Attempt) -> Iterator[Figure]:
        return self.said.sentences(attempt.key)

    def _warm(self) -> Iterator[str]:
        """Yield which cells are called cold and are not (rule 2)."""
        for cell in self._loads.by_attempt:
            if "cold" in cell.cell and cell.plan is not None and cell.plan.shared_prefix_tokens:
                yield (
                    f"Load, {cell.protocol} {cell.cell} of {cell.attempts[0]}: it is called cold, and its requests "
                    f"share {cell.plan.shared_prefix_tokens} tokens; only the first of them can be."
                )

    def _cells(self, attempt: Attempt, *kinds: str) -> list[Cell]:
        every = self._loads.by_attempt
        return [cell for cell in every if cell.attempts == (attempt.key,) and cell.kind in kinds]

    def _listed(self, rule: str, groups: Sequence[Group]) -> Listing:
        keys = [(group.fields["key"], group) for group in groups]
        return self.recorded.listing(rule, [(key, group) for key, group in keys if isinstance(key, Figure)])


def every_figure(part: Figure | Group | Listing) -> Iterator[Figure]:
    """Yield all figures below a part."""
    if isinstance(part, Figure):
        yield part
    elif isinstance(part, Group):
        for field in part.fields.values():
            yield from every_figure(field)
    else:
        for _, member in part.members:
            yield from every_figure(member)


def _findings(found: list[Of[CheckCompleted]], name: str) -> Iterator[Figure]:
    for check in found:
        for at, finding in enumerate(check.event.findings):
            if finding.name == name:
                yield check.stated("findings", at, "value")


def _is_one(cell: Cell) -> bool:
    return cell.plan is not None and cell.plan.concurrency == 1


def _name(cell: Cell, text: str) -> Figure:
    mark = cell.sources[0].marked("a run of it", None, "declared")
    return derive("protocol and cell", lambda _: text, mark)


def _named(cell: Cell, text: str, leaf: Leaf) -> tuple[Figure, Group]:
    name = _name(cell, text)
    return name, Group({"name": name, "value": printed(of(cell, leaf), leaf)})
