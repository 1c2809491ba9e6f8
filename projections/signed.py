"""That the events behind a document are what their signers signed, checked before it is printed.

1. An entry gives the hash by which the document names it.
2. Every signature of it verifies, by keys that its ledger knew at that point, the first by the key that
   its header names and in a role that may sign the type.
3. Checked are the events that the document cites, and all that take something back: a retraction,
   redaction or revocation that nobody signed would change the document too.

This is less than `anvil verify`, which looks at every entry, at the tree and at what was cut off.
"""

from __future__ import annotations

from collections.abc import Mapping

from anvil.ledger.checks.keys import CONTROL_TYPES, Control, read_control
from anvil.ledger.envelope import Envelope, pae
from anvil.ledger.errors import LedgerError, PublicationRefused
from anvil.ledger.header import Header
from anvil.ledger.keyring import Keyring
from anvil.ledger.merkle import leaf_hash
from anvil.ledger.store import Store


def require_signed(store: Store, cited: Mapping[str, int]) -> None:
    """Check the events `cited`, by entry hash and index.

    Raises:
        PublicationRefused: one is not as it was signed.
    """
    control = Control()
    rows = ((row.entry_index, row.entry) for row in store.of_types(CONTROL_TYPES))
    read_control(store.origin(), rows, control)
    if control.findings:
        raise _refused(control.findings[0].index, control.findings[0].message)
    for entry_hash, index in cited.items():
        try:
            _require(store.entry(index) or b"", entry_hash, index, control.keyrings)
        except LedgerError as error:
            raise _refused(index, str(error)) from error


def _require(entry: bytes, entry_hash: str, index: int, keyrings: Mapping[str, Keyring]) -> None:
    if leaf_hash(entry).hex() != entry_hash:
        raise LedgerError("its bytes do not give its entry hash")
    envelope = Envelope.parse(entry)
    header = Header.parse(envelope.header)
    keyring = keyrings.get(header.ledger) or Keyring(header.ledger)
    if envelope.signatures[0].key_id != header.key:
        raise LedgerError("its first signature is not by the key that it names")
    if index != keyring.base:
        keyring.require(header.key, header.event, index, header.stream_seq)
    signed = pae(envelope.header)
    for signature in envelope.signatures:
        keyring.require_known(signature.key_id, index).public_key.verify(signature.value, signed)


def _refused(index: int | None, why: str) -> PublicationRefused:
    return PublicationRefused(
        f"the event at index {index} is not as it was signed: {why}",
        advice="Run `anvil verify`; nothing is rendered from a ledger that somebody altered.",
    )
