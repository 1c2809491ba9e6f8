"""Making a ledger: its name, its first keys, its first stream, its first checkpoint.

1. The origin that a person gives gets eight random hex digits, so that two clones of one quickstart
   are two ledgers and can never be taken for each other.
2. Keys are written first, then the database is made under another name and renamed: a crash leaves
   no half-made ledger.
3. This is the only way a ledger comes to be. Opening one never makes it.
4. Blobs that are to lie elsewhere get a folder of the ledger's own there, named by its origin: two ledgers
   never share one, and a disk that is not mounted has none.
"""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from anvil.ledger.anchor import Anchor
from anvil.ledger.clock import Clock, system_clock
from anvil.ledger.drafts import Draft
from anvil.ledger.errors import LedgerError, MalformedEvent
from anvil.ledger.events import InitialKey, LedgerCreated, Predecessor, StreamAbandoned, build
from anvil.ledger.files import flush_path, make_private_directory, write_whole
from anvil.ledger.keystore import KeyStore, Passphrase, passphrase_from_environment
from anvil.ledger.note import VerifierKey
from anvil.ledger.places import LedgerPlace, by_origin, keys_directory, state_directory
from anvil.ledger.public import Role
from anvil.ledger.recording import Ledger
from anvil.ledger.signing import PrivateKey, Signer
from anvil.ledger.store import Store
from anvil.ledger.streams import Stream, closing, software_version

_DIGITS = re.compile(r"[-/][0-9a-f]{8}$")

FIRST_ROLES: tuple[Role, ...] = ("ledger", "root", "operator", "collector")


@dataclass(frozen=True)
class Created:
    """A new ledger: where it is, what it is called, and which keys it began with."""

    place: LedgerPlace
    origin: str
    verifier_key: VerifierKey
    key_files: dict[Role, Path]


@dataclass(frozen=True)
class Continuation:
    """What a new ledger takes over from a predecessor.

    `carry` adds the predecessor's entries right after the first event; `ends` are for the streams that
    it left open.
    """

    predecessor: Predecessor
    carry: Callable[[Ledger], None]
    ends: tuple[StreamAbandoned, ...]


def unique_origin(name: str) -> str:
    """Return `name` with eight random hex digits (rule 1): ``host/1f2e3d4c`` or ``host/path-1f2e3d4c``."""
    return f"{name}{'-' if '/' in name else '/'}{secrets.token_hex(4)}"


def given_name(origin: str) -> str:
    """Return the name that a person gave, of which `origin` was made."""
    return _DIGITS.sub("", origin)


def create_ledger(
    directory: Path,
    name: str,
    *,
    encrypt: bool = False,
    passphrase: Passphrase = passphrase_from_environment,
    clock: Clock = system_clock,
    continuing: Continuation | None = None,
    blobs: Path | None = None,
) -> Created:
    """Make a ledger in `directory`, which must not exist or be empty.

    `continuing` is what a restore carries over. `blobs` is the folder below which the blob store will lie,
    when not in `directory`.

    Raises:
        LedgerError: the directory is in use or cannot be written, or there is no folder `blobs`.
        MalformedKey: `encrypt` without a passphrase.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise LedgerError(
            f"{directory} is in use",
            advice="Name a directory that does not exist, or is empty: `anvil init DIR`.",
        )
    target = directory.resolve()
    if target == Path.cwd():
        raise LedgerError(
            f"{directory} is the current directory; a ledger is moved into its place when it is complete",
            advice="Name a directory in it: `anvil init anvil-ledger`.",
        )
    if blobs is not None and not blobs.is_dir():
        raise LedgerError(
            f"artifacts cannot be kept below {blobs}: there is no such folder",
            advice="Mount the disk, or make the folder; the ledger gets one of its own in it.",
        )
    origin = unique_origin(name)
    pairs = [(role, PrivateKey.generate()) for role in FIRST_ROLES]
    first = _first_event(name, origin, pairs, continuing)
    keystore = KeyStore(by_origin(keys_directory(), origin), passphrase)
    files = {role: keystore.add(role, key, encrypt=encrypt) for role, key in pairs}
    verifier_key = VerifierKey(origin, dict(pairs)["ledger"].public_key)
    staging = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    elsewhere = None if blobs is None else by_origin(blobs.resolve(), origin)
    try:
        make_private_directory(staging)
        place = LedgerPlace(staging)
        _make_blobs(staging / "blobs", elsewhere)
        with Ledger(
            place, Store.create(place.database, origin), keystore, Anchor(state_directory(), origin), clock
        ) as new:
            _record_first(
                new, dict(pairs)["root"], Draft(first, cosigners=tuple(k for _, k in pairs)), continuing
            )
        write_whole(place.verifier_key, f"{verifier_key}\n".encode())
        staging.rename(target)
        _flush_name(target, staging)
    except OSError as error:
        raise LedgerError(f"{directory} could not be made: {error.strerror}") from error
    finally:
        if staging.exists():
            shutil.rmtree(staging, ignore_errors=True)
            if elsewhere is not None:
                shutil.rmtree(elsewhere, ignore_errors=True)
    return Created(LedgerPlace(directory), origin, verifier_key, files)


def _flush_name(target: Path, staging: Path) -> None:
    """Make the name of a ledger durable; where that fails it is under the other name again, and never was made."""
    try:
        flush_path(target.parent)
    except OSError:
        target.rename(staging)
        raise


def _make_blobs(path: Path, elsewhere: Path | None) -> None:
    """Make the blob store at `path`, or a link there to one that lies elsewhere (rule 4)."""
    make_private_directory(path if elsewhere is None else elsewhere)
    if elsewhere is not None:
        path.symlink_to(elsewhere, target_is_directory=True)


def _first_event(
    name: str, origin: str, pairs: list[tuple[Role, PrivateKey]], continuing: Continuation | None
) -> LedgerCreated:
    try:
        return build(
            LedgerCreated,
            {
                "origin": origin,
                "keys": [InitialKey(role=role, public_key=key.public_key.raw.hex()) for role, key in pairs],
                "predecessor": None if continuing is None else continuing.predecessor,
                "software": software_version(),
            },
        )
    except MalformedEvent as error:
        raise LedgerError(
            f"{name!r} cannot be the name of a ledger: {error}",
            advice="Use a URL without scheme in lower case, a name that is yours: example.com/gpu-lab",
        ) from error


def _record_first(ledger: Ledger, signer: Signer, first: Draft, continuing: Continuation | None) -> None:
    stream = Stream(ledger, signer)
    if continuing is None:
        stream.append([first, Draft(closing())])
        return
    stream.append([first])
    continuing.carry(ledger)
    stream.append([*(Draft(end) for end in continuing.ends), Draft(closing())])
