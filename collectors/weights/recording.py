"""An inspection as an event and its inventory, and what a later look may take over of it.

1. The inventory is a private artifact: each file with its kind, size, digests and what the file system said of
   it. A later look of the same campaign reads it back by its digest and takes over what did not change.
2. The place where a later look finds it is a file beside the ledger, `EARLIER`. It is no evidence: what it
   names is the digest of the inventory, whose bytes are checked, and the event that the next one cites.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anvil.collectors.cleaning import fitting
from anvil.collectors.weights.findings import MAX_SHOWN, counted
from anvil.collectors.weights.hashing import Digested
from anvil.collectors.weights.inspection import Inspection, Known
from anvil.collectors.weights.snapshot import Identity
from anvil.ledger.errors import LedgerError
from anvil.ledger.events import WeightsInspected
from anvil.ledger.events.surroundings import NamedDigest, TensorType, WeightFinding
from anvil.ledger.files import make_private_directory, write_whole

EARLIER = "weights.json"
MAX_LISTED = 400
_WORD = re.compile("[A-Za-z][A-Za-z0-9_.+-]{0,39}")


@dataclass(frozen=True)
class Earlier:
    """An earlier look: the entry that records it, and what is known by it."""

    entry_hash: str | None = None
    known: Known = field(default_factory=Known)


NOTHING = Earlier()


def event_of(inspection: Inspection, earlier: Earlier = NOTHING) -> WeightsInspected:
    """Return the event that records an inspection."""
    digests = [inspection.digests[name].sha256 for name in inspection.tensor_files[:MAX_LISTED]]
    return WeightsInspected(
        model=inspection.snapshot.model,
        revision=inspection.revision,
        files=len(inspection.snapshot.entries),
        bytes=inspection.size,
        tensor_files=len(inspection.tensor_files),
        tensor_bytes=inspection.tensor_bytes,
        tensors=inspection.tensors,
        tensor_types=tuple(
            TensorType(name=name, tensors=count)
            for name, count in inspection.types.items()
            if _WORD.fullmatch(name)
        ),
        tensor_digests=tuple(digest for digest in digests if digest),
        documents=_documents(inspection),
        stated_identities=len(inspection.known),
        matched_identities=sum(inspection.known.values()),
        findings=tuple(
            WeightFinding(kind=kind, count=count) for kind, count in counted(inspection.found).items()
        ),
        digested_bytes=inspection.read_bytes,
        elapsed_ns=inspection.elapsed_ns,
        earlier=earlier.entry_hash if inspection.reused else None,
        reused_files=len(inspection.reused),
        places=_places(inspection),
    )


def _places(inspection: Inspection) -> list[list[str]]:
    """Return where the snapshot lies, and as many findings with their files as a sealed field holds."""
    rows = [("snapshot", os.fsencode(inspection.snapshot.root).decode("utf-8", "backslashreplace"))]
    rows += dict.fromkeys(inspection.found[:MAX_SHOWN])
    return fitting(rows)


def event_without(kind: str, place: Path | None, why: str) -> WeightsInspected:
    """Return the event for weights that could not be looked at: one finding, and why."""
    return WeightsInspected(
        model=None,
        revision=None,
        files=0,
        bytes=0,
        tensor_files=0,
        tensor_bytes=0,
        tensors=0,
        tensor_types=(),
        tensor_digests=(),
        documents=(),
        stated_identities=0,
        matched_identities=0,
        findings=(WeightFinding(kind=kind, count=1),),
        digested_bytes=0,
        elapsed_ns=0,
        earlier=None,
        reused_files=0,
        places=[*([["snapshot", str(place)]] if place else []), [kind, why]],
    )


def _documents(inspection: Inspection) -> tuple[NamedDigest, ...]:
    found = {role: inspection.digests[name].sha256 for role, name in inspection.documents.items()}
    found["chat-template"] = inspection.chat_template
    return tuple(NamedDigest(name=role, digest=digest) for role, digest in sorted(found.items()) if digest)


def inventory_of(inspection: Inspection) -> bytes:
    """Return the inventory as JSON."""
    files = [
        {
            "name": entry.name,
            "kind": inspection.kinds[entry.name],
            "sha256": inspection.digests[entry.name].sha256,
            "git_blob": inspection.digests[entry.name].git_blob,
            "stated": inspection.stated[entry.name].etag if entry.name in inspection.stated else None,
            "is_settled": max(entry.identity.mtime_ns, entry.identity.ctime_ns)
            < inspection.settled_before_ns,
            "identity": entry.identity._asdict(),
        }
        for entry in inspection.snapshot.entries
    ]
    headers = {
        name: {"tensors": len(header.names), "types": dict(header.types), "data_bytes": header.data_bytes}
        for name, header in inspection.headers.items()
    }
    found = [{"kind": kind, "file": file} for kind, file in inspection.found]
    document = {"schema": "anvil.inventory/1", "files": files, "headers": headers, "findings": found}
    return json.dumps(document, ensure_ascii=True, indent=1).encode()


def read_inventory(raw: bytes) -> Known:
    """Return the digests of an inventory that a later look may take over; none from one that cannot be read."""
    digests: dict[Identity, Digested] = {}
    with suppress(ValueError, KeyError, TypeError):
        for file in json.loads(raw)["files"]:
            if file["is_settled"] and file["sha256"]:
                digests[Identity(**file["identity"])] = Digested(file["sha256"], file["git_blob"])
    return Known(digests)


def recall(directory: Path, campaign: str, place: Path, read: Callable[[str], bytes]) -> Earlier:
    """Return what an earlier look at `place` in the same campaign found; `read` gives a blob's bytes."""
    row = _rows(directory).get(_key(campaign, place))
    if not isinstance(row, dict):
        return NOTHING
    try:
        return Earlier(str(row["entry"]), read_inventory(read(str(row["inventory"]))))
    except (LedgerError, KeyError):
        return NOTHING


def remember(directory: Path, campaign: str, place: Path, entry: str, inventory: str) -> None:
    """Note where the newest look at `place` is recorded.

    Raises:
        LedgerError: it cannot be written.
    """
    rows = {**_rows(directory), _key(campaign, place): {"entry": entry, "inventory": inventory}}
    make_private_directory(directory)
    write_whole(directory / EARLIER, json.dumps(rows, indent=1).encode(), mode=0o600)


def _rows(directory: Path) -> dict[str, Any]:
    try:
        rows = json.loads((directory / EARLIER).read_bytes())
    except (OSError, ValueError):
        return {}
    return rows if isinstance(rows, dict) else {}


def _key(campaign: str, place: Path) -> str:
    return f"{campaign} {place}"
