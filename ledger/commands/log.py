"""`anvil log`."""

from __future__ import annotations

import click

from anvil.ledger.commands.arguments import IndexRange
from anvil.ledger.commands.output import answer, answer_json, json_option, place, visible
from anvil.ledger.envelope import Envelope
from anvil.ledger.header import Header
from anvil.ledger.public import MAX_INTEGER
from anvil.ledger.store import Row, Store


@click.command()
@click.option("--from", "start", type=IndexRange(), default=0, help="The first index to list.")
@click.option("--last", type=click.IntRange(1, MAX_INTEGER), help="List only the newest N.")
@click.option("--event", "event", metavar="TYPE", help="Only events of this type: observation.noted")
@click.option("--campaign", help="Only events about this campaign.")
@json_option
def log(start: int, last: int | None, event: str | None, campaign: str | None, as_json: bool) -> None:
    """List events.

    Of checks, suites, loads and gates stands which it is and what became of it: what decisions and waivers name by
    their index.

    \b
    Examples:
      anvil log --last 20 --event observation.noted
      anvil log --event check.completed --campaign qwen38
    """
    store = Store.open_readonly(place().database)
    try:
        size = store.size()
        found = [
            row
            for row in store.rows(start, size)
            if (event is None or event in (row.event, row.event.partition("/")[0]))
            and (campaign is None or row.campaign == campaign)
        ]
        shown = found[-last:] if last else found
        if as_json:
            answer_json(
                "anvil.log/1",
                {"origin": store.origin(), "size": size, "events": [_members(r) for r in shown]},
            )
            return
        for row in shown:
            header = Header.parse(Envelope.parse(row.entry).header)
            about = "/".join(header.subject.members().values())
            told = "  ".join(visible(word) for word in (about, _result(header)) if word)
            answer(
                f"{row.entry_index:>6}  {header.at[:19]}Z  {header.event:<22}"
                f"  {header.stream[-6:]}:{header.stream_seq:<4} {told}".rstrip()
            )
        if not shown:
            answer("No events.")
    finally:
        store.close()


def _result(header: Header) -> str:
    """Return which result an event is, in a few words; nothing where it is none."""
    facts = header.facts
    match header.event.partition("/")[0]:
        case "check.completed" | "suite.completed":
            return f"{facts.get('selected_as')} {facts.get('outcome')} {facts.get('passed')}/{facts.get('expected')}"
        case "load.measured":
            phase = "warm-up" if facts.get("phase") == "warm-up" else f"run {facts.get('run')}"
            return f"{facts.get('protocol')} {facts.get('cell')} {phase} {facts.get('outcome')}"
        case "restoration.checked":
            return f"{facts.get('gate')} {facts.get('outcome')}"
        case _:
            return ""


def _members(row: Row) -> dict[str, object]:
    header = Header.parse(Envelope.parse(row.entry).header)
    return {
        "index": row.entry_index,
        "entry_hash": row.leaf_hash.hex(),
        "at": header.at,
        "event": header.event,
        "stream": header.stream,
        "stream_seq": header.stream_seq,
        "key": header.key,
        "ledger": header.ledger,
        "subject": header.subject.members(),
    }
