"""`anvil recompute`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import click

from anvil.collectors.load.comparison import differences
from anvil.collectors.load.rows import PARSER_VERSION, derive
from anvil.ledger import canonical
from anvil.ledger.blobs import BlobStore
from anvil.ledger.commands.arguments import IndexRange
from anvil.ledger.commands.output import answer, answer_json, json_option, place, visible
from anvil.ledger.entry import stated
from anvil.ledger.envelope import Envelope
from anvil.ledger.errors import LedgerError
from anvil.ledger.header import ArtifactEntry, Header
from anvil.ledger.rows import Row
from anvil.ledger.store import Store
from anvil.ledger.wording import counted

_SHOWN = 20


@click.command()
@click.argument("index", type=IndexRange())
@json_option
def recompute(index: int, as_json: bool) -> int:
    """Make the rows of a load event again, from the bytes that were kept.

    Says that they are equal, bit for bit, or what differs; then the exit code is 1. Whether the event
    itself is as it was signed is for `anvil verify` to say.

    \b
    Example:
      anvil recompute 41
    """
    store = Store.open_readonly(place().database)
    try:
        header = _header(store, index)
        blobs = BlobStore(place().blobs)
        kept = blobs.get(_digest(store, header, "rows"))
        record = blobs.get(_digest(store, header, "record"))
    finally:
        store.close()
    made = derive(record)
    found = [*differences(kept, made), *_miscounted(header, made)]
    rows = made.count(b"\n") - 1
    if as_json:
        members = {"index": index, "equal": not found, "rows": rows, "parser_version": PARSER_VERSION}
        answer_json("anvil.recompute/1", {**members, "differences": found})
    elif found:
        answer("\n".join(visible(text) for text in found[:_SHOWN]))
        answer(f"Not equal: {counted(len(found), 'difference')} in {counted(rows, 'row')}.")
    else:
        answer(f"Equal: {counted(rows, 'row')}, {len(made)} bytes, made by parser {PARSER_VERSION}.")
    return 1 if found else 0


def _header(store: Store, index: int) -> Header:
    """Return the header of a load event.

    Raises:
        LedgerError: there is no such entry, it is of another type, or another parser made its rows.
    """
    entry = store.entry(index)
    if entry is None:
        raise LedgerError(
            f"there is no entry {index}; the ledger has {store.size()}", advice="See `anvil log`."
        )
    header = Header.parse(Envelope.parse(entry).header)
    if header.event != "load.measured/1":
        raise LedgerError(f"entry {index} is {header.event}, which has no rows", advice="See `anvil log`.")
    version = header.facts.get("parser_version")
    if version != PARSER_VERSION:
        raise LedgerError(
            f"the rows of entry {index} were made by parser {version}, and this anvil has parser {PARSER_VERSION}",
            advice="Use the version of anvil that has that parser.",
        )
    stated(index, header)
    return header


def _digest(store: Store, header: Header, name: str) -> str:
    """Return the digest of an artifact of the event.

    Raises:
        LedgerError: it has none of that name, or it is private and its opening is gone or is another's.
    """
    artifact = next((artifact for artifact in header.artifacts if artifact.name == name), None)
    if artifact is None:
        raise LedgerError(f"the event has no artifact {name!r}", advice="See `anvil show`.")
    return str(artifact.digest) if artifact.commitment is None else _opened(store, artifact)


def _opened(store: Store, artifact: ArtifactEntry) -> str:
    opening = store.opening(str(artifact.commitment))
    if opening is None or opening.commitment() != artifact.commitment:
        raise LedgerError(
            f"the private artifact {artifact.name!r} cannot be opened: redacted, or not at hand",
            advice="Recompute where the ledger's private part is.",
        )
    return str(canonical.decode(opening.value)["digest"])


def _miscounted(header: Header, made: bytes) -> Iterator[str]:
    """Yield what the event's own counts say otherwise than the rows."""
    counts = Counter(Row.read(line).outcome for line in made.splitlines()[1:])
    for name in ("completed", "failed"):
        if header.facts[name] != counts[name]:
            yield f"the event says {header.facts[name]} {name}, its rows {counts[name]}"
