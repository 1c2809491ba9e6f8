"""How launches went: those that ended by themselves, were never ready, or were not started at all."""

from __future__ import annotations

from collections.abc import Iterator

from anvil.ledger.events import EngineExited, HealthObserved, LaunchFailed
from anvil.projections.figures import Figure, Source, compose
from anvil.projections.recorded.campaign import Attempt, Recorded, events_of


def again(recorded: Recorded) -> Iterator[str]:
    """Yield a sentence about each attempt that was launched again."""
    for attempt in recorded.attempts:
        if len(attempt.launches) > 1:
            times = len(attempt.launches)
            yield f"Attempt {attempt.key} was launched {times} times; what is shown is of the newest launch."


def failed(recorded: Recorded) -> Iterator[str]:
    """Yield a sentence about each launch that failed."""
    for attempt in recorded.attempts:
        yield from (f"{figure.value}." for figure in failures(attempt))


def failures(attempt: Attempt) -> Iterator[Figure]:
    """Yield in words what went wrong with each launch of an attempt."""
    for number, launch in enumerate(attempt.launches, 1):
        name = f"Launch {number} of attempt {attempt.key}"
        yield from _failures(name, launch)


def _failures(name: str, launch: tuple[Source, ...]) -> Iterator[Figure]:
    for failed in events_of(launch, LaunchFailed):
        why = failed.stated("failure")
        yield compose("a launch that failed", lambda word: f"{name} was not started ({word})", why)
    for ended in events_of(launch, EngineExited):
        figures = [ended.stated(field) for field in ("exit_code", "signal", "before_ready")]
        yield compose("how the engine ended", lambda *how: f"{name} {_ended(*how)}", *figures)
    for seen in events_of(launch, HealthObserved):
        if not seen.event.is_ready:
            rule = "no token was generated within the deadline"
            yield compose(rule, lambda _: f"{name} was never ready", seen.stated("is_ready"))


def _ended(code: int | None, signal: int | None, before_ready: bool) -> str:
    how = f" with code {code}" if code is not None else f" by signal {signal}" if signal is not None else ""
    return f"ended by itself{how} {'before' if before_ready else 'after'} it was ready"
