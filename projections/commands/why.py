"""`anvil why`."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from anvil.ledger.commands.arguments import IndexRange
from anvil.ledger.commands.output import answer, answer_json, json_option, place, visible
from anvil.ledger.errors import BlobMissing, PublicationRefused
from anvil.ledger.terminal import columns, hung
from anvil.projections.chain import Line, lines, steps
from anvil.projections.commands.layouts import read_template
from anvil.projections.document import DOCUMENTS, Document, find
from anvil.projections.environment import Leaf
from anvil.projections.figures import ArtifactName
from anvil.projections.opened import Opened, opened
from anvil.projections.record import Kept
from anvil.projections.rendering import draft

_TEXT = ("text/", "application/json", "application/x-ndjson", "application/toml")
_WIDTH = 160
_ROW_INDENT = 12


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("pointer")
@click.option("--campaign", help="Of which campaign the document is; needed when there are several.")
@click.option("--candidate", help="Of which candidate it is; needed when there are several.")
@click.option("--as-of", type=IndexRange(), metavar="INDEX", help="After which event it was made.")
@click.option(
    "--template",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The JSON template that it was made with, when it is not anvil's.",
)
@click.option(
    "--rows", default=5, show_default=True, type=click.IntRange(0), help="Lines shown of each artifact."
)
@json_option
def why(
    file: Path,
    pointer: str,
    campaign: str | None,
    candidate: str | None,
    as_of: int | None,
    template: Path | None,
    rows: int,
    as_json: bool,
) -> None:
    """Show what a figure of a document rests on, down to raw rows.

    FILE is a document that `anvil render` printed as JSON, POINTER a JSON pointer to one of its leaves. The
    document is made again from the ledger and must come out the same. Private artifacts are shown to whoever
    holds the ledger.

    \b
    Example:
      anvil why draft.json /attempts/0/health
    """
    content = _read(file)
    layout = None if template is None else read_template(template)
    with opened(place(), as_of, campaign) as ledger:
        kind = _kind(content, has_template=layout is not None)
        made = draft(
            ledger.record, ledger.artifacts, kind, campaign=campaign, candidate=candidate, template=layout
        )
        ledger.require_signed(made)
        if made.rendered.text.encode() != content:
            raise PublicationRefused(
                f"{file} is not what this ledger gives after event {ledger.state.size - 1}",
                advice="Give --as-of with the index it was made at, and the same --campaign and --template.",
            )
        leaf = made.rendered.leaf(pointer)
        if leaf is None:
            raise PublicationRefused(
                f"{file} has no leaf at {pointer!r}",
                advice=f"It has, for example, {_near(pointer, made.rendered.leaves)}.",
            )
        members = {
            "pointer": leaf.pointer,
            "value": leaf.value,
            "status": leaf.status,
            "rule": leaf.rule,
            "ledger": {"origin": ledger.state.origin, "size": ledger.state.size, "root": ledger.state.root},
            **steps(leaf),
            "events": [_event(kept) for kept in _cited(ledger, leaf)],
            "artifacts": [_artifact(ledger, name, rows) for name in sorted(leaf.support.artifacts)],
        }
    if as_json:
        answer_json("anvil.why/1", members)
    else:
        for line in _told(members):
            answer(line)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise PublicationRefused(f"{file} cannot be read: {error.strerror}") from error


def _kind(content: bytes, *, has_template: bool) -> Document:
    """Return which document the file is, by its schema; with a template of one's own any will do."""
    try:
        members = json.loads(content)
    except ValueError as error:
        raise PublicationRefused(f"the file is no JSON: {error}") from error
    schema = members.get("schema") if isinstance(members, dict) else None
    kinds = [find(name) for name in DOCUMENTS]
    found = next((kind for kind in kinds if kind.schema == schema or has_template), None)
    if found is None:
        raise PublicationRefused(
            f"the file's schema is {str(schema)[:80]!r}",
            advice="A document of another layout needs --template.",
        )
    return found


