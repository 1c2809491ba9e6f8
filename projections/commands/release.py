"""`anvil release`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import click

from anvil.ledger.commands.arguments import IndexRange
from anvil.ledger.commands.output import answer, answer_json, json_option, place, say, visible
from anvil.ledger.commands.surroundings import private_surroundings
from anvil.ledger.errors import LedgerError, PublicationRefused
from anvil.ledger.events import PublicationReleased
from anvil.ledger.header import Subject
from anvil.ledger.publication.exceptions import exceptions_in_force
from anvil.ledger.publication.releasing import (
    Files,
    Released,
    alone,
    find_release,
    release,
    require_releasable,
    resume,
)
from anvil.ledger.publication.withdrawing import Earlier, released_by, withdrawn_of
from anvil.ledger.recording import Ledger
from anvil.projections.commands.layouts import read_template
from anvil.projections.document import DOCUMENTS
from anvil.projections.releasing import Guard, Prepared, Wanted, prepare
from anvil.projections.takenback import require_standing


@click.command("release")
@click.argument("document", type=click.Choice(list(DOCUMENTS)))
@click.option(
    "--out",
    "target",
    type=click.Path(path_type=Path),
    required=True,
    help="The folder of the publication; it must not exist.",
)
@click.option("--campaign", help="Of which campaign; needed when there are several.")
@click.option(
    "--candidate", help="Of which candidate, by the recipe's name for it; needed when there are several."
)
@click.option(
    "--as-of", type=IndexRange(), metavar="INDEX", help="As it was right after this event, bit for bit."
)
@click.option(
    "--template",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A JSON template of your own; the publication then has no pages.",
)
@json_option
def release_command(
    document: str,
    target: Path,
    campaign: str | None,
    candidate: str | None,
    as_of: int | None,
    template: Path | None,
    as_json: bool,
) -> None:
    """Publish a document as a folder that verifies by itself, and record that it was.

    The folder holds the document, where each leaf comes from, what was withheld, and the signed events with
    their proofs. It is there whole or not at all; what a crash interrupts the next release finishes. What was
    released before is made again as it was, and recorded only once. When an earlier release of the document was
    withdrawn, you are told, and so are the readers of the new one.

    \b
    Example:
      anvil release candidate-failure.v1 --campaign laguna --out published/
    """
    layout = None if template is None else read_template(template)
    with Ledger.open(place().directory) as ledger, alone(ledger):
        finished = resume(ledger, lambda event, subject: _again(ledger, event, subject, layout))
        for one in finished:
            say(f"Finished a release that was interrupted: {one.target}, event {one.recorded.index}")
        done = next((one for one in finished if one.target == target.absolute()), None)
        if done is None:
            require_releasable(ledger, target)
            signer = ledger.signer("operator")
            prepared = _prepare(ledger, Wanted(document, campaign, candidate, layout), as_of)
            _tell(ledger, prepared)
            done = release(ledger, signer, prepared.event, prepared.subject, prepared.files, target)
        index = done.recorded.index
        _, event, subject = released_by(ledger, index)
        earlier = list(withdrawn_of(ledger, event.document, subject, stop=index))
    _print(done, earlier, as_json=as_json)


def _prepare(ledger: Ledger, wanted: Wanted, as_of: int | None) -> Prepared:
    note = ledger.checkpoint()
    if as_of is not None:
        if as_of >= ledger.store.size():
            raise PublicationRefused(
                f"there is no entry {as_of}; the ledger has {ledger.store.size()}", advice="See `anvil log`."
            )
        note = ledger.checkpoint_of(as_of + 1)
    guard = Guard(tuple(private_surroundings()), exceptions_in_force(ledger))
    prepared = prepare(ledger.place, wanted, note, guard)
    if find_release(ledger, prepared.event.manifest) is None:
        require_standing(ledger, prepared)
    return prepared


def _tell(ledger: Ledger, prepared: Prepared) -> None:
    """Say which earlier releases were withdrawn, before there is a new one."""
    if find_release(ledger, prepared.event.manifest) is not None:
        return
    earlier = list(withdrawn_of(ledger, prepared.event.document, prepared.subject))
    for one in earlier:
        say(
            f"This document was released before, at index {one.released}, and withdrawn at index {one.withdrawn} on "
            f"{one.withdrawn_at[:10]}: {visible(one.reason)}"
        )
    if earlier:
        say("This release is a new one, and says so to its readers.")


def _again(ledger: Ledger, event: PublicationReleased, subject: Subject, layout: object) -> Files:
    """Make the files of a release again whose folder was lost."""
    from anvil.projections.rendering import Template

    own = layout if isinstance(layout, Template) and layout.digest == event.template else None
    wanted = Wanted(event.document, subject.campaign, subject.candidate, own)
    try:
        return prepare(ledger.place, wanted, ledger.checkpoint_of(event.fold.size), None).files
    except PublicationRefused as error:
        raise LedgerError(
            f"a release that was interrupted cannot be made again: {error}", advice=error.advice
        ) from error


def _print(done: Released, earlier: Iterable[Earlier], *, as_json: bool) -> None:
    if as_json:
        members = {
            "folder": str(done.target),
            "index": done.recorded.index,
            "entry_hash": done.recorded.entry_hash,
            "withdrawn_before": [asdict(one) for one in earlier],
        }
        answer_json("anvil.release/1", members)
    else:
        answer(f"Released at index {done.recorded.index} as {done.recorded.entry_hash}")
        answer(f"{done.target}")
        say("Whoever has the folder and the ledger's public key can check it:")
        say(f"  anvil verify --publication {done.target} --key {place().verifier_key}")
