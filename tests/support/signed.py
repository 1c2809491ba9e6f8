"""Envelopes signed by hand, as no writer of ours does any more: the writer signs in batches (`anvil.ledger.drafts`)."""

from __future__ import annotations

from collections.abc import Iterable

from anvil.ledger.envelope import Envelope, Signature, pae
from anvil.ledger.signing import Signer


def sign(header: bytes, signers: Iterable[Signer]) -> Envelope:
    """Return the envelope of `header` signed by each of `signers` in order."""
    message = pae(header)
    return Envelope(
        header, tuple(Signature(signer.public_key.key_id, signer.sign(message)) for signer in signers)
    )
