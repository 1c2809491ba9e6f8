"""`anvil observe`."""

from __future__ import annotations

import mimetypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import click

from anvil.ledger.blobs import BlobStore
from anvil.ledger.citations import Citations, Cited
from anvil.ledger.commands.arguments import EventParam, parse_subject, subject_option, words
from anvil.ledger.commands.output import answer, answer_json, json_option, place
from anvil.ledger.commands.surroundings import require_publishable
from anvil.ledger.drafts import Attachment, Draft
from anvil.ledger.errors import LedgerError
from anvil.ledger.events import (
    CaveatNoted,
    DecisionRecorded,
    EvidenceAttached,
    GapNoted,
    ObservationNoted,
    RecipeDeclared,
    WaiverGranted,
    build,
)
from anvil.ledger.events.observations import ClaimPart
from anvil.ledger.losses import restored
from anvil.ledger.public import EvidenceStatus
from anvil.ledger.recording import Ledger, Recorded, Require, nothing
from anvil.ledger.streams import record

_NEEDS_BYTES = ("retained-complete", "retained-bounded-log", "imported-artifact")
_FOUND_LATER = "imported-artifact"
"""What a file found later is at least: kept whole by digest, made elsewhere."""
_NO_OBSERVATION = RecipeDeclared | CaveatNoted | GapNoted | WaiverGranted | DecisionRecorded
_MEDIA_TYPES = {".log": "text/plain", ".ndjson": "application/x-ndjson", ".jsonl": "application/x-ndjson"}


@click.command()
@click.argument("text", required=False)
@click.option(
    "--status",
    type=click.Choice(get_args(EvidenceStatus)),
    help="How strong the evidence is. retained-* and imported-artifact need --attach. "
    f"With --to, {_FOUND_LATER} if not given.",
)
@click.option("--public", is_flag=True, help="The words may be published; they stand in the log for ever.")
@click.option(
    "--file",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="Read the words from this file instead of TEXT; - is standard input.",
)
@click.option(
    "--attach",
    "files",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file to keep with it, privately. Can be repeated.",
)
@click.option(
    "--to",
    "target",
    type=EventParam(),
    help="What is attached is evidence, found later, for this earlier event. TEXT may then be left out.",
)
@click.option(
    "--supports",
    "parts",
    multiple=True,
    type=click.Choice(get_args(ClaimPart)),
    help="With --to an observation in parts: which of them the bytes support. Can be repeated.",
)
@subject_option
@json_option
def observe(
    text: str | None,
    status: str | None,
    public: bool,
    file: Path | None,
    files: tuple[Path, ...],
    target: str | None,
    parts: tuple[str, ...],
    subject: tuple[str, ...],
    as_json: bool,
) -> None:
    """Record what you saw, with its evidence status.

    The words are sealed (the log shows a commitment only) unless --public is given. TEXT is - to read them
    from standard input.

    With --to, what is attached supports an earlier event: its status rises to what the bytes support, and
    bytes that it had lost come back.

    \b
    Examples:
      anvil observe "Healthy, but answered nonsense." \\
        --status operator-observed-incomplete \\
        --subject campaign=qwen38 --subject attempt=a3
      anvil observe --attach response.json --to 12
    """
    said = None if target is not None and text is None and file is None else words(text, file)
    if target is None and parts:
        raise click.UsageError("--supports goes with --to.")
    if target is None:
        recorded = _observe(said, status, public, files, subject)
    else:
        if subject:
            raise click.UsageError("--subject does not go with --to: it is that of the event.")
        recorded = _support(target, parts, said, status, public, files)
    if as_json:
        answer_json("anvil.observe/1", {"index": recorded.index, "entry_hash": recorded.entry_hash})
    else:
        answer(f"Recorded at index {recorded.index} as {recorded.entry_hash}")


