"""`anvil redact`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from anvil.ledger.artifacts import disclosures
from anvil.ledger.commands.arguments import IndexRange
from anvil.ledger.commands.output import answer, answer_json, json_option, place, say
from anvil.ledger.commands.surroundings import require_publishable
from anvil.ledger.recording import Ledger
from anvil.ledger.redaction import Redacted
from anvil.ledger.redaction import redact as redact_event


@click.command()
@click.argument("indices", metavar="INDEX...", type=IndexRange(), nargs=-1, required=True)
@click.option("--reason", required=True, help="Why. Public, and in the log for ever.")
@click.option("--field", "fields", multiple=True, help="Only this sealed field. Can be repeated.")
@click.option("--artifact", "artifacts", multiple=True, help="Only this artifact. Can be repeated.")
@json_option
def redact(
    indices: tuple[int, ...], reason: str, fields: tuple[str, ...], artifacts: tuple[str, ...], as_json: bool
) -> None:
    """Delete private bytes for good, and say so in the log.

    Without --field and --artifact everything private in the event goes. The event itself, and the
    commitments in it, stay. Bytes that are an artifact of several events go from all of them at once:
    name each. Backups and exports made earlier still hold the bytes: they are yours to delete.

    \b
    Example:
      anvil redact 17 --reason "The prompt named a customer."
    """
    require_publishable(place(), {"--reason": reason})
    with Ledger.open(place().directory) as ledger:
        done = redact_event(ledger, indices, reason, fields=fields, artifacts=artifacts)
        public = list(_disclosed(ledger, done))
    if as_json:
        answer_json(
            "anvil.redact/1",
            {
                "targets": [
                    {"index": g.index, "fields": g.fields, "artifacts": g.artifacts} for g in done.gone
                ],
                "events": [r.index for r in done.recorded],
                "said_before": list(done.said_before),
                "blobs_deleted": len(done.blobs),
            },
        )
        return
    for gone in done.gone:
        names = [*(f"field {name}" for name in gone.fields), *(f"artifact {name}" for name in gone.artifacts)]
        answer(f"Redacted in entry {gone.index}: {', '.join(names)}")
    if done.said_before:
        every = " and ".join(map(str, done.said_before))
        one = len(done.said_before) == 1
        say(
            f"Event{'' if one else 's'} {every} said so before: "
            f"{'nothing' if not done.recorded else 'nothing of that'} was recorded again, nor the reason given now."
        )
    for line in public:
        say(line)
    say("Backups and exports made before may still hold the bytes; delete them yourself.")


def _disclosed(ledger: Ledger, done: Redacted) -> Iterator[str]:
    """Yield what a redaction cannot take back: what was disclosed before."""
    gone = {(gone.index, name) for gone in done.gone for name in gone.artifacts}
    for found in disclosures(ledger.store).values():
        if (found.target, found.event.artifact) in gone:
            kept = "whoever has the bytes keeps them" if found.is_of_bytes else "its digest stays in the log"
            yield f"Artifact {found.event.artifact} of entry {found.target} was disclosed by event {found.index}: {kept}."
