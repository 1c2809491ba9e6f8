"""Which bytes a file should have, as others said before: its cache, its download, its supplier, the recipe.

1. In a Hugging Face cache the file that a link leads to is named by its ETag: the SHA-256 of a file in LFS or
   Xet, or the id of a git object. `--local-dir` downloads note the same in ``.cache/huggingface``.
2. A supplier's checksum file is compared and reported. It is never trusted: nothing counts as matched by it.
3. Nothing is asked over a network.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath

from anvil.collectors.weights.findings import Found
from anvil.collectors.weights.hashing import Digested
from anvil.collectors.weights.snapshot import DOWNLOADS, MAX_FILES, Snapshot

MAX_METADATA = 4096
MAX_CHECKSUMS = 4 << 20

_ETAG = re.compile("[0-9a-f]{64}|[0-9a-f]{40}")
_CHECKSUM_FILES = re.compile(r"(?i)(?:sha256sums?|checksums?)(?:\.txt|\.sha256)?|.*\.sha256(?:sums?)?")
_CHECKSUM = re.compile(r"\\?([0-9a-fA-F]{64})(?: [ *](.+))?")
_TAGGED = re.compile(r"SHA256 ?\((.+)\) = ([0-9a-fA-F]{64})")


@dataclass(frozen=True)
class Stated:
    """The ETag that is known of a file, and the revision that it was downloaded from, where that is known."""

    etag: str
    revision: str | None = None

    @property
    def is_git_blob(self) -> bool:
        """Whether it is a git object's id; else it is a SHA-256."""
        return len(self.etag) == 40

    def fits(self, digested: Digested) -> bool:
        """Say whether a file's digest is the one stated."""
        if self.is_git_blob:
            return digested.git_blob == self.etag
        return digested.sha256 == f"sha256:{self.etag}"


def stated_identities(snapshot: Snapshot) -> dict[str, Stated]:
    """Return what a snapshot's cache, or the metadata of its download, states of its files, by name."""
    found: dict[str, Stated] = {}
    is_cache = snapshot.boundary != snapshot.root
    for entry in snapshot.entries:
        if is_cache and entry.target != PurePosixPath(entry.name).name and _ETAG.fullmatch(entry.target):
            found[entry.name] = Stated(entry.target)
        elif stated := _download(snapshot.root, entry.name):
            found[entry.name] = stated
    return found


def _download(root: Path, name: str) -> Stated | None:
    """Return what ``.cache/huggingface/download/NAME.metadata`` states: revision, ETag, time, a line each."""
    raw = read_plain(root, f"{DOWNLOADS}/{name}.metadata", MAX_METADATA)
    lines = (raw or b"").decode("utf-8", "replace").split("\n")
    if len(lines) < 2 or not _ETAG.fullmatch(lines[1].strip()):
        return None
    revision = lines[0].strip()
    return Stated(lines[1].strip(), revision if len(revision) == 40 and _ETAG.fullmatch(revision) else None)


def read_plain(root: Path, name: str, limit: int) -> bytes | None:
    """Return the first `limit` bytes of a regular file below `root`; null when there is none, or only by links."""
    try:
        descriptor = os.open(root / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        real = Path(os.readlink(f"/proc/self/fd/{descriptor}"))  # noqa: PTH115  # no path of a file
        is_ours = real.is_relative_to(root) and stat.S_ISREG(os.fstat(descriptor).st_mode)
        return file.read(limit) if is_ours else None


def is_incomplete(name: str) -> bool:
    """Say whether a file is a part of a download that did not end."""
    return name.endswith((".incomplete", ".part", ".crdownload", ".aria2"))


def incomplete_downloads(snapshot: Snapshot) -> Iterator[Found]:
    """Yield the parts of downloads that did not end."""
    for folder in (snapshot.boundary / "blobs", snapshot.root / DOWNLOADS):
        if folder.is_dir() and not folder.is_symlink():
            with os.scandir(folder) as listing:
                names = [item.name for item in islice(listing, MAX_FILES)]
            yield from (Found("incomplete-download", name) for name in sorted(names) if is_incomplete(name))


# --- the supplier's own -------------------------------------------------------------------------------


def is_checksum_file(name: str) -> bool:
    """Say whether a file is a list of digests."""
    return bool(_CHECKSUM_FILES.fullmatch(PurePosixPath(name).name))


def checksum_findings(name: str, raw: bytes, digests: Mapping[str, str]) -> Iterator[Found]:
    """Yield what is wrong with a supplier's checksum file; `digests` are by the names of files."""
    rows = list(_rows(name, raw.decode("utf-8", "replace")))
    if not rows:
        yield Found("checksum-empty", name)
    folder = PurePosixPath(name).parent
    for target, digest in rows:
        path = str(folder / target.removeprefix("./"))
        if path not in digests:
            yield Found("checksum-missing-file", name)
        elif digests[path] != f"sha256:{digest}":
            yield Found("checksum-stale", name)


def _rows(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield (file, digest) of each line; a file's own ``FILE.sha256`` may leave its name out."""
    for line in text.splitlines():
        plain, tagged = _CHECKSUM.fullmatch(line.strip()), _TAGGED.fullmatch(line.strip())
        if tagged:
            yield tagged[1], tagged[2].lower()
        elif plain:
            yield plain[2] or PurePosixPath(name).name.rpartition(".sha256")[0], plain[1].lower()
