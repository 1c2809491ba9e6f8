"""`anvil waive`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from anvil.ledger.citations import Citations, Cited, common_subject
from anvil.ledger.clock import timestamp
from anvil.ledger.commands.arguments import (
    EventParam,
    MomentParam,
    parse_subject,
    reason_option,
    require_campaign,
    subject_option,
)
from anvil.ledger.commands.output import answer, answer_json, json_option, place
from anvil.ledger.commands.surroundings import require_publishable
from anvil.ledger.drafts import Draft
from anvil.ledger.errors import LedgerError
from anvil.ledger.events import (
    CheckCompleted,
    LoadMeasured,
    RestorationChecked,
    SuiteCompleted,
    WaiverGranted,
    WeightsInspected,
    build,
)
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import record


@click.command()
@click.argument("results", metavar="[INDEX]...", type=EventParam(), nargs=-1)
@click.option("--gate", help="Which gate is let pass. Default: the check, suite or gate of the results.")
@click.option(
    "--by", "granted_by", required=True, metavar="ROLE", help="The role of who grants it: release-lead."
)
@reason_option
@click.option("--until", "expires", type=MomentParam(), required=True, help="2026-12-31, or a moment in UTC.")
@subject_option
@json_option
def waive(
    results: tuple[str, ...],
    gate: str | None,
    granted_by: str,
    reason: str,
    expires: str,
    subject: tuple[str, ...],
    as_json: bool,
) -> None:
    """Let a gate pass that did not, for a time.

    INDEX names the results that are let pass; none when the gate has no result at all, and then --gate says
    which it is. The result stays what it is, and the waiver stands beside it. Name a role, not a person:
    it is public.

    \b
    Example:
      anvil waive 17 --by release-lead --until 2026-12-31 \\
        --reason "No client of ours streams tool calls."
    """
    require_publishable(place(), {"--reason": reason})
    with Ledger.open(place().directory) as ledger:
        support = Citations(ledger).support(results)
        about = parse_subject(subject) if subject else common_subject(support)
        require_campaign(about, "a waiver")
        now = timestamp(ledger.clock())
        if expires <= now:
            raise LedgerError(
                f"a waiver until {expires} would have ended before it began; now is {now}",
                advice="Give a day or moment to come with --until.",
            )
        gates = _gates(support)
        if gate is None and len(gates) != 1:
            raise LedgerError(
                f"a waiver lets one gate pass; the results named are of {', '.join(gates) or 'none'}",
                advice="Name the gate with --gate, or waive one after the other.",
            )
        event = build(
            WaiverGranted,
            {
                "gate": gate or gates[0],
                "granted_by": granted_by,
                "reason": reason,
                "expires": expires,
                "about": tuple(cited.entry_hash for cited in support),
            },
        )

        def require() -> None:  # nothing is waived for what was taken back a moment before
            Citations(ledger).support(results)

        draft = Draft(event, about)
        recorded = record(ledger, ledger.signer("operator"), [draft], purpose="waiver", require=require)[0]
    if as_json:
        members = {
            "index": recorded.index,
            "entry_hash": recorded.entry_hash,
            "gate": event.gate,
            "expires": expires,
            "about": [cited.index for cited in support],
        }
        answer_json("anvil.waive/1", members)
        return
    answer(f"Waived at index {recorded.index} as {recorded.entry_hash}")
    answer(f"Gate {event.gate}, until {expires}.")


def _gates(results: Sequence[Cited]) -> list[str]:
    """Return the gates that results are of, each once.

    Raises:
        LedgerError: one is no result, or it passed.
    """
    return list(dict.fromkeys(_gate(cited) for cited in results))


def _gate(cited: Cited) -> str:
    event = cited.event
    outcome: str | None = None
    match event:
        case CheckCompleted():
            gate, outcome = event.selected_as, event.outcome
        case SuiteCompleted():
            gate, outcome = event.selected_as, event.outcome
        case LoadMeasured():
            gate = event.protocol
        case RestorationChecked():
            gate, outcome = event.gate, event.outcome
        case WeightsInspected():
            gate = "weights"
        case _:
            raise LedgerError(
                f"event {cited.index} is {event.type}: only a result can be waived",
                advice="Name a check, suite, load, restoration gate or inspection of weights; see `anvil status`.",
            )
    if outcome in ("passed", "recorded"):
        raise LedgerError(
            f"the result at index {cited.index} is {outcome} for {gate!r}: there is nothing to waive",
            advice="See `anvil status`.",
        )
    return gate
