"""`anvil prove`."""

from __future__ import annotations

from pathlib import Path

import click

from anvil.ledger.commands.arguments import IndexRange
from anvil.ledger.commands.output import answer, answer_json, json_option, place
from anvil.ledger.exporting import prove as make_proof
from anvil.ledger.files import write_whole


@click.command()
@click.argument("index", type=IndexRange())
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Where to write the two files.",
)
@json_option
def prove(index: int, out: Path, as_json: bool) -> None:
    """Write one entry and the proof that it is in the log.

    Writes INDEX.entry (the signed envelope) and INDEX.tlog-proof (C2SP tlog-proof, with the newest
    checkpoint in it). `anvil verify --proof` checks them, and so does any other reader of tlog-proof.

    \b
    Example:
      anvil prove 3 --out evidence/
    """
    entry, proof = make_proof(place(), index)
    out.mkdir(parents=True, exist_ok=True)
    files = {f"{index}.entry": entry, f"{index}.tlog-proof": proof.to_bytes()}
    for name, content in files.items():
        write_whole(out / name, content)
    if as_json:
        answer_json("anvil.prove/1", {"index": index, "files": [str(out / name) for name in files]})
    else:
        answer("\n".join(str(out / name) for name in files))
