"""Support: the document, leaf by leaf, against its provenance and the events in the folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from anvil.ledger.checks.finding import Finding
from anvil.ledger.errors import MalformedPublication
from anvil.ledger.public import EvidenceStatus
from anvil.ledger.publication import layout
from anvil.ledger.publication.disclosing import check_disclosed
from anvil.ledger.publication.entrychecks import Checked
from anvil.ledger.publication.manifest import Manifest

SCHEMA = "anvil.provenance/1"


class _Number(str):
    """A number as it is written in a document: `48.0` is not `48`."""

    __slots__ = ()


def check_support(files: Mapping[str, bytes], checked: Checked, manifest: Manifest) -> list[Finding]:
    """Return what is wrong with the support of a document, whose own file and provenance are among `files`."""
    document, provenance = files[layout.DOCUMENT], files[layout.PROVENANCE]
    try:
        values = _parse(document, layout.DOCUMENT)
        stated = _parse(provenance, layout.PROVENANCE)
        leaves = _leaves(stated)
        shown = dict(_walk(values, ""))
    except MalformedPublication as error:
        return [Finding("file-damaged", str(error))]
    except RecursionError:
        return [Finding("file-damaged", f"{layout.DOCUMENT} is nested too deep")]
    found = list(_check_head(stated, document, manifest))
    own = {leaf["pointer"]: leaf for leaf in leaves if leaf["kind"] != "key"}
    found += [
        Finding("unsupported", f"{pointer} of the document is not in its provenance")
        for pointer in shown.keys() - own.keys()
    ]
    for pointer, leaf in own.items():
        if pointer not in shown:
            found.append(Finding("figure-differs", f"{pointer} is in the provenance and not in the document"))
        elif not _is_same(shown[pointer], leaf["value"], leaf["kind"]):
            message = f"{pointer} of the document is not the figure that its provenance states"
            found.append(Finding("figure-differs", message))
    found += _check_once(leaves, shown)
    for leaf in leaves:
        found += _check_leaf(leaf, checked)
    found += check_disclosed(leaves, files, checked, manifest)
    return sorted(found, key=lambda finding: finding.message)


def differing(shown: bytes, made: bytes) -> Iterator[Finding]:
    """Yield a finding for each leaf of a document that comes out otherwise, with both values."""
    try:
        here, again = (dict(_walk(_parse(raw, layout.DOCUMENT), "")) for raw in (shown, made))
    except (MalformedPublication, RecursionError):
        return  # that it is no document is a finding of its own
    for pointer in sorted(here.keys() | again.keys()):
        if pointer not in here or pointer not in again or not _is_equal(here[pointer], again[pointer]):
            yield Finding(
                "not-recomputed",
                f"{pointer} comes out otherwise",
                expected=_told(again, pointer),
                found=_told(here, pointer),
            )


def _is_equal(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def _told(leaves: dict[str, Any], pointer: str) -> str:
    return json.dumps(leaves[pointer], ensure_ascii=False)[:200] if pointer in leaves else "nothing"


def _check_head(stated: dict[str, Any], document: bytes, manifest: Manifest) -> Iterator[Finding]:
    about = manifest.about
    expected = {
        ("document", "digest"): layout.digest(document),
        ("document", "campaign"): about.campaign,
        ("document", "candidate"): about.candidate,
        ("document", "schema"): about.document_schema,
        ("template", "digest"): about.template_digest,
        ("ledger", "origin"): about.fold.origin,
        ("ledger", "size"): str(about.fold.size),
        ("ledger", "root"): about.fold.root,
    }
    for (group, name), value in expected.items():
        members = stated.get(group)
        if not isinstance(members, dict) or members.get(name) != value:
            yield Finding("figure-differs", f"the provenance is of another {group}: {name} differs")
    if stated.get("synthetic") is not False:
        yield Finding("unsupported", "it rests on synthetic streams, which are no evidence of anything")


def _check_once(leaves: list[dict[str, Any]], shown: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what is stated twice, of which a reader may take the other, and names that the document does not have."""
    told: set[tuple[str, bool]] = set()
    nodes = {node for pointer in shown for node in _above(pointer)}
    for leaf in leaves:
        pointer, is_key = leaf["pointer"], leaf["kind"] == "key"
        if (pointer, is_key) in told:
            yield Finding("unsupported", f"{pointer} is in the provenance twice")
        told.add((pointer, is_key))
        name = pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
        if is_key and (pointer not in nodes or leaf["value"] != name):
            yield Finding("figure-differs", f"{pointer} is a name in the provenance and not in the document")


def _above(pointer: str) -> Iterator[str]:
    """Yield a pointer and those of everything that it is in."""
    while pointer:
        yield pointer
        pointer = pointer.rpartition("/")[0]


def _check_leaf(leaf: dict[str, Any], checked: Checked) -> Iterator[Finding]:
    pointer, events = leaf["pointer"], leaf["events"]
    if leaf["kind"] == "literal":
        if pointer != "/schema" or events:
            yield Finding("unsupported", f"{pointer} has no event behind it")
        return
    if not events:
        yield Finding("unsupported", f"{pointer} has no event behind it")
    for name in events:
        if name not in checked.indices:
            yield Finding("unsupported", f"{pointer} rests on event {str(name)[:16]}, which is not here")
        elif not checked.supports(name):
            yield Finding("unsupported", f"{pointer} rests on event {name[:16]}, which was taken back")
    if leaf["status"] not in get_args(EvidenceStatus):
        yield Finding("unsupported", f"{pointer} has no evidence status")
    for artifact in leaf["artifacts"]:
        members = dict(artifact)
        name = members.pop("event", None)
        is_here = isinstance(name, str) and name in checked.indices and name in events
        held = checked.by_hash[name][0].artifacts if is_here else ()
        if not any(_as_text(entry.members()) == members for entry in held):
            yield Finding("unsupported", f"{pointer} names an artifact that its event does not have")


def _as_text(members: dict[str, Any]) -> dict[str, Any]:
    return {name: _Number(value) if type(value) is int else value for name, value in members.items()}


def _is_same(shown: Any, stated: Any, kind: str) -> bool:
    if kind == "empty":
        return shown in ({}, [])
    if isinstance(shown, _Number):
        return isinstance(stated, str) and str(shown) == str(stated)
    return type(shown) is type(stated) and shown == stated


def _parse(raw: bytes, name: str) -> dict[str, Any]:
    try:
        found = json.loads(raw, parse_float=_Number, parse_int=_Number, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise MalformedPublication(f"{name} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise MalformedPublication(f"{name} is no object")
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key is there twice")
    return members


def _leaves(stated: dict[str, Any]) -> list[dict[str, Any]]:
    leaves = stated.get("leaves")
    names = {"pointer", "kind", "value", "rule", "status", "events", "artifacts"}
    if stated.get("schema") != SCHEMA or not isinstance(leaves, list):
        raise MalformedPublication(f"{layout.PROVENANCE} is not of {SCHEMA}")
    for leaf in leaves:
        if not isinstance(leaf, dict) or leaf.keys() != names:
            raise MalformedPublication(f"a leaf of {layout.PROVENANCE} has other members")
        if not all(isinstance(leaf[name], list) for name in ("events", "artifacts")):
            raise MalformedPublication(f"a leaf of {layout.PROVENANCE} has no list of events or artifacts")
        if not all(isinstance(leaf[name], str) for name in ("pointer", "kind", "status")):
            raise MalformedPublication(f"a leaf of {layout.PROVENANCE} has no pointer, kind or status")
        if not all(isinstance(artifact, dict) for artifact in leaf["artifacts"]):
            raise MalformedPublication(f"a leaf of {layout.PROVENANCE} names an artifact that is none")
        if not all(isinstance(event, str) for event in leaf["events"]):
            raise MalformedPublication(f"a leaf of {layout.PROVENANCE} names an event by no hash")
    return leaves


def _walk(value: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, member in value.items():
            yield from _walk(member, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _walk(item, f"{pointer}/{number}")
    else:
        yield pointer, value
