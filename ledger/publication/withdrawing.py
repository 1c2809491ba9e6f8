"""Withdrawing: an event that takes a publication back, and the notice in its folder.

The pages move into `withdrawn/`, where they verify as before, and a notice takes their place: whoever
opens one reads first that it was withdrawn, and why.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from anvil.ledger.checkpoint import Checkpoint
from anvil.ledger.citations import Citations
from anvil.ledger.drafts import Draft
from anvil.ledger.entry import stated
from anvil.ledger.envelope import Envelope
from anvil.ledger.errors import LedgerError, PublicationRefused
from anvil.ledger.events import PublicationReleased, PublicationWithdrawn, build
from anvil.ledger.files import flush_path, write_whole
from anvil.ledger.header import Header, Subject
from anvil.ledger.merkle import leaf_hash
from anvil.ledger.note import SignedNote
from anvil.ledger.publication import layout
from anvil.ledger.publication.manifest import Manifest
from anvil.ledger.publication.notice import notice
from anvil.ledger.publication.proving import proof_files
from anvil.ledger.recording import Ledger, Recorded
from anvil.ledger.signing import Signer
from anvil.ledger.streams import record


@dataclass(frozen=True)
class Withdrawn:
    """A withdrawal: its event, when and why; and whether it was recorded now, or an earlier one found."""

    recorded: Recorded
    at: str
    reason: str
    is_new: bool


def withdraw(ledger: Ledger, signer: Signer, index: int, reason: str, folder: Path | None) -> Withdrawn:
    """Take the publication back that the event at `index` released; with `folder`, say so in it.

    Run again with `folder`, it records nothing new and finishes the folder.

    Raises:
        PublicationRefused: the event releases nothing, the folder is that of another one, or the publication was
            withdrawn before and no folder is to be told.
        LedgerError: the folder could not be written.
    """
    name, event, subject = released_by(ledger, index)
    if folder is not None and layout.digest(layout.read(folder, layout.MANIFEST)) != event.manifest:
        raise PublicationRefused(
            f"{folder} is not the publication that event {index} released",
            advice="Its release/entries names the event; `anvil log` shows the index.",
        )
    earlier = withdrawal_of(ledger, name)
    if earlier is not None and folder is None:
        raise _withdrawn_before(ledger, index, *earlier)
    if earlier is None:
        event_of = build(PublicationWithdrawn, {"publication": name, "reason": reason})

        def unchanged() -> None:  # of two at the same moment one is recorded
            if (other := withdrawal_of(ledger, name)) is not None:
                raise _withdrawn_before(ledger, index, *other)

        draft = Draft(event_of, subject)
        recorded = record(ledger, signer, [draft], purpose="publication", require=unchanged)[0]
        said = reason
    else:
        recorded, said = earlier
    if folder is not None:
        _tell(ledger, recorded, folder, said, name)
    return Withdrawn(recorded, _at(ledger, recorded), said, earlier is None)


def _withdrawn_before(ledger: Ledger, index: int, recorded: Recorded, reason: str) -> PublicationRefused:
    return PublicationRefused(
        f"what event {index} released was withdrawn already at index {recorded.index}, "
        f"on {_at(ledger, recorded)[:10]}: {reason}",
        advice="Nothing was recorded, nor the reason given now. --folder DIR puts the notice into a folder that lacks it.",
    )


def _at(ledger: Ledger, recorded: Recorded) -> str:
    """Return when an event of the ledger was recorded."""
    (row,) = ledger.store.rows(recorded.index, recorded.index + 1)
    return Header.parse(Envelope.parse(row.entry).header).at


def released_by(ledger: Ledger, index: int) -> tuple[str, PublicationReleased, Subject]:
    """Return the entry hash of the event at `index` that released something, the event, and of what.

    Raises:
        PublicationRefused: it releases nothing.
    """
    entry = ledger.store.entry(index)
    if entry is not None:
        header = Header.parse(Envelope.parse(entry).header)
        if header.event == PublicationReleased.event_type:
            event = stated(index, header)
            if isinstance(event, PublicationReleased):
                return leaf_hash(entry).hex(), event, header.subject
    raise PublicationRefused(
        f"entry {index} releases nothing", advice="`anvil log` shows where publication.released/1 is."
    )


@dataclass(frozen=True)
class Earlier:
    """An earlier release that was withdrawn: where both events lie, when it was withdrawn, and why."""

    released: int
    withdrawn: int
    withdrawn_at: str
    reason: str


def withdrawn_of(
    ledger: Ledger, document: str, subject: Subject, start: int = 0, stop: int | None = None
) -> Iterator[Earlier]:
    """Yield the releases of a document about `subject` that were withdrawn from index `start` on and before `stop`."""
    for cited in Citations(ledger).counting(PublicationWithdrawn, start=start):
        is_late = stop is not None and cited.index >= stop
        if not isinstance(cited.event, PublicationWithdrawn) or is_late:
            continue
        index = ledger.store.index_of(bytes.fromhex(cited.event.publication))
        if index is None:
            continue
        _, released, about = released_by(ledger, index)
        if (released.document, about) == (document, subject):
            yield Earlier(index, cited.index, cited.header.at, cited.event.reason)


def withdrawal_of(ledger: Ledger, name: str) -> tuple[Recorded, str] | None:
    """Return the event that takes back what event `name` released, and why; None while none that counts does."""
    for cited in Citations(ledger).counting(PublicationWithdrawn):
        if isinstance(cited.event, PublicationWithdrawn) and cited.event.publication == name:
            return Recorded(cited.index, cited.entry_hash), cited.event.reason
    return None


def _tell(ledger: Ledger, recorded: Recorded, folder: Path, reason: str, name: str) -> None:
    note = layout.read(folder, f"{layout.RELEASE}/checkpoint")
    since = Checkpoint.parse_body(SignedNote.parse(note).text)
    listed = {item.path for item in Manifest.parse(layout.read(folder, layout.MANIFEST)).files}
    pages = {form: path for form, path in layout.PAGES.items() if path in listed}
    files = proof_files(ledger, recorded.entry_hash, since, layout.WITHDRAWN)
    try:
        (folder / layout.WITHDRAWN).mkdir(exist_ok=True)
        for path, content in files.items():
            write_whole(folder / path, content)
        for form, path in pages.items():
            kept = folder / layout.WITHDRAWN / path
            if not kept.exists():  # else an earlier try had moved it already
                write_whole(kept, layout.read(folder, path))
            write_whole(folder / path, notice(form, reason, name))
        flush_path(folder)
    except OSError as error:
        raise LedgerError(
            f"the withdrawal is event {recorded.index}; {folder} could not be written: {error.strerror}",
            advice="Run it again: it finishes the folder and records nothing new.",
        ) from error
