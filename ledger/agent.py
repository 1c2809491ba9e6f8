"""Ed25519 keys that stay in an ssh-agent (draft-miller-ssh-agent, sections 3 and 4).

1. The agent is asked over the unix socket in ``SSH_AUTH_SOCK``, the one socket that this package
   opens. Each request has its own connection and a deadline.
2. An ssh-agent signs the message as it is given, without a prefix, so its Ed25519 signature is
   the one that a key file would make.
3. A reply is bounded and parsed strictly; a signature is verified before it is used.
"""

from __future__ import annotations

import os
import socket
import struct
from dataclasses import dataclass

from anvil.ledger.errors import LedgerError, MalformedKey
from anvil.ledger.signing import SIGNATURE_SIZE, PublicKey
from anvil.ledger.wording import counted

_REQUEST_IDENTITIES, _IDENTITIES_ANSWER = 11, 12
_SIGN_REQUEST, _SIGN_RESPONSE = 13, 14
_ALGORITHM = b"ssh-ed25519"
_MAX_REPLY = 1 << 20
_DEADLINE_S = 60.0


@dataclass(frozen=True)
class AgentKey:
    """A signer whose private half an ssh-agent holds."""

    public_key: PublicKey

    def sign(self, message: bytes) -> bytes:
        """Return the agent's 64-byte signature over `message`.

        Raises:
            LedgerError: there is no agent, it does not hold the key, or it refused.
            SignatureInvalid: the agent returned something else than a signature of this key.
        """
        blob = _string(_ALGORITHM) + _string(self.public_key.raw)
        reply = _ask(bytes([_SIGN_REQUEST]) + _string(blob) + _string(message) + struct.pack(">I", 0))
        if reply[:1] != bytes([_SIGN_RESPONSE]):
            raise LedgerError(
                f"the ssh-agent did not sign with key {self.public_key.key_id[:16]}",
                advice="Add the key to the agent with `ssh-add`, and confirm if it asks.",
            )
        algorithm, rest = _take(_take(reply[1:])[0])
        signature, rest = _take(rest)
        if algorithm != _ALGORITHM or len(signature) != SIGNATURE_SIZE or rest:
            raise LedgerError("the ssh-agent's signature is not Ed25519")
        self.public_key.verify(signature, message)
        return signature


def agent_keys() -> list[tuple[PublicKey, str]]:
    """Return the Ed25519 keys that the agent holds, each with its comment.

    Raises:
        LedgerError: there is no agent, or its reply cannot be read.
        MalformedKey: it holds an unsafe key.
    """
    reply = _ask(bytes([_REQUEST_IDENTITIES]))
    if reply[:1] != bytes([_IDENTITIES_ANSWER]) or len(reply) < 5:
        raise LedgerError("the ssh-agent did not list its keys")
    count, rest = struct.unpack(">I", reply[1:5])[0], reply[5:]
    keys = []
    for _ in range(count):
        blob, rest = _take(rest)
        comment, rest = _take(rest)
        algorithm, key = _take(blob)
        if algorithm == _ALGORITHM:
            keys.append((PublicKey.vetted(_take(key)[0]), comment.decode("utf-8", "replace")))
    return keys


def find_agent_key(comment: str) -> PublicKey:
    """Return the one Ed25519 key in the agent whose comment is `comment`.

    Raises:
        MalformedKey: none or several have that comment.
    """
    held = agent_keys()
    found = [key for key, text in held if text == comment]
    if len(found) != 1:
        names = ", ".join(repr(text) for _, text in held) or "no Ed25519 key"
        raise MalformedKey(
            f"the ssh-agent holds {counted(len(found), 'key')} named {comment!r}; it holds {names}"
        )
    return found[0]


def _ask(request: bytes) -> bytes:
    path = os.environ.get("SSH_AUTH_SOCK")
    if not path:
        raise LedgerError(
            "no ssh-agent: SSH_AUTH_SOCK is not set", advice="Start one with `eval $(ssh-agent)`."
        )
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_DEADLINE_S)
            connection.connect(path)
            connection.sendall(_string(request))
            (size,) = struct.unpack(">I", _receive(connection, 4))
            if not 0 < size <= _MAX_REPLY:
                raise LedgerError(f"the ssh-agent's reply claims {size} bytes")
            return _receive(connection, size)
    except OSError as error:
        raise LedgerError(f"the ssh-agent at {path} did not answer: {error}") from error


def _receive(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        chunk = connection.recv(size - len(received))
        if not chunk:
            raise LedgerError("the ssh-agent closed the connection in the middle of its reply")
        received += chunk
    return received


def _string(value: bytes) -> bytes:
    return struct.pack(">I", len(value)) + value


def _take(value: bytes) -> tuple[bytes, bytes]:
    """Split an ssh string off the front of `value`."""
    if len(value) < 4:
        raise LedgerError("the ssh-agent's reply ends too early")
    size = struct.unpack(">I", value[:4])[0]
    if len(value) < 4 + size:
        raise LedgerError("the ssh-agent's reply ends too early")
    return value[4 : 4 + size], value[4 + size :]
