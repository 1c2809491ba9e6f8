"""The server: one thread accepts, one thread serves each connection, every byte is written by hand."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from support.endpoint.chat import Chat
from support.endpoint.wire import CLOSE, HANG, RESET, Pause, Reply, Request

Answer = Chat | Reply | str | dict[str, Any]
ChatHandler = Callable[[dict[str, Any]], Answer]
Handler = Callable[[Request], Answer]

RST = struct.pack("ii", 1, 0)


class Server:
    """A context manager; `base_url` is where it answers, `requests` what it was asked, in order of arrival.

    Without handlers it answers every chat with "ok", `/health` with 200, `/v1/models` with `model`,
    `/version` with `version`, the Responses API through the chat handler, and all else with 404.
    With `tls` it speaks https. `every` answers each POST instead. `writes` has each write's moment (monotonic ns) and length, by
    request. `refuse_connections` stops listening, so that a later request cannot connect.
    """

    def __init__(
        self,
        *,
        chat: ChatHandler | None = None,
        every: Callable[[Request], Answer] | None = None,
        model: str = "test-model",
        version: str = "1.2.3",
        port: int = 0,
        keep_alive: bool = True,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.model = model
        self.version = version
        self.requests: list[Request] = []
        self.writes: list[list[tuple[int, int]]] = []
        self.errors: list[Exception] = []
        self.connections = 0
        self._chat = chat or (lambda payload: "ok")
        self._every = every
        self._keep_alive = keep_alive
        self._tls = tls
        self._routes: dict[str, Handler] = {
            "/health": lambda request: Reply(b"", content_type="text/plain"),
            "/version": lambda request: {"version": self.version},
            "/v1/models": lambda request: {"object": "list", "data": [{"id": self.model, "object": "model"}]},
            "/v1/chat/completions": lambda request: self._chat(request.json),
            "/v1/responses": self._responses,
        }
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", port), backlog=256)
        self.port: int = self._listener.getsockname()[1]

    @property
    def base_url(self) -> str:
        """Where it answers, without a path."""
        return f"{'http' if self._tls is None else 'https'}://127.0.0.1:{self.port}"

    @property
    def open_connections(self) -> int:
        """How many connections stand at the moment."""
        with self._lock:
            return len(self._open)

    def on(self, path: str, handler: Handler) -> None:
        """Answer a path, whatever the method, with a handler of its own."""
        self._routes[path] = handler

    def refuse_connections(self) -> None:
        """Stop listening. Connections that are open stay so."""
        # Without this the accept in the other thread would keep the socket alive.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        with self._lock:
            for connection in self._open:
                _shut(connection)
        if self._listener.fileno() != -1:
            self.refuse_connections()
        for thread in self._threads:
            thread.join(timeout=10)
        if self.errors and error is None:
            raise self.errors[0]

    # --- connections ---------------------------------------------------------------------------------

    def _start(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._open.add(connection)
                number = self.connections
                self.connections += 1
            self._start(self._serve, connection, number)

    def _serve(self, connection: socket.socket, number: int) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            with self._secured(connection) as spoken, spoken.makefile("rb") as reader:
                while request := _read(reader, number):
                    with self._lock:
                        self.requests.append(request)
                        writes: list[tuple[int, int]] = []
                        self.writes.append(writes)
                    if not self._answer(spoken, request, writes):
                        return
        except (OSError, ValueError):
            return
        finally:
            with self._lock:
                self._open.discard(connection)

    def _secured(self, connection: socket.socket) -> socket.socket:
        if self._tls is None:
            return connection
        with connection:  # whose descriptor the new socket takes over
            return self._tls.wrap_socket(connection, server_side=True)

    def _answer(self, connection: socket.socket, request: Request, writes: list[tuple[int, int]]) -> bool:
        """Send a reply, and say whether the connection may be used again."""
        for step in self._reply(request).steps():
            if isinstance(step, bytes):
                writes.append((time.monotonic_ns(), len(step)))
                connection.sendall(step)
            elif isinstance(step, Pause):
                if self._stopping.wait(step.seconds):
                    return False
            elif step == HANG:
                connection.recv(1)
                return False
            elif step == RESET:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST)
                return False
            elif step == CLOSE:
                return False
        return self._keep_alive and request.headers.get("connection", "").lower() != "close"

    # --- replies -------------------------------------------------------------------------------------

    def _reply(self, request: Request) -> Reply:
        try:
            return self._render(request)
        except Exception as error:  # noqa: BLE001 - raised again by __exit__
            self.errors.append(error)
            return Reply.of_json({"error": {"message": f"{type(error).__name__}: {error}"}}, 500)

    def _render(self, request: Request) -> Reply:
        path = request.path.partition("?")[0]
        handler = self._routes.get(path)
        if self._every is not None and request.method == "POST":
            handler = self._every
        if handler is None:
            return Reply.of_json({"error": {"message": "Not Found", "code": 404}}, 404)
        answer = handler(request)
        if isinstance(answer, str):
            answer = Chat(content=answer)
        if isinstance(answer, Chat):
            return answer.reply(request.json or {}, self.model)
        return answer if isinstance(answer, Reply) else Reply.of_json(answer)

    def _responses(self, request: Request) -> Answer:
        payload = request.json
        given = payload.get("input")
        messages = [{"role": "user", "content": given}] if isinstance(given, str) else given
        answer = self._chat({**payload, "messages": messages})
        if isinstance(answer, str):
            answer = Chat(content=answer)
        return answer.response(payload, self.model) if isinstance(answer, Chat) else answer


def _read(reader: Any, number: int) -> Request | None:
    """The next request of a connection; null at its end."""
    first = reader.readline().decode("latin-1").split()
    if len(first) != 3:
        return None
    headers: dict[str, str] = {}
    while line := reader.readline().strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    body = reader.read(int(headers.get("content-length", 0)))
    return Request(first[0], first[1], headers, body, number, time.monotonic_ns())


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
