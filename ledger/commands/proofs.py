"""`anvil verify --proof`: one entry, and the proof that it is in the log, without the log.

1. The checkpoint in the proof is signed by the key given, for a log of that key's name.
2. The hashes of the proof lead from the entry, at its index, to the checkpoint's root.
3. The entry is spelled as an entry must be.
4. The keys that may sign events are in the log and not in the proof, so the event's own signatures are
   not checked, and the answer says so.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

from anvil.ledger.checkpoint import Checkpoint, open_checkpoint
from anvil.ledger.checks.finding import Finding, worst
from anvil.ledger.commands.output import answer, answer_json, spell, table, visible
from anvil.ledger.envelope import Envelope
from anvil.ledger.errors import CannotVerify, Malformed, MalformedProof, SignatureInvalid
from anvil.ledger.header import Header
from anvil.ledger.merkle import leaf_hash
from anvil.ledger.note import SignedNote, VerifierKey
from anvil.ledger.tlogproof import TlogProof


@dataclass
class Judged:
    """What a proof shows. `checkpoint` is None unless the key signed it, `header` unless the entry holds one."""

    entry_hash: str
    index: int | None = None
    checkpoint: Checkpoint | None = None
    header: Header | None = None
    findings: list[Finding] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return worst(self.findings) == "note"


def verify_proof(proof: Path, entry: Path, key: VerifierKey, *, as_json: bool) -> int:
    """Check two files that `anvil prove` wrote under `key`, print the answer, and return the exit code: 0 or 1.

    Raises:
        CannotVerify: a file cannot be read.
    """
    judged = judge(_read(proof), _read(entry), key)
    if as_json:
        answer_json("anvil.verify.proof/1", _members(judged, key))
    else:
        _print(judged, key)
    return 0 if judged.holds else 1


def judge(proof: bytes, entry: bytes, key: VerifierKey) -> Judged:
    """Go through the rules; what is wrong is a finding."""
    judged = Judged(leaf_hash(entry).hex())
    try:
        parsed = TlogProof.parse(proof)
    except MalformedProof as error:
        judged.findings.append(Finding("file-damaged", f"the proof: {error}"))
        return judged
    judged.index = parsed.index
    try:
        judged.checkpoint = open_checkpoint(parsed.checkpoint, [key])
    except (Malformed, SignatureInvalid) as error:
        judged.findings.append(_not_signed(parsed, key, error))
        return judged
    try:
        parsed.verify(entry, [key])
    except MalformedProof as error:
        judged.findings.append(
            Finding("tampered", f"this is not the entry that was signed: {error}", parsed.index)
        )
        return judged
    try:
        judged.header = Header.parse(Envelope.parse(entry).header)
    except Malformed as error:
        judged.findings.append(Finding("non-canonical", str(error), parsed.index))
    judged.findings.append(
        Finding("not-checked", "the event's own signatures: the keys that may sign are in the log")
    )
    return judged


def _not_signed(proof: TlogProof, key: VerifierKey, error: Exception) -> Finding:
    try:
        origin = Checkpoint.parse_body(SignedNote.parse(proof.checkpoint).text).origin
    except Malformed:
        origin = key.name
    if origin == key.name:
        return Finding("checkpoint-invalid", f"the checkpoint in the proof: {error}")
    message = f"asked for {key.name}, the proof is of {origin}"
    return Finding("other-ledger", message, expected=key.name, found=origin)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CannotVerify(f"nothing was verified: {path} cannot be read: {error.strerror}") from error


def _print(judged: Judged, key: VerifierKey) -> None:
    state, header = judged.checkpoint, judged.header
    rows = [("Ledger", visible(key.name)), ("Public key", key.fingerprint)]
    if state is not None:
        rows += [("Entries", str(state.size)), ("Root", state.root.hex())]
    rows += [("Index", "not known" if judged.index is None else str(judged.index))]
    rows += [("Entry hash", judged.entry_hash)]
    if header is not None:
        rows += [("Event", f"{header.event}, {header.at}")]
    answer(table(rows))
    for finding in judged.findings:
        answer("\n" + spell(finding))
    if judged.holds and state is not None:
        answer(f"\nVerified: the entry is at index {judged.index} of {state.size}.")
    else:
        answer("\nNot verified.")


def _members(judged: Judged, key: VerifierKey) -> dict[str, object]:
    state, header = judged.checkpoint, judged.header
    return {
        "origin": None if state is None else state.origin,
        "size": None if state is None else state.size,
        "root": None if state is None else state.root.hex(),
        "index": judged.index,
        "entry_hash": judged.entry_hash,
        "event": None if header is None else header.event,
        "verifier_key": str(key),
        "fingerprint": key.fingerprint,
        "exit_code": 0 if judged.holds else 1,
        "verified": judged.holds,
        "findings": [{"severity": f.severity, **asdict(f)} for f in judged.findings],
    }
