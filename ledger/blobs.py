"""The blob store: artifacts by the digest of their bytes.

1. A blob lies at ``sha256/ab/cdef…``, plain, so that `sha256sum` can check it.
2. It is written under a temporary name and renamed, and it and its name are flushed *before* an event
   names it: by `put` at once, after `hold` by `flush`, which every append calls. A crash leaves at worst
   a blob that nothing names, and a power cut one that was held and is not whole; keeping it again mends it.
3. Folders have mode 0700 and files 0600: a blob may hold a log, a prompt or an answer.
4. Nothing is written over: equal bytes are kept once.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from anvil.ledger.errors import BlobMissing, LedgerError
from anvil.ledger.files import flush, flush_path, make_private_directory, open_plain, write_all

CHUNK = 1 << 20
_FLUSHERS = 4

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class BlobRef:
    """Which bytes: their digest (``sha256:…``) and how many."""

    digest: str
    size: int


class BlobStore:
    """A directory of blobs."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._folder = directory / "sha256"

    def path(self, digest: str) -> Path:
        """Return where the blob of `digest` lies, whether it is there or not.

        Raises:
            BlobMissing: it is no digest; as a path it could lead anywhere.
        """
        if not _DIGEST.fullmatch(digest):
            raise BlobMissing(f"no digest of a blob: {digest[:80]!r}")
        return Path(f"{self._folder}/{digest[7:9]}/{digest[9:]}")

    def put(self, content: bytes) -> BlobRef:
        """Keep bytes and return their reference; they are on disk then.

        Raises:
            LedgerError: the file system refused.
        """
        return self._keep(iter((content,)), is_flushed=True)

    def hold(self, content: bytes) -> BlobRef:
        """Keep bytes without waiting for the disk, and return their reference.

        They outlive this process, however it ends, and not yet a power cut: for that there is `flush`.

        Raises:
            LedgerError: the file system refused.
        """
        return self._keep(iter((content,)), is_flushed=False)

    def flush(self, digests: Collection[str]) -> None:
        """Wait until blobs and their names are on disk, whoever kept them.

        Raises:
            BlobMissing: one is not there.
            LedgerError: the file system refused.
        """
        if not digests:
            return
        paths = [self.path(digest) for digest in digests]
        paths += {*(path.parent for path in paths), self._folder}
        # Side by side: a disk that is asked for several at once writes them together.
        parts = [paths[start::_FLUSHERS] for start in range(_FLUSHERS)]
        try:
            for under_way in [_flushing().submit(_flush_all, part) for part in parts if part]:
                under_way.result()
        except FileNotFoundError as error:
            raise BlobMissing(f"a blob is not in the blob store: {error.filename}") from error
        except OSError as error:
            raise _refused(self.directory, error) from error

    def put_file(self, source: Path) -> BlobRef:
        """Keep the bytes of a file, read once and in pieces.

        Raises:
            LedgerError: the file cannot be read, or the file system refused.
        """
        try:
            with open_plain(source) as file:
                return self._keep(_chunks(file), is_flushed=True)
        except OSError as error:
            raise LedgerError(f"{source} cannot be kept: {error.strerror}") from error

    def get(self, digest: str) -> bytes:
        """Return the bytes of a blob, checked against its digest.

        Raises:
            BlobMissing: there is no such blob, or its bytes are no longer those.
        """
        try:
            with open_plain(self.path(digest)) as file:
                content = file.read()
        except OSError as error:
            raise BlobMissing(f"blob {digest} cannot be read: {error.strerror}") from error
        found = f"sha256:{hashlib.sha256(content).hexdigest()}"
        if found != digest:
            raise BlobMissing(f"blob {digest} was altered: its bytes now have {found}")
        return content

    def measure(self, digest: str) -> BlobRef | None:
        """Return the digest and size that the blob at `digest` really has, or None when it is not there.

        Raises:
            LedgerError: it is there and cannot be read.
        """
        try:
            with open_plain(self.path(digest)) as file:
                hasher, size = hashlib.sha256(), 0
                for chunk in _chunks(file):
                    hasher.update(chunk)
                    size += len(chunk)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerError(f"blob {digest} cannot be read: {error.strerror}") from error
        return BlobRef(f"sha256:{hasher.hexdigest()}", size)

    def digests(self) -> Iterator[str]:
        """Yield the digest of every blob, by its name; the bytes are not read."""
        for path in sorted(self._folder.glob("[0-9a-f][0-9a-f]/*")):
            digest = f"sha256:{path.parent.name}{path.name}"
            if _DIGEST.fullmatch(digest):  # not half of a copy
                yield digest

    def delete(self, digest: str) -> None:
        """Remove a blob and flush its directory. A blob that is not there is no error.

        Raises:
            LedgerError: the file system refused.
        """
        path = self.path(digest)
        try:
            path.unlink(missing_ok=True)
            if path.parent.is_dir():
                flush_path(path.parent)
        except OSError as error:
            raise LedgerError(f"blob {digest} could not be deleted: {error.strerror}") from error

    def sweep(self) -> None:
        """Remove what killed processes left half-written; a living process holds a lock on its file.

        Raises:
            LedgerError: the file system refused.
        """
        try:
            for path in self._folder.glob(".*"):
                with path.open("rb") as file, suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink(missing_ok=True)
        except OSError as error:
            raise LedgerError(f"{self.directory} could not be swept: {error.strerror}") from error

    def _keep(self, chunks: Iterator[bytes], *, is_flushed: bool) -> BlobRef:
        hasher, size = hashlib.sha256(), 0
        try:
            with self._begun() as (temporary, descriptor):
                for chunk in chunks:
                    hasher.update(chunk)
                    size += len(chunk)
                    write_all(descriptor, chunk)
                if is_flushed:
                    flush(descriptor)
                ref = BlobRef(f"sha256:{hasher.hexdigest()}", size)
                target = self._settle(temporary, ref)
            if is_flushed:
                flush_path(target.parent)
                flush_path(target.parent.parent)
        except OSError as error:
            raise _refused(self.directory, error) from error
        return ref

    @contextmanager
    def _begun(self) -> Iterator[tuple[Path, int]]:
        """A new file and its descriptor, locked while it is written, and gone when that fails."""
        temporary = self._folder / f".{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            descriptor = os.open(temporary, flags, 0o600)
        except FileNotFoundError:  # asking beforehand would cost more than all the rest
            make_private_directory(self._folder)
            descriptor = os.open(temporary, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield temporary, descriptor
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)

    def _settle(self, temporary: Path, ref: BlobRef) -> Path:
        """Give a file the name of its blob, unless that has one already, and return where it lies."""
        target = self.path(ref.digest)
        # otherwise this also mends a blob that a disk damaged; a look at the name first, as most are new
        if target.exists() and self.measure(ref.digest) == ref:
            temporary.unlink()
            return target
        try:
            temporary.rename(target)
        except FileNotFoundError:
            target.parent.mkdir(mode=0o700, exist_ok=True)  # the directory above is flushed with its own
            temporary.rename(target)
        return target


def _flush_all(paths: Sequence[Path]) -> None:
    for path in paths:
        flush_path(path)


@lru_cache(maxsize=1)
def _flushing() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_FLUSHERS, thread_name_prefix="anvil-flush")


def _refused(directory: Path, error: OSError) -> LedgerError:
    return LedgerError(
        f"{directory}: a blob could not be written: {error.strerror}",
        advice="Check free space and the directory's rights.",
    )


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk
