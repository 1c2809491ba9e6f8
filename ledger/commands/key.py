"""`anvil key`."""

from __future__ import annotations

import click

from anvil.ledger.commands.arguments import IndexRange
from anvil.ledger.commands.output import answer, answer_json, json_option, place, say
from anvil.ledger.keychanges import add_key, find_key, known_keys, new_signer, revoke_key, rotate_key
from anvil.ledger.keyring import KnownKey
from anvil.ledger.note import VerifierKey
from anvil.ledger.recording import Ledger, Recorded
from anvil.ledger.signing import PublicKey

_ROLES = click.Choice(["operator", "collector", "ledger", "root"])
_agent_option = click.option(
    "--agent", metavar="COMMENT", help="Use the Ed25519 key in the ssh-agent that has this comment."
)
_encrypt_option = click.option("--encrypt", is_flag=True, help="Encrypt the key file with ANVIL_PASSPHRASE.")


@click.group()
def key() -> None:
    """List, add, rotate and revoke keys.

    A root key signs key events, a ledger key checkpoints, an operator key what a person says, a
    collector key what was seen.
    """


@key.command("list")
@json_option
def list_keys(as_json: bool) -> None:
    """Show every key that the ledger knows, and which of them you hold."""
    keyring, own = known_keys(place())
    keys, origin = list(keyring.keys.values()), keyring.origin
    held = {k.public_key.key_id: own.path(k.public_key.key_id) for k in keys}
    if as_json:
        rows = [_members(k, origin, str(held[k.public_key.key_id] or "") or None) for k in keys]
        answer_json("anvil.key.list/1", {"origin": origin, "keys": rows})
        return
    for known in keys:
        path = held[known.public_key.key_id]
        answer(
            f"{known.role:<10} {known.public_key.key_id[:16]}  {_state(known)}{'' if path else '  (not held here)'}"
        )
    say("\n" + "\n".join(f"{VerifierKey(origin, k.public_key)}" for k in keys if k.role == "ledger"))


@key.command("new")
@click.argument("role", type=_ROLES)
@_agent_option
@_encrypt_option
@json_option
def new_key(role: str, agent: str | None, encrypt: bool, as_json: bool) -> None:
    """Add a key for ROLE. Needs the root key.

    \b
    Example:
      anvil key new collector
      anvil key new operator --agent me@laptop
    """
    with Ledger.open(place().directory) as ledger:
        signer = new_signer(ledger, role, agent_key=_agent_key(agent), encrypt=encrypt)  # type: ignore[arg-type]
        recorded = add_key(ledger, role, signer)  # type: ignore[arg-type]
    _done("added", signer.public_key.key_id, recorded, as_json)


@key.command("rotate")
@click.argument("name")
@_agent_option
@_encrypt_option
@json_option
def rotate(name: str, agent: str | None, encrypt: bool, as_json: bool) -> None:
    """Put a new key in the place of NAME, a key id or a role. Needs the root key and the old key.

    \b
    Example:
      anvil key rotate collector
    """
    with Ledger.open(place().directory) as ledger:
        old = find_key(ledger, name)
        signer = new_signer(ledger, old.role, agent_key=_agent_key(agent), encrypt=encrypt)
        recorded = rotate_key(ledger, old, signer)
    _done("rotated to", signer.public_key.key_id, recorded, as_json)


@key.command("revoke")
@click.argument("name")
@click.option("--cause", required=True, type=click.Choice(["compromised", "lost", "retired"]), help="Why.")
@click.option(
    "--last-good",
    type=IndexRange(),
    metavar="SIZE",
    help="Entries up to this many are still believed (default: all that there are now).",
)
@json_option
def revoke(name: str, cause: str, last_good: int | None, as_json: bool) -> None:
    """Say that a key is not to be believed any more. Needs the root key.

    What the key signed after the last good state is shown as disowned; what it signs from now on is
    refused.

    \b
    Example:
      anvil key revoke 3f9a1c2e --cause compromised --last-good 120
    """
    with Ledger.open(place().directory) as ledger:
        known = find_key(ledger, name)
        recorded = revoke_key(ledger, known, cause, last_good)
    _done("revoked", known.public_key.key_id, recorded, as_json)


def _agent_key(comment: str | None) -> PublicKey | None:
    if comment is None:
        return None
    from anvil.ledger.agent import find_agent_key

    return find_agent_key(comment)


def _done(what: str, key_id: str, recorded: Recorded, as_json: bool) -> None:
    if as_json:
        answer_json(
            "anvil.key/1", {"key": key_id, "index": recorded.index, "entry_hash": recorded.entry_hash}
        )
    else:
        answer(f"Key {what} {key_id}, recorded at index {recorded.index}")


def _state(known: KnownKey) -> str:
    if known.revoked is not None:
        return f"revoked at index {known.revoked}, good up to {known.last_good}"
    if known.rotated is not None:
        return f"rotated at index {known.rotated}"
    return f"since index {known.added}"


def _members(known: KnownKey, origin: str, path: str | None) -> dict[str, object]:
    return {
        "key": known.public_key.key_id,
        "role": known.role,
        "added": known.added,
        "rotated": known.rotated,
        "revoked": known.revoked,
        "last_good": known.last_good,
        "file": path,
        "verifier_key": str(VerifierKey(origin, known.public_key)) if known.role == "ledger" else None,
    }
