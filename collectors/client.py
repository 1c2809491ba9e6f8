"""The one HTTP client: one request, all that came back, and no exception for what an endpoint does.

httpx spells a request, and httpcore beneath it carries it: what httpx adds between the two is what rules 2
and 5 exclude.

1. Every await has a deadline: to connect, to the first byte of the body, between two reads, and over
   all. The first byte's deadline starts when the connection stands and covers writing the request, the
   response's head and the wait behind it: many servers send the head long before the first token.
2. Each request has a fresh connection. With `reuse` a kept one is taken where there is one, and when the
   server had closed it before any byte of a response came, that is `connection_stale`: the caller may
   send again, on a fresh one.
3. The body is kept as it came, without the transfer coding but in its content coding (nobody asks for
   one), up to a limit; past that it is `body_too_large`, and what came before is kept. So it is with
   every failure: what arrived stays.
4. A read is what the network gave at one time. Several chunks that came together share one read, with
   one moment, since nothing is known of the time between them.
5. Redirects are not followed, no proxy is taken from the environment, no cookie is kept, no request is
   sent twice. The endpoint's own headers, which hold its key, go nowhere but to its own address.
6. Classes: no connection `connection_failed`; one that ended before the response was whole
   `connection_reset`; bytes that are no HTTP `malformed_body`; a status of 300 to 399 `redirected`, any
   other outside 200 to 299 `http_error`. Of several, the first in the closed order.
7. Messages are whole, causes included, but for the values of the endpoint's own headers.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import httpcore
import httpx

from anvil.collectors import failures
from anvil.collectors.interface import Deadlines, Endpoint, Exchange
from anvil.collectors.network import PlainNetwork
from anvil.collectors.trust import trusting, trusting_nobody
from anvil.collectors.withholding import Secrets, clean_text
from anvil.ledger.events.checks import FailureClass
from anvil.ledger.wording import counted

BODY_LIMIT = 32 << 20
"""How many bytes of a body are kept, unless a caller says otherwise."""

READS_LIMIT = 1 << 20
"""How many reads a body may take: each is remembered."""

_Transport = httpcore.AsyncConnectionPool | httpcore.AsyncHTTPConnection
_CLOSE_S = 5.0
_NETWORK = httpcore.AnyIOBackend()
_PLAIN = PlainNetwork()
_HTTP_ERRORS = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
)
_USER_AGENT = f"python-httpx/{httpx.__version__}"
_BEFORE_WRITING = "http11.send_request_headers.started"
_CONNECTING = "connection.connect_tcp.started"
_CONNECTED = "connection.connect_tcp.complete"
_SECURED = "connection.start_tls.complete"
_SECOND = 1_000_000_000


class Client:
    """An async context manager for requests to one endpoint. Requests may run side by side."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        deadlines: Deadlines | None = None,
        body_limit: int = BODY_LIMIT,
        reuse: bool = False,
    ) -> None:
        self._endpoint = endpoint
        self._deadlines = deadlines or Deadlines()
        self._body_limit = body_limit
        self._secrets = Secrets.of({}, endpoint.headers.values())
        self._trust = _trust(endpoint)
        self._pool = None
        if reuse:
            self._pool = httpcore.AsyncConnectionPool(
                self._trust, max_connections=None, max_keepalive_connections=None, network_backend=_NETWORK
            )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            await self._pool.aclose()

    def _transport(self, url: httpcore.URL) -> _Transport:
        """Return what sends a request: a connection that is used once needs no pool to be looked for in."""
        network = _PLAIN if url.scheme == b"http" else _NETWORK
        return self._pool or httpcore.AsyncHTTPConnection(url.origin, self._trust, network_backend=network)

    async def exchange(
        self,
        method: str,
        path: str,
        payload: Mapping[str, Any] | bytes | None = None,
        *,
        stream: bool = False,
        deadline_ns: int | None = None,
    ) -> Exchange:
        """Send a request and return all that came back, whole or not.

        `path` is below the endpoint's address, or an address of its own. A mapping is sent as JSON,
        bytes as they are. `stream` asks for an event stream in the Accept header; the payload itself
        says what it wants. `deadline_ns` is a moment of the monotonic clock that comes before the
        client's own `total_s`.

        Raises:
            Nothing for what an endpoint does. `CancelledError` passes through.
        """
        body = payload if isinstance(payload, bytes) else b"" if payload is None else _spell(payload)
        state = _State(body, self._secrets)
        try:
            request = self._request(method, path, body, stream, state)
        except (httpx.InvalidURL, ValueError) as error:
            # Its words may hold a part of the address or of a header, and with it a secret.
            state.fail("connection_failed", f"the request cannot be made: {type(error).__name__}")
            return state.exchange()
        await self._send(request, state, deadline_ns)
        return state.exchange()

    def _request(self, method: str, path: str, body: bytes, stream: bool, state: _State) -> httpcore.Request:
        base = self._endpoint.base_url.rstrip("/")
        url = path if "://" in path else f"{base}{path}"
        headers = {
            "Accept": "text/event-stream" if stream else "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": _USER_AGENT,
            **({"Content-Type": "application/json"} if body else {}),
            **(self._endpoint.headers if url.startswith(f"{base}/") else {}),
        }
        plain = httpx.Request(method, url, content=body, headers=headers)  # it knows how both are spelt
        parts = plain.url
        if parts.scheme not in ("http", "https"):
            raise ValueError(f"no scheme of HTTP: {parts.scheme!r}")
        return httpcore.Request(
            method,
            httpcore.URL(
                scheme=parts.raw_scheme, host=parts.raw_host, port=parts.port, target=parts.raw_path
            ),
            headers=plain.headers.raw,
            content=body,
            extensions={"trace": state.trace},
        )

    async def _send(self, request: httpcore.Request, state: _State, deadline_ns: int | None) -> None:
        limits = self._deadlines
        now = asyncio.get_running_loop().time()
        end = now + limits.total_s
        if deadline_ns is not None:
            end = min(end, now + (deadline_ns - time.monotonic_ns()) / _SECOND)
        clock = _Clock(end, limits)
        response: httpcore.Response | None = None
        transport = self._transport(request.url)
        try:
            async with asyncio.timeout_at(end) as clock.running:
                clock.expect("a connection", limits.connect_s)
                state.clock = clock
                response = await transport.handle_async_request(request)
                await self._receive(response, state)
        except TimeoutError:
            state.fail("timeout", clock.told(state.size))
        except httpcore.LocalProtocolError as error:
            # Likewise its words: they quote the header.
            state.fail("connection_failed", f"the request cannot be written: {type(error).__name__}")
        except (*_HTTP_ERRORS, OSError) as error:
            state.fail(_class_of(error, state), _told(error))
        finally:
            state.ended_ns = time.monotonic_ns()
            await _close(state.insecure)
            await _close(transport if self._pool is None else response)

    async def _receive(self, response: httpcore.Response, state: _State) -> None:
        state.answered(response)
        suspended = _Suspension(asyncio.get_running_loop())
        async for piece in response.aiter_stream():
            state.take(piece, new_read=suspended.since_last())
            state.clock.expect("more of the body", self._deadlines.idle_s)
            if state.size > self._body_limit:
                state.cut_at(self._body_limit)
                return
            if len(state.reads) > READS_LIMIT:
                state.fail("body_too_large", f"more than {READS_LIMIT} reads")
                return


