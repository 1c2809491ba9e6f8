"""Keys in an ssh-agent: with the real agent of OpenSSH, and with one that answers badly."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from anvil.ledger.agent import AgentKey, agent_keys, find_agent_key
from anvil.ledger.errors import LedgerError, MalformedKey, SignatureInvalid
from anvil.ledger.signing import PrivateKey, PublicKey

KEY = PrivateKey.from_seed(b"s" * 32)

# --- an agent that answers badly --------------------------------------------------------------------


def string(value: bytes) -> bytes:
    return struct.pack(">I", len(value)) + value


def signature_of(key: PrivateKey, message: bytes, algorithm: bytes = b"ssh-ed25519") -> bytes:
    return b"\x0e" + string(string(algorithm) + string(key.sign(message)))


@pytest.fixture
def answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bytes], None]]:
    """Let the next request be answered by these raw bytes, length included."""
    path = tmp_path / "a"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    listener.settimeout(10)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
    threads: list[threading.Thread] = []

    def once(raw: bytes) -> None:
        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                (size,) = struct.unpack(">I", connection.recv(4, socket.MSG_WAITALL))
                connection.recv(size, socket.MSG_WAITALL)
                connection.sendall(raw)

        threads.append(threading.Thread(target=serve))
        threads[-1].start()

    yield once
    for thread in threads:
        thread.join(10)
    listener.close()


BAD_REPLIES = {
    "nothing": b"",
    "half_a_length": b"\0\0",
    "length_zero": struct.pack(">I", 0),
    "length_too_large": struct.pack(">I", (1 << 20) + 1),
    "cut": struct.pack(">I", 9) + b"\x0e",
    "failure": string(b"\x05"),
    "other_message": string(b"\x0c" + struct.pack(">I", 0)),
    "empty_signature": string(b"\x0e"),
    "string_too_long": string(b"\x0e" + struct.pack(">I", 0xFFFFFFFF)),
    "no_signature_inside": string(b"\x0e" + string(string(b"ssh-ed25519"))),
    "another_algorithm": string(signature_of(KEY, b"m", b"ssh-rsa")),
    "short_signature": string(b"\x0e" + string(string(b"ssh-ed25519") + string(bytes(63)))),
    "bytes_after": string(b"\x0e" + string(string(b"ssh-ed25519") + string(bytes(64)) + b"x")),
}


@pytest.mark.parametrize("name", BAD_REPLIES)
def test_a_bad_reply_to_a_signing_request_is_refused(name: str, answer: Callable[[bytes], None]) -> None:
    answer(BAD_REPLIES[name])
    with pytest.raises(LedgerError, match="ssh-agent"):
        AgentKey(KEY.public_key).sign(b"m")


@pytest.mark.parametrize("name", sorted(BAD_REPLIES.keys() - {"other_message"}))
def test_a_bad_list_of_keys_is_refused(name: str, answer: Callable[[bytes], None]) -> None:
    answer(BAD_REPLIES[name])
    with pytest.raises(LedgerError, match="ssh-agent"):
        agent_keys()


def test_a_list_that_claims_more_keys_than_it_has_is_refused(answer: Callable[[bytes], None]) -> None:
    answer(string(b"\x0c" + struct.pack(">I", 0xFFFFFFFF)))
    with pytest.raises(LedgerError, match="ends too early"):
        agent_keys()


def test_an_unsafe_key_is_refused(answer: Callable[[bytes], None]) -> None:
    blob = string(b"ssh-ed25519") + string(bytes(32))
    answer(string(b"\x0c" + struct.pack(">I", 1) + string(blob) + string(b"bad")))
    with pytest.raises(MalformedKey, match="small order"):
        agent_keys()


def test_a_signature_over_something_else_is_not_used(answer: Callable[[bytes], None]) -> None:
    answer(string(signature_of(KEY, b"another message")))
    with pytest.raises(SignatureInvalid):
        AgentKey(KEY.public_key).sign(b"m")


def test_a_right_reply_is_used(answer: Callable[[bytes], None]) -> None:
    answer(string(signature_of(KEY, b"m")))
    assert AgentKey(KEY.public_key).sign(b"m") == KEY.sign(b"m")


def test_without_an_agent_it_says_how_to_start_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="SSH_AUTH_SOCK is not set") as refusal:
        AgentKey(KEY.public_key).sign(b"m")
    assert "ssh-agent" in refusal.value.advice
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "absent"))
    with pytest.raises(LedgerError, match="did not answer"):
        agent_keys()


# --- the real one --------------------------------------------------------------------------------------


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A running ssh-agent, ended by its own pid; yields a folder for key files."""
    path = tmp_path / "s"
    process = subprocess.Popen(
        ["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert process.stdout is not None
        assert "SSH_AUTH_SOCK" in process.stdout.readline()
        monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
        yield tmp_path
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(10)
        assert process.stdout is not None
        process.stdout.close()


def ssh(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True, timeout=60, env=dict(os.environ))


def add(folder: Path, comment: str, kind: str = "ed25519") -> PublicKey | None:
    """Make a key with ssh-keygen and give it to the agent; return the public half of an Ed25519 key."""
    path = folder / f"{comment}-{kind}"
    ssh("ssh-keygen", "-q", "-t", kind, "-N", "", "-C", comment, "-f", str(path))
    ssh("ssh-add", "-q", str(path))
    held = {text: key for key, text in agent_keys()}
    return held.get(comment)


@pytest.mark.needs("ssh-agent")
def test_a_key_that_the_agent_does_not_hold_is_refused(agent: Path) -> None:
    assert agent_keys() == []
    with pytest.raises(MalformedKey, match="holds 0 keys named 'anvil'; it holds no Ed25519 key"):
        find_agent_key("anvil")
    add(agent, "other")
    with pytest.raises(LedgerError, match="did not sign") as refusal:
        AgentKey(KEY.public_key).sign(b"m")
    assert "ssh-add" in refusal.value.advice


@pytest.mark.needs("ssh-agent")
def test_a_key_that_was_taken_from_the_agent_is_refused(agent: Path) -> None:
    key = add(agent, "anvil")
    assert key is not None
    AgentKey(key).sign(b"m")
    ssh("ssh-add", "-q", "-D")
    with pytest.raises(LedgerError, match="did not sign"):
        AgentKey(key).sign(b"m")


@pytest.mark.needs("ssh-agent")
def test_two_keys_of_one_name_are_refused(agent: Path) -> None:
    add(agent, "anvil")
    (agent / "anvil-ed25519").unlink()
    add(agent, "anvil")
    with pytest.raises(MalformedKey, match="holds 2 keys named 'anvil'"):
        find_agent_key("anvil")


@pytest.mark.needs("ssh-agent")
@pytest.mark.parametrize("size", [0, 1, 1000, 65_535, 131_072])
def test_the_agent_signs_as_the_key_itself_would(agent: Path, size: int) -> None:
    add(agent, "ecdsa", "ecdsa")
    key = add(agent, "anvil")
    assert key == find_agent_key("anvil")
    assert key is not None
    message = os.urandom(size)
    signature = AgentKey(key).sign(message)
    key.verify(signature, message)
    assert AgentKey(key).sign(message) == signature
    with pytest.raises(SignatureInvalid):
        key.verify(signature, message + b"x")
