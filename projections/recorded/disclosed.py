"""Private artifacts whose digest somebody disclosed: the bytes are there, and the commitment opens to that digest.

1. A digest is printed when an event opens the commitment in the event that carries the artifact, and only when it
   does: what does not fit is left out, and `anvil verify` names it. One that was disclosed twice is printed once.
2. The figure rests on the artifact itself. A document is refused when the bytes are not in the store, to the byte;
   what an event says is gone is left out, since its digest leads to nothing.
3. It is named by the attempt, by the check, suite or cell, and by the artifact; of several with one name the later
   ones are numbered.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, count

from anvil.ledger.events import ArtifactDisclosed, CheckCompleted, LoadMeasured, SuiteCompleted
from anvil.projections.figures import ArtifactName, Figure, Group, Support, compose
from anvil.projections.record import Kept
from anvil.projections.recorded.campaign import Of, Recorded

LONGEST = 58
"""Characters of a name, without the number of a later one: a name has 64 at most."""


def digests(recorded: Recorded) -> Iterator[tuple[Figure, Group]]:
    """Yield each digest with its name."""
    every = {kept.entry_hash: kept for kept in recorded.campaign.every()}
    printed: set[ArtifactName] = set()
    names: set[str] = set()
    for disclosed in recorded.about(ArtifactDisclosed):
        kept = every.get(disclosed.event.target)
        if kept is None or recorded.evidence.source(kept) is None or not _opens(kept, disclosed.event):
            continue
        place = ArtifactName(kept.entry_hash, disclosed.event.artifact)
        if place in printed or place in recorded.evidence.record.gone:
            continue
        printed.add(place)
        name = _name(kept, place.name)
        numbered = (f"{name}_{number}" for number in count(2))
        name = next(one for one in chain((name,), numbered) if one not in names)
        names.add(name)
        yield _figures(recorded, kept, disclosed, name)


def _name(kept: Kept, artifact: str) -> str:
    """Return what a digest is called, before it is numbered (rule 3)."""
    about = kept.subject.attempt or kept.subject.candidate or "campaign"
    what: tuple[str, ...] = ()
    if isinstance(kept.event, CheckCompleted):
        what = (kept.event.check,)
    elif isinstance(kept.event, SuiteCompleted):
        what = (kept.event.suite,)
    elif isinstance(kept.event, LoadMeasured):
        what = (kept.event.protocol, kept.event.cell)
    return "_".join((about, *what, artifact)).replace("-", "_").replace(".", "_")[:LONGEST]


def _figures(
    recorded: Recorded, kept: Kept, disclosed: Of[ArtifactDisclosed], name: str
) -> tuple[Figure, Group]:
    place = ArtifactName(kept.entry_hash, disclosed.event.artifact)
    rests = Support(frozenset({kept.entry_hash}), frozenset({place}))
    carrier = Figure(None, "the event that carries the artifact", rests, recorded.evidence.status(kept))
    key = compose(
        "the attempt, what was done in it, and the artifact",
        lambda *_: name,
        disclosed.stated("artifact"),
        carrier,
    )
    said = disclosed.stated("digest")
    sha256 = compose(
        "a disclosed digest, in hex", lambda text, _: text.removeprefix("sha256:"), said, carrier
    )
    return key, Group({"name": key, "sha256": sha256})


def _opens(kept: Kept, event: ArtifactDisclosed) -> bool:
    """Say whether an event opens the commitment of an artifact (rule 1)."""
    return [one.commitment for one in kept.artifacts if one.name == event.artifact] == [event.opens()]
