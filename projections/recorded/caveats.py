"""What must be known of one attempt: caveats about it, warnings in its log, launches of it that failed.

1. A caveat is about an attempt when its subject is, or when it names an event of it. It is the words of a person.
2. Warnings are counted by the patterns that looked through the log of the newest launch; they are not quoted.
3. A failed launch is told by how it ended.
"""

from __future__ import annotations

from collections.abc import Iterator

from anvil.ledger.events import CaveatNoted, LogExcerpted
from anvil.ledger.wording import counted
from anvil.projections.figures import Figure, Group, compose
from anvil.projections.recorded import launches
from anvil.projections.recorded.campaign import Attempt, Recorded, events_of

_WARNING = "warning"
"""The pattern that finds warnings."""


def of_attempt(recorded: Recorded, attempt: Attempt) -> Iterator[tuple[Figure, Group]]:
    """Yield what must be known of an attempt, each by its name."""
    kinds = {
        "caveat": list(_caveats(recorded, attempt)),
        "warning": list(_warnings(attempt)),
        "retained_failure": list(launches.failures(attempt)),
    }
    for name, figures in kinds.items():
        if figures:
            key = compose(f"what is noted as {name}", lambda *_, name=name: name, *figures)
            text = compose(f"each {name}", lambda *words: "; ".join(words), *figures)
            yield key, Group({"name": key, "text": text})


def _caveats(recorded: Recorded, attempt: Attempt) -> Iterator[Figure]:
    own = {source.entry_hash for launch in attempt.launches for source in launch}
    subjects = {kept.entry_hash: kept.subject.attempt for kept in recorded.campaign.general}
    for caveat in recorded.about(CaveatNoted):
        if subjects.get(caveat.entry_hash) == attempt.key or own & set(caveat.event.about):
            yield caveat.stated("text")


def _warnings(attempt: Attempt) -> Iterator[Figure]:
    for excerpt in events_of(attempt.newest, LogExcerpted):
        for at, pattern in enumerate(excerpt.event.patterns):
            if pattern.name == _WARNING and pattern.lines:
                lines = excerpt.stated("patterns", at, "lines")
                yield compose(
                    "warnings in the log", lambda n: f"the engine's log has {counted(n, 'warning')}", lines
                )
