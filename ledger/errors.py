"""Every error that anvil raises on purpose.

One root, narrow subclasses only where a caller acts differently. `str(error)` says what was
attempted, on what, and what was found instead of what was expected; `error.advice` says what
a person can do next and is printed on a line of its own. What a verifier finds wrong with a
ledger is not an error but a `Finding` (see `anvil.ledger.checks`).
"""

from __future__ import annotations


class AnvilError(Exception):
    """The root of every error a person can cause or meet.

    `advice` is one sentence for a person: what to do next. It may be empty.
    """

    exit_code = 1
    """What the command line exits with."""

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice


class NotPrinted(AnvilError):
    """The answer could not be written to standard output; what the command was to do is done."""


class LedgerError(AnvilError):
    """Something is wrong with a ledger, its files or what was asked of it."""


class Malformed(LedgerError):
    """Bytes are not what their format says. The one exit type of every parser on the verify path."""


class MalformedCanonical(Malformed):
    """Bytes are not canonical JSON of the restricted profile (docs/format.md, section 2)."""


class MalformedEnvelope(Malformed):
    """An entry is not the DSSE envelope that the format allows."""


class MalformedHeader(Malformed):
    """A header has the wrong members or a member of the wrong kind."""


class MalformedEvent(Malformed):
    """The facts of an event do not fit its type."""


class MalformedSalt(Malformed):
    """A salt is not 32 bytes long."""


class MalformedKey(Malformed):
    """A key, verifier key or private key file cannot be used."""


class MalformedNote(Malformed):
    """Text is not a C2SP signed note."""


class MalformedCheckpoint(Malformed):
    """The text of a signed note is not a tlog-checkpoint."""


class MalformedProof(Malformed):
    """Bytes are not a Merkle proof, or the proof does not lead to the root."""


class MalformedTile(Malformed):
    """A tile or an entry bundle has the wrong size or content."""


class MalformedPublication(Malformed):
    """A file of a publication folder is missing or is not what its place says."""


class MalformedLine(Malformed):
    """Bytes are no line of an attempt record or of rows (docs/load.md)."""


class UnknownEventType(LedgerError):
    """An event's type or version is not in this build's catalogue."""


class SignatureInvalid(LedgerError):
    """A signature does not verify under the key that it names."""


class ChainBroken(LedgerError):
    """An event does not follow the last event of its stream."""


class NotPermitted(LedgerError):
    """A key may not sign this: unknown, revoked, rotated away, or not in its role."""


class RolledBack(LedgerError):
    """The anchor knows of events that the database no longer holds."""


class Unanchored(LedgerError):
    """Nothing on this machine says how many entries this ledger had."""


class SplitView(LedgerError):
    """Two signed checkpoints of one origin contradict each other."""


class StoreDamaged(LedgerError):
    """The database contradicts itself, or its schema and triggers are not ours."""


class SchemaAltered(StoreDamaged):
    """What should be a table is something else, and reading it could run anything."""


class LedgerBusy(LedgerError):
    """Another process held the write lock for longer than the timeout."""


class NotALedger(LedgerError):
    """There is no ledger at the place named."""

    exit_code = 3


class LedgerGone(LedgerError):
    """The ledger's folder was deleted or moved away while it was open; nothing can be recorded any more."""


class CannotVerify(LedgerError):
    """Verification could not be carried out; nothing is said about the ledger."""

    exit_code = 3


class BlobStoreAway(LedgerError):
    """The blob store lies elsewhere, and is not there now."""

    exit_code = 3


class BlobMissing(LedgerError):
    """The blob store does not hold the bytes that a digest names."""


class CollectorError(AnvilError):
    """A collector could not look at what it was asked to look at."""


class PublicationRefused(AnvilError):
    """A document was not published, and nothing was written."""
