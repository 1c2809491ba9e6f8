"""A small OpenAI-compatible server with only the standard library, to be run as a script.

It is what the tests launch as a process and inside containers: `openai_server.py --port N [--behave
WORD]`, with `python -P`, since a module beside it is named json. What it answers is of no interest
beyond that it answers; the endpoint that misbehaves in all ways is another one (support.endpoint).

    serve       answers
    deaf        listens on nothing and waits
    traceback   raises before it listens
    eat         takes memory until it is killed
    shout       answers, and never stops logging
    nonsense    answers, and every answer is the same three words
    stubborn    answers, and does not end when asked
    echo-env    writes its environment to its log, then answers
    load        streams, knows the capital of France, and counts as vLLM does at /metrics; a token is a word
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import ClassVar

BEHAVIOURS = ("serve", "deaf", "traceback", "eat", "shout", "nonsense", "stubborn", "echo-env", "load")
WORDS = 8


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = "tiny"
    answer = "four"

    def do_GET(self) -> None:
        if self.path == "/health":
            self.reply({"status": "ok"})
        elif self.path == "/v1/models":
            self.reply({"object": "list", "data": [{"id": self.model, "object": "model"}]})
        elif self.path == "/version":
            self.reply({"version": "1.2.3"})
        else:
            self.reply({"error": {"message": "no such path"}}, 404)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
        if self.path != "/v1/chat/completions":
            self.reply({"error": {"message": "no such path"}}, 404)
            return
        message = {"role": "assistant", "content": self.answer}
        usage = {"prompt_tokens": len(json.dumps(asked)) // 4, "completion_tokens": 1}
        usage["total_tokens"] = sum(usage.values())
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.reply(
            {"id": "c", "object": "chat.completion", "model": self.model, "choices": [choice], "usage": usage}
        )

    def log_message(self, *_: object) -> None:
        """Log no request, so that the tests know the log to the byte."""

    def reply(self, body: object, status: int = 200) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


class Loaded(Handler):
    """Streams what streams are asked for, and counts tokens."""

    lock = threading.Lock()
    counts: ClassVar[dict[str, int]] = {
        "vllm:prompt_tokens_total": 0,
        "vllm:generation_tokens_total": 0,
        "vllm:request_success_total": 0,
    }

    def do_GET(self) -> None:
        if self.path != "/metrics":
            super().do_GET()
            return
        raw = "".join(
            f"# TYPE {name} counter\n{name} {count}.0\n" for name, count in self.counts.items()
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
        if self.path != "/v1/chat/completions":
            self.reply({"error": {"message": "no such path"}}, 404)
            return
        prompt = 3 + sum(len(str(message["content"]).split()) for message in asked["messages"])
        words = [f" w{number}" for number in range(WORDS)] if asked.get("stream") else ["Paris"]
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": len(words),
            "total_tokens": prompt + len(words),
        }
        with self.lock:
            for name, more in zip(self.counts, (prompt, len(words), 1), strict=True):
                self.counts[name] += more
        if asked.get("stream"):
            self.stream(words, usage)
            return
        message = {"role": "assistant", "content": "".join(words)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.reply({"object": "chat.completion", "model": self.model, "choices": [choice], "usage": usage})

    def stream(self, words: list[str], usage: dict[str, int]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        deltas = [{"choices": [{"index": 0, "delta": {"content": word}}]} for word in words]
        ends = [
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {"choices": [], "usage": usage},
        ]
        for payload in [*deltas, *ends]:
            named = {"object": "chat.completion.chunk", "model": self.model, **payload}
            self.wfile.write(b"data: " + json.dumps(named).encode() + b"\n\n")
            self.wfile.flush()
            time.sleep(0.005)
        self.wfile.write(b"data: [DONE]\n\n")


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # HTTPServer's own asks a name server, which may take long
        self.server_name, self.server_port = "localhost", self.server_address[1]


def shout() -> None:
    block = "".join(f"shouting line {number} of the block, {'very loud ' * 80}\n" for number in range(100))
    while True:
        sys.stdout.write(block)
        sys.stdout.flush()


def eat() -> None:
    taken = []
    while True:
        taken.append(bytearray(b"x") * (16 << 20))
        print(f"took {len(taken) * 16} MiB", flush=True)
        time.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--api-key")
    parser.add_argument("--behave", choices=BEHAVIOURS, default="serve")
    options = parser.parse_args()
    # The first process of a container is not ended by a signal that it has no handler for.
    ending = signal.SIG_IGN if options.behave == "stubborn" else lambda *_: os._exit(0)
    signal.signal(signal.SIGTERM, ending)
    print(f"starting as {options.behave}", flush=True)
    if options.behave == "traceback":
        raise RuntimeError("the weights do not fit")
    if options.behave == "deaf":
        signal.pause()
    if options.behave == "eat":
        eat()
    if options.behave == "echo-env":
        print(json.dumps(dict(os.environ)), flush=True)
    if options.behave == "shout":
        threading.Thread(target=shout, daemon=True).start()
    Handler.model = options.model
    Handler.answer = "blue blue blue" if options.behave == "nonsense" else "four"
    server = Server((options.host, options.port), Loaded if options.behave == "load" else Handler)
    print(f"listening on {options.port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
