"""What is gone, and what says why.

1. A sealed value or an artifact that is not at hand must have been redacted by an event that names
   it, or, if it is the bytes of an artifact, an event must say that they are lost. If so it is a note; if
   not, it is missing.
2. A correction names an event of this log, and a field or artifact that the event has.
3. A disclosure opens the commitment that it names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from anvil.ledger.checks.entries import Unresolved
from anvil.ledger.checks.finding import Finding
from anvil.ledger.checks.keys import Correction
from anvil.ledger.checks.lookup import Entries, find_in
from anvil.ledger.events import ArtifactDisclosed, ArtifactMissing, ArtifactRedacted, SealedRedacted
from anvil.ledger.header import Header
from anvil.ledger.wording import counted


def check_unresolved(
    unresolved: Iterable[Unresolved], explained: Mapping[tuple[str, str, str], int]
) -> list[Finding]:
    """Rule 1: return a finding for each thing that is gone and that no later event explains.

    `explained` has the index of the event that says so.
    """
    findings = []
    for item in unresolved:
        leaf = item.leaf.hex()
        if any(explained.get((leaf, what, item.name), -1) > item.index for what in (item.kind, item.what)):
            continue
        code = "artifact-missing" if item.kind == "artifact" else "sealed-missing"
        message = f"the {item.what} of {item.kind} {item.name!r} is gone, and no event says so"
        findings.append(Finding(code, message, item.index))  # type: ignore[arg-type]
    return findings


def check_corrections(corrections: Sequence[tuple[int, Correction]], entries: Entries) -> list[Finding]:
    """Rules 2 and 3, and notes that count what was redacted and what was lost."""
    findings = []
    find = find_in(entries)
    counts: Counter[str] = Counter()
    for index, event in corrections:
        problem = _problem(index, event, find(event.target))
        if problem is not None:
            findings.append(problem)
        elif isinstance(event, SealedRedacted | ArtifactRedacted):
            counts["redacted"] += 1
        elif isinstance(event, ArtifactMissing):
            counts["lost"] += 1
    if counts["redacted"]:
        findings.append(Finding("redacted", f"{counts['redacted']} sealed values or artifacts were redacted"))
    if counts["lost"]:
        findings.append(Finding("lost", f"{counted(counts['lost'], 'artifact')} lost, now or for a time"))
    return findings


def _problem(index: int, event: Correction, target: tuple[int, Header] | None) -> Finding | None:
    if target is None or target[0] >= index:
        return Finding(
            "dangling-reference", f"{event.type} names {event.target[:16]}, which is not before it", index
        )
    header = target[1]
    artifacts = {artifact.name: artifact for artifact in header.artifacts}
    if isinstance(event, SealedRedacted) and event.field not in header.sealed:
        return Finding(
            "dangling-reference", f"{event.type} names field {event.field!r}, which is not there", index
        )
    if (
        isinstance(event, ArtifactRedacted | ArtifactMissing | ArtifactDisclosed)
        and event.artifact not in artifacts
    ):
        return Finding(
            "dangling-reference", f"{event.type} names artifact {event.artifact!r}, which is not there", index
        )
    if isinstance(event, ArtifactDisclosed):
        opened = event.opens()
        stated = artifacts[event.artifact].commitment
        if opened != stated:
            message = f"the disclosure of {event.artifact!r} does not open its commitment"
            return Finding("sealed-altered", message, index, expected=stated, found=opened)
    return None
