"""Where collectors meet the ledger: bytes to the blob store and the journal, events to the stream.

This is the only module of `anvil.collectors`, besides its command line, that knows a ledger; the
collectors themselves are given a `Recorder`.
"""

from __future__ import annotations

import hashlib
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

    `selected_as` is what the recipe calls the check that bytes are kept for.
    """

    def __init__(
        self,
        ledger: Ledger,
        stream: Stream,
        journal: Journal,
        subject: Subject = NO_SUBJECT,
        selected_as: str | None = None,
    ) -> None:
        self._ledger = ledger
        self._stream = stream
        self._journal = journal
        self._subject = subject
        self._selected_as = selected_as

    def about(self, subject: Subject, selected_as: str | None = None) -> LedgerRecorder:
        """Return a recorder into the same stream whose bytes are about `subject`, or a check of it."""
        return LedgerRecorder(self._ledger, self._stream, self._journal, subject, selected_as)

    def keep(self, content: bytes, *, name: str, check: str | None = None) -> BlobRef:
        """Note what bytes are, and keep them: both outlive this process from here on.

        Raises:
            LedgerGone: the ledger's folder is; a new blob store in its place would be nobody's.
        """
        self._ledger.require_there()
        self._note(BlobRef(f"sha256:{hashlib.sha256(content).hexdigest()}", len(content)), name, check)
        return self._ledger.blobs.hold(content)

    def keep_file(self, path: Path, *, name: str) -> BlobRef:
        """Keep the bytes of a file and note what they are; a crash in between leaves the file.

        Raises:
            LedgerGone: as for `keep`.
        """
        self._ledger.require_there()
        blob = self._ledger.blobs.put_file(path)
        self._note(blob, name, None)
        return blob

    def append(self, event: Event, *, subject: Subject, attachments: Sequence[Attachment] = ()) -> str:
        """Append an event and return its entry hash; what it names is on disk before."""
        return self._stream.append([Draft(event, subject, tuple(attachments))])[0].entry_hash

    @property
    def is_ledger_gone(self) -> bool:
        """Whether nothing can be recorded any more, now or later."""
        return self._ledger.is_gone

    def _note(self, blob: BlobRef, name: str, check: str | None) -> None:
        selected_as = None if check is None else self._selected_as or check
        self._journal.write(
            KeptLine(self._subject.members(), check, selected_as, name, blob.digest, blob.size)
        )
