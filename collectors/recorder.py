"""Where collectors meet the ledger: bytes to the blob store and the journal, events to the stream.

This is the only module of `anvil.collectors`, besides its command line, that knows a ledger; the
collectors themselves are given a `Recorder`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from anvil.collectors.journal import Journal, KeptLine
from anvil.ledger.blobs import BlobRef
from anvil.ledger.drafts import Attachment, Draft
from anvil.ledger.events import Event
from anvil.ledger.header import NO_SUBJECT, Subject
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import Stream


class LedgerRecorder:
    """A `Recorder` into one stream (`anvil.collectors.interface`); bytes are noted as about `subject`.

    Without a journal nothing is noted: recovery itself begins again from the journal that it reads.
    """

    def __init__(
        self, ledger: Ledger, stream: Stream, journal: Journal | None, subject: Subject = NO_SUBJECT
    ) -> None:
        self._ledger = ledger
        self._stream = stream
        self._journal = journal
        self._subject = subject

    def about(self, subject: Subject) -> LedgerRecorder:
        """Return a recorder into the same stream whose bytes are about `subject`."""
        return LedgerRecorder(self._ledger, self._stream, self._journal, subject)

    def keep(self, content: bytes, *, name: str, check: str | None = None) -> BlobRef:
        """Keep bytes for good and note durably what they are."""
        return self._noted(self._ledger.blobs.put(content), name, check)

    def keep_file(self, path: Path, *, name: str) -> BlobRef:
        """Keep the bytes of a file and note durably what they are."""
        return self._noted(self._ledger.blobs.put_file(path), name, None)

    def append(self, event: Event, *, subject: Subject, attachments: Sequence[Attachment] = ()) -> str:
        """Append an event and return its entry hash."""
        return self._stream.append([Draft(event, subject, tuple(attachments))])[0].entry_hash

    def _noted(self, blob: BlobRef, name: str, check: str | None) -> BlobRef:
        if self._journal is not None:
            self._journal.write(KeptLine(self._subject.members(), check, name, blob.digest, blob.size))
        return blob
