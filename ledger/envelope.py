"""The envelope: a header and the signatures over it, as one entry of the log (DSSE v1).

1. A signature covers ``PAE(payloadType, header)``, DSSE's pre-authentication encoding.
2. An entry is the JSON envelope spelled in one way only: members in the order ``payload``,
   ``payloadType``, ``signatures``, inside a signature ``keyid``, ``sig``; no blanks; standard
   base64 with padding. Two spellings of one envelope would be two leaves.
3. The first signature is by the key that the header names; others follow, each by another key, at
   most 16 in all. What could not be read back is not written.
4. An entry has at most 65,535 bytes (C2SP tlog-tiles counts them in 16 bits).
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from collections.abc import Sequence
from typing import NamedTuple

from pybase64 import b64decode, b64encode

from anvil.ledger.errors import MalformedEnvelope

PAYLOAD_TYPE = "application/vnd.anvil.event.v1+json"
MAX_ENTRY_SIZE = 65_535
MAX_SIGNATURES = 16

_START = b'{"payload":"'
_MIDDLE = b'","payloadType":"' + PAYLOAD_TYPE.encode() + b'","signatures":['
_SIGNATURE = re.compile(rb'\{"keyid":"([0-9a-f]{64})","sig":"([A-Za-z0-9+/]{86}==)"\}([,\]])')
_END = b"}"


class Signature(NamedTuple):
    """One signature of an envelope and the id of the key that made it."""

    key_id: str
    value: bytes


class Envelope(NamedTuple):
    """A parsed entry: the header's bytes and the signatures over them."""

    header: bytes
    signatures: tuple[Signature, ...]

    @classmethod
    def parse(cls, entry: bytes) -> Envelope:
        """Return the envelope that `entry` is.

        Raises:
            MalformedEnvelope: too long, another payload type, or any other spelling.
        """
        if len(entry) > MAX_ENTRY_SIZE:
            raise MalformedEnvelope(f"an entry has at most {MAX_ENTRY_SIZE} bytes, this one has {len(entry)}")
        quote = entry.find(b'"', len(_START))
        if not entry.startswith(_START) or not entry.startswith(_MIDDLE, quote):
            raise MalformedEnvelope(
                f"not a DSSE envelope of {PAYLOAD_TYPE} in its one spelling: {entry[:48]!r}"
            )
        header = _base64_bytes(entry[len(_START) : quote])
        return cls(header, _parse_signatures(entry, quote + len(_MIDDLE)))

    def encode(self) -> bytes:
        """Return the entry: the one spelling of this envelope.

        Raises:
            MalformedEnvelope: the entry would be too long, has no signature or more than 16, or two by one key.
        """
        return enclose(*self)


def enclose(header: bytes, signatures: Sequence[Signature]) -> bytes:
    """Return the entry of a header and the signatures over it, as `Envelope.encode` does."""
    _require_signers(signatures)
    joined = b",".join(
        [b'{"keyid":"%b","sig":"%b"}' % (key_id.encode(), b64encode(value)) for key_id, value in signatures]
    )
    entry = b"".join((_START, b64encode(header), _MIDDLE, joined, b"]", _END))
    if len(entry) > MAX_ENTRY_SIZE:
        raise MalformedEnvelope(
            f"the event takes {len(entry)} bytes, an entry at most {MAX_ENTRY_SIZE}",
            advice="Attach what is large as a file; it is then kept as an artifact.",
        )
    return entry


def pae(header: bytes, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """Return the bytes that a signature covers (DSSE v1, PAE)."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d " % (len(kind), kind, len(header)) + header


def _parse_signatures(entry: bytes, position: int) -> tuple[Signature, ...]:
    """Return the signatures that begin at `position`, up to the end of `entry`."""
    found: list[Signature] = []
    separator = b","
    while separator == b",":
        match = _SIGNATURE.match(entry, position)
        if match is None or len(found) == MAX_SIGNATURES:
            raise MalformedEnvelope(f"signature {len(found)} of the envelope: not in its one spelling")
        found.append(Signature(match[1].decode(), _base64_bytes(match[2])))
        position, separator = match.end(), match[3]
    if entry[position:] != _END:
        raise MalformedEnvelope(f"bytes after the envelope: {entry[position : position + 24]!r}")
    _require_signers(found)
    return tuple(found)


def _require_signers(signatures: Sequence[Signature]) -> None:
    count = len(signatures)
    if not 1 <= count <= MAX_SIGNATURES:
        raise MalformedEnvelope(f"an envelope has 1 to {MAX_SIGNATURES} signatures, not {count}")
    if count > 1 and len({s.key_id for s in signatures}) != count:
        raise MalformedEnvelope("two signatures of one envelope name the same key")


def _base64_bytes(text: bytes) -> bytes:
    """Decode standard base64, refusing a last character whose unused bits are set."""
    try:
        raw = b64decode(text, None, True)  # by position: by name costs as much as decoding
    except Base64Error as error:
        raise MalformedEnvelope(f"envelope: not base64: {error}") from error
    if b64encode(raw) != text:
        raise MalformedEnvelope("envelope: base64 in another than its one spelling")
    return raw