def _near(pointer: str, leaves: tuple[Leaf, ...]) -> str:
    """Return leaves below what was asked for, else those that are spelled like it."""
    pointers = [leaf.pointer for leaf in leaves if leaf.kind in ("leaf", "empty")]
    wanted = f"/{pointer.strip('/')}"
    below = [one for one in pointers if one.startswith(f"{wanted}/")]
    near = below or difflib.get_close_matches(wanted, pointers, n=3, cutoff=0.5) or pointers
    return ", ".join(near[:3])


def _cited(ledger: Opened, leaf: Leaf) -> list[Kept]:
    cited = (kept for kept in ledger.record.every() if kept.entry_hash in leaf.support.events)
    return sorted(cited, key=lambda kept: kept.index)


def _event(kept: Kept) -> dict[str, Any]:
    return {
        "index": kept.index,
        "entry_hash": kept.entry_hash,
        "event": kept.event.type,
        "at": kept.at,
        "stream": kept.stream,
        "subject": kept.subject.members(),
    }


def _artifact(ledger: Opened, name: ArtifactName, rows: int) -> dict[str, Any]:
    entry, blob = ledger.artifacts.entries[name], ledger.artifacts.blob(name)
    members: dict[str, Any] = {
        "event": name.event,
        "name": name.name,
        "media_type": entry.media_type,
        "disclosure": _disclosure(ledger, name),
        "digest": None if blob is None else blob.digest,
        "size": None if blob is None else blob.size,
        "is_gone": name in ledger.record.gone,
        "rows": [],
    }
    if blob is not None and rows and entry.media_type.startswith(_TEXT):
        try:
            content = ledger.blobs.get(blob.digest)
        except BlobMissing:
            return members
        members["rows"] = content.decode("utf-8", "replace").splitlines()[:rows]
    return members


def _disclosure(ledger: Opened, name: ArtifactName) -> str:
    """Say who may have an artifact."""
    said = ledger.artifacts.disclosed(name)
    if said is None:
        return "public" if ledger.artifacts.entries[name].is_public else "private"
    return "disclosed" if said.extent == "bytes" else "private, its digest disclosed"


def _told(members: dict[str, Any]) -> Iterator[str]:
    wide = (columns(sys.stdout) or _WIDTH) - _ROW_INDENT
    indices = {event["entry_hash"]: event["index"] for event in members["events"]}
    value = json.dumps(members["value"], ensure_ascii=False) if members["value"] is not None else "null"
    yield f"{members['pointer']} = {visible(value)}"
    yield f"Evidence  {members['status']}"
    for title, name in (("From", "from"), ("Shown because of", "because")):
        if members[name]:
            yield title
            yield from (part for line in lines(members[name], indices) for part in _hung(line))
    yield "Events"
    for event in members["events"]:
        about = "/".join(event["subject"].values())
        yield f"  {event['index']:>6}  {event['at'][:19]}Z  {event['event']:<24}{about}"
        yield f"          {event['entry_hash']}"
    if members["artifacts"]:
        yield "Artifacts"
    for artifact in members["artifacts"]:
        state = "gone, as an event says" if artifact["is_gone"] else f"{artifact['size']} bytes, as signed"
        about = f"{artifact['name']} of event {indices[artifact['event']]}"
        yield f"  {about}  {artifact['media_type']}, {artifact['disclosure']}: {state}"
        if artifact["digest"]:
            yield f"          {artifact['digest']}"
        yield from (f"          | {_cut(visible(row), wide)}" for row in artifact["rows"])


def _hung(line: Line) -> Iterator[str]:
    """Yield a line of the chain, folded below its beginning; its equals sign ends a line, and its event stays whole."""
    said = visible(line.said).replace(" = ", "\0= ", 1).split(" ")
    words = [word.replace("\0", " ") for word in said]
    if line.events:
        words.append(f"  (event {', '.join(map(str, line.events))})")
    indent = 2 * line.level
    yield from hung(words, columns(sys.stdout), indent, indent + 4)


def _cut(row: str, wide: int) -> str:
    """Return the beginning of a raw row that fits; whole it is in the blob store, under the digest above it."""
    return row if len(row) <= wide else f"{row[: wide - 1]}…"
