"""Looking: every detector and every canary over every form of named texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from anvil.projections.tripwire.addresses import address_detectors
from anvil.projections.tripwire.canaries import Canaries
from anvil.projections.tripwire.credentials import credential_detectors
from anvil.projections.tripwire.detector import Detector, TripwireBroken, TripwireHit, broken
from anvil.projections.tripwire.foreign import PINNED, foreign_detectors
from anvil.projections.tripwire.forms import SPLIT, forms
from anvil.projections.tripwire.machines import machine_detectors
from anvil.projections.tripwire.tokens import token_detectors

DETECTORS: tuple[Callable[[], tuple[Detector, ...]], ...] = (
    foreign_detectors,
    token_detectors,
    credential_detectors,
    machine_detectors,
    address_detectors,
)
"""Where the detectors come from."""

EXPECTED = 81
"""How many detectors there are. One that got lost is missing, whoever lost it."""

MOST_SHOWN = 12

BLOCK, OVERLAP = 32, 8
"""Lines that are looked at together, and how many of them once more with the next: what is split over so few is found."""


@dataclass(frozen=True, order=True)
class Hit:
    """Something that must not leave: where it stands, which detector found it, in which form of the text."""

    place: str
    detector: str
    form: str

    def __str__(self) -> str:
        return f"{self.detector} at {self.place}" + ("" if self.form == "plain" else f" ({self.form})")


@dataclass(frozen=True)
class Excused:
    """What one detector may find: the digest of the exact text that it matches, by `tripwire.excepted`."""

    detector: str
    digest: str


class Tripwire:
    """The detectors that work, the canaries, what is excused, and texts that everybody knows.

    `known` are texts, such as the ledger's own name, that are taken out before anything is looked for.

    Raises:
        TripwireBroken: a detector is missing or finds nothing in its own sample.
    """

    def __init__(
        self,
        canaries: Canaries | None = None,
        excused: Iterable[Excused] = (),
        known: Iterable[str] = (),
    ) -> None:
        self._detectors = tuple(detector for source in DETECTORS for detector in source())
        self._canaries = canaries or Canaries()
        self._excused = frozenset(excused)
        self._known = sorted(filter(None, known), key=len, reverse=True)
        self.used: set[Excused] = set()
        names = {detector.name for detector in self._detectors}
        if len(names) != EXPECTED or len(self._detectors) != EXPECTED:
            raise broken("all", f"there are {len(self._detectors)}, expected {EXPECTED}")
        for detector in self._detectors:
            detector.require_sound()

    def look(self, place: str, text: str) -> list[Hit]:
        """Return what must not leave with `text`, which stands at `place`.

        Raises:
            TripwireBroken: a detector fails, or the text cannot be looked at whole.
        """
        for known in self._known:
            text = text.replace(known, " known ")
        found = {
            Hit(place, name, how)
            for how, form in forms(text)
            for name, matched in self._matches(how, form)
            if not self._is_excused(name, matched)
        }
        return sorted(found)

    def look_through(
        self, place: str, text: str, progress: Callable[[int, int], None] | None = None
    ) -> list[Hit]:
        """Return what must not leave with a long text, such as a log; each place says which line, or which lines.

        `progress` is told how many lines of how many have been looked at.

        Raises:
            TripwireBroken: see `look`.
        """
        lines = text.splitlines()
        hits = set(
            self.look_at_bytes(place, text.encode())
        )  # what is known to be private may have many lines
        for start in range(0, max(1, len(lines) - OVERLAP), BLOCK - OVERLAP):
            block = lines[start : start + BLOCK]
            together = self.look(f"{place}, lines {start + 1} to {start + len(block)}", "\n".join(block))
            if together:
                each = [self.look(f"{place}, line {start + n}", line) for n, line in enumerate(block, 1)]
                alone = {hit.detector for hits_of in each for hit in hits_of}
                hits.update(hit for hits_of in each for hit in hits_of)
                hits.update(hit for hit in together if hit.detector not in alone)
            if progress is not None:
                progress(start + len(block), len(lines))
        return sorted(hits)

    def look_at_bytes(self, place: str, content: bytes) -> list[Hit]:
        """Return which canaries stand in bytes that are no text for people, such as hashes and signatures."""
        folded = content.lower()
        return sorted(
            {
                Hit(place, kind, "bytes")
                for kind, wanted in self._canaries.encoded()
                if wanted.lower() in folded
            }
        )

    def require_clean(self, texts: Iterable[tuple[str, str]]) -> None:
        """Look at every (place, text).

        Raises:
            TripwireHit: something must not leave; all of it is named, by place and detector.
            TripwireBroken: see `look`.
        """
        refuse([hit for place, text in texts for hit in self.look(place, text)])

    def _matches(self, how: str, form: str) -> Iterator[tuple[str, str]]:
        for detector in self._detectors:
            if how != SPLIT or detector.reads_split:
                yield from ((detector.name, matched) for matched in detector.matches(form))
        yield from self._canaries.matches(how, form)

    def _is_excused(self, detector: str, matched: str) -> bool:
        if not self._excused:
            return False
        excused = Excused(detector, f"sha256:{hashlib.sha256(str(matched).encode()).hexdigest()}")
        if excused not in self._excused:
            return False
        self.used.add(excused)
        return True


_SAY_IT_OTHERWISE = "Nothing was written. Say it in other words; there is no way to force it."


def refuse(hits: list[Hit], advice: str = _SAY_IT_OTHERWISE) -> None:
    """Refuse when there is anything.

    Raises:
        TripwireHit: there is.
    """
    if not hits:
        return
    shown = "; ".join(map(str, hits[:MOST_SHOWN]))
    more = f"; and {len(hits) - MOST_SHOWN} more" if len(hits) > MOST_SHOWN else ""
    raise TripwireHit(
        f"the tripwire found what must not be published: {shown}{more}",
        advice=advice,
    )


def policy_digest() -> str:
    """Return the digest of what the tripwire is: its detectors, their samples, and the pinned version."""
    named = [[d.name, d.sample, d.reads_split] for source in DETECTORS for d in source()]
    text = json.dumps(["anvil.tripwire/1", PINNED, named], sort_keys=True)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


__all__ = [
    "DETECTORS",
    "Excused",
    "Hit",
    "Tripwire",
    "TripwireBroken",
    "TripwireHit",
    "policy_digest",
    "refuse",
]
