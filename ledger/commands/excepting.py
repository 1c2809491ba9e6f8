"""`anvil except`."""

from __future__ import annotations

import re

import click

from anvil.ledger.commands.output import answer, answer_json, json_option, place
from anvil.ledger.commands.surroundings import require_publishable
from anvil.ledger.drafts import Draft
from anvil.ledger.events import TripwireExcepted, build
from anvil.ledger.publication.layout import digest
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import record

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@click.command("except")
@click.argument("detector")
@click.argument("text")
@click.option("--reason", required=True, help="Why it is no secret. Public, and in the log for ever.")
@click.option("--expires", required=True, metavar="YYYY-MM-DD", help="Until when it may pass.")
@json_option
def except_command(detector: str, text: str, reason: str, expires: str, as_json: bool) -> None:
    """Let one exact text pass one detector of the tripwire, for a time.

    TEXT is what the detector finds, to the letter; the log holds its digest. It is looked at when something
    is released. What is known to be private, such as a sealed value, no exception lets pass.

    \b
    Example:
      anvil except ipv4 10.20.30.40 --reason "It is the version of a library." \\
        --expires 2027-01-31
    """
    if not _DAY.fullmatch(expires):
        raise click.BadParameter(f"{expires!r} is no day, expected YYYY-MM-DD", param_hint="--expires")
    require_publishable(place(), {"--reason": reason})
    fields = {"detector": detector, "text": digest(text.encode()), "reason": reason}
    event = build(TripwireExcepted, {**fields, "expires": f"{expires}T00:00:00.000000Z"})
    with Ledger.open(place().directory) as ledger:
        done = record(ledger, ledger.signer("operator"), [Draft(event)], purpose="publication")[0]
    if as_json:
        answer_json("anvil.except/1", {"index": done.index, "entry_hash": done.entry_hash})
    else:
        answer(f"Recorded at index {done.index} as {done.entry_hash}")
