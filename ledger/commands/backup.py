"""`anvil backup`."""

from __future__ import annotations

from pathlib import Path

import click

from anvil.ledger.backup import back_up
from anvil.ledger.commands.output import answer, answer_json, json_option, place, say
from anvil.ledger.recording import Ledger
from anvil.ledger.wording import counted


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@json_option
def backup(file: Path, as_json: bool) -> None:
    """Write one consistent copy of the database.

    Never copy ledger.db itself: without its write-ahead log the copy lacks rows. Artifacts are plain
    files under blobs/, or where that leads; copy that folder with any tool.

    \b
    Example:
      anvil backup /mnt/backup/2026-11-30.db
    """
    with Ledger.open(place().directory) as ledger:
        size = back_up(ledger, file)
        blobs = sum(1 for _ in ledger.blobs.digests())
    if as_json:
        answer_json("anvil.backup/1", {"file": str(file), "size": size, "blobs_not_included": blobs})
        return
    answer(f"Backed up {counted(size, 'entry')} to {file}")
    if blobs:
        say(f"{counted(blobs, 'artifact', be=True)} not in it; copy {place().blobs.resolve()} as well.")
