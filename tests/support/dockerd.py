"""A Docker engine of the tests' own, and an image made without any registry.

1. `start_dockerd` starts ``dockerd`` as root with its own socket, data and bridge, and touches nothing of a
   Docker that may run here already: no iptables rule, no default bridge. Published loopback ports
   work through docker-proxy.
2. The image is the interpreter that runs the tests, its standard library and the shared libraries
   that it needs, imported as one layer. It has no repository digest and is named by its image id.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import requests

SERVER = Path(__file__).with_name("openai_server.py")
SERVER_INSIDE = "/srv/openai_server.py"
_LEFT_OUT = {
    "test",
    "tests",
    "idlelib",
    "turtledemo",
    "ensurepip",
    "lib2to3",
    "site-packages",
    "dist-packages",
}
_LEFT_OUT |= {"__pycache__", "tkinter", "pydoc_data"}


@dataclass(frozen=True)
class Dockerd:
    """A running engine. Whoever knows its folder and process can stop it."""

    directory: str
    bridge: str
    pid: int

    @property
    def url(self) -> str:
        """What DOCKER_HOST would be."""
        return f"unix://{self.directory}/docker.sock"

    def stop(self, deadline_s: float = 20) -> None:
        """End it by its own process id, and take away its bridge and its data."""
        os.kill(self.pid, signal.SIGTERM)
        deadline = time.monotonic() + deadline_s
        while _is_alive(self.pid) and time.monotonic() < deadline:
            time.sleep(0.1)
        if _is_alive(self.pid):
            os.kill(self.pid, signal.SIGKILL)
        subprocess.run(["ip", "link", "del", self.bridge], capture_output=True)
        shutil.rmtree(self.directory, ignore_errors=True)


def start_dockerd(deadline_s: float = 40) -> Dockerd:
    """Start an engine and wait until it answers.

    Raises:
        RuntimeError: it did not come up; the message has its last words.
    """
    directory = Path(tempfile.mkdtemp(prefix="anvil-dockerd-"))  # short: a socket's path has 107 bytes
    bridge = _make_bridge()
    argv = ["dockerd", "-H", f"unix://{directory}/docker.sock", "--bridge", bridge, "--iptables=false"]
    argv += ["--ip6tables=false", "--ip-forward=false", "--ip-masq=false", "--pidfile", f"{directory}/pid"]
    argv += ["--data-root", f"{directory}/data", "--exec-root", f"{directory}/exec"]
    with (directory / "dockerd.log").open("wb") as log:
        child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    engine = Dockerd(str(directory), bridge, child.pid)
    deadline = time.monotonic() + deadline_s
    while not _answers(engine.url):
        if child.poll() is not None or time.monotonic() > deadline:
            lines = (directory / "dockerd.log").read_text(errors="replace").splitlines()
            if child.poll() is None:
                child.kill()
                child.wait()
            subprocess.run(["ip", "link", "del", bridge], capture_output=True)
            shutil.rmtree(directory, ignore_errors=True)
            raise RuntimeError(f"dockerd did not come up: {(lines or ['no message'])[-1][:300]}")
        time.sleep(0.1)
    child.returncode = 0  # it outlives this object, and another worker may be the one to stop it
    return engine


def _is_alive(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def _make_bridge() -> str:
    bridge = f"anvil{os.getpid() % 100_000}"
    commands = (
        ["ip", "link", "add", bridge, "type", "bridge"],
        ["ip", "addr", "add", f"10.213.{os.getpid() % 250}.1/24", "dev", bridge],
        ["ip", "link", "set", bridge, "up"],
    )
    for argv in commands:
        done = subprocess.run(argv, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"`{' '.join(argv)}`: {done.stderr.strip()}")
    return bridge


def _answers(url: str) -> bool:
    if not Path(url.removeprefix("unix://")).exists():
        return False
    client = docker.APIClient(base_url=url, timeout=5)
    try:
        return bool(client.ping())
    except (docker.errors.DockerException, requests.exceptions.RequestException):
        return False
    finally:
        client.close()


def import_image(client: Any, **labels: str) -> str:
    """Make the image and return its id. Different labels make different images."""
    changes = [f'LABEL {name}="{value}"' for name, value in labels.items()]
    changes.append(f'ENTRYPOINT ["{_interpreter()}", "{SERVER_INSIDE}", "--host", "0.0.0.0"]')
    raw = client.api.import_image_from_data(root_filesystem(), changes=changes)
    found = re.search(r"sha256:[0-9a-f]{64}", raw)
    if found is None:
        raise RuntimeError(f"no image was made: {raw}")
    return found[0]


def root_filesystem() -> bytes:
    """Return a tar of the smallest file system in which our interpreter runs the server."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        interpreter = Path(_interpreter())
        library = Path(sysconfig.get_path("stdlib"))
        modules = list(Path(sysconfig.get_config_var("DESTSHARED")).glob("*.so"))
        for path in sorted({interpreter, *_libraries([interpreter, *modules])}):
            tar.add(path.resolve(), arcname=str(path).lstrip("/"))
        tar.add(library, arcname=str(library).lstrip("/"), filter=_is_needed)
        tar.add(SERVER, arcname=SERVER_INSIDE.lstrip("/"))
        for folder in ("tmp", "etc", "proc", "sys", "dev"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
    return whole.getvalue()


def _interpreter() -> str:
    return str(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]


def _is_needed(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    parts = Path(entry.name).parts
    left_out = not _LEFT_OUT.isdisjoint(parts) or any(part.startswith("config-") for part in parts)
    return None if left_out or entry.name.endswith(".a") else entry


def _libraries(programs: list[Path]) -> set[Path]:
    """Return the shared libraries that programs are linked with, and the loader, as `ldd` names them."""
    done = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True)
    return {Path(found) for found in re.findall(r"(?:=> |^\s+)(/\S+)", done.stdout, re.MULTILINE)}


def why_not() -> str:
    """Return why no Docker engine can be used here; an empty text when one can."""
    if os.environ.get("DOCKER_HOST"):
        return ""
    absent = [name for name in ("dockerd", "ip") if shutil.which(name) is None]
    if absent:
        return f"{' and '.join(absent)} not on PATH (docker.io, iproute2)"
    if os.geteuid() != 0:
        return "dockerd must be started as root, and DOCKER_HOST names no engine"
    try:
        start_dockerd().stop()
    except RuntimeError as error:
        return str(error)
    return ""
