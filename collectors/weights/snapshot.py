"""A snapshot's folder: what lies in it, without following anything out of it and without opening anything odd.

1. In a Hugging Face cache a snapshot is made of links into ``models--ORG--NAME/blobs`` (of a few old models
   without ``ORG--``). A link is followed when it ends at a file inside of that folder; outside of a cache,
   inside of the snapshot. No other is.
2. A path is first opened without the right to read (`O_PATH`), so that no pipe blocks and no device acts;
   what is read later is the very file that was looked at then, or it counts as changed.
3. At most `MAX_FILES` files in folders at most `MAX_DEPTH` deep are looked at.
4. ``.cache/huggingface`` beside downloaded files holds what their download knew of them, and is no part of
   the snapshot. ``.git`` is not looked into.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import unicodedata
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from anvil.collectors.weights.findings import Found
from anvil.ledger.errors import CollectorError

MAX_FILES = 20_000
MAX_DEPTH = 16
DOWNLOADS = Path(".cache", "huggingface", "download")

_REPOSITORY = re.compile(r"models--(?:([A-Za-z0-9][A-Za-z0-9._-]*?)--)?([A-Za-z0-9][A-Za-z0-9._-]*)")
_REVISION = re.compile("[0-9a-f]{40}")
_SPECIAL = {stat.S_IFIFO: "fifo", stat.S_IFSOCK: "socket", stat.S_IFBLK: "device", stat.S_IFCHR: "device"}
_LOOK = os.O_PATH | os.O_CLOEXEC


class Identity(NamedTuple):
    """What the file system says of a file; equal as long as nobody changed it."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Identity:
        """Return the identity in a file's status."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@dataclass(frozen=True)
class Entry:
    """A file of a snapshot. `target` is the name of the file that a link leads to, else the file's own."""

    name: str
    path: Path
    target: str
    identity: Identity

    def open(self) -> BinaryIO:
        """Open the file that was looked at.

        Raises:
            OSError: it is gone, or another one lies there now (`ESTALE`).
        """
        descriptor = os.open(self.path, _LOOK)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or Identity.of(status) != self.identity:
                raise OSError(errno.ESTALE, "another file")
            return open(f"/proc/self/fd/{descriptor}", "rb", buffering=0)  # noqa: PTH123  # a descriptor
        finally:
            os.close(descriptor)


@dataclass
class Snapshot:
    """What lies in a folder. `boundary` is what links may not leave."""

    root: Path
    boundary: Path
    model: str | None = None
    revision: str | None = None
    entries: list[Entry] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)


def look_at(place: Path) -> Snapshot:
    """Return what lies at `place`: a snapshot's folder, a repository in a cache, or one model file.

    Raises:
        CollectorError: there is nothing, or nothing that can be read.
    """
    try:
        root = place.resolve(strict=True)
        is_folder = root.is_dir()
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else "links lead to one another"
        raise CollectorError(
            f"the weights at {str(place)!r} cannot be looked at: {why}",
            advice="Name the folder of a snapshot, or one model file.",
        ) from error
    if not is_folder:
        return _single(root)
    root = _snapshot_of(root)
    snapshot = Snapshot(root, root)
    repository = next((p for p in (root, *root.parents) if _REPOSITORY.fullmatch(p.name)), None)
    if repository is not None and root.parent.name == "snapshots" and root.parent.parent == repository:
        named = _REPOSITORY.fullmatch(repository.name)
        snapshot.boundary = repository
        snapshot.model = f"{named[1]}/{named[2]}" if named and named[1] else None
        snapshot.revision = root.name if _REVISION.fullmatch(root.name) else None
    _walk(snapshot)
    if not snapshot.entries and not snapshot.found:
        snapshot.found.append(Found("snapshot-empty", ""))
    return snapshot


def _single(path: Path) -> Snapshot:
    snapshot = Snapshot(path.parent, path.parent)
    _take(snapshot, path, _shown(snapshot, path))
    return snapshot


