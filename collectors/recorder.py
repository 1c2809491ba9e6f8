"""Where collectors meet the ledger: bytes to the blob store and the journal, events to the stream.

This is the only module of `anvil.collectors`, besides its command line, that knows a ledger; the
collectors themselves are given a `Recorder`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from anvil.collectors.journal import Journal, KeptLine, LaunchedLine
from anvil.ledger.blobs import BlobRef
from anvil.ledger.drafts import Attachment, Draft
from anvil.ledger.events import Event
from anvil.ledger.header import Subject
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import Stream


class LedgerRecorder:
    """A `Recorder` for one attempt of one run (`anvil.collectors.interface`)."""

    def __init__(self, ledger: Ledger, stream: Stream, journal: Journal, attempt: str | None = None) -> None:
        self._ledger = ledger
        self._stream = stream
        self._journal = journal
        self._attempt = attempt

    def for_attempt(self, attempt: str) -> LedgerRecorder:
        """Return a recorder into the same stream whose bytes belong to `attempt`."""
        return LedgerRecorder(self._ledger, self._stream, self._journal, attempt)

    def keep(self, content: bytes, *, name: str, check: str | None = None) -> BlobRef:
        """Keep bytes for good and note durably what they are."""
        return self._noted(self._ledger.blobs.put(content), name, check)

    def keep_file(self, path: Path, *, name: str) -> BlobRef:
        """Keep the bytes of a file and note durably what they are."""
        return self._noted(self._ledger.blobs.put_file(path), name, None)

    def launched(self, launcher: str, identity: str, spool: Path | None) -> None:
        """Note durably that an engine was launched, so that it can be found after a crash."""
        where = None if spool is None else str(spool)
        self._journal.write(LaunchedLine(self._attempt or "", launcher, identity, where))

    def append(self, event: Event, *, subject: Subject, attachments: Sequence[Attachment] = ()) -> str:
        """Append an event and return its entry hash."""
        return self._stream.append([Draft(event, subject, tuple(attachments))])[0].entry_hash

    def _noted(self, blob: BlobRef, name: str, check: str | None) -> BlobRef:
        self._journal.write(KeptLine(self._attempt, check, name, blob.digest, blob.size))
        return blob
