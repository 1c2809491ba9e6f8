"""`anvil export`."""

from __future__ import annotations

from pathlib import Path

import click

from anvil.ledger.commands.output import answer, answer_json, json_option, place, progress, say
from anvil.ledger.exporting import export as write_export
from anvil.ledger.wording import counted


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--audit", is_flag=True, help="Add sealed values and artifacts: everything private, for an auditor."
)
@json_option
def export(directory: Path, audit: bool, as_json: bool) -> None:
    """Write the log as tiles that other tools can check.

    The files are C2SP tlog-tiles and hold whole headers; only what is public by type stands in them. Public
    artifacts lie beside them, and those whose bytes were disclosed. Repeat the command to bring an earlier
    export up to date; what was redacted since is removed there. Without --audit, a folder with an export
    for an auditor is refused.

    \b
    Example:
      anvil export --audit for-the-auditor/
      anvil verify --tiles for-the-auditor/ --key "$(cat log.vkey)"
    """
    with progress("exporting") as report:
        done = write_export(place(), directory, audit=audit, progress=report)
    if as_json:
        answer_json(
            "anvil.export/1",
            {
                "directory": str(directory),
                "origin": done.origin,
                "size": done.size,
                "files_written": done.files,
                "openings": done.openings,
                "blobs": done.blobs,
            },
        )
        return
    answer(f"Exported {counted(done.size, 'entry')} of {done.origin} to {directory}")
    if audit:
        blobs = counted(done.blobs, "blob")
        say(
            f"With {counted(done.openings, 'opening')} of sealed values and artifacts, and {blobs}. "
            "These are private: for an auditor only."
        )
    elif done.blobs:
        say(f"With {counted(done.blobs, 'public artifact')}.")
