"""The small server of `support/openai_server.py` with the misfortunes of a run, to be run as a script.

last-words  answers, and writes `goodbye` when it is asked to end
dies        answers two requests for a completion, and ends in the middle of the third
dies-once   the same, when there is no file --into yet; it makes one
hangs       answers two requests for a completion, and no other
slow-end    answers, and takes a second to end, writing a line every tenth of it
shouts      answers; writes more at once than is kept of a log, and never stops writing
hoards      answers, and fills the file --into with --bytes at the third request for a completion
    echoes      writes its environment and argv to its log, and fails with some of it in every body
"""

from __future__ import annotations

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
OURS = ("last-words", "dies", "dies-once", "hangs", "slow-end", "echoes", "shouts", "hoards")


def option(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


class Handler(base.Handler):  # type: ignore[misc]
    completions = 0

    def do_POST(self) -> None:  # noqa: N802  # the name that is called
        Handler.completions += 1
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
