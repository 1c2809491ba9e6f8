"""The bytes that go along: what the figures rest on, and what was read to find that, as far as it is public.

1. An artifact goes along when a leaf rests on it or the document was made by reading it, its event shows its
   digest, and it is not gone. Rows decide that a run is not shown as well. A private artifact shows a commitment
   only, and never goes along.
2. Its bytes lie under the digest that the signed event shows, once, however many events name them.
3. All that a leaf rests on is there, so that rows can neither be left out nor be swapped, and nothing is there that
   no event here names in the clear, or that one says is gone.

What a leaf says it rests on is its provenance; that the provenance says it rightly is shown by making the
document again (`anvil.ledger.publication.verifying`, rule 7).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from anvil.ledger.checks.finding import Finding
from anvil.ledger.events import ArtifactMissing, ArtifactRedacted, EventRetracted, EvidenceAttached
from anvil.ledger.header import ArtifactEntry
from anvil.ledger.publication import layout
from anvil.ledger.publication.entrychecks import Checked
from anvil.ledger.publication.manifest import Disclosed, Manifest

Name = tuple[str, str]
"""An artifact by its event and its name there."""


def disclosed(event: str, entry: ArtifactEntry) -> Disclosed | None:
    """Return an artifact as a manifest names it, or None when it is private (rule 1)."""
    if entry.digest is None or entry.size is None:
        return None
    return Disclosed(
        event=event, name=entry.name, media_type=entry.media_type, digest=entry.digest, size=entry.size
    )


def check_disclosed(
    leaves: Iterable[Mapping[str, Any]], files: Mapping[str, bytes], checked: Checked, manifest: Manifest
) -> Iterator[Finding]:
    """Yield what is wrong with the artifacts of a folder, whose leaves were found well formed."""
    wanted: dict[Name, tuple[Disclosed, str]] = {}
    gone = _gone(checked)
    for named_so, first in _wanted(leaves, checked, gone):
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
    yield from _astray(named, set(wanted), gone, checked)
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


def _wanted(
    leaves: Iterable[Mapping[str, Any]], checked: Checked, gone: set[Name]
) -> Iterator[tuple[Name, tuple[Disclosed, str]]]:
    """Yield each artifact that must be there, and a leaf that rests on it."""
    for leaf in leaves:
        for stated in leaf["artifacts"]:
            event, name = str(stated.get("event")), str(stated.get("name"))
            if event not in checked.by_hash or (event, name) in gone:
                continue
            for entry in checked.by_hash[event][0].artifacts:
                one = disclosed(event, entry) if entry.name == name else None
                if one is not None:
                    yield (event, entry.name), (one, leaf["pointer"])


def _astray(
    named: Mapping[Name, Disclosed], wanted: set[Name], gone: set[Name], checked: Checked
) -> Iterator[Finding]:
    """Yield what goes along and must not (rule 3)."""
    for name, one in named.items():
        if name in gone:
            yield Finding(
                "unsupported", f"artifact {_told(name)} goes along, and an event here says that it is gone"
            )
        elif name not in wanted and one not in _in_the_clear(name, checked):
            yield Finding(
                "unsupported", f"artifact {_told(name)} goes along, and no event here names it in the clear"
            )


def _in_the_clear(name: Name, checked: Checked) -> list[Disclosed | None]:
    """Return the public artifact that an event names so, if there is one."""
    event, called = name
    if event not in checked.by_hash:
        return []
    return [disclosed(event, entry) for entry in checked.by_hash[event][0].artifacts if entry.name == called]


def _gone(checked: Checked) -> set[Name]:
    """Return the artifacts that were redacted, or lost as far as nobody took that back or found them again."""
    retracted = {e.target for _, _, e in checked.events if isinstance(e, EventRetracted)}
    redacted: set[Name] = set()
    lost: set[Name] = set()
    for said, _, event in checked.events:
        if isinstance(event, ArtifactRedacted):
            redacted.add((event.target, event.artifact))
        elif isinstance(event, ArtifactMissing) and said not in retracted:
            lost.add((event.target, event.artifact))
        elif isinstance(event, EvidenceAttached):
            lost -= {(event.target, restored) for restored in event.restores}
    return redacted | lost


def _told(name: Name) -> str:
    return f"{name[1]} of event {name[0][:16]}"
