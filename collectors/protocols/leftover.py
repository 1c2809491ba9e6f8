"""What a run of anvil that was killed left of a load: its event is made from the folder that it left.

1. The load client is waited for: it ends by itself when its run is gone, and writes down what had come.
2. What was read beside the run is lost with whoever read it; the event says `recording_lost`.
3. What cannot be read, since the power went before it was on disk, is kept and named by a caveat.
4. A folder whose record an event names already is only removed; so is one in which nothing had been sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path

from anvil.collectors.cleaning import clean_event
from anvil.collectors.interface import Recorder
from anvil.collectors.load.spool import Spool
from anvil.collectors.protocols.measured import NDJSON, Begun, Beside, KeptRun, attachments, measured
from anvil.collectors.withholding import Secrets
from anvil.ledger.drafts import Attachment
from anvil.ledger.errors import MalformedLine
from anvil.ledger.events import CaveatNoted, LoadMeasured
from anvil.ledger.header import Subject

_UNREAD = "The record of a run of load that was broken off cannot be read; its bytes are kept."


def loads_of(root: Path, stream: str) -> list[Spool]:
    """Return the folders that the run in `stream` left."""
    return [spool for spool in Spool.left(root) if spool.directory.name.rpartition(".")[0] == stream]


def recover_loads(
    recorder: Recorder,
    spools: Sequence[Spool],
    named: Collection[tuple[Subject, str]],
    secrets: Secrets,
) -> list[LoadMeasured]:
    """Append an event for each run that a folder tells of; `named` are bytes that events name already.

    Raises:
        AnvilError: something could not be kept; the folder is found again.
    """
    found = []
    for spool in spools:
        begun = Begun.read(spool.about)
        path = spool.record()
        if path is not None and (begun.subject, _digest(path)) not in named:
            record = recorder.keep_file(path, name="record")
            try:
                kept = KeptRun.read(path)
            except MalformedLine:
                unread = Attachment("record", NDJSON, record)
                recorder.append(
                    CaveatNoted(text=_UNREAD, about=()), subject=begun.subject, attachments=(unread,)
                )
                spool.remove()
                continue
            rows = recorder.keep(kept.rows_bytes, name="rows")
            event = measured(begun, kept, Beside())
            recorder.append(
                clean_event(event, secrets),
                subject=begun.subject,
                attachments=attachments(begun, record, rows),
            )
            found.append(event)
        spool.remove()
    return found


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
