"""What one attempt shows: its engine, settings, health, checks and failure, each as a figure.

1. What a program saw and what a person says are read from their events alike; where both speak of the
   same thing, the newest counts. A check that was carried out again counts by its newest result.
2. A setting is a choice: `declared`. What a person says was set otherwise goes before the recipe.
3. Checks are counted by whether they asked for thinking: passed of those that were carried out. Those
   that could not be are named beside, and the figure's rule says how many they are (`anvil.projections.unfinished`).
   Policies over other checks (`finish`, `reasoning-leak`) and
   `identity` are no questions to the model, a `canary` guards a load; they are not counted.
4. What failed is told in the operator's words where there are any. Otherwise it is put together from
   exit, readiness, failed checks, those that are not counted among them, and failed suites.
5. Where it ran is withheld: a document shows pseudonyms of the placement, the host and the GPUs that it was placed on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anvil.ledger.commitments import Commitment
from anvil.ledger.events import (
    CheckCompleted,
    EngineExited,
    EngineIdentified,
    HealthObserved,
    HostObserved,
    LaunchFailed,
    LaunchStarted,
    ObservationNoted,
    RecipeDeclared,
    SuiteCompleted,
)
from anvil.ledger.events.observations import Claims
from anvil.projections.figures import Figure, Group, Source, compose, count, derive
from anvil.projections.limits import Claim, require_modest
from anvil.projections.pseudonyms import Pseudonyms
from anvil.projections.record import Kept
from anvil.projections.unfinished import rule as rule_of
from anvil.projections.unfinished import together

_NO_QUESTIONS = frozenset({"identity", "canary", "finish", "reasoning-leak"})
_CLAIMED = {
    "health": "health",
    "preflight_default": "checks as served",
    "preflight_no_thinking": "checks with thinking disabled",
    "failure": "what failed",
}
"""The figures of an attempt that are observations, and what they are called in words."""


@dataclass(frozen=True)
class Checked:
    """One check of an attempt, from whichever event it comes."""

    name: str
    thinking: str
    is_question: bool
    has_passed: Figure
    told: Figure
    """The check in words: `tools-batch 0/20 failed (no_call)`."""

    @property
    def outcome(self) -> str:
        """The verdict, or that there is none."""
        return str(self.told.parts[0].value)

    @property
    def was_carried_out(self) -> bool:
        """Whether it came to a verdict."""
        return self.outcome != "incomplete"


@dataclass(frozen=True)
class Attempt:
    """One launch: the events that speak of it, and the recipe that planned it, if any."""

    key: str
    sources: tuple[Source, ...]
    plan: tuple[Source, int] | None
    """The recipe's event, and which of its attempts it is."""
    looks: tuple[tuple[Source, Kept], ...] = ()
    """What was seen of the host while it ran."""

    def group(self, pseudonyms: Pseudonyms) -> Group:
        """Return the attempt's figures by the names that a template knows."""
        checks = list(self._checks())
        health = self._health()
        default = self._preflight("default", checks)
        quiet = self._preflight("disabled", checks)
        failure = self._failure(checks)
        shown = (health, default, quiet, failure)
        said = tuple(figure for figure in shown if figure.value is not None) or shown
        weak = derive("the weakest status of health, checks and failure", lambda *_: None, *said)
        status = Figure(weak.status, weak.rule, weak.support, weak.status, said)
        return Group(
            {
                "engine": self._engine(),
                "configuration": self._configuration(),
                "placement": pseudonyms.of("placement", self._placement()),
                "host": self._host(pseudonyms),
                "gpus": self._gpus(pseudonyms),
                "health": health,
                "preflight_default": default,
                "preflight_no_thinking": quiet,
                "evidence_status": status,
                "failure": failure,
            }
        )

    def reason(self) -> Figure:
        """Return why it is shown: an event speaks of it. The first is enough."""
        return self.sources[0].marked("an attempt that an event speaks of", self.key, "declared")

    def incomplete(self) -> list[str]:
        """Return the checks and suites that came to no verdict, each with why."""
        every = (*self._checks(), *self._suites())
        return [_without_verdict(one) for one in every if not one.was_carried_out]

    def without_result(self) -> list[str]:
        """Return the checks and suites that its recipe selects and of which no event speaks."""
        if self.plan is None or not isinstance(self.plan[0].event, RecipeDeclared):
            return []
        plan = self.plan[0].event.attempts[self.plan[1]]
        events = [source.event for source in self.sources]
        checks = {event.selected_as for event in events if isinstance(event, CheckCompleted)}
        suites = {event.selected_as for event in events if isinstance(event, SuiteCompleted)}
        return [
            *(name for name in plan.checks if name not in checks),
            *(f"suite {name}" for name in plan.suites if name not in suites),
        ]

    # --- its parts ------------------------------------------------------------------------------------

    def _claims(self) -> Iterator[tuple[Source, Claims]]:
        """Yield what people claim of it, newest first."""
        for source in reversed(self.sources):
            if isinstance(source.event, ObservationNoted) and source.event.claims is not None:
                yield source, source.event.claims

    def _nothing(self, rule: str) -> Figure:
        """Return null, on the evidence of everything that was looked at."""
        marks = (source.marked(rule, None) for source in self.sources)
        return derive(rule, lambda *_: None, *marks)

    def _engine(self) -> Figure:
        name = next(self._engine_names(), None)
        version = next(self._engine_versions(), None)
        if name is None:
            return self._nothing("no event names the engine") if version is None else version
        if version is None:
            return name
        return compose("engine and version", lambda n, v: f"{n} {v}", name, version)

    def _engine_names(self) -> Iterator[Figure]:
        for source, claims in self._claims():
            if claims.engine is not None:
                yield source.stated("claims", "engine")
        for source in reversed(self.sources):
            if isinstance(source.event, EngineIdentified) and source.event.engine is not None:
                yield source.stated("engine")
        if self.plan is not None:
            recipe, number = self.plan
            yield recipe.stated("attempts", number, "engine")

    def _engine_versions(self) -> Iterator[Figure]:
        for source, claims in self._claims():
            if claims.version is not None:
                yield source.stated("claims", "version")
        for source in reversed(self.sources):
            if isinstance(source.event, EngineIdentified):
                for number, claim in enumerate(source.event.claims):
                    if claim.what == "engine_version" and claim.value is not None:
                        yield source.stated("claims", number, "value")

    def _configuration(self) -> Figure:
        settings: dict[str, Figure] = {}
        if self.plan is not None and isinstance(self.plan[0].event, RecipeDeclared):
            recipe, number = self.plan
            for at, setting in enumerate(self.plan[0].event.attempts[number].settings):
                value = recipe.stated("attempts", number, "settings", at, "value", status="declared")
                settings[setting.name] = value
        for source, claims in reversed(list(self._claims())):
            for at, setting in enumerate(claims.settings):
                settings[setting.name] = source.stated("claims", "settings", at, "value", status="declared")
        if not settings:
            return self._nothing("no settings are recorded")
        names = list(settings)
        return compose("settings by name", lambda *values: _settings(names, values), *settings.values())

    def _placement(self) -> Figure:
        for source in reversed(self.sources):
            if isinstance(source.event, LaunchStarted | LaunchFailed):
                return source.stated("placement")
        if self.plan is not None:
            recipe, number = self.plan
            return recipe.stated("attempts", number, "placement")
        return self._nothing("no event names a placement")

    def _host(self, pseudonyms: Pseudonyms) -> Figure:
        hosts = [pseudonyms.host(look, kept) for look, kept in self.looks]
        return hosts[-1] if hosts else self._nothing("no host was looked at while it ran")

    def _gpus(self, pseudonyms: Pseudonyms) -> Figure:
        for look, kept in reversed(self.looks):
            gpus = look.event.gpus if isinstance(look.event, HostObserved) else ()
            placed = [pseudonyms.gpu(look, kept, at) for at, gpu in enumerate(gpus) if gpu.is_placed]
            if placed:
                return compose("the GPUs that it was placed on", lambda *names: ", ".join(names), *placed)
        return self._nothing("no event says on which GPU it was placed")

    def _health(self) -> Figure:
        for source in reversed(self.sources):
            event = source.event
            if isinstance(event, HealthObserved):
                return _with_reach(source.stated("http_status"), source.stated("health"))
            if isinstance(event, ObservationNoted) and event.claims is not None and event.claims.health:
                return _with_reach(source.stated("claims", "http_status"), source.stated("claims", "health"))
        return self._nothing("nothing is recorded of its health")

    def _checks(self) -> Iterator[Checked]:
        newest: dict[tuple[str, str], Checked] = {}
        for source in self.sources:
            event = source.event
            if isinstance(event, CheckCompleted):
                thinking = {p.name: p.value for p in event.parameters}.get("thinking", "disabled")
                is_question = event.check not in _NO_QUESTIONS
                made = _checked(source, event.selected_as, str(thinking), is_question)
                newest[event.selected_as, str(thinking)] = made
            elif isinstance(event, ObservationNoted) and event.claims is not None:
                for at, check in enumerate(event.claims.checks):
                    is_question = check.check not in _NO_QUESTIONS
                    made = _checked(source, check.check, check.thinking, is_question, "claims", "checks", at)
                    newest[check.check, check.thinking] = made
        yield from newest.values()

    def _suites(self) -> list[Checked]:
        newest = {
            source.event.selected_as: _checked(
                source, f"suite {source.event.selected_as}", "disabled", is_question=False
            )
            for source in self.sources
            if isinstance(source.event, SuiteCompleted)
        }
        return list(newest.values())

    def _preflight(self, thinking: str, checks: list[Checked]) -> Figure:
        asked = [check for check in checks if check.is_question and check.thinking == thinking]
        if not asked:
            return self._nothing(f"no check was carried out with thinking {thinking}")
        counted = [check for check in asked if check.was_carried_out]
        lost = [check for check in asked if not check.was_carried_out]
        passed = count("checks that passed", [c.has_passed for c in counted], [c.told for c in lost])
        named = f"checks with thinking {thinking}: passed of carried out, and those that did not"
        rule = rule_of(named, together(check.outcome for check in asked), len(lost), "check")
        told = [check.told for check in (*counted, *lost) if check.has_passed.value is False]
        return compose(rule, lambda n, *texts: _counted(n, len(counted), len(lost), texts), passed, *told)

    def _failure(self, checks: list[Checked]) -> Figure:
        words = [
            source.stated("public_text")
            for source in self.sources
            if isinstance(source.event, ObservationNoted) and source.event.public_text is not None
        ]
        for figure in words:
            require_modest(figure)
        if words:
            return compose("the operator's words", lambda *texts: " ".join(texts), *words)
        parts = [*self._exits(), *self._never_ready(), *_failed(checks), *_failed(self._suites())]
        if not parts:
            return self._nothing("no failure is recorded")
        return compose("exit, readiness, failed checks and suites", lambda *texts: "; ".join(texts), *parts)

    def _exits(self) -> Iterator[Figure]:
        for source in self.sources:
            if isinstance(source.event, EngineExited):
                figures = [source.stated(name) for name in ("exit_code", "signal", "before_ready")]
                yield compose("how the engine ended", _exited, *figures)

    def _never_ready(self) -> Iterator[Figure]:
        for source in self.sources:
            if isinstance(source.event, HealthObserved) and not source.event.is_ready:
                ready = source.stated("is_ready")
                yield compose("readiness", lambda _: "no token was generated within the deadline", ready)

    @property
    def has_sealed_words(self) -> bool:
        """Whether somebody said something of it that is not for publication."""
        return any(
            isinstance(source.event, ObservationNoted)
            and source.event.public_text is None
            and isinstance(source.event.text, str | Commitment)
            for source in self.sources
        )


