"""`anvil restore`."""

from __future__ import annotations

from pathlib import Path

import click

from anvil.ledger.backup import restore as restore_ledger
from anvil.ledger.commands.output import answer, answer_json, json_option, ledger_directory, say, table
from anvil.ledger.wording import counted


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), required=False)
@click.option(
    "--blobs",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The blob store that belongs to FILE (default: blobs/ beside it).",
)
@click.option("--encrypt", is_flag=True, help="Encrypt the new private keys with ANVIL_PASSPHRASE.")
@json_option
def restore(file: Path, directory: Path | None, blobs: Path | None, encrypt: bool, as_json: bool) -> None:
    """Continue from a copy, as a new ledger.

    A copy may be older than the ledger was, so it is never continued under the old name: the new
    ledger names its predecessor, carries its entries over as they are, and says how many were lost.

    \b
    Example:
      anvil restore /mnt/backup/2026-11-30.db restored-ledger/
    """
    beside = file.parent / "blobs"
    store = blobs or (beside if beside.is_dir() else None)
    done = restore_ledger(file, store, directory or ledger_directory(), encrypt=encrypt)
    restored = done.predecessor.restored
    if as_json:
        answer_json(
            "anvil.restore/1",
            {
                "directory": str(done.created.place.directory),
                "origin": done.created.origin,
                "verifier_key": str(done.created.verifier_key),
                "fingerprint": done.created.verifier_key.fingerprint,
                "predecessor": restored.origin,
                "carried": restored.size,
                "lost": done.predecessor.lost,
                "blobs": done.blobs,
                "missing_blobs": done.missing,
            },
        )
        return
    lost = (
        "not known: no anchor of the old ledger is here"
        if done.predecessor.lost is None
        else str(done.predecessor.lost)
    )
    answer(
        table(
            [
                ("Ledger", str(done.created.place.directory)),
                ("Origin", done.created.origin),
                ("Public key", str(done.created.verifier_key)),
                ("Fingerprint", done.created.verifier_key.fingerprint),
                ("Continues", restored.origin),
                ("Carried over", f"{counted(restored.size, 'entry')}, {counted(done.blobs, 'artifact')}"),
                ("Lost", lost),
            ]
        )
    )
    if done.missing:
        say(
            f"\nNot found: the bytes of {counted(done.missing, 'artifact')} that its entries name, so that it does not\n"
            "verify. Restore again into another folder with --blobs, or say that they are lost: anvil note missing."
        )
    say("\nThis is a new ledger with new keys: give its public key to whoever verifies.")
