"""What is to be sent, and to whom."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from anvil.collectors.interface import Endpoint
from anvil.collectors.withholding import Secrets
from anvil.ledger.errors import CollectorError

CHAT_PATH = "/v1/chat/completions"

_FORBIDDEN = frozenset("\r\n\0")


@dataclass(frozen=True)
class PlannedRequest:
    """One request of a run: its number, the JSON body to be sent, and the completion cap it states."""

    index: int
    body: bytes
    cap_tokens: int | None = None


@dataclass(frozen=True)
class Target:
    """An endpoint, resolved: where to connect, whom to trust, and what stands before each body.

    `reuse` keeps a connection for the slot's next request. `head` holds the endpoint's secrets, and is
    never recorded.
    """

    addresses: tuple[tuple[socket.AddressFamily, tuple[str, int]], ...]
    host: str
    served_model: str
    secrets: Secrets
    reuse: bool
    tls: ssl.SSLContext | None
    head: bytes = field(repr=False)

    @classmethod
    def of(
        cls,
        endpoint: Endpoint,
        *,
        path: str = CHAT_PATH,
        reuse: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> Target:
        """Resolve an endpoint once, before anything is measured.

        For an `https` address the system's certificates are trusted, unless `tls` says otherwise.

        Raises:
            CollectorError: its host cannot be found, or a header cannot be written.
        """
        parts = urlsplit(endpoint.base_url)
        is_tls = parts.scheme == "https"
        host, port = parts.hostname or "", parts.port or (443 if is_tls else 80)
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise CollectorError(f"{host} cannot be found: {error}") from error
        return cls(
            addresses=tuple(
                dict.fromkeys((family, (str(at[0]), int(at[1]))) for family, _, _, _, at in found)
            ),
            host=host,
            served_model=endpoint.served_model,
            secrets=Secrets.of({}, endpoint.headers.values()),
            reuse=reuse,
            tls=(tls or ssl.create_default_context()) if is_tls else None,
            head=_head(f"{parts.path.rstrip('/')}{path}", parts.netloc, endpoint.headers, keep=reuse),
        )

    def message(self, request: PlannedRequest) -> bytes:
        """Return all that is sent for a request."""
        return self.head + b"content-length: %d\r\n\r\n" % len(request.body) + request.body


def _head(path: str, host: str, headers: Mapping[str, str], *, keep: bool) -> bytes:
    fields = {
        "host": host,
        "accept": "text/event-stream",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "connection": "keep-alive" if keep else "close",
    } | {name.lower(): value for name, value in headers.items()}
    for name, value in fields.items():
        # The value itself may be a secret: it is not repeated.
        if _FORBIDDEN & {*name, *value} or not (name + value).isascii():
            raise CollectorError(f"the header {name[:40]!r} cannot be written")
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), ""]
    return "\r\n".join(lines).encode("ascii")
