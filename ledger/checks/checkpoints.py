"""Checkpoints: who says what the root is at which size.

1. A stored checkpoint is signed by a ledger key that the log introduced below its size, and is for
   the size that it is stored under.
2. One that only keys signed which were revoked, with a last good state before it, is disowned:
   nothing rests on it. The newest one must not be.
3. A checkpoint is stored before it is anchored, so one of the anchor's size or newer is here.
4. A revocation states the root of the last good state. One that states another revokes its key all the
   same: to ignore it would keep a stolen key alive (docs/format.md, section 8).
5. A predecessor's key is a ledger key of the entries carried over; its checkpoints are signed by it;
   what was restored contains the one stored in it, and what was lost is the difference to the anchor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from anvil.ledger.checkpoint import Checkpoint, open_checkpoint
from anvil.ledger.checks.finding import Finding
from anvil.ledger.checks.keys import Control
from anvil.ledger.checks.tree import StatedRoot
from anvil.ledger.errors import Malformed, SignatureInvalid
from anvil.ledger.events import Predecessor
from anvil.ledger.keyring import Keyring
from anvil.ledger.note import VerifierKey
from anvil.ledger.wording import counted


@dataclass
class Stated:
    """Roots that must come out, what is wrong already, and the newest checkpoint that counts."""

    roots: list[StatedRoot] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    newest: Checkpoint | None = None


def stored_roots(notes: Sequence[tuple[int, bytes]], keyring: Keyring, size: int) -> Stated:
    """Rules 1 and 2 over the stored checkpoints, given as (size, note), of a log of `size` entries."""
    stated = Stated()
    disowned = 0
    for at, note in sorted(notes):
        try:
            checkpoint = _open(at, note, _counting(keyring, at))
        except (Malformed, SignatureInvalid) as error:
            if at != max(n for n, _ in notes) and _is_disowned(at, note, keyring):
                disowned += 1
            else:
                stated.findings.append(_invalid(at, str(error)))
            continue
        if at > size:
            stated.findings.append(rolled_back("a stored checkpoint", at, size))
            continue
        stated.roots.append(StatedRoot(at, checkpoint.root, "a stored checkpoint", "tampered"))
        stated.newest = checkpoint
    if disowned:
        stated.findings.append(Finding("disowned", f"{disowned} checkpoints are disowned by a revocation"))
    return stated


def missing_anchored_note(
    notes: Sequence[tuple[int, bytes]], anchored: Checkpoint, begin: int, size: int
) -> list[Finding]:
    """Rule 3, for a verification that began at `begin`."""
    if not begin <= anchored.size <= size or any(at >= anchored.size for at, _ in notes):
        return []
    return [_invalid(anchored.size, "it was stored before it was anchored, and is gone")]


def revocation_roots(control: Control, origin: str) -> list[StatedRoot]:
    """Rule 4, for the keys of one home ledger; sizes are in that ledger's own tree."""
    return [
        StatedRoot(state.size, bytes.fromhex(state.root), f"the revocation at index {index}", "not-permitted")
        for index, state in control.revocations
        if state.origin == origin
    ]


def predecessor_roots(index: int, predecessor: Predecessor, keyring: Keyring) -> Stated:
    """Rule 5; `keyring` is the predecessor's, as the carried entries give it. Sizes are in its tree."""
    stated = Stated()
    try:
        key = VerifierKey.parse(predecessor.key)
        if key.name != predecessor.restored.origin or not any(
            known.role == "ledger" and known.public_key == key.public_key for known in keyring.keys.values()
        ):
            raise SignatureInvalid("its key is not a ledger key of the entries carried over")
        keys = [
            VerifierKey(keyring.origin, k.public_key) for k in keyring.keys.values() if k.role == "ledger"
        ]
        if predecessor.restored_checkpoint is not None:
            held = open_checkpoint(predecessor.restored_checkpoint.encode(), keys)
            if held.size > predecessor.restored.size:
                raise SignatureInvalid(
                    f"its stored checkpoint has {counted(held.size, 'entry')}, fewer were restored"
                )
            stated.roots.append(StatedRoot(held.size, held.root, "the predecessor's checkpoint", "tampered"))
        _require_lost(predecessor, keys)
    except (Malformed, SignatureInvalid) as error:
        message = f"the predecessor {predecessor.restored.origin}: {error}"
        stated.findings.append(Finding("checkpoint-invalid", message, index))
    return stated


def rolled_back(by: str, signed: int, held: int) -> Finding:
    """Return the finding that more was signed for than there is."""
    message = f"{by} knows of {counted(signed, 'entry')}, there are {held}"
    return Finding(
        "rolled-back",
        message,
        held,
        signed,
        expected=counted(signed, "entry"),
        found=counted(held, "entry"),
    )


def _require_lost(predecessor: Predecessor, keys: Iterable[VerifierKey]) -> None:
    if predecessor.anchored_checkpoint is None:
        if predecessor.lost is not None:
            raise SignatureInvalid(
                f"{counted(predecessor.lost, 'entry', be=True)} said to be lost, and nothing shows it"
            )
        return
    anchored = open_checkpoint(predecessor.anchored_checkpoint.encode(), keys)
    lost = max(0, anchored.size - predecessor.restored.size)
    if predecessor.lost != lost:
        raise SignatureInvalid(
            f"{counted(predecessor.lost or 0, 'entry', be=True)} said to be lost, its anchor shows {lost}"
        )


def _counting(keyring: Keyring, size: int) -> list[VerifierKey]:
    """Return the ledger keys whose signature on a checkpoint of `size` entries counts (rules 1, 2)."""
    return [
        VerifierKey(keyring.origin, known.public_key)
        for known in keyring.keys.values()
        if known.role == "ledger"
        and known.added < size
        and (known.last_good is None or size <= known.last_good)
    ]


def _is_disowned(size: int, note: bytes, keyring: Keyring) -> bool:
    revoked = [
        VerifierKey(keyring.origin, known.public_key)
        for known in keyring.keys.values()
        if known.role == "ledger" and known.last_good is not None and known.last_good < size
    ]
    try:
        _open(size, note, revoked)
    except (Malformed, SignatureInvalid):
        return False
    return True


def _open(size: int, note: bytes, keys: Sequence[VerifierKey]) -> Checkpoint:
    checkpoint = open_checkpoint(note, keys)
    if checkpoint.size != size:
        raise SignatureInvalid(f"it is for {counted(checkpoint.size, 'entry')}")
    return checkpoint


def _invalid(size: int, why: str) -> Finding:
    return Finding("checkpoint-invalid", f"checkpoint at {size}: {why}", size - 1 if size else 0)
