"""Private artifacts whose digest somebody disclosed: the bytes are there, and the commitment opens to that digest.

1. A digest is printed when an event opens the commitment in the event that carries the artifact, and only when it
   does: what does not fit is left out, and `anvil verify` names it.
2. The figure rests on the artifact itself. A document is refused when the bytes are not in the store, to the byte.
"""

from __future__ import annotations

from collections.abc import Iterator

from anvil.ledger import canonical
from anvil.ledger.commitments import Opening
from anvil.ledger.events import ArtifactDisclosed
from anvil.projections.figures import ArtifactName, Figure, Group, Support, compose
from anvil.projections.record import Kept
from anvil.projections.recorded.campaign import Of, Recorded


def digests(recorded: Recorded) -> Iterator[tuple[Figure, Group]]:
    """Yield each digest with its name: the attempt, and the artifact's name."""
    every = {kept.entry_hash: kept for kept in recorded.campaign.every()}
    printed = set()
    for disclosed in recorded.about(ArtifactDisclosed):
        kept = every.get(disclosed.event.target)
        if kept is None or recorded.evidence.source(kept) is None or not _opens(kept, disclosed.event):
            continue
        about = kept.subject.attempt or kept.subject.candidate or "campaign"
        name = f"{about}_{disclosed.event.artifact}".replace("-", "_").replace(".", "_")[:64]
        if name not in printed:
            printed.add(name)
            yield _figures(recorded, kept, disclosed, name)


def _figures(
    recorded: Recorded, kept: Kept, disclosed: Of[ArtifactDisclosed], name: str
) -> tuple[Figure, Group]:
    rests = Support(
        frozenset({kept.entry_hash}), frozenset({ArtifactName(kept.entry_hash, disclosed.event.artifact)})
    )
    carrier = Figure(None, "the event that carries the artifact", rests, recorded.evidence.status(kept))
    key = compose("the attempt and the artifact", lambda *_: name, disclosed.stated("artifact"))
    said = disclosed.stated("digest")
    sha256 = compose(
        "a disclosed digest, in hex", lambda text, _: text.removeprefix("sha256:"), said, carrier
    )
    return key, Group({"name": key, "sha256": sha256})


def _opens(kept: Kept, event: ArtifactDisclosed) -> bool:
    """Say whether an event opens the commitment of an artifact (rule 1)."""
    value = canonical.encode({"digest": event.digest, "size": event.size})
    opening = Opening(bytes.fromhex(event.salt), value)
    commitments = [one.commitment for one in kept.artifacts if one.name == event.artifact]
    return commitments == [opening.commitment()]
