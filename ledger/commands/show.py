"""`anvil show`."""

from __future__ import annotations

import json

import click

from anvil.ledger import canonical
from anvil.ledger.artifacts import disclosures
from anvil.ledger.commands.arguments import IndexRange
from anvil.ledger.commands.output import answer, answer_bytes, answer_json, json_option, place, visible
from anvil.ledger.envelope import Envelope
from anvil.ledger.errors import LedgerError, Malformed
from anvil.ledger.header import ArtifactEntry, Header
from anvil.ledger.merkle import leaf_hash
from anvil.ledger.store import Store


@click.command()
@click.argument("index", type=IndexRange())
@click.option("--raw", is_flag=True, help="Print the header's bytes exactly as they were signed.")
@json_option
def show(index: int, raw: bool, as_json: bool) -> None:
    """Show one event: header, signatures, sealed values.

    Sealed values are shown to whoever holds the ledger; the log itself has commitments only. Of a private
    artifact that was disclosed it says which event did it, and whether by its digest or with its bytes.

    \b
    Example:
      anvil show 3
    """
    store = Store.open_readonly(place().database)
    try:
        entry = store.entry(index)
        if entry is None:
            raise LedgerError(
                f"there is no entry {index}; the ledger has {store.size()}", advice="See `anvil log`."
            )
        envelope = Envelope.parse(entry)
        header = Header.parse(envelope.header)
        if raw:
            answer_bytes(envelope.header)
            return
        members = {
            "index": index,
            "entry_hash": leaf_hash(entry).hex(),
            "signed_by": [signature.key_id for signature in envelope.signatures],
            "header": json.loads(envelope.header),
            "sealed": {name: _opened(store, name, commitment) for name, commitment in header.sealed.items()},
            "artifacts": {a.name: _blob(store, a) for a in header.artifacts},
            "disclosed": _disclosed(store, leaf_hash(entry).hex(), header),
        }
    finally:
        store.close()
    if as_json:
        answer_json("anvil.show/1", members)
    else:
        answer(_text(index, members, header))


def _opened(store: Store, name: str, commitment: str) -> object:
    """Return what is sealed under `name`, or None when it is not at hand.

    Raises:
        LedgerError: it is not what was sealed.
    """
    opening = store.opening(commitment)
    if opening is None:
        return None
    try:
        if opening.commitment() == commitment:
            return canonical.decode(opening.value)
    except Malformed:
        pass  # a salt of another length, or no value: told alike
    raise LedgerError(
        f"what is kept for {name!r} is not what was sealed: it does not fit its commitment",
        advice="Somebody altered it; `anvil verify` says where. `--raw` shows what was signed.",
    )


def _blob(store: Store, artifact: ArtifactEntry) -> object:
    if artifact.commitment is None:
        return {"digest": artifact.digest, "size": artifact.size}
    return _opened(store, artifact.name, artifact.commitment)


def _disclosed(store: Store, entry_hash: str, header: Header) -> dict[str, object]:
    """Return what was disclosed of the event's artifacts, and which event says so."""
    said = disclosures(store) if any(not artifact.is_public for artifact in header.artifacts) else {}
    found = {name: each for (event, name), each in said.items() if event == entry_hash}
    return {
        name: {
            "index": each.index,
            "extent": each.event.extent,
            "digest": each.event.digest,
            "size": each.event.size,
        }
        for name, each in found.items()
    }


def _text(index: int, members: dict[str, object], header: Header) -> str:
    lines = [f"{header.event} at index {index}", ""]
    lines += [f"  entry hash  {members['entry_hash']}", f"  at          {header.at}"]
    lines += [f"  stream      {header.stream}, event {header.stream_seq}", f"  ledger      {header.ledger}"]
    lines += [f"  signed by   {key_id}" for key_id in members["signed_by"]]  # type: ignore[attr-defined]
    lines += [f"  {name:<11} {value}" for name, value in header.subject.members().items()]
    lines += _section("Facts (in the clear)", header.facts)
    lines += _section("Sealed", members["sealed"])
    lines += _section("Artifacts", members["artifacts"])
    lines += _section("Disclosed", members["disclosed"])
    return "\n".join(lines)


def _section(title: str, values: object) -> list[str]:
    if not isinstance(values, dict) or not values:
        return []
    shown = {
        name: "redacted, or not at hand"
        if value is None and title != "Facts (in the clear)"
        else _spell(value)
        for name, value in values.items()
    }
    return ["", title, *(f"  {name}: {visible(text)}" for name, text in shown.items())]


def _spell(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
