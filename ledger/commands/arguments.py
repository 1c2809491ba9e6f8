"""What several commands take from the command line: events, subjects, words and moments."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import click

from anvil.ledger.clock import timestamp
from anvil.ledger.events.base import MAX_SEALED_SIZE
from anvil.ledger.header import Subject
from anvil.ledger.public import MAX_INTEGER

_EVENT = re.compile(r"[0-9]{1,15}|[0-9a-f]{64}")

subject_option = click.option(
    "--subject",
    "subject",
    multiple=True,
    metavar="KEY=NAME",
    help="What it is about: campaign=…, candidate=… or attempt=…. Can be repeated.",
)
reason_option = click.option("--reason", required=True, help="Why. Public, and in the log for ever.")


class IndexRange(click.IntRange):
    """A place in a log: 0 to 2**53 - 1, the integers of the format."""

    def __init__(self) -> None:
        super().__init__(0, MAX_INTEGER)


class EventParam(click.ParamType[str]):
    """An event of the ledger, by its index or its entry hash."""

    name = "INDEX"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text of the index or hash.

        Raises:
            BadParameter: it is neither.
        """
        text = str(value)
        if not _EVENT.fullmatch(text):
            self.fail(
                f"{text!r}: expected an index, such as 12, or an entry hash of 64 hex digits", param, ctx
            )
        return text


class MomentParam(click.ParamType[str]):
    """A day, to its end, or a moment; both in UTC."""

    name = "DATE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the moment as it stands in an event.

        Raises:
            BadParameter: it is no day and no moment in UTC.
        """
        text = str(value)
        try:
            if len(text) == len("2026-12-31"):
                day = datetime.combine(datetime.fromisoformat(text).date(), time(), UTC)
                return timestamp(day + timedelta(days=1) - timedelta(microseconds=1))
            moment = datetime.fromisoformat(text)
            if moment.utcoffset() != timedelta(0):
                raise ValueError("not in UTC")
            return timestamp(moment)
        except (ValueError, OverflowError):
            self.fail(
                f"{text!r}: expected a day, 2026-12-31, or a moment in UTC, 2026-12-31T18:00:00Z", param, ctx
            )


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


def require_campaign(subject: Subject, what: str) -> None:
    """Refuse a judgement that is about no campaign.

    Raises:
        UsageError: the subject names none.
    """
    if subject.campaign is None:
        raise click.UsageError(
            f"{what} is about a campaign, and the events named share none: give --subject campaign=…."
        )


def words(text: str | None, file: Path | None = None, *, hint: str = "TEXT") -> str:
    """Return what a person says: `text` itself, or what stands in a file; ``-`` is standard input.

    Line ends at the end of a file or of standard input are not part of it.

    Raises:
        UsageError: it is given twice, or not at all.
        BadParameter: there are no words in it, too many, or it is no UTF-8.
    """
    if (text is None) == (file is None):
        raise click.UsageError(f"Give {hint}, - for standard input, or --file FILE: one of them.")
    if file is not None and str(file) != "-":
        try:
            with file.open("rb") as opened:
                said = _read(opened, "--file")
        except OSError as error:
            raise click.BadParameter(
                f"{file} cannot be read: {error.strerror}", param_hint="--file"
            ) from error
    elif text is None or text == "-":
        said = _read(sys.stdin.buffer, hint)
    else:
        said = text
    if not said.strip():
        raise click.BadParameter("there are no words in it", param_hint=hint)
    try:
        said.encode()
    except UnicodeEncodeError as error:
        raise click.BadParameter("it is not UTF-8, or the locale is not", param_hint=hint) from error
    return said


def _read(file: BinaryIO, hint: str) -> str:
    raw = file.read(MAX_SEALED_SIZE + 1)
    if len(raw) > MAX_SEALED_SIZE:
        raise click.BadParameter(
            f"more than {MAX_SEALED_SIZE} bytes; attach long text with --attach", param_hint=hint
        )
    try:
        return raw.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise click.BadParameter("it is not UTF-8", param_hint=hint) from error
