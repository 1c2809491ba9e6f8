"""The bytes that go along: what the figures rest on, and what was read to find that, as far as it is public.

1. An artifact goes along when a leaf rests on it or the document was made by reading it, it is public, and it is not
   gone. Rows decide that a run is not shown as well. It is public when its event shows its digest, or when an event
   here disclosed its bytes; one of which only the digest was disclosed stays private and never goes along.
2. Its bytes lie under the digest that the signed event shows or the disclosure states, once, however many events
   name them.
3. All that a leaf rests on is there, so that rows can neither be left out nor be swapped, and nothing is there that
   no event here makes public, or that one says is gone.
4. A leaf that rests on a disclosure rests on the artifact that was disclosed, and on the event that carries it. When it
   rests on nothing else and is a digest, it is one of those that were disclosed.

What a leaf says it rests on is its provenance; that the provenance says it rightly is shown by making the
document again (`anvil.ledger.publication.verifying`, rule 7).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from anvil.ledger.checks.disclosures import Disclosure, Place, shown
from anvil.ledger.checks.finding import Finding
from anvil.ledger.events import (
    ArtifactDisclosed,
    ArtifactMissing,
    ArtifactRedacted,
    EventRetracted,
    EvidenceAttached,
)
from anvil.ledger.header import ArtifactEntry
from anvil.ledger.publication import layout
from anvil.ledger.publication.entrychecks import Checked
from anvil.ledger.publication.manifest import Disclosed, Manifest

_HEX = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


def disclosed(event: str, entry: ArtifactEntry, said: ArtifactDisclosed | None) -> Disclosed | None:
    """Return an artifact as a manifest names it, or None when it is private (rule 1).

    `said` is the disclosure of it that counts.
    """
    blob = shown(entry, said)
    if blob is None:
        return None
    return Disclosed(
        event=event, name=entry.name, media_type=entry.media_type, digest=blob.digest, size=blob.size
    )


def check_disclosed(
    leaves: Iterable[Mapping[str, Any]], files: Mapping[str, bytes], checked: Checked, manifest: Manifest
) -> Iterator[Finding]:
    """Yield what is wrong with the artifacts of a folder, whose leaves were found well formed."""
    wanted: dict[Place, tuple[Disclosed, str]] = {}
    leaves, gone, public = list(leaves), _gone(checked), _Public(checked, checked.disclosures())
    for leaf in leaves:
        yield from _check_rests(leaf, public)
    for named_so, first in _wanted(leaves, public, gone):
        wanted.setdefault(named_so, first)
    named = {(one.event, one.name): one for one in manifest.artifacts}
    for name, (one, pointer) in wanted.items():
        if named.get(name) != one:
            yield Finding(
                "unsupported",
                f"{pointer} rests on artifact {_told(name)}, which is public and does not go along as it was signed",
                expected=one.digest,
                found=named[name].digest if name in named else "nothing",
            )
    yield from _astray(named, set(wanted), gone, public)
    for one in named.values():
        content = files.get(layout.artifact(one.digest))
        found = "nothing" if content is None else layout.digest(content)
        if found != one.digest:
            yield Finding(
                "artifact-altered",
                f"{layout.artifact(one.digest)} is not artifact {_told((one.event, one.name))} as it was signed",
                expected=one.digest,
                found=found,
            )
    expected = {layout.artifact(one.digest) for one in manifest.artifacts}
    for item in manifest.files:
        if item.path.startswith(f"{layout.ARTIFACTS}/") and item.path not in expected:
            yield Finding("unsupported", f"{item.path} is no artifact that the manifest names")


@dataclass(frozen=True)
class _Public:
    """What of the events here everybody may have."""

    checked: Checked
    disclosures: Mapping[Place, Disclosure]

    def named(self, place: Place) -> Disclosed | None:
        """Return an artifact as a manifest names it, or None when it is not here or private."""
        event, name = place
        found = self.disclosures.get(place)
        for entry in self.checked.by_hash[event][0].artifacts if event in self.checked.by_hash else ():
            if entry.name == name:
                return disclosed(event, entry, None if found is None else found.event)
        return None


def _check_rests(leaf: Mapping[str, Any], public: _Public) -> Iterator[Finding]:
    """Rule 4."""
    known = public.checked.by_hash
    said = {name: known[name][1] for name in leaf["events"] if name in known}
    opened = {name: event for name, event in said.items() if isinstance(event, ArtifactDisclosed)}
    rests_on = {(str(stated.get("event")), str(stated.get("name"))) for stated in leaf["artifacts"]}
    for name, event in opened.items():
        if (event.target, event.artifact) not in rests_on:
            yield Finding(
                "unsupported",
                f"{leaf['pointer']} rests on the disclosure {name[:16]}, and not on the artifact "
                f"{_told((event.target, event.artifact))} that it discloses",
            )
    alone = {*opened, *(event.target for event in opened.values())}
    places = {(event.target, event.artifact) for event in opened.values()}
    digests = {public.disclosures[place].event.digest for place in places if place in public.disclosures}
    found = _HEX.fullmatch(leaf["value"]) if isinstance(leaf["value"], str) else None
    if opened and found and alone == set(leaf["events"]) and f"sha256:{found[1]}" not in digests:
        yield Finding(
            "unsupported",
            f"{leaf['pointer']} is no digest that was disclosed",
            expected=", ".join(sorted(digests)),
            found=str(leaf["value"]),
        )


def _wanted(
    leaves: Iterable[Mapping[str, Any]], public: _Public, gone: set[Place]
) -> Iterator[tuple[Place, tuple[Disclosed, str]]]:
    """Yield each artifact that must be there, and a leaf that rests on it."""
    for leaf in leaves:
        for stated in leaf["artifacts"]:
            place = str(stated.get("event")), str(stated.get("name"))
            one = None if place in gone else public.named(place)
            if one is not None:
                yield place, (one, leaf["pointer"])


def _astray(
    named: Mapping[Place, Disclosed], wanted: set[Place], gone: set[Place], public: _Public
) -> Iterator[Finding]:
    """Yield what goes along and must not (rule 3)."""
    for name, one in named.items():
        if name in gone:
            yield Finding(
                "unsupported", f"artifact {_told(name)} goes along, and an event here says that it is gone"
            )
        elif name not in wanted and one != public.named(name):
            yield Finding(
                "unsupported",
                f"artifact {_told(name)} goes along, and no event here names it in the clear so, or disclosed it",
            )


def _gone(checked: Checked) -> set[Place]:
    """Return the artifacts that were redacted, or lost as far as nobody took that back or found them again.

    What a disowned key says of it counts for nothing.
    """
    counting = [(said, e) for said, _, e in checked.events if checked.counts(said)]
    retracted = {e.target for _, e in counting if isinstance(e, EventRetracted)}
    redacted: set[Place] = set()
    lost: set[Place] = set()
    for said, event in counting:
        if isinstance(event, ArtifactRedacted):
            redacted.add((event.target, event.artifact))
        elif isinstance(event, ArtifactMissing) and said not in retracted:
            lost.add((event.target, event.artifact))
        elif isinstance(event, EvidenceAttached):
            lost -= {(event.target, restored) for restored in event.restores}
    return redacted | lost


def _told(name: Place) -> str:
    return f"{name[1]} of event {name[0][:16]}"
