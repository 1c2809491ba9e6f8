"""`anvil note`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from anvil.ledger.citations import Citations, common_subject
from anvil.ledger.commands.arguments import EventParam, parse_subject, reason_option, subject_option, words
from anvil.ledger.commands.output import answer, answer_json, json_option, place
from anvil.ledger.commands.surroundings import require_publishable
from anvil.ledger.drafts import Draft
from anvil.ledger.events import CaveatNoted, GapNoted, build
from anvil.ledger.losses import lost
from anvil.ledger.recording import Ledger, Recorded
from anvil.ledger.streams import record

_file_option = click.option(
    "--file",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="Read the words from this file instead of TEXT; - is standard input.",
)


@click.group()
def note() -> None:
    """Note a caveat, a gap, or that bytes are lost.

    What is noted is public, and in the log for ever.
    """


@note.command("caveat")
@click.argument("text", required=False)
@_file_option
@click.option("--about", type=EventParam(), multiple=True, help="An event that it is about. Can be repeated.")
@subject_option
@json_option
def caveat(
    text: str | None, file: Path | None, about: tuple[str, ...], subject: tuple[str, ...], as_json: bool
) -> None:
    """Say what a reader must know when reading a result.

    Without --about it is about all of its subject. TEXT is - to read the words from standard input.

    \b
    Example:
      anvil note caveat "Another job used the host while this ran." \\
        --about 17
    """
    said = words(text, file)
    require_publishable(place(), {"TEXT": said})
    with Ledger.open(place().directory) as ledger:
        cited = Citations(ledger).support(about)
        event = build(CaveatNoted, {"text": said, "about": tuple(each.entry_hash for each in cited)})
        whole = Draft(event, parse_subject(subject) if subject else common_subject(cited))

        def require() -> None:  # nothing is said of what was taken back a moment before
            Citations(ledger).support(about)

        recorded = record(ledger, ledger.signer("operator"), [whole], purpose="note", require=require)
    _done(recorded, as_json)


@note.command("gap")
@click.argument("text", required=False)
@_file_option
@subject_option
@json_option
def gap(text: str | None, file: Path | None, subject: tuple[str, ...], as_json: bool) -> None:
    """Say what was not tested, and why.

    TEXT is - to read the words from standard input.

    \b
    Example:
      anvil note gap "No prompt was longer than 100,000 tokens." \\
        --subject campaign=qwen38
    """
    said = words(text, file)
    require_publishable(place(), {"TEXT": said})
    event = build(GapNoted, {"text": said})
    about = parse_subject(subject)
    with Ledger.open(place().directory) as ledger:
        recorded = record(ledger, ledger.signer("operator"), [Draft(event, about)], purpose="note")
    _done(recorded, as_json)


@note.command("missing")
@click.argument("index", type=EventParam())
@click.option("--artifact", "artifacts", multiple=True, help="Only this artifact. Can be repeated.")
@reason_option
@json_option
def missing(index: str, artifacts: tuple[str, ...], reason: str, as_json: bool) -> None:
    """Say that bytes of an event are lost.

    Without --artifact every artifact of it that is gone without an explanation. What rested on the bytes then
    shows it, and `anvil verify` counts the loss instead of failing. Bytes that are found again come back
    with `anvil observe --attach FILE --to INDEX`.

    \b
    Example:
      anvil note missing 17 --reason "The disk with the blobs died."
    """
    require_publishable(place(), {"--reason": reason})
    with Ledger.open(place().directory) as ledger:
        citations = Citations(ledger)
        drafts = lost(ledger, citations, citations.find(index), artifacts, reason)
        recorded = record(ledger, ledger.signer("operator"), drafts, purpose="note")
    _done(recorded, as_json)


def _done(recorded: Sequence[Recorded], as_json: bool) -> None:
    if as_json:
        events = [{"index": each.index, "entry_hash": each.entry_hash} for each in recorded]
        answer_json("anvil.note/1", {"events": events})
        return
    for each in recorded:
        answer(f"Noted at index {each.index} as {each.entry_hash}")
