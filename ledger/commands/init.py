"""`anvil init`."""

from __future__ import annotations

from pathlib import Path

import click

from anvil.ledger.commands.output import answer, answer_json, json_option, ledger_directory, say, table
from anvil.ledger.creation import create_ledger


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), required=False)
@click.option("--origin", required=True, metavar="NAME", help="The ledger's name, a URL without scheme.")
@click.option(
    "--blobs",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep artifacts below this folder, on another disk for instance.",
)
@click.option("--encrypt", is_flag=True, help="Encrypt the private keys with ANVIL_PASSPHRASE.")
@json_option
def init(directory: Path | None, origin: str, blobs: Path | None, encrypt: bool, as_json: bool) -> None:
    """Make a new ledger and its first keys.

    DIRECTORY is where it will be (default: --ledger). The origin gets eight random hex digits, so that
    no two ledgers have one name. With --blobs its artifacts lie in a folder of its own elsewhere, which
    every command then finds by itself.

    \b
    Examples:
      anvil init --origin example.com/gpu-lab
      anvil init --origin example.com/gpu-lab --blobs /mnt/big
    """
    created = create_ledger(directory or ledger_directory(), origin, encrypt=encrypt, blobs=blobs)
    files = {str(role): str(path) for role, path in created.key_files.items()}
    if as_json:
        answer_json(
            "anvil.init/1",
            {
                "directory": str(created.place.directory),
                "origin": created.origin,
                "verifier_key": str(created.verifier_key),
                "fingerprint": created.verifier_key.fingerprint,
                "blobs": str(created.place.blobs.resolve()),
                "key_files": files,
            },
        )
        return
    answer(
        table(
            [
                ("Ledger", str(created.place.directory)),
                ("Origin", created.origin),
                ("Public key", str(created.verifier_key)),
                ("Fingerprint", created.verifier_key.fingerprint),
                *([("Artifacts", str(created.place.blobs.resolve()))] if blobs else []),
                ("Private keys", str(created.key_files["root"].parent)),
            ]
        )
    )
    say("\nGive the public key to whoever is to verify. Move the root key offline:")
    say(f'  {files["root"]}\nNext: anvil observe "what you saw" --status operator-observed-incomplete')
