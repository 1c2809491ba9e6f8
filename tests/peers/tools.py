"""`make peers`: the tools that people measure with, against the quickstart's engine, and what `anvil` makes of their files.

    python tools.py [--keep FOLDER]

Each tool runs a small load, each of its files is imported, and each figure that a definition or a statistic of
ours is mapped to is printed beside the one made again from the rows. `--keep` keeps the files, for tests.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

from tools_files import scrubbed
from tools_loads import MODEL, STREAMS, WINDOW, carry_out, loads, prepare
from tools_venvs import install

from anvil.collectors.engines.models import fetch_model
from anvil.collectors.recipes.loader import load_recipe


def main() -> int:
    """Install what is missing, run every tool, import every file, say what came out; 1 when a figure is not ours."""
    options = _options()
    install()
    with TemporaryDirectory(prefix="anvil-tools-") as name:
        folder = Path(name)
        files: dict[str, Path] = {}
        prepare(folder)
        with _engine() as url:
            for load in loads(url):
                print(f"peers: {load.tool} writes {', '.join(load.files)}", flush=True)
                files |= carry_out(load, folder)
        if options.keep is not None:
            for kept, path in files.items():
                (options.keep / kept).write_text(scrubbed(path.read_text(), folder), encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
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
    process = subprocess.Popen([*command, "--slot-context", str(WINDOW)], stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url, process)
        yield url
    finally:
        process.terminate()
        process.wait()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError("the engine ended before it answered")
        with suppress(OSError), urlopen(f"{url}/health", timeout=5):
            return
        time.sleep(0.1)
    raise RuntimeError("the engine does not answer")


if __name__ == "__main__":
    sys.exit(main())
