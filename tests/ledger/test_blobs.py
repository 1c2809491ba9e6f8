"""The blob store: bytes by digest, never half there, never silently altered."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil.ledger import blobs
from anvil.ledger.blobs import CHUNK, BlobRef, BlobStore
from anvil.ledger.errors import BlobMissing, LedgerError

CONTENT = b"an answer\n"
REF = BlobRef(f"sha256:{hashlib.sha256(CONTENT).hexdigest()}", len(CONTENT))
ABSENT = "sha256:" + "00" * 32


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "blobs")


def names(store: BlobStore) -> list[str]:
    return sorted(str(p.relative_to(store.directory)) for p in store.directory.rglob("*") if p.is_file())


# --- refused ----------------------------------------------------------------------------------------


def test_a_blob_that_is_not_there(store: BlobStore) -> None:
    with pytest.raises(BlobMissing, match="No such file"):
        store.get(ABSENT)
    assert store.measure(ABSENT) is None


def test_every_altered_byte_is_found(store: BlobStore) -> None:
    store.put(CONTENT)
    path = store.path(REF.digest)
    for position in range(len(CONTENT)):
        altered = bytearray(CONTENT)
        altered[position] ^= 0xFF
        path.write_bytes(altered)
        with pytest.raises(BlobMissing, match="was altered"):
            store.get(REF.digest)
        measured = store.measure(REF.digest)
        assert measured is not None
        assert measured.digest != REF.digest


@pytest.mark.parametrize("content", [b"", CONTENT[:-1], CONTENT + b"\n"])
def test_a_cut_or_longer_blob_is_found(store: BlobStore, content: bytes) -> None:
    store.put(CONTENT)
    store.path(REF.digest).write_bytes(content)
    with pytest.raises(BlobMissing, match="was altered"):
        store.get(REF.digest)
    assert store.measure(REF.digest) != REF


def test_a_directory_in_its_place_is_no_blob(store: BlobStore) -> None:
    store.path(REF.digest).mkdir(parents=True)
    with pytest.raises(BlobMissing, match="cannot be read"):
        store.get(REF.digest)
    assert store.measure(REF.digest) is None
    with pytest.raises(LedgerError, match="could not be deleted"):
        store.delete(REF.digest)


def test_a_source_that_cannot_be_read(store: BlobStore, tmp_path: Path) -> None:
    for source in (tmp_path / "absent", tmp_path):
        with pytest.raises(LedgerError, match="cannot be kept"):
            store.put_file(source)


def test_a_full_disk_leaves_nothing(store: BlobStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(blobs, "flush", refuse)
    with pytest.raises(LedgerError, match="No space left"):
        store.put(CONTENT)
    assert names(store) == []


def test_a_store_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("")
    with pytest.raises(LedgerError):
        BlobStore(tmp_path / "blobs").put(CONTENT)


# --- accepted -----------------------------------------------------------------------------------------


def test_a_blob_lies_where_sha256sum_finds_it_right(store: BlobStore) -> None:
    assert store.put(CONTENT) == REF
    path = store.path(REF.digest)
    assert path == store.directory / "sha256" / REF.digest[7:9] / REF.digest[9:]
    said = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True).stdout
    assert said.split()[0] == REF.digest.removeprefix("sha256:")


def test_folders_have_mode_0700_and_files_0600(store: BlobStore) -> None:
    before = os.umask(0)
    try:
        store.put(CONTENT)
    finally:
        os.umask(before)
    for path in [store.directory, *store.directory.rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


@given(st.binary(max_size=2000))
def test_a_blob_is_read_as_it_was_kept(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    store = BlobStore(tmp_path_factory.mktemp("blobs"))
    ref = store.put(content)
    assert store.get(ref.digest) == content
    assert store.measure(ref.digest) == ref == BlobRef(ref.digest, len(content))


def test_a_file_is_kept_in_pieces(store: BlobStore, tmp_path: Path) -> None:
    content = b"x" * CHUNK + b"y"
    (tmp_path / "source").write_bytes(content)
    assert store.put_file(tmp_path / "source") == store.put(content)
    assert len(names(store)) == 1


def test_equal_bytes_are_kept_once_and_not_written_over(store: BlobStore) -> None:
    store.put(CONTENT)
    before = store.path(REF.digest).stat()
    store.put(CONTENT)
    after = store.path(REF.digest).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert len(names(store)) == 1


def test_a_damaged_blob_is_mended_by_keeping_it_again(store: BlobStore) -> None:
    store.put(CONTENT)
    store.path(REF.digest).write_bytes(b"rot")
    store.put(CONTENT)
    assert store.get(REF.digest) == CONTENT


def test_deleting_takes_one_blob_and_asks_for_nothing(store: BlobStore) -> None:
    store.delete(ABSENT)
    other = store.put(b"other")
    store.put(CONTENT)
    store.delete(REF.digest)
    store.delete(REF.digest)
    assert store.measure(REF.digest) is None
    assert store.get(other.digest) == b"other"


# --- held, and on disk later ---------------------------------------------------------------------------


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The inodes of everything that was flushed since."""
    seen: set[int] = set()
    fsync = os.fsync

    def watched(descriptor: int) -> None:
        seen.add(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    return seen


def test_held_bytes_are_there_at_once_and_wait_for_no_disk(store: BlobStore, flushed: set[int]) -> None:
    store.put(b"another blob, so that the folder is there")
    flushed.clear()
    assert store.hold(CONTENT) == REF
    assert store.get(REF.digest) == CONTENT
    assert flushed == set()


def test_a_flush_reaches_each_blob_and_each_name(store: BlobStore, flushed: set[int]) -> None:
    refs = [store.hold(f"answer {number}".encode()) for number in range(20)]
    flushed.clear()
    store.flush([ref.digest for ref in refs])
    paths = [store.path(ref.digest) for ref in refs]
    expected = {*paths, *(path.parent for path in paths), store.directory / "sha256"}
    assert {path.stat().st_ino for path in expected} <= flushed


def test_bytes_that_somebody_else_holds_are_flushed_too(store: BlobStore, flushed: set[int]) -> None:
    """A run that was killed had them in the page cache; recovery names them."""
    BlobStore(store.directory).hold(CONTENT)
    assert store.hold(CONTENT) == REF
    flushed.clear()
    store.flush([REF.digest])
    assert store.path(REF.digest).stat().st_ino in flushed


def test_what_is_not_there_cannot_be_flushed(store: BlobStore) -> None:
    store.hold(CONTENT)
    with pytest.raises(BlobMissing, match="not in the blob store"):
        store.flush([REF.digest, ABSENT])


def test_a_pipe_in_place_of_a_blob_is_refused_and_not_waited_for(store: BlobStore) -> None:
    store.hold(CONTENT)
    store.path(REF.digest).unlink()
    os.mkfifo(store.path(REF.digest))
    with pytest.raises(LedgerError):
        store.flush([REF.digest])


def test_a_full_disk_leaves_nothing_of_what_was_to_be_held(
    store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(b"first")

    def refuse(source: Path, target: Path) -> NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(LedgerError, match="No space left"):
        store.hold(CONTENT)
    assert len(names(store)) == 1
