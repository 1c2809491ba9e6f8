"""`anvil import`."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from anvil.collectors.importers import KINDS, importer_of
from anvil.collectors.importers.interface import ImportRefused, Said, Taken
from anvil.collectors.importers.spelling import spelled
from anvil.ledger.blobs import BlobStore
from anvil.ledger.citations import Citations
from anvil.ledger.commands.output import answer, answer_json, json_option, place, say
from anvil.ledger.commands.surroundings import require_publishable
from anvil.ledger.drafts import Attachment, Draft
from anvil.ledger.entry import read_entry
from anvil.ledger.events import (
    CheckImported,
    Event,
    ImportRecorded,
    LoadImported,
    StatementImported,
    SuiteImported,
    build,
)
from anvil.ledger.files import read_plain
from anvil.ledger.header import Header, Subject
from anvil.ledger.publication.exceptions import exceptions_in_force
from anvil.ledger.recording import Ledger
from anvil.ledger.rowtable import MEDIA_TYPE, RowTable
from anvil.ledger.streams import record

MAX_FILE = 64 << 20
"""Bytes in a file at most; an importer may allow less."""

_INDEX = re.compile(r"\[[0-9]+\]")
"""Numbers in a place: of the places of rows only the names differ."""

_file = click.Path(path_type=Path, exists=True, dir_okay=False)


@dataclass(frozen=True)
class _Import:
    """One file, taken apart, and the campaign that it goes to."""

    path: Path
    content: bytes
    digest: str
    kind: str
    campaign: str
    taken: Taken

    @property
    def is_document(self) -> bool:
        return self.taken.nature == "published-document"

    def event(self) -> ImportRecorded:
        return build(
            ImportRecorded,
            {
                "kind": self.kind,
                "nature": self.taken.nature,
                "format": self.taken.format,
                "digest": self.digest,
                "size_bytes": len(self.content),
                "statements": len(self.taken.said),
                "not_said": self.taken.not_said,
                "withheld": self.taken.withheld,
            },
        )

    def members(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "format": self.taken.format,
            "digest": self.digest,
            "campaign": self.campaign,
            "not_said": list(self.taken.not_said),
            "withheld": list(self.taken.withheld),
            "statements": [
                {
                    "event": said.event.type,
                    "subject": _subject(self.campaign, said).members(),
                    "facts": said.event.facts(),
                    **({} if said.rows is None else {"rows": len(said.rows.rows)}),
                }
                for said in self.taken.said
            ],
        }


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=_file, metavar="FILE…")
@click.option(
    "--kind",
    type=click.Choice(list(KINDS)),
    metavar="KIND",
    help=f"What kind of file it is (default: found out by its content): {', '.join(KINDS)}.",
)
@click.option("--campaign", help="Record under this campaign (default: one of its own for each file).")
@click.option("--candidate", help="Of which candidate files are that do not say so: a label.")
@click.option("--attempt", help="Of which attempt files are that do not say so: a label, to compare by.")
@click.option(
    "--evidence",
    "evidence",
    multiple=True,
    type=_file,
    help="Raw evidence whose SHA-256 a FILE states, to keep with it, privately. May be repeated.",
)
@click.option(
    "--dry-run", is_flag=True, help="Only say what would be recorded, or refused; no ledger is needed."
)
@json_option
def import_files(
    files: tuple[Path, ...],
    kind: str | None,
    campaign: str | None,
    candidate: str | None,
    attempt: str | None,
    evidence: tuple[Path, ...],
    dry_run: bool,
    as_json: bool,
) -> None:
    """Take in files that were made elsewhere, statement by statement.

    Each FILE is kept whole. What a published document says stands in the log for ever, in the clear: it is
    somebody's claim about another run, and its statements are external-prior. What a measuring tool wrote is
    raw evidence: the file stays private, its counts, times and rows are taken in as imported-artifact, its
    figures are made again, and what is wrong with it is found. All files are recorded or none.

    \b
    Examples:
      anvil import summary.json --dry-run
      anvil import summary.json --campaign qwen38-27b
      anvil import r1.json r2.json --campaign kernel-ab --attempt tuned
    """
    for name, given in (("campaign", campaign), ("candidate", candidate), ("attempt", attempt)):
        if given is not None and not Subject.is_label(given):
            raise click.BadParameter(
                f"{given!r} is no label: a-z 0-9 . _ -, beginning with a letter or digit, at most 64",
                param_hint=f"--{name}",
            )
    about = {name: one for name, one in (("candidate", candidate), ("attempt", attempt)) if one is not None}
    imports = [_assigned(_take_apart(path, kind, campaign), about) for path in files]
    _require_different(imports)
    attached = _matched(imports, evidence)
    indices: list[int] = []
    if dry_run:
        _rehearse(imports)
    else:
        with Ledger.open(place().directory) as ledger:
            signer = ledger.signer("operator")  # first: no blob is kept for what cannot be signed
            _require_recordable(ledger, imports)
            drafts = [draft for one in imports for draft in _drafts(one, ledger.blobs, attached)]
            recorded = record(ledger, signer, drafts, purpose="import")
        indices = [where.index for where in recorded]
    if as_json:
        members = {"imports": [one.members() for one in imports], "indices": indices, "dry_run": dry_run}
        answer_json("anvil.import/1", members)
    else:
        _tell(imports, indices)


# --- reading ----------------------------------------------------------------------------------------------


def _read(path: Path) -> bytes:
    try:
        return read_plain(path, MAX_FILE)
    except OSError as error:
        raise ImportRefused(f"{path} cannot be read: {error.strerror}; nothing was imported") from error


def _take_apart(path: Path, kind: str | None, campaign: str | None) -> _Import:
    content = _read(path)
    digest = _digest(content)
    try:
        importer = importer_of(content, kind)
        taken = importer.take_apart(content, digest)
    except ImportRefused as error:
        raise ImportRefused(
            f"{path} cannot be imported, and nothing was: {error}", advice=error.advice
        ) from error
    own = "-".join(part for part in ("imported", taken.date, digest.removeprefix("sha256:")[:8]) if part)
    return _Import(path, content, digest, importer.kind, campaign or own, taken)


def _assigned(one: _Import, about: Mapping[str, str]) -> _Import:
    """Return a file with the candidate and attempt that whoever imports it names.

    Raises:
        ImportRefused: it says another itself, or is a document, which names its own.
    """
    if not about:
        return one
    if one.is_document:
        raise ImportRefused(
            f"{one.path} is a published document, which names its own candidates; nothing was imported",
            advice="Leave out --candidate and --attempt.",
        )
    for said in one.taken.said:
        for name, given in about.items():
            own = getattr(said, name)
            if own not in (None, given):
                raise ImportRefused(
                    f"{one.path} says that it is of {name} {own!r}, not of {given!r}; nothing was imported",
                    advice=f"Leave out --{name}.",
                )
    whose = about.get("candidate"), about.get("attempt")
    said_of = tuple(
        replace(said, candidate=said.candidate or whose[0], attempt=said.attempt or whose[1])
        for said in one.taken.said
    )
    return replace(one, taken=replace(one.taken, said=said_of))


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


# --- what refuses -----------------------------------------------------------------------------------------


def _require_different(imports: Sequence[_Import]) -> None:
    """Check that no file comes twice, and no two documents tell of the same campaign in the same format.

    Of documents only one could be rendered.
    """
    seen: dict[tuple[str, str], Path] = {}
    for one in imports:
        before = seen.setdefault(_key(one), one.path)
        if before is not one.path:
            what = one.taken.format if one.is_document else one.digest
            raise ImportRefused(
                f"{before} and {one.path} are both {what} for campaign {one.campaign!r}; nothing was imported",
                advice="Import each under a --campaign of its own."
                if one.is_document
                else "Name it once: the bytes are the same.",
            )


def _key(one: _Import) -> tuple[str, str]:
    """Return what a campaign can hold once: a document of a format, a file of evidence."""
    return one.campaign, one.taken.format if one.is_document else one.digest


def _rehearse(imports: Sequence[_Import]) -> None:
    """Check all that recording would check; where there is no ledger, as much of it as needs none."""
    where = place()
    if where.database.exists():
        with Ledger.open(where.directory) as ledger:
            _require_recordable(ledger, imports)
        return
    require_publishable(None, dict(_public_words(imports)))
    say(
        "There is no ledger here: whether it would hold a file already, and what is sealed in it and may not be said, "
        "was not looked at."
    )


def _require_recordable(ledger: Ledger, imports: Sequence[_Import]) -> None:
    """Check that a ledger holds none of them, and that nothing of them is refused by the tripwire."""
    _require_new(ledger, imports)
    excepted = exceptions_in_force(ledger).values()
    require_publishable(ledger.place, dict(_public_words(imports)), exceptions=excepted)


def _require_new(ledger: Ledger, imports: Sequence[_Import]) -> None:
    """Check that the log has none of them yet. What was retracted does not count, nor what a disowned key signed."""
    wanted = {_key(one): one.path for one in imports}
    citations = Citations(ledger)
    for index, entry_hash, header in _headers(ledger, ImportRecorded.event_type):
        holds = header.facts["format" if header.facts["nature"] == "published-document" else "digest"]
        path = wanted.get((header.subject.campaign or "", holds))
        if path is not None and citations.stands(entry_hash):
            raise ImportRefused(
                f"{path}: campaign {header.subject.campaign!r} already holds {holds}, at index {index}",
                advice=f"Import it under another --campaign, or take the other back: `anvil retract {index}`.",
            )


def _public_words(imports: Sequence[_Import]) -> Iterator[tuple[str, str]]:
    """Yield what would stand in the log in the clear, by its place; the same words once."""
    seen: set[str] = set()
    for one in imports:
        for number, said in enumerate(one.taken.said, 1):
            rows = () if said.rows is None else _words_of_rows(said.rows)
            for text in _texts([said.event.facts(), said.candidate, said.attempt, *rows]):
                if text not in seen:
                    seen.add(text)
                    yield f"{one.path.name}, statement {number}, text {len(seen)}", text
        for number, text in enumerate(spelled(one.content, seen), 1):
            yield f"{one.path.name}, name {number} as it is spelled there", text


def _words_of_rows(rows: RowTable) -> Iterator[str | None]:
    """Yield what rows say in words; they are a public artifact."""
    for column in rows.columns:
        yield from (column.name, column.called)
    for row in rows.rows:
        yield from (row.item, row.group, row.finish_reason, _INDEX.sub("", row.position))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _headers(ledger: Ledger, event_type: str) -> Iterator[tuple[int, str, Header]]:
    for row in ledger.store.of_types([event_type]):
        yield row.entry_index, row.leaf_hash.hex(), read_entry(row.entry_index, row.entry)[0]


# --- recording --------------------------------------------------------------------------------------------


def _matched(imports: Sequence[_Import], evidence: tuple[Path, ...]) -> dict[str, bytes]:
    """Return the files of `evidence` by their digest, each of which some document states."""
    named = {digest for one in imports for said in one.taken.said for digest in _digests(said)}
    found: dict[str, bytes] = {}
    for path in evidence:
        content = _read(path)
        digest = _digest(content)
        if digest not in named:
            raise ImportRefused(
                f"{path} has {digest}, which no imported file states; nothing was imported",
                advice="Attach other files to an observation: `anvil observe --attach`.",
            )
        found[digest] = content
    return found


def _digests(said: Said) -> Iterator[str]:
    if isinstance(said.event, StatementImported) and said.event.topic == "digest":
        yield from (f"sha256:{value.text}" for value in said.event.values if value.text is not None)


def _subject(campaign: str, said: Said) -> Subject:
    return Subject(campaign, said.candidate, said.attempt)


def _drafts(one: _Import, blobs: BlobStore, attached: dict[str, bytes]) -> Iterator[Draft]:
    source = Attachment("source", one.taken.media_type, blobs.put(one.content), one.is_document)
    yield Draft(one.event(), Subject(one.campaign), (source,))
    for said in one.taken.said:
        kept = [blobs.put(attached[digest]) for digest in _digests(said) if digest in attached]
        attachments = [Attachment("evidence", "application/octet-stream", blob) for blob in kept]
        if said.rows is not None:
            attachments.append(Attachment("rows", MEDIA_TYPE, blobs.put(said.rows.encode()), is_public=True))
        yield Draft(said.event, _subject(one.campaign, said), tuple(attachments))


def _tell(imports: Sequence[_Import], indices: list[int]) -> None:
    for one in imports:
        counts = Counter(_what(said.event) for said in one.taken.said)
        counted = ", ".join(f"{count} {what}" for what, count in counts.items())
        answer(f"{one.path}: {one.taken.format}, campaign {one.campaign}")
        answer(f"  {len(one.taken.said)} statements: {counted}")
        for event in (said.event for said in one.taken.said):
            if isinstance(event, CheckImported | SuiteImported | LoadImported):
                _tell_result(event)
        if one.taken.not_said:
            answer(f"  not said: {', '.join(one.taken.not_said)}")
        if one.taken.withheld:
            answer(f"  said only in the file: {', '.join(one.taken.withheld)}")
    if indices:
        answer(f"Recorded at index {indices[0]} to {indices[-1]}. See `anvil status`.")
        for one in imports:
            if one.is_document:
                document = one.taken.format.partition(".")[2].replace("/", ".")
                answer(f"What it says: anvil render {document} --campaign {one.campaign}")
    else:
        answer("Nothing was recorded: this was a dry run.")


def _what(event: Event) -> str:
    return event.topic if isinstance(event, StatementImported) else event.type.partition(".")[0]


def _tell_result(event: CheckImported | SuiteImported | LoadImported) -> None:
    what = event.type.partition(".")[0]
    done = event.completed if isinstance(event, LoadImported) else event.passed
    names = ", ".join(dict.fromkeys(found.finding.replace("_", " ") for found in event.findings))
    counts = "/".join("?" if one is None else str(one) for one in (done, event.expected))
    answer(f"  {what} {event.called}: {counts}{f' ({names})' if names else ''}")
