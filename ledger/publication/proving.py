"""What a folder says of an event that came after its document: the event, its proof, how the log went on."""

from __future__ import annotations

from anvil.ledger.checkpoint import Checkpoint
from anvil.ledger.envelope import Envelope
from anvil.ledger.errors import LedgerError
from anvil.ledger.header import Header
from anvil.ledger.keyring import changes_keys
from anvil.ledger.merkle import consistency_proof
from anvil.ledger.note import SignedNote
from anvil.ledger.publication import layout
from anvil.ledger.publication.evidence import encode, encode_hashes, prove_all
from anvil.ledger.recording import Ledger
from anvil.ledger.storedtree import StoredTree


def proof_files(ledger: Ledger, entry_hash: str, since: Checkpoint, place: str) -> dict[str, bytes]:
    """Return the files that prove one event under a new checkpoint which continues `since`.

    With the event go all of its stream, and every event about keys since then.

    Raises:
        LedgerError: there is no such event.
    """
    note = ledger.checkpoint()
    state = Checkpoint.parse_body(SignedNote.parse(note).text)
    read = StoredTree(ledger.store).read
    with ledger.store.snapshot():
        index = ledger.store.index_of(bytes.fromhex(entry_hash))
        entry = None if index is None else ledger.store.entry(index)
        if index is None or entry is None or index >= state.size:
            raise LedgerError(f"there is no event {entry_hash}")
        stream = Header.parse(Envelope.parse(entry).header).stream
        rows = ledger.store.rows(since.size, state.size)
        chosen = [(r.entry_index, r.entry) for r in rows if r.stream == stream or changes_keys(r.event)]
        entries, proofs = encode(prove_all(chosen, state.size, read))
        consistency = b"\n"
        if since.size < state.size:
            consistency = encode_hashes(consistency_proof(since.size, state.size, read))
    parts = (entries, proofs, note, consistency)
    return {f"{place}/{name}": content for name, content in zip(layout.PROOF_FILES, parts, strict=True)}
