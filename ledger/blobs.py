"""The blob store: artifacts by the digest of their bytes.

1. A blob lies at ``sha256/ab/cdef…``, plain, so that `sha256sum` can check it.
2. It is written under a temporary name, flushed, renamed, and its directory flushed, *before* an
   event names it. A crash leaves at worst a blob that nothing names.
3. Folders have mode 0700 and files 0600: a blob may hold a log, a prompt or an answer.
4. Nothing is written over: equal bytes are kept once.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from anvil.ledger.errors import BlobMissing, LedgerError
from anvil.ledger.files import flush, flush_directory, make_private_directory, open_plain

CHUNK = 1 << 20

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

    def path(self, digest: str) -> Path:
        """Return where the blob of `digest` lies, whether it is there or not.

        Raises:
            BlobMissing: it is no digest; as a path it could lead anywhere.
        """
        if not _DIGEST.fullmatch(digest):
            raise BlobMissing(f"no digest of a blob: {digest[:80]!r}")
        name = digest.removeprefix("sha256:")
        return self.directory / "sha256" / name[:2] / name[2:]

    def put(self, content: bytes) -> BlobRef:
        """Keep bytes and return their reference.

        Raises:
            LedgerError: the file system refused.
        """
        return self._keep(iter((content,)))

    def put_file(self, source: Path) -> BlobRef:
        """Keep the bytes of a file, read once and in pieces.

        Raises:
            LedgerError: the file cannot be read, or the file system refused.
        """
        try:
            with source.open("rb") as file:
                return self._keep(_chunks(file))
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
        for path in sorted((self.directory / "sha256").glob("[0-9a-f][0-9a-f]/*")):
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
                flush_directory(path.parent)
        except OSError as error:
            raise LedgerError(f"blob {digest} could not be deleted: {error.strerror}") from error

    def sweep(self) -> None:
        """Remove what killed processes left half-written; a living process holds a lock on its file.

        Raises:
            LedgerError: the file system refused.
        """
        try:
            for path in (self.directory / "sha256").glob(".*"):
                with path.open("rb") as file, suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink(missing_ok=True)
        except OSError as error:
            raise LedgerError(f"{self.directory} could not be swept: {error.strerror}") from error

    def _keep(self, chunks: Iterator[bytes]) -> BlobRef:
        make_private_directory(self.directory / "sha256")
        temporary = self.directory / "sha256" / f".{secrets.token_hex(8)}"
        hasher, size = hashlib.sha256(), 0
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                for chunk in chunks:
                    hasher.update(chunk)
                    size += len(chunk)
                    file.write(chunk)
                file.flush()
                flush(file.fileno())
            ref = BlobRef(f"sha256:{hasher.hexdigest()}", size)
            self._settle(temporary, ref)
        except OSError as error:
            raise LedgerError(
                f"{self.directory}: a blob could not be written: {error.strerror}",
                advice="Check free space and the directory's rights.",
            ) from error
        finally:
            temporary.unlink(missing_ok=True)
        return ref

    def _settle(self, temporary: Path, ref: BlobRef) -> None:
        target = self.path(ref.digest)
        make_private_directory(target.parent)
        if self.measure(ref.digest) != ref:  # also mends a blob that a disk damaged
            temporary.rename(target)
        flush_directory(target.parent)
        flush_directory(target.parent.parent)


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk
