"""A small router and engines behind it, in this process: aliases, a fallback, a fingerprint that it advertises.

with Engine("qwen", "fp-1") as engine, Router({"primary": engine}) as router:
    router.fallback = other     # who answers when the engine does not
    router.rewrites = True      # whether it writes the alias into what others answered
    router.advertised = "fp-0"  # what its list of models says of the alias
"""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from types import TracebackType
from typing import Any, Self


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # HTTPServer's own asks a name server
        self.server_name, self.server_port = "localhost", self.server_address[1]


class Served:
    """Something that answers at `base_url` until it is left."""

    def __init__(self) -> None:
        served = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:  # the name that is called
                self.answer(200, {"object": "list", "data": served.models()})

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.answer(*served.complete(asked))

            def answer(self, status: int, body: Any) -> None:
                raw = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = _Http(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def models(self) -> list[dict[str, Any]]:
        raise NotImplementedError

    def complete(self, asked: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Engine(Served):
    """An engine of one model; `tokens` is how many its tokenizer makes of each word."""

    def __init__(self, model: str, fingerprint: str | None = None, tokens: int = 1) -> None:
        super().__init__()
        self.model, self.fingerprint, self.tokens, self.is_up = model, fingerprint, tokens, True

    def models(self) -> list[dict[str, Any]]:
        return [{"id": self.model, "object": "model", "root": self.model}]

    def complete(self, asked: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        if not self.is_up:
            return 503, {"error": {"message": "loading"}}
        words = len(asked["messages"][0]["content"].split())
        usage = {"prompt_tokens": words * self.tokens, "completion_tokens": 1}
        message = {"role": "assistant", "content": "blue"}
        body = {
            "object": "chat.completion",
            "model": self.model,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {**usage, "total_tokens": sum(usage.values())},
        }
        return 200, body if self.fingerprint is None else {**body, "system_fingerprint": self.fingerprint}


class Router(Served):
    """Aliases to engines."""

    def __init__(self, aliases: Mapping[str, Engine]) -> None:
        super().__init__()
        self.aliases = dict(aliases)
        self.fallback: Engine | None = None
        self.rewrites = False
        self.advertised: str | None = None

    def models(self) -> list[dict[str, Any]]:
        more = {} if self.advertised is None else {"system_fingerprint": self.advertised}
        return [{"id": alias, "object": "model", **more} for alias in self.aliases]

    def complete(self, asked: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        wanted = self.aliases.get(str(asked["model"]))
        if wanted is None:
            return 404, {"error": {"message": "no such model"}}
        engine = wanted if wanted.is_up or self.fallback is None else self.fallback
        request = urllib.request.Request(
            f"{engine.base_url}/v1/chat/completions",
            json.dumps({**asked, "model": engine.model}).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                body = json.loads(response.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())
        return 200, {**body, "model": asked["model"]} if self.rewrites else body
