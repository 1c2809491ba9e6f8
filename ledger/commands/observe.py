"""`anvil observe`."""

from __future__ import annotations

import mimetypes
from pathlib import Path
from typing import get_args

import click

from anvil.ledger.blobs import BlobStore
from anvil.ledger.commands.output import answer, answer_json, json_option, place
from anvil.ledger.commands.surroundings import require_publishable
from anvil.ledger.drafts import Attachment, Draft
from anvil.ledger.errors import LedgerError
from anvil.ledger.events import ObservationNoted, build
from anvil.ledger.header import Subject
from anvil.ledger.public import EvidenceStatus
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import record

_NEEDS_BYTES = {"retained-complete", "retained-bounded-log", "imported-artifact"}
_MEDIA_TYPES = {".log": "text/plain", ".ndjson": "application/x-ndjson", ".jsonl": "application/x-ndjson"}


@click.command()
@click.argument("text")
@click.option(
    "--status",
    required=True,
    type=click.Choice(get_args(EvidenceStatus)),
    help="How strong the evidence is. retained-* and imported-artifact need --attach.",
)
@click.option("--public", is_flag=True, help="TEXT may be published; it stands in the log for ever.")
@click.option(
    "--attach",
    "files",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file to keep with it, privately. Can be repeated.",
)
@click.option(
    "--subject",
    "subject",
    multiple=True,
    metavar="KEY=NAME",
    help="What it is about: campaign=…, candidate=… or attempt=…. Can be repeated.",
)
@json_option
def observe(
    text: str, status: str, public: bool, files: tuple[Path, ...], subject: tuple[str, ...], as_json: bool
) -> None:
    """Record what you saw, with its evidence status.

    The words are sealed (the log shows a commitment only) unless --public is given.

    \b
    Example:
      anvil observe "Healthy, but answered nonsense." \\
        --status operator-observed-incomplete \\
        --subject campaign=qwen38 --subject attempt=a3
    """
    _require_words(text)
    if status in _NEEDS_BYTES and not files:
        raise LedgerError(
            f"status {status} says that bytes were kept, and no file is attached",
            advice="Add --attach FILE, or use operator-observed-incomplete.",
        )
    event = build(
        ObservationNoted,
        {
            "status": status,
            "public_text": text if public else None,
            "claims": None,
            "text": None if public else text,
        },
    )
    event.openings()  # as early as the signer below: no blob is kept for what cannot be recorded
    about = parse_subject(subject)
    require_publishable(place(), {"TEXT": text} if public else {})
    with Ledger.open(place().directory) as ledger:
        signer = ledger.signer("operator")  # first: no blob is kept for what cannot be signed
        attachments = tuple(_attach(ledger.blobs, number, path) for number, path in enumerate(files, 1))
        recorded = record(ledger, signer, [Draft(event, about, attachments)], purpose="observation")[0]
    if as_json:
        answer_json("anvil.observe/1", {"index": recorded.index, "entry_hash": recorded.entry_hash})
    else:
        answer(f"Recorded at index {recorded.index} as {recorded.entry_hash}")


def _require_words(text: str) -> None:
    """Refuse what is recorded by mistake: an empty variable, or bytes of another encoding.

    Raises:
        BadParameter: the text is empty or no UTF-8.
    """
    if not text.strip():
        raise click.BadParameter("there are no words in it", param_hint="TEXT")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise click.BadParameter("it is not UTF-8, or the locale is not", param_hint="TEXT") from error


def parse_subject(pairs: tuple[str, ...]) -> Subject:
    """Return the subject that ``key=name`` pairs give.

    Raises:
        BadParameter: a key is unknown or given twice, or a name is no label.
    """
    members: dict[str, str] = {}
    for pair in pairs:
        key, equals, name = pair.partition("=")
        if key not in ("campaign", "candidate", "attempt") or not equals or key in members:
            raise click.BadParameter(
                f"{pair!r}: expected campaign=…, candidate=… or attempt=…, each once", param_hint="--subject"
            )
        if not Subject.is_label(name):
            raise click.BadParameter(
                f"{name!r} is no label: a-z 0-9 . _ -, beginning with a letter or digit, at most 64",
                param_hint="--subject",
            )
        members[key] = name
    return Subject(**members)


def _attach(blobs: BlobStore, number: int, path: Path) -> Attachment:
    """Keep a file. Its own name may tell too much and is not recorded."""
    guessed = _MEDIA_TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0]
    return Attachment(f"attachment-{number}", guessed or "application/octet-stream", blobs.put_file(path))
