"""Signed notes and verifier keys: C2SP signed-note, version 1.

1. A verifier key is ``<name>+<8 hex digits of the key id>+<base64(0x01 || public key)>``. Its key id is
   the first 4 bytes of ``SHA-256(name || 0x0A || 0x01 || public key)``. Only Ed25519 (type 0x01) is
   read; the public key is vetted, because this is how a key comes in from outside.
2. A name is not empty and has no Unicode space and no plus sign.
3. A note is a text that ends in a newline, an empty line, and 1 to 100 signature lines
   ``— <name> <base64(key id || signature)>``. It is UTF-8 without control characters below U+0020
   other than the newline. The last empty line divides it: a text may have empty lines.
4. Base64 is that of RFC 4648, section 4, in its one canonical spelling: a note that is parsed and
   written again has the same bytes, so nobody can change a byte of it without being seen.
5. A signature by a key that the reader does not know, of whatever type, is kept and not judged.
   Each one by a known key must verify, and at least one known key must have signed.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from anvil.ledger.errors import MalformedKey, MalformedNote, SignatureInvalid
from anvil.ledger.signing import PublicKey, Signer

KEY_HASH_SIZE = 4
MAX_SIGNATURES = 100

_ED25519 = b"\x01"
_SIGNATURE_PREFIX = "\u2014 "
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")
_KEY_HASH = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True)
class VerifierKey:
    """A public key together with the name it signs notes under; `str` gives its text, the vkey.

    Raises:
        MalformedKey: `name` is empty or has a space, a plus sign or a control character.
    """

    name: str
    public_key: PublicKey

    def __post_init__(self) -> None:
        if not _is_key_name(self.name):
            raise MalformedKey(f"not a key name (empty, or with a space or a plus sign): {self.name[:80]!r}")

    @classmethod
    def parse(cls, text: str) -> VerifierKey:
        """Return the key that a vkey names, after vetting it.

        Raises:
            MalformedKey: the text is not a vkey, not for Ed25519, its key id does not fit, or the
                public key must not be used.
        """
        name, _, rest = text.partition("+")
        key_hash, _, encoded = rest.partition("+")
        typed_key = decode_base64(encoded)
        if not _KEY_HASH.fullmatch(key_hash) or not typed_key:
            raise MalformedKey(f"not a verifier key <name>+<8 hex digits>+<base64>: {text[:120]!r}")
        if typed_key[:1] != _ED25519:
            raise MalformedKey(
                f"verifier key of type {typed_key[0]:#04x}, expected Ed25519 (0x01): {text[:120]!r}"
            )
        key = cls(name, PublicKey.vetted(typed_key[1:]))
        if key.key_hash.hex() != key_hash:
            raise MalformedKey(
                f"verifier key says key id {key_hash}, computed {key.key_hash.hex()}: {text[:120]!r}"
            )
        return key

    @cached_property
    def key_hash(self) -> bytes:
        """The 4-byte key id that stands in signature lines; an index, not a safe identifier."""
        digest = hashlib.sha256(self.name.encode() + b"\n" + _ED25519 + self.public_key.raw).digest()
        return digest[:KEY_HASH_SIZE]

    def __str__(self) -> str:
        typed_key = base64.b64encode(_ED25519 + self.public_key.raw).decode()
        return f"{self.name}+{self.key_hash.hex()}+{typed_key}"

    @property
    def fingerprint(self) -> str:
        """What two people compare: ``SHA256:`` and the unpadded base64 SHA-256 of the vkey's text."""
        digest = hashlib.sha256(str(self).encode()).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


@dataclass(frozen=True)
class NoteSignature:
    """One signature line: the signer's name, the 4-byte key id, and what that key type calls a signature."""

    name: str
    key_hash: bytes
    signature: bytes

    def line(self) -> str:
        """Return the signature line without its newline."""
        return f"{_SIGNATURE_PREFIX}{self.name} {base64.b64encode(self.key_hash + self.signature).decode()}"