class _Suspension:
    """Tells whether the running task has waited since it was last asked.

    What the HTTP parser still holds of an earlier read comes out without waiting; a read from the
    network lets the event loop run, and with it the callback.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waited = True

    def since_last(self) -> bool:
        waited, self._waited = self._waited, False
        if waited:
            self._loop.call_soon(self._ran)
        return waited

    def _ran(self) -> None:
        self._waited = True


class _Clock:
    """The deadline for what is awaited at the moment, under one that holds over all."""

    def __init__(self, end: float, limits: Deadlines) -> None:
        self.limits = limits
        self.running = asyncio.timeout_at(end)
        self._end = end
        self._expected = ""
        self._seconds = 0.0

    def expect(self, what: str, seconds: float) -> None:
        """Wait for something else from now on."""
        self._expected, self._seconds = what, seconds
        self.running.reschedule(min(self._end, asyncio.get_running_loop().time() + seconds))

    def told(self, size: int) -> str:
        """What did not come."""
        over = asyncio.get_running_loop().time() >= self._end
        limit = "before the deadline over all" if over else f"within {self._seconds:g} s"
        return f"{self._expected} did not come {limit}; {counted(size, 'byte')} of a body had come"


@dataclass
class _State:
    """What is known of a request while it runs."""

    request: bytes
    secrets: Secrets
    started_ns: int = field(default_factory=time.monotonic_ns)
    ended_ns: int = 0
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    pieces: list[bytes] = field(default_factory=list)
    size: int = 0
    reads: list[tuple[int, int]] = field(default_factory=list)
    found: list[tuple[FailureClass, str]] = field(default_factory=list)
    fresh: bool = False
    written: bool = False
    insecure: Any = None
    """A stream of httpcore's on which TLS is not yet agreed: when its task is cancelled, nobody closes it."""
    clock: _Clock = field(init=False)

    async def trace(self, name: str, info: Mapping[str, Any]) -> None:
        """Called by httpx at each step below it."""
        if name == _CONNECTING:
            self.fresh = True
        elif name == _CONNECTED:
            self.insecure = info["return_value"]
        elif name == _SECURED:
            self.insecure = None
        elif name == _BEFORE_WRITING:
            self.started_ns = time.monotonic_ns()
            self.written = True
            self.insecure = None
            self.clock.expect("the first byte of a body", self.clock.limits.first_byte_s)

    def answered(self, response: httpcore.Response) -> None:
        self.status = response.status
        for name, value in httpx.Headers(response.headers).multi_items():
            # A name that stands several times is one list (RFC 9110, section 5.3).
            self.headers[name] = f"{self.headers[name]}, {value}" if name in self.headers else value
        reason = response.extensions.get("reason_phrase", b"").decode("ascii", errors="ignore")
        said = f"HTTP {response.status} {reason}".strip()
        failure = failures.of_status(response.status)
        if failure == "redirected":
            said += f", Location: {self.headers.get('location', 'not given')}"
        if failure:
            self.fail(failure, said)

    def take(self, piece: bytes, *, new_read: bool) -> None:
        self.pieces.append(piece)
        self.size += len(piece)
        if new_read or not self.reads:
            self.reads.append((self.size, time.monotonic_ns()))
        else:
            self.reads[-1] = (self.size, self.reads[-1][1])

    def cut_at(self, limit: int) -> None:
        self.fail("body_too_large", f"more than {limit} bytes; what follows them was not read")
        self.pieces[-1] = self.pieces[-1][: len(self.pieces[-1]) - (self.size - limit)]
        self.size = limit
        self.reads[-1] = (limit, self.reads[-1][1])

    def fail(self, failure: FailureClass, message: str) -> None:
        self.found.append((failure, clean_text(message, self.secrets)))

    def exchange(self) -> Exchange:
        return Exchange(
            request=self.request,
            started_ns=self.started_ns,
            ended_ns=self.ended_ns or time.monotonic_ns(),
            status=self.status,
            headers=self.headers,
            body=b"".join(self.pieces),
            reads=tuple(self.reads),
            failure=failures.first(name for name, _ in self.found),
            message="\n".join(message for _, message in self.found),
        )


