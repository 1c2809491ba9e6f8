"""What a test may need of the machine, and how to find out whether it is there.

A test says `@pytest.mark.needs("go")`. Where the tool is absent or unusable the test is skipped with
the reason that its probe gives, all such skips are listed at the end of the run, and with
`ANVIL_TEST_ALL=1` (as `.ci/run` sets it) each of them is a failure: nothing hides. The one exception
is `NOT_TO_BE_INSTALLED`.

To add a tool, write a probe that returns what is wrong, or an empty text, and put it in `PROBES`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
"""The top of the repository."""

VECTORS = Path(os.environ.get("ANVIL_TEST_VECTORS", ROOT.parent / "shared" / "vectors"))
"""Public test vectors. They are not part of the project and are read from beside the checkout."""

SEEDS = Path(os.environ.get("ANVIL_TEST_SEEDS", ROOT.parent / "shared" / "seeds"))
"""Documents that other people published of campaigns by hand; read, never committed."""

EVIDENCE = Path(os.environ.get("ANVIL_TEST_EVIDENCE", ROOT.parent / "shared" / "evidence"))
"""Raw artifacts of such campaigns, start-up logs among them; read, never committed."""

GOPATH = Path(os.environ.get("ANVIL_TEST_GOPATH", "/usr/share/gocode"))
"""Where Debian puts the sources of Go libraries; golang.org/x/mod lies below it."""


def _runs(*argv: str) -> str:
    """Return what went wrong when running a command, or an empty text."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
    return "" if done.returncode == 0 else f"`{' '.join(argv)}` exits {done.returncode}: {lines[-1]}"


def _on_path(*names: str) -> str:
    absent = [name for name in names if shutil.which(name) is None]
    return f"{' and '.join(absent)} not on PATH" if absent else ""


def _go() -> str:
    library = GOPATH / "src/golang.org/x/mod/sumdb/note"
    if wrong := _on_path("go"):
        return wrong
    return "" if library.is_dir() else f"golang.org/x/mod is not in {GOPATH} (golang-golang-x-mod-dev)"


def _strace() -> str:
    return _on_path("strace") or _runs("strace", "-f", "-o", os.devnull, "true")


def _openssl() -> str:
    if wrong := _on_path("openssl"):
        return wrong
    version = subprocess.run(["openssl", "version"], capture_output=True, text=True, check=False).stdout
    major = version.removeprefix("OpenSSL ").split(".")[0]
    return "" if major.isdigit() and int(major) >= 3 else f"OpenSSL 3 or newer, found {version.strip()!r}"


def _bwrap() -> str:
    return _on_path("bwrap") or _runs("bwrap", "--unshare-all", "--ro-bind", "/", "/", "true")


def _node() -> str:
    if wrong := _on_path("node"):
        return wrong
    version = subprocess.run(
        ["node", "--version"], capture_output=True, text=True, check=False
    ).stdout.strip()
    major = version.removeprefix("v").split(".")[0]
    return "" if major.isdigit() and int(major) >= 18 else f"node 18 or newer, found {version!r}"


def _docker() -> str:
    from support import dockerd

    return dockerd.why_not()


def _quickstart() -> str:
    from support import quickstart

    return quickstart.why_not()


def _chromium() -> str:
    return "" if shutil.which("chromium") or shutil.which("google-chrome") else "chromium not on PATH"


def _nvidia() -> str:
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return str(error)
    pynvml.nvmlShutdown()
    return ""


def _root() -> str:
    return "" if os.geteuid() == 0 else "the tests do not run as root"


def _mount() -> str:
    if wrong := _root() or _on_path("mount", "umount"):
        return wrong
    with TemporaryDirectory() as place:
        wrong = _runs("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place)
        return wrong or _runs("umount", place)


def _folder(path: Path, variable: str) -> str:
    return "" if path.is_dir() else f"no folder {path} ({variable} names another)"


NOT_TO_BE_INSTALLED = frozenset({"evidence", "nvidia", "seeds", "vectors"})
"""What no script can bring: skipped loudly, and no failure, wherever it is absent."""

PROBES: dict[str, Callable[[], str]] = {
    "bwrap": _bwrap,
    "cc": lambda: _on_path("cc"),
    "chromium": _chromium,
    "diff": lambda: _on_path("diff"),
    "docker": _docker,
    "evidence": lambda: _folder(EVIDENCE, "ANVIL_TEST_EVIDENCE"),
    "go": _go,
    "mount": _mount,
    "node": _node,
    "nvidia": _nvidia,
    "openssl": _openssl,
    "podman": lambda: _on_path("podman"),
    "quickstart": _quickstart,
    "root": _root,
    "seeds": lambda: _folder(SEEDS, "ANVIL_TEST_SEEDS"),
    "ssh-agent": lambda: _on_path("ssh-agent", "ssh-add", "ssh-keygen"),
    "strace": _strace,
    "vectors": lambda: _folder(VECTORS, "ANVIL_TEST_VECTORS"),
}


@cache
def missing(tool: str) -> str:
    """Return why a tool cannot be used here, or an empty text when it can.

    Raises:
        LookupError: no probe has that name.
    """
    if tool not in PROBES:
        raise LookupError(f"no probe for {tool!r} in tests/support/tools.py, only {', '.join(PROBES)}")
    return PROBES[tool]()
