"""The key store: a file that others can read, that is another key, or that is half there is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from anvil.ledger.agent import AgentKey
from anvil.ledger.errors import LedgerError, MalformedKey, NotPermitted
from anvil.ledger.keystore import KeyStore, passphrase_from_environment
from anvil.ledger.signing import PrivateKey

KEY, OTHER = PrivateKey.from_seed(b"k" * 32), PrivateKey.from_seed(b"o" * 32)
KEY_ID = KEY.public_key.key_id


def store_at(directory: Path, passphrase: str | None = None) -> KeyStore:
    return KeyStore(directory / "keys", lambda: passphrase)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o777, 0o610, 0o601])
def test_a_file_open_to_others_is_refused(tmp_path: Path, mode: int) -> None:
    store = store_at(tmp_path)
    path = store.add("operator", KEY)
    path.chmod(mode)
    with pytest.raises(MalformedKey, match=f"mode {mode:03o}, expected 600") as refusal:
        store.signer(KEY_ID)
    assert "chmod 600" in refusal.value.advice


def test_an_encrypted_file_open_to_others_is_refused_before_the_passphrase_is_asked_for(
    tmp_path: Path,
) -> None:
    path = store_at(tmp_path, "secret").add("operator", KEY, encrypt=True)
    path.chmod(0o640)

    def never() -> str:
        raise AssertionError("asked")

    with pytest.raises(MalformedKey, match="can be read by others"):
        KeyStore(tmp_path / "keys", never).signer(KEY_ID)


def test_a_missing_passphrase_is_refused(tmp_path: Path) -> None:
    path = store_at(tmp_path, "secret").add("root", KEY, encrypt=True)
    with pytest.raises(MalformedKey, match="a passphrase is needed") as refusal:
        store_at(tmp_path).signer(KEY_ID)
    assert str(path) in str(refusal.value)
    assert "ANVIL_PASSPHRASE" in refusal.value.advice


def test_a_wrong_passphrase_is_refused(tmp_path: Path) -> None:
    store_at(tmp_path, "secret").add("root", KEY, encrypt=True)
    with pytest.raises(MalformedKey, match="passphrase is wrong"):
        store_at(tmp_path, "Secret").signer(KEY_ID)


def test_encrypting_without_a_passphrase_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    for nothing in (None, ""):
        with pytest.raises(MalformedKey, match="no passphrase"):
            store_at(tmp_path, nothing).add("root", KEY, encrypt=True)
    assert not (tmp_path / "keys").exists()


def test_a_key_that_is_not_here_is_not_permitted(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    for _ in range(2):
        with pytest.raises(NotPermitted, match="is not in") as refusal:
            store.signer(KEY_ID)
        assert "ANVIL_KEYS" in refusal.value.advice
        store.add("operator", OTHER)
    assert not store.holds(KEY_ID)


def test_a_file_that_holds_another_key_is_refused(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    path = store.add("operator", KEY)
    path.write_bytes(OTHER.to_pem())
    with pytest.raises(MalformedKey, match=f"holds key {OTHER.public_key.key_id[:16]}"):
        store.signer(KEY_ID)


@pytest.mark.parametrize("content", [b"", b"garbage", KEY.to_pem()[:50], b"\xff" * 100])
def test_a_broken_file_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    store = store_at(tmp_path)
    path = store.add("operator", KEY)
    path.write_bytes(content)
    with pytest.raises(MalformedKey, match=path.name):
        store.signer(KEY_ID)


def test_a_directory_in_its_place_is_refused(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    path = store.add("operator", KEY)
    path.unlink()
    path.mkdir(mode=0o700)
    with pytest.raises(MalformedKey, match="cannot be read"):
        store.signer(KEY_ID)


@pytest.mark.parametrize(
    "content", [b"", b"zz", b"\xff", b"aa", OTHER.public_key.raw.hex().encode(), bytes(32).hex().encode()]
)
def test_an_agent_file_that_is_not_this_key_is_refused(tmp_path: Path, content: bytes) -> None:
    store = store_at(tmp_path)
    store.add_agent("operator", KEY.public_key).write_bytes(content)
    with pytest.raises(MalformedKey):
        store.signer(KEY_ID)


def test_a_half_written_file_of_a_crash_is_never_taken_for_the_key(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    path = store.add("operator", KEY)
    path.with_name(f".{path.name}.0123456789ab").write_bytes(b"-----BEGIN")
    path.with_name(f"{path.name}.bak").write_bytes(b"old")
    assert store.path(KEY_ID) == path
    assert store.signer(KEY_ID).public_key == KEY.public_key
    path.unlink()
    assert not store.holds(KEY_ID)


def test_a_place_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("a file")
    with pytest.raises(LedgerError, match="could not be made"):
        store_at(tmp_path).add("operator", KEY)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
@pytest.mark.parametrize("encrypt", [False, True])
def test_a_key_file_has_mode_0600_in_a_directory_of_mode_0700(
    tmp_path: Path, umask: int, encrypt: bool
) -> None:
    before = os.umask(umask)
    try:
        store = KeyStore(tmp_path / "config" / "keys", lambda: "secret")
        path = store.add("ledger", KEY, encrypt=encrypt)
    finally:
        os.umask(before)
    assert path.name == f"ledger-{KEY_ID[:16]}.pem"
    assert path.stat().st_mode & 0o777 == 0o600
    for directory in (path.parent, path.parent.parent):
        assert directory.stat().st_mode & 0o777 == 0o700
    assert (b"ENCRYPTED" in path.read_bytes()) == encrypt
    assert [name.name for name in path.parent.iterdir()] == [path.name]


def test_a_key_signs_as_before(tmp_path: Path) -> None:
    store_at(tmp_path, "secret").add("root", KEY, encrypt=True)
    store_at(tmp_path).add("operator", OTHER)
    assert store_at(tmp_path, "secret").signer(KEY_ID).sign(b"m") == KEY.sign(b"m")
    assert store_at(tmp_path, "secret").signer(OTHER.public_key.key_id).sign(b"m") == OTHER.sign(b"m")


def test_a_key_in_an_agent_is_remembered_by_its_public_half(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    path = store.add_agent("operator", KEY.public_key)
    assert path.stat().st_mode & 0o777 == 0o600
    assert store.signer(KEY_ID) == AgentKey(KEY.public_key)


def test_the_passphrase_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert passphrase_from_environment() is None
    monkeypatch.setenv("ANVIL_PASSPHRASE", "")
    assert passphrase_from_environment() is None
    monkeypatch.setenv("ANVIL_PASSPHRASE", "secret")
    assert passphrase_from_environment() == "secret"