def claims(number: int, group: Group) -> Iterator[Claim]:
    """Yield what an attempt's figures observe, where they say something."""
    for name, words in _CLAIMED.items():
        figure = group.fields[name]
        if isinstance(figure, Figure) and figure.value is not None:
            yield Claim(number, name, figure.status, words)


def _checked(source: Source, name: str, thinking: str, is_question: bool, *path: str | int) -> Checked:
    outcome, failure, passed, expected = (
        source.stated(*path, field) for field in ("outcome", "failure", "passed", "expected")
    )
    has_passed = derive("outcome is passed", lambda value: value == "passed", outcome)
    told = compose("a check", lambda *values: _told(name, *values), outcome, failure, passed, expected)
    return Checked(name, thinking, is_question, has_passed, told)


def _told(name: str, outcome: str, failure: str | None, passed: int, expected: int) -> str:
    parts = (
        name,
        f"{passed}/{expected}" if expected != 1 else "",
        outcome,
        f"({failure})" if failure else "",
    )
    return " ".join(part for part in parts if part)


def _without_verdict(one: Checked) -> str:
    """Return what is incomplete in words: the word itself stands before all of them."""
    return str(one.told.value).replace(" incomplete", "", 1)


def _with_reach(status: Figure, reach: Figure) -> Figure:
    """Return the status, with a rule that keeps *not reached* and *not recorded* apart."""
    how = str(reach.value).replace("_", " ")
    rule = (
        f"the health request was {how}" if status.value is None else "the status that the health request got"
    )
    return derive(rule, lambda s, _: s, status, reach)


def _settings(names: list[str], values: tuple[object, ...]) -> str:
    spelled = (str(v).lower() if isinstance(v, bool) else str(v) for v in values)
    return ", ".join(f"{name} {value}" for name, value in zip(names, spelled, strict=True))


def _counted(passed: int, carried_out: int, lost: int, told: tuple[str, ...]) -> str:
    said, failed, incomplete = f"{passed}/{carried_out}", told[: len(told) - lost], told[len(told) - lost :]
    if passed and failed:  # when none passed, all of them failed
        said += f"; {', '.join(failed)}"
    return f"{said}; {', '.join(incomplete)}" if incomplete else said


def _failed(checks: list[Checked]) -> Iterator[Figure]:
    yield from (c.told for c in checks if c.has_passed.value is False and c.was_carried_out)


def _exited(code: int | None, signal: int | None, before_ready: bool) -> str:
    how = f"with code {code}" if code is not None else f"by signal {signal}" if signal is not None else ""
    when = "before it was ready" if before_ready else "after it was ready"
    return " ".join(part for part in ("the engine ended by itself", how, when) if part)
