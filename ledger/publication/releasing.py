"""Releasing: a folder that is there whole, with its event in the log, or neither.

1. What is under way stands in a file of the user's state directory, written first.
2. The files are written into a folder beside the target, under another name, and flushed.
3. The event that names their manifest is appended. From here on the publication is released.
4. The checkpoint over it, and the proofs, are added; the folder gets its name; the file of rule 1 goes.
5. What was released before, to the byte, is not recorded again: its folder is made again, with its event. What
   was withdrawn is not.
6. One release at a time. Before rule 3 a failure takes everything away again. After a crash the next release finds the file of
   rule 1: when the event is in the log the folder is finished, else everything is taken away.
7. A folder that was lost in between is made again, and must come out with the same manifest.
"""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from anvil.ledger.checkpoint import Checkpoint
from anvil.ledger.drafts import Draft
from anvil.ledger.entry import read_entry
from anvil.ledger.errors import LedgerBusy, LedgerError, Malformed, PublicationRefused
from anvil.ledger.events import PublicationReleased
from anvil.ledger.files import flush_path, make_private_directory, write_whole
from anvil.ledger.header import Subject
from anvil.ledger.places import by_origin, state_directory
from anvil.ledger.publication import layout
from anvil.ledger.publication.manifest import Manifest
from anvil.ledger.publication.proving import proof_files
from anvil.ledger.publication.withdrawing import withdrawal_of
from anvil.ledger.recording import Ledger, Recorded
from anvil.ledger.signing import Signer
from anvil.ledger.streams import is_synthetic, record

PURPOSE = "publication"
RELEASED = "publication.released/1"

Files = Mapping[str, bytes]
Rebuild = Callable[[PublicationReleased, Subject], Files]
"""From a release in the log to its files, the manifest included."""


@dataclass(frozen=True)
class Released:
    """A publication: where it lies, and its event."""

    target: Path
    recorded: Recorded


@dataclass(frozen=True)
class Pending:
    """A release under way: where the folder is to be, where it is made, which manifest it has."""

    path: Path
    target: Path
    staging: Path
    manifest: str

    def write(self) -> None:
        """Keep it (rule 1)."""
        make_private_directory(self.path.parent)
        members = {"target": str(self.target), "staging": str(self.staging), "manifest": self.manifest}
        write_whole(self.path, json.dumps(members).encode(), mode=0o600)

    def forget(self) -> None:
        """Remove it: nothing is under way any more."""
        self.path.unlink(missing_ok=True)
        flush_path(self.path.parent)


def release(
    ledger: Ledger, signer: Signer, event: PublicationReleased, subject: Subject, files: Files, target: Path
) -> Released:
    """Publish `files`, which hold the manifest that `event` names, as the folder `target`.

    Raises:
        PublicationRefused: the ledger is synthetic, there is something at `target`, or a file could not be
            written; then nothing was released.
        LedgerError: the event could not be appended, or it was and the folder could not be finished.
    """
    require_releasable(ledger, target)
    _require_not_withdrawn(ledger, event.manifest)
    target = target.absolute()
    name = event.manifest.removeprefix("sha256:")[:16]
    staging = target.with_name(f".{target.name}.anvil-{name}")
    pending = Pending(_directory(ledger) / f"{name}.json", target, staging, event.manifest)
    earlier = find_release(ledger, event.manifest)
    try:
        pending.write()
        _write(staging, files)
        found = (
            record(ledger, signer, [Draft(event, subject)], purpose=PURPOSE)[0]
            if earlier is None
            else earlier[0]
        )
    except BaseException as error:
        if earlier is None:
            _undo_unless_released(ledger, pending)
        else:
            _take_away(pending)
        if isinstance(error, OSError):
            raise _not_written(target, error) from error
        raise
    _finish(ledger, pending, found, files)
    return Released(target, found)


def resume(ledger: Ledger, rebuild: Rebuild) -> list[Released]:
    """Finish, or take away, what a crash left under way (rules 6 and 7). Return what is finished now.

    Raises:
        LedgerError: a folder could not be finished.
    """
    finished = []
    for pending in _all_pending(ledger):
        found = find_release(ledger, pending.manifest)
        if found is None:
            _take_away(pending)
        else:
            recorded, event, subject = found
            if not _is_finished(pending):
                files = _staged(pending) or rebuild(event, subject)
                if layout.digest(files[layout.MANIFEST]) != pending.manifest:
                    raise LedgerError(
                        f"{pending.target} was released as event {recorded.index}, is gone, and comes out "
                        "otherwise when it is made again",
                        advice="Withdraw it: `anvil withdraw`. The version of anvil may be another one.",
                    )
                shutil.rmtree(pending.staging, ignore_errors=True)
                _write(pending.staging, files)
                _finish(ledger, pending, recorded, files)
            pending.forget()
            finished.append(Released(pending.target, recorded))
    return finished