def _snapshot_of(folder: Path) -> Path:
    """Return the snapshot of a repository's folder in a cache; any other folder is one itself.

    Raises:
        CollectorError: there are several, and nothing says which.
    """
    if not _REPOSITORY.fullmatch(folder.name) or not (folder / "snapshots").is_dir():
        return folder
    snapshots = sorted(p for p in (folder / "snapshots").iterdir() if p.is_dir() and not p.is_symlink())
    main = folder / "refs" / "main"
    if len(snapshots) > 1 and main.is_file():
        with main.open("rb") as file:
            named = file.read(64).decode("ascii", "replace").strip()
        snapshots = [path for path in snapshots if path.name == named]
    if len(snapshots) != 1:
        raise CollectorError(
            f"{folder.name} holds {len(snapshots)} snapshots that could be meant, where one was expected",
            advice="Name the folder below `snapshots`.",
        )
    return snapshots[0]


def _walk(snapshot: Snapshot) -> None:
    """Take every path that is no folder, by names, without entering what is not looked into."""
    pending: list[tuple[int, Path]] = [(0, snapshot.root)]
    left = MAX_FILES
    while pending:
        depth, folder = pending.pop()
        names, folders = _listed(snapshot, folder, left)
        for name in names:
            _take(snapshot, folder / name, _shown(snapshot, folder / name))
        left -= len(names) + len(folders)
        if left < 0:
            snapshot.found.append(Found("too-many-files", ""))
            return
        for name in reversed(folders):
            if name == ".git":
                snapshot.found.append(Found("git-folder", _shown(snapshot, folder / name)))
            elif depth + 1 >= MAX_DEPTH:
                snapshot.found.append(Found("too-deep", _shown(snapshot, folder / name)))
            elif folder / name != snapshot.root / DOWNLOADS.parent:
                pending.append((depth + 1, folder / name))


def _listed(snapshot: Snapshot, folder: Path, most: int) -> tuple[list[str], list[str]]:
    """Return the names in a folder, at most one more than `most`: what is no folder, and folders.

    No link is followed to either.
    """
    names: list[str] = []
    folders: list[str] = []
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            with closing(os.scandir(descriptor)) as listing:
                for item in islice(listing, most + 1):
                    (folders if item.is_dir(follow_symlinks=False) else names).append(item.name)
        finally:
            os.close(descriptor)
    except OSError:
        snapshot.found.append(Found("unreadable", _shown(snapshot, folder)))
    return sorted(names), sorted(folders)


def _take(snapshot: Snapshot, path: Path, name: str) -> None:
    """Add a file, or what is wrong with what lies there."""
    if name != _plain(name):
        snapshot.found.append(Found("odd-name", name))
    try:
        descriptor = os.open(path, _LOOK)
    except OSError as error:
        kinds = {errno.ELOOP: "link-loop", errno.ENOENT: "link-broken"}
        snapshot.found.append(Found(kinds.get(error.errno or 0, "unreadable"), name))
        return
    try:
        status = os.fstat(descriptor)
        real = Path(os.readlink(f"/proc/self/fd/{descriptor}"))  # noqa: PTH115  # no path of a file
    finally:
        os.close(descriptor)
    if not real.is_relative_to(snapshot.boundary):
        snapshot.found.append(Found("link-out", name))
    elif stat.S_ISDIR(status.st_mode):
        snapshot.found.append(Found("link-to-folder", name))
    elif not stat.S_ISREG(status.st_mode):
        snapshot.found.append(Found(_SPECIAL.get(stat.S_IFMT(status.st_mode), "device"), name))
    else:
        snapshot.entries.append(Entry(name, path, real.name, Identity.of(status)))


def _shown(snapshot: Snapshot, path: Path) -> str:
    """Return a path below the snapshot as text that JSON can hold; bytes that are no UTF-8 are escaped."""
    return os.fsencode(path.relative_to(snapshot.root)).decode("utf-8", "backslashreplace")


def _plain(name: str) -> str:
    """Return a name without what does not show itself: controls, marks of direction, escapes of odd bytes."""
    return "".join(c for c in name if unicodedata.category(c) not in ("Cc", "Cf", "Co", "Cn") and c != "\\")
