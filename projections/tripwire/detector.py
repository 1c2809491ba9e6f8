"""What a detector is: a name, a function that finds matches in a text, and a sample that it must find."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from anvil.ledger.errors import PublicationRefused

Find = Callable[[str], Iterable[str]]


class TripwireHit(PublicationRefused):
    """A text holds what must not leave. Nothing was written."""


class TripwireBroken(PublicationRefused):
    """A detector is missing or does not work, or a text could not be looked at whole. Nothing was written."""


@dataclass(frozen=True)
class Detector:
    """One kind of thing that must not leave.

    `sample` holds one and must be found. `reads_split` says that it may look at a text whose blanks and
    quotation marks were taken out: only what has an unmistakable beginning can be told from words there.
    """

    name: str
    find: Find
    sample: str
    reads_split: bool = False

    def require_sound(self) -> None:
        """Check that the detector finds its own sample.

        Raises:
            TripwireBroken: it fails, or finds nothing.
        """
        if not list(self.matches(self.sample)):
            raise broken(self.name, "it finds nothing in its own sample")

    def matches(self, text: str) -> Iterator[str]:
        """Yield what the detector finds in a text.

        Raises:
            TripwireBroken: it fails.
        """
        try:
            yield from self.find(text)
        except Exception as error:  # whatever it is: what was not looked at does not leave
            raise broken(self.name, f"it failed with {type(error).__name__}") from error


def broken(name: str, why: str) -> TripwireBroken:
    """Return the refusal for a detector that cannot be relied on."""
    return TripwireBroken(
        f"the tripwire's detector {name!r} cannot be relied on: {why}",
        advice="Nothing leaves without it. Install anvil again with the versions of its constraints.txt.",
    )


def by_pattern(pattern: str, flags: int = 0) -> Find:
    """Return a function that finds every match of a regular expression."""
    compiled = re.compile(pattern, flags)
    return lambda text: (found[0] for found in compiled.finditer(text))
