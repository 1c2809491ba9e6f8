"""`anvil decide`."""

from __future__ import annotations

from typing import get_args

import click

from anvil.ledger.citations import Citations, common_subject
from anvil.ledger.commands.arguments import (
    EventParam,
    parse_subject,
    reason_option,
    require_campaign,
    subject_option,
)
from anvil.ledger.commands.output import answer, answer_json, json_option, place
from anvil.ledger.commands.surroundings import require_publishable
from anvil.ledger.drafts import Draft
from anvil.ledger.errors import LedgerError
from anvil.ledger.events import DecisionRecorded, build
from anvil.ledger.events.judgements import Verdict
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import record


@click.command()
@click.argument(
    "verdicts", metavar="VERDICT...", type=click.Choice(get_args(Verdict)), nargs=-1, required=True
)
@click.option(
    "--rests-on",
    "rests_on",
    type=EventParam(),
    multiple=True,
    required=True,
    help="An event that it rests on, by its index; `anvil log --event check.completed` lists those of checks. Can be"
    " repeated.",
)
@reason_option
@click.option("--supersedes", type=EventParam(), help="The earlier decision that this one replaces.")
@subject_option
@json_option
def decide(
    verdicts: tuple[str, ...],
    rests_on: tuple[str, ...],
    reason: str,
    supersedes: str | None,
    subject: tuple[str, ...],
    as_json: bool,
) -> None:
    """Record what is to become of a candidate, and what that rests on.

    VERDICT is one or more of current, rollback, challenger, qualified-control, no-promotion, rejected and
    rejected_tested_recipes.

    Only a person decides: it is signed by the operator's key, and no run promotes anything. When an event that
    it rests on is retracted, redacted, lost or superseded later, `anvil status` shows the decision as stale.
    Without --subject it is about what the events that it rests on have in common.

    \b
    Examples:
      anvil decide no-promotion --rests-on 12 --rests-on 17 \\
        --reason "Three of 20 tool calls named another city."
      anvil decide current --rests-on 31 --supersedes 20 \\
        --reason "All 20 do, since the template was mended."
    """
    require_publishable(place(), {"--reason": reason})
    with Ledger.open(place().directory) as ledger:
        citations = Citations(ledger)
        support = citations.support(rests_on)
        replaced = None if supersedes is None else citations.replaced(supersedes)
        if replaced is not None and replaced in support:
            raise LedgerError(
                f"decision {replaced.index} cannot be replaced by one that rests on it",
                advice="Name what it rests on, or leave --supersedes away.",
            )
        about = parse_subject(subject) if subject else common_subject(support)
        require_campaign(about, "a decision")
        if replaced is not None and replaced.header.subject.campaign != about.campaign:
            raise LedgerError(
                f"decision {replaced.index} is about campaign {replaced.header.subject.campaign}, "
                f"this one about {about.campaign}",
                advice="A decision is superseded in its own campaign; name that with --subject campaign=….",
            )
        event = build(
            DecisionRecorded,
            {
                "verdicts": tuple(dict.fromkeys(verdicts)),
                "sentence": reason,
                "rests_on": tuple(cited.entry_hash for cited in support),
                "supersedes": None if replaced is None else replaced.entry_hash,
            },
        )

        def require() -> None:
            """Ask again when nobody else can decide any more: of two that replace one decision the second fails."""
            now = Citations(ledger)
            now.support(rests_on)
            if supersedes is not None:
                now.replaced(supersedes)

        draft = Draft(event, about)
        recorded = record(ledger, ledger.signer("operator"), [draft], purpose="decision", require=require)[0]
    if as_json:
        members = {
            "index": recorded.index,
            "entry_hash": recorded.entry_hash,
            "rests_on": [cited.index for cited in support],
            "supersedes": None if replaced is None else replaced.index,
        }
        answer_json("anvil.decide/1", members)
        return
    answer(f"Decided at index {recorded.index} as {recorded.entry_hash}")
    answer(f"It rests on {', '.join(str(cited.index) for cited in support)}.")
    if replaced is not None:
        answer(f"It supersedes decision {replaced.index}.")