@dataclass(frozen=True)
class SignedNote:
    """A note as it stands: its text, final newline included, and its signatures, none of them judged."""

    text: str
    signatures: tuple[NoteSignature, ...]

    @classmethod
    def parse(cls, raw: bytes) -> SignedNote:
        """Return the note in these bytes without verifying it.

        Raises:
            MalformedNote: they are not a signed note in its canonical spelling.
        """
        decoded = _decode_text(raw)
        text, separator, block = decoded.rpartition("\n\n")
        if not separator or not block.endswith("\n"):
            raise MalformedNote("a note ends in an empty line and signature lines, this text does not")
        lines = block[:-1].split("\n")
        if len(lines) > MAX_SIGNATURES:
            raise MalformedNote(f"a note has at most {MAX_SIGNATURES} signatures, this one has {len(lines)}")
        return cls(text + "\n", tuple(_parse_signature(line) for line in lines))

    def to_bytes(self) -> bytes:
        """Return the note's bytes: the text, an empty line, the signature lines."""
        lines = "".join(signature.line() + "\n" for signature in self.signatures)
        return f"{self.text}\n{lines}".encode()


def sign_note(text: str, signers: Sequence[tuple[str, Signer]]) -> bytes:
    """Return the note that the given keys sign, each under its name, in the order given.

    Raises:
        MalformedNote: `text` is empty, does not end in a newline or has a character that notes
            exclude, or there are no signers or more than 100.
        MalformedKey: a name cannot be a key name.
    """
    if not text.endswith("\n") or _CONTROL.search(text):
        raise MalformedNote(
            f"the text of a note ends in a newline and has no control characters: {text[-40:]!r}"
        )
    if not 1 <= len(signers) <= MAX_SIGNATURES:
        raise MalformedNote(f"a note has 1 to {MAX_SIGNATURES} signatures, {len(signers)} were asked for")
    try:
        message = text.encode()
    except UnicodeEncodeError as error:
        raise MalformedNote(f"the text of a note cannot be UTF-8: {error}") from error
    signatures = tuple(
        NoteSignature(name, VerifierKey(name, signer.public_key).key_hash, signer.sign(message))
        for name, signer in signers
    )
    return SignedNote(text, signatures).to_bytes()


def open_note(raw: bytes, keys: Iterable[VerifierKey]) -> tuple[SignedNote, tuple[VerifierKey, ...]]:
    """Return the note and those of `keys` that signed it, in the order of its signature lines.

    Raises:
        MalformedNote: the bytes are not a signed note.
        SignatureInvalid: a signature that names one of `keys` does not verify, or none names one.
    """
    note = SignedNote.parse(raw)
    known: dict[tuple[str, bytes], list[VerifierKey]] = {}
    for key in keys:
        known.setdefault((key.name, key.key_hash), []).append(key)
    message = note.text.encode()
    verified: dict[VerifierKey, None] = {}
    for signature in note.signatures:
        for key in known.get((signature.name, signature.key_hash), ()):
            key.public_key.verify(signature.signature, message)
            verified[key] = None
    if not verified:
        names = ", ".join(repr(signature.name[:80]) for signature in note.signatures[:3])
        raise SignatureInvalid(f"none of the known keys signed this note; its signatures name {names}")
    return note, tuple(verified)


def decode_base64(text: str) -> bytes | None:
    """Return the bytes that `text` is the canonical base64 of, or None (RFC 4648, sections 3.5 and 4)."""
    try:
        decoded = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return decoded if base64.b64encode(decoded).decode() == text else None


def _is_key_name(name: str) -> bool:
    has_space = any(character.isspace() for character in name)
    return bool(name) and "+" not in name and not has_space and not _CONTROL.search(name) and _is_utf8(name)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _decode_text(raw: bytes) -> str:
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise MalformedNote(f"a note is UTF-8, this one is not: {error}") from error
    if found := _CONTROL.search(text):
        raise MalformedNote(f"a note has no control characters, this one has {found[0]!r} at {found.start()}")
    return text


def _parse_signature(line: str) -> NoteSignature:
    name, _, encoded = line.removeprefix(_SIGNATURE_PREFIX).partition(" ")
    decoded = decode_base64(encoded)
    if not line.startswith(_SIGNATURE_PREFIX) or not _is_key_name(name) or not decoded:
        raise MalformedNote(f"not a signature line '\u2014 <name> <base64>': {line[:80]!r}")
    if len(decoded) <= KEY_HASH_SIZE:
        raise MalformedNote(f"a signature line without a signature: {line[:80]!r}")
    return NoteSignature(name, decoded[:KEY_HASH_SIZE], decoded[KEY_HASH_SIZE:])
