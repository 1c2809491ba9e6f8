"""The small server of `support/openai_server.py` with the misfortunes of a run, to be run as a script.

last-words  answers, and writes `goodbye` when it is asked to end
dies        answers two requests for a completion, and ends in the middle of the third
dies-once   the same, when there is no file --into yet; it makes one
hangs       answers two requests for a completion, and no other
ponders     answers, each time after a tenth of a second
slow-end    answers, and takes a second to end, writing a line every tenth of it
shouts      answers; writes more at once than is kept of a log, and never stops writing
hoards      answers, and fills the file --into with --bytes at the third request for a completion
echoes        writes its environment and argv to its log, and fails with some of it in every body
talks         streams what streams are asked for, knows the capital of France, and logs each stream's digest
talks-slowly  the same, a word every 50 ms
talks-and-dies     ends in the middle of the third stream
talks-and-fails    answers every third stream with 500
talks-nonsense     streams, and knows no capital from the second time on

With --later-version it says that it is of that version as soon as there is a file --into.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

_BASE = Path(__file__).parents[1] / "support" / "openai_server.py"
_SPEC = importlib.util.spec_from_file_location("openai_server", _BASE)
assert _SPEC is not None
assert _SPEC.loader is not None
base: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(base)

BEHAVIOUR = sys.argv[sys.argv.index("--behave") + 1]
TALKS = ("talks", "talks-slowly", "talks-and-dies", "talks-and-fails", "talks-nonsense")
OURS = (
    "last-words",
    "dies",
    "dies-once",
    "hangs",
    "ponders",
    "slow-end",
    "echoes",
    "shouts",
    "hoards",
    *TALKS,
)
WORDS = 8


def option(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


class Handler(base.Handler):  # type: ignore[misc]
    completions = 0
    streams = 0
    capitals = 0
    lock = threading.Lock()

    def talk(self) -> None:
        """Answer a chat, streamed where that is asked for."""
        raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        asked = json.loads(raw)
        if self.path != "/v1/chat/completions":
            self.reply({"error": {"message": "no such path"}}, 404)
        elif asked.get("stream"):
            with Handler.lock:  # a line is not written at once
                Handler.streams += 1
                number = Handler.streams
                print(f"asked {hashlib.sha256(raw).hexdigest()}", flush=True)
            self.stream(asked, number)
        else:
            is_capital = "capital of France" in str(asked["messages"])
            Handler.capitals += is_capital
            is_nonsense = BEHAVIOUR == "talks-nonsense" and Handler.capitals > 1
            self.whole(asked, "blue" if is_nonsense else "Paris" if is_capital else "ok")

    def whole(self, asked: Any, content: str) -> None:
        choice = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop", "index": 0}
        self.reply(
            {"object": "chat.completion", "model": self.model, "choices": [choice], "usage": usage(asked, 1)}
        )

    def stream(self, asked: Any, number: int) -> None:
        if BEHAVIOUR == "talks-and-fails" and number % 3 == 0:
            self.reply({"error": {"message": "too many seas"}}, 500)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for word in range(WORDS):
            if BEHAVIOUR == "talks-and-dies" and number == 3 and word == WORDS // 2:
                os._exit(7)
            if BEHAVIOUR == "talks-slowly":
                time.sleep(0.05)
            self.event({"choices": [{"index": 0, "delta": {"content": f" w{word}"}}]})
        self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self.event({"choices": [], "usage": usage(asked, WORDS)})
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, payload: Any) -> None:
        named = {"object": "chat.completion.chunk", "model": self.model, **payload}
        self.wfile.write(b"data: " + json.dumps(named).encode() + b"\n\n")
        self.wfile.flush()

    def do_GET(self) -> None:  # noqa: N802  # the name that is called
        if self.path == "/version" and "--later-version" in sys.argv and Path(option("--into")).exists():
            self.reply({"version": option("--later-version")})
            return
        super().do_GET()

    def do_POST(self) -> None:  # noqa: N802  # the name that is called
        if BEHAVIOUR in TALKS:
            self.talk()
            return
        Handler.completions += 1
        if BEHAVIOUR == "ponders":
            time.sleep(0.1)
        if BEHAVIOUR == "dies-once" and not Path(option("--into")).exists() and Handler.completions == 3:
            Path(option("--into")).touch()
            os._exit(7)
        if BEHAVIOUR == "dies" and Handler.completions == 3:
            print("fatal: the GPU has fallen off the bus", flush=True)
            os._exit(7)
        if BEHAVIOUR == "hoards" and Handler.completions == 3:
            Path(option("--into")).write_bytes(bytes(int(option("--bytes"))))
        if BEHAVIOUR == "hangs" and Handler.completions > 2:
            print("hanging", flush=True)
            time.sleep(3600)
        if BEHAVIOUR == "echoes" and Handler.completions > 2:
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
            told = [*map(str, self.headers.items()), os.environ["HF_TOKEN"], os.environ["DB_PASSWORD"]]
            self.reply({"error": {"message": f"unauthorized: {' '.join(told)}"}}, 401)
            return
        super().do_POST()


def usage(asked: Any, completion: int) -> dict[str, int]:
    """A token is a word here; the template has three."""
    prompt = 3 + sum(len(str(message["content"]).split()) for message in asked["messages"])
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def on_term(*_: object) -> None:
    if BEHAVIOUR == "slow-end":
        for number in range(10):
            print(f"ending {number}", flush=True)
            time.sleep(0.1)
    print("goodbye", flush=True)
    os._exit(0)


def shout() -> None:
    block = "".join(f"shouting line {number} of the block\n" for number in range(30_000))
    for _ in range(24):
        sys.stdout.write(block)
    while True:
        print("and on", flush=True)
        time.sleep(0.01)


def main() -> None:
    if BEHAVIOUR not in OURS:
        base.main()
        return
    if BEHAVIOUR == "echoes":
        print(json.dumps({"env": dict(os.environ), "argv": sys.argv}), flush=True)
    port = int(sys.argv[sys.argv.index("--port") + 1])
    signal.signal(signal.SIGTERM, on_term)
    Handler.model = sys.argv[sys.argv.index("--model") + 1]
    if BEHAVIOUR == "shouts":
        threading.Thread(target=shout, daemon=True).start()
    server = base.Server(("127.0.0.1", port), Handler)
    print(f"listening on {port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
