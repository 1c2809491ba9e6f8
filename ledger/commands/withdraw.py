"""`anvil withdraw`."""

from __future__ import annotations

from pathlib import Path

import click

from anvil.ledger.commands.output import answer, answer_json, json_option, place, say, visible
from anvil.ledger.commands.surroundings import require_publishable
from anvil.ledger.publication.withdrawing import withdraw as withdraw_publication
from anvil.ledger.recording import Ledger


@click.command()
@click.argument("index", type=click.IntRange(0))
@click.option("--reason", required=True, help="Why. Public, and in the log for ever.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The publication's folder: its pages then say that it was withdrawn.",
)
@json_option
def withdraw(index: int, reason: str, folder: Path | None, as_json: bool) -> None:
    """Take a publication back, and say so in its folder.

    INDEX is the event that released it. Copies elsewhere stay as they are: give the folder to whoever has one. A
    publication is withdrawn once: a second withdrawal records nothing. It gives its notice to a folder that lacks it;
    without --folder nothing is left to do, and the exit code is 1.

    \b
    Example:
      anvil withdraw 42 --reason "The load was measured on a shared host." \\
        --folder published/
    """
    require_publishable(place(), {"--reason": reason})
    with Ledger.open(place().directory) as ledger:
        done = withdraw_publication(ledger, ledger.signer("operator"), index, reason, folder)
    if as_json:
        members = {"index": done.recorded.index, "entry_hash": done.recorded.entry_hash}
        more = {"at": done.at, "reason": done.reason, "recorded": done.is_new}
        answer_json("anvil.withdraw/1", {**members, **more})
    elif done.is_new:
        answer(f"Withdrawn at index {done.recorded.index} as {done.recorded.entry_hash}")
        if folder is None:
            say("No folder was given, so no page says it yet: --folder DIR.")
    else:
        answer(f"Already withdrawn at index {done.recorded.index}, on {done.at[:10]}: {visible(done.reason)}")
        say(f"Nothing was recorded, nor the reason given now. {folder} says that it was withdrawn.")