def _class_of(error: Exception, state: _State) -> FailureClass:
    match error:
        case httpcore.TimeoutException():
            return "timeout"
        case _ if not state.written:
            return "connection_failed"
        case httpcore.NetworkError() | OSError() if state.status is None and not state.fresh:
            return "connection_stale"
        case httpcore.RemoteProtocolError() if _ended_early(error):
            return "connection_stale" if state.status is None and not state.fresh else "connection_reset"
        case httpcore.NetworkError() | OSError():
            return "connection_reset"
        case _:
            return "malformed_body"


def _ended_early(error: httpcore.RemoteProtocolError) -> bool:
    """Whether the connection ended before the response was whole; otherwise its bytes are no HTTP."""
    # h11 and httpcore tell these apart by their words only.
    return str(error).startswith(
        ("Server disconnected", "peer closed connection", "peer unexpectedly closed")
    )


def _told(error: BaseException) -> str:
    """An error's class and words, and those of what caused it."""
    lines: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(lines) < 10:
        line = f"{type(cause).__name__}: {cause}".removesuffix(": ")
        if line not in lines:
            lines.append(line)
        # httpcore hides causes with `from None`; here they are wanted.
        cause = cause.__cause__ or cause.__context__
    return "; caused by ".join(lines)


def _spell(payload: Mapping[str, Any]) -> bytes:
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()


def _trust(endpoint: Endpoint) -> ssl.SSLContext:
    has_tls = any((url or "").startswith("https:") for url in (endpoint.base_url, endpoint.metrics_url))
    return trusting(endpoint.ca_file) if has_tls else trusting_nobody()


async def _close(held: _Transport | httpcore.Response | httpcore.AsyncNetworkStream | None) -> None:
    if held is None:
        return
    with suppress(TimeoutError, *_HTTP_ERRORS, OSError):
        async with asyncio.timeout(_CLOSE_S):
            await held.aclose()