def _observe(
    said: str | None, status: str | None, public: bool, files: Sequence[Path], subject: tuple[str, ...]
) -> Recorded:
    if status is None:
        raise click.UsageError(
            f"Missing option '--status'. Choose from: {', '.join(get_args(EvidenceStatus))}"
        )
    if status in _NEEDS_BYTES and not files:
        raise LedgerError(
            f"status {status} says that bytes were kept, and no file is attached",
            advice="Add --attach FILE, or use operator-observed-incomplete.",
        )
    event = build(ObservationNoted, {"status": status, "claims": None, **_said(said, public)})
    about = parse_subject(subject)
    require_publishable(place(), {"TEXT": said} if public and said else {})
    with Ledger.open(place().directory) as ledger:
        return _record(ledger, Draft(event, about), files)


def _support(
    name: str,
    parts: Sequence[str],
    said: str | None,
    status: str | None,
    public: bool,
    files: Sequence[Path],
) -> Recorded:
    """Record evidence that was found later."""
    if not files:
        raise click.UsageError("--to needs --attach: only bytes raise the status of an earlier event.")
    if status is not None and status not in _NEEDS_BYTES:
        raise LedgerError(
            f"status {status} does not say that bytes were kept, and --to attaches some",
            advice=f"Use {', '.join(_NEEDS_BYTES)}, or none: then it is {_FOUND_LATER}.",
        )
    require_publishable(place(), {"TEXT": said} if public and said else {})
    with Ledger.open(place().directory) as ledger:
        cited = Citations(ledger).standing(name)
        _require_observation(cited)
        _require_parts(cited, parts)
        fields = {
            "target": cited.entry_hash,
            "status": status or _FOUND_LATER,
            "restores": restored(ledger, cited, files),
            "supports": tuple(dict.fromkeys(parts)),
            **_said(said, public),
        }

        def require() -> None:  # nothing is attached to what was taken back a moment before
            Citations(ledger).standing(name)

        return _record(ledger, Draft(build(EvidenceAttached, fields), cited.header.subject), files, require)


def _require_observation(cited: Cited) -> None:
    event = cited.event
    if isinstance(event, _NO_OBSERVATION):
        raise LedgerError(
            f"event {cited.index} is {event.type}, which observes nothing that bytes could support",
            advice="Record an observation with the bytes, and a decision that cites it.",
        )
    if isinstance(event, ObservationNoted) and event.status == "declared":
        raise LedgerError(
            f"event {cited.index} is declared, a choice and no observation: bytes do not change what it is",
            advice="Record an observation with the bytes.",
        )


def _require_parts(cited: Cited, parts: Sequence[str]) -> None:
    has_parts = isinstance(cited.event, ObservationNoted) and cited.event.claims is not None
    if has_parts and not parts:
        raise LedgerError(
            f"event {cited.index} says several things, and one file seldom supports all of them",
            advice=f"Name what it supports: --supports {' | '.join(get_args(ClaimPart))}.",
        )
    if parts and not has_parts:
        raise LedgerError(
            f"event {cited.index} is no observation in parts: the bytes support it as a whole",
            advice="Leave out --supports.",
        )


def _said(said: str | None, public: bool) -> dict[str, Any]:
    return {"public_text": said if public else None, "text": None if public else said}


def _record(ledger: Ledger, draft: Draft, files: Sequence[Path], require: Require = nothing) -> Recorded:
    draft.event.openings()  # as early as the signer below: no blob is kept for what cannot be recorded
    signer = ledger.signer("operator")  # first: no blob is kept for what cannot be signed
    attachments = tuple(_attach(ledger.blobs, number, path) for number, path in enumerate(files, 1))
    whole = Draft(draft.event, draft.subject, attachments)
    return record(ledger, signer, [whole], purpose="observation", require=require)[0]


def _attach(blobs: BlobStore, number: int, path: Path) -> Attachment:
    """Keep a file. Its own name may tell too much and is not recorded."""
    guessed = _MEDIA_TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0]
    return Attachment(f"attachment-{number}", guessed or "application/octet-stream", blobs.put_file(path))
