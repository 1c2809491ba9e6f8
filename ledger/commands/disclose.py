"""`anvil disclose`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from anvil.ledger.commands.arguments import EventParam
from anvil.ledger.commands.output import answer, answer_json, json_option, place, progress, say, visible
from anvil.ledger.commands.surroundings import private_surroundings, require_publishable
from anvil.ledger.disclosure import Disclosing, Extent, disclose, find, readable
from anvil.ledger.elsewhere import elsewhere
from anvil.ledger.errors import LedgerError
from anvil.ledger.publication.exceptions import exceptions_in_force
from anvil.ledger.recording import Ledger
from anvil.ledger.terminal import columns
from anvil.ledger.wording import counted

_LINES, _WIDTH, _INDENT = 5, 100, 6


@click.command("disclose")
@click.argument("index", type=EventParam())
@click.argument("name")
@click.option("--digest-only", is_flag=True, help="Disclose digest and size alone; the bytes stay private.")
@click.option("--reason", help="Why. Public, and in the log for ever.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def disclose_command(
    index: str, name: str, digest_only: bool, reason: str | None, yes: bool, as_json: bool
) -> None:
    """Make a private artifact public, for good.

    INDEX is the event that carries it, NAME the artifact's name there. Its bytes then go along in publications
    and exports like those of any public artifact, once the tripwire has looked through them; with
    --digest-only nobody gets them, and whoever has them can show that they are the ones. What would become
    public is shown first. It cannot be taken back: a redaction deletes the bytes here and nowhere else.

    \b
    Example:
      anvil disclose 17 startup-log --digest-only \\
        --reason "So that others can compare theirs."
    """
    extent: Extent = "digest" if digest_only else "bytes"
    require_publishable(place(), {} if reason is None else {"--reason": reason})
    with Ledger.open(place().directory) as ledger:
        ledger.signer("operator")
        found = find(ledger, index, name, extent)
        text = None if digest_only else readable(found, ledger.blobs.get(found.blob.digest))
        used = () if text is None else _looked_through(ledger, name, text)
        for line in _shown(found, text):
            say(line)
        _require_meant(yes=yes)
        done = disclose(ledger, found, reason, used)
    if as_json:
        members = {
            "index": done.index,
            "entry_hash": done.entry_hash,
            "target": found.cited.index,
            "artifact": name,
            "extent": extent,
            "digest": found.blob.digest,
            "size": found.blob.size,
        }
        answer_json("anvil.disclose/1", members)
    else:
        what = "digest and size" if digest_only else "bytes"
        answer(
            f"Disclosed the {what} of artifact {name} of event {found.cited.index}, recorded at index {done.index}"
        )


def _looked_through(ledger: Ledger, name: str, text: str) -> tuple[str, ...]:
    """Return the exceptions that were used when the tripwire looked through a text."""
    look = elsewhere("public bytes")
    surroundings, exceptions = private_surroundings(), exceptions_in_force(ledger)
    with progress("looking through its lines") as report:
        used: tuple[str, ...] = look(ledger.place, name, text, surroundings, exceptions, report)
    return used


def _shown(found: Disclosing, text: str | None) -> Iterator[str]:
    """Yield what would become public, for the person who decides."""
    cited = found.cited
    yield f"Artifact {found.artifact.name} of event {cited.index} ({cited.event.type}) would become public:"
    yield f"  digest      {found.blob.digest}"
    yield f"  size        {found.blob.size:,} bytes"
    yield f"  media type  {found.artifact.media_type}"
    if text is None:
        yield "  bytes       stay private; whoever guesses them can see that the guess is right"
    else:
        lines = text.splitlines()
        yield f"  bytes       all of them, {counted(len(lines), 'line')}, which begin:"
        wide = min(_WIDTH, (columns(sys.stderr) or _INDENT + _WIDTH) - _INDENT)
        yield from (f"    | {_cut(visible(line[:_WIDTH]), wide)}" for line in lines[:_LINES])
    yield "This cannot be taken back. Whoever gets it keeps it, whatever is redacted here later."


def _cut(line: str, wide: int) -> str:
    return line if len(line) <= wide else f"{line[: wide - 1]}…"


def _require_meant(*, yes: bool) -> None:
    """Ask, unless the answer was given.

    Raises:
        LedgerError: nobody can be asked, or the answer is no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise LedgerError(
            "nothing was disclosed: nobody can be asked, since standard input is no terminal",
            advice="Read what would become public, and give --yes.",
        )
    if not click.confirm("Disclose it?", err=True):
        raise LedgerError("nothing was disclosed: the answer was no")