@contextmanager
def alone(ledger: Ledger) -> Iterator[None]:
    """Let no other process release meanwhile: what it has under way would look like what a crash left.

    Raises:
        LedgerBusy: another one does.
    """
    make_private_directory(_directory(ledger))
    with (_directory(ledger) / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LedgerBusy(
                f"another release of {ledger.origin} is under way",
                advice="Wait until it is done, and try again.",
            ) from error
        yield


def require_releasable(ledger: Ledger, target: Path) -> None:
    """Refuse what can never be released.

    Raises:
        PublicationRefused: the ledger is synthetic, or there is something at `target`.
    """
    if is_synthetic(ledger.origin):
        raise PublicationRefused(
            f"{ledger.origin} is a ledger for tests and demonstrations; nothing of it can be released",
            advice="`anvil render` shows the document.",
        )
    if target.exists() or target.is_symlink():
        raise PublicationRefused(
            f"there is something at {target}; a publication is never written over another",
            advice="Name a directory that does not exist.",
        )
    if not target.absolute().parent.is_dir():
        raise PublicationRefused(f"{target.absolute().parent} is no directory", advice="Make it first.")


def find_release(ledger: Ledger, manifest: str) -> tuple[Recorded, PublicationReleased, Subject] | None:
    """Return the event that released the folder with this manifest, or None."""
    for row in ledger.store.of_types([RELEASED]):
        header, event = read_entry(row.entry_index, row.entry)
        if isinstance(event, PublicationReleased) and event.manifest == manifest:
            return Recorded(row.entry_index, row.leaf_hash.hex()), event, header.subject
    return None


def _require_not_withdrawn(ledger: Ledger, manifest: str) -> None:
    """Rule 5."""
    earlier = find_release(ledger, manifest)
    withdrawal = None if earlier is None else withdrawal_of(ledger, earlier[0].entry_hash)
    if withdrawal is not None:
        raise PublicationRefused(
            f"it was released, and withdrawn at index {withdrawal[0].index}: {withdrawal[1]}",
            advice="Release what the ledger says since: without --as-of, or with a later one.",
        )


def _finish(ledger: Ledger, pending: Pending, found: Recorded, files: Files) -> None:
    """Rule 4."""
    fold = Manifest.parse(files[layout.MANIFEST]).about.fold
    state = Checkpoint(fold.origin, fold.size, bytes.fromhex(fold.root))
    try:
        _write(pending.staging, proof_files(ledger, found.entry_hash, state, layout.RELEASE))
        if pending.target.exists():  # only an empty directory would be replaced
            raise FileExistsError(None, "there is something now", str(pending.target))
        pending.staging.rename(pending.target)
        flush_path(pending.target.parent)
        pending.forget()
    except (OSError, LedgerError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise LedgerError(
            f"{pending.target} is released, as event {found.index}, and could not be finished: {why}",
            advice="Make room or way, and run `anvil release` again: it finishes this one first.",
        ) from error


def _write(folder: Path, files: Files) -> None:
    """Write files and flush them, and the names of all folders."""
    folder.mkdir(exist_ok=True)
    folders = {folder}
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, content)
        folders.add(place.parent)
    for each in sorted(folders, reverse=True):
        flush_path(each)


def _undo_unless_released(ledger: Ledger, pending: Pending) -> None:
    """Take everything away, unless the event is in the log after all: a failed flush does not tell."""
    with suppress(LedgerError, OSError):
        if find_release(ledger, pending.manifest) is None:
            _take_away(pending)


def _take_away(pending: Pending) -> None:
    shutil.rmtree(pending.staging, ignore_errors=True)
    pending.forget()


def _is_finished(pending: Pending) -> bool:
    try:
        return layout.digest(layout.read(pending.target, layout.MANIFEST)) == pending.manifest
    except Malformed:
        return False


def _staged(pending: Pending) -> Files | None:
    """Return the files that were staged, or None when one is not there as it was."""
    try:
        manifest = layout.read(pending.staging, layout.MANIFEST)
        listed = Manifest.parse(manifest).files
        files = {item.path: layout.read(pending.staging, item.path) for item in listed}
    except Malformed:
        return None
    is_whole = all(layout.digest(files[item.path]) == item.digest for item in listed)
    return {**files, layout.MANIFEST: manifest} if is_whole else None


def _directory(ledger: Ledger) -> Path:
    return by_origin(state_directory() / "releases", ledger.origin)


def _all_pending(ledger: Ledger) -> Iterator[Pending]:
    for path in sorted(_directory(ledger).glob("[0-9a-f]*.json")):
        try:
            members = json.loads(path.read_bytes())
            yield Pending(path, Path(members["target"]), Path(members["staging"]), str(members["manifest"]))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise LedgerError(
                f"{path}, which says what is being released, cannot be read: {error}",
                advice="Put it back, or remove it: then an interrupted release is not finished.",
            ) from error


def _not_written(target: Path, error: OSError) -> PublicationRefused:
    return PublicationRefused(
        f"{target} could not be written: {error.strerror}; nothing was released",
        advice="Check free space and the directory's rights.",
    )
