"""A Docker engine for the session, shared by its workers."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import docker
import pytest
from support.dockerd import Dockerd, import_image, start_dockerd
from support.launching import PROVENANCE, free_port, spools

from anvil.collectors.launchers import procfs
from anvil.collectors.launchers.docker import DockerLauncher
from anvil.collectors.launchers.interface import ContainerPlan, LaunchPlan, Provenance
from anvil.collectors.launchers.process import ProcessLauncher

Story = Callable[[DockerLauncher], Awaitable[None]]
Plans = Callable[..., LaunchPlan]
Tell = Callable[[Story], None]


class Docker:
    """An engine that answers, with an image of ours in it."""

    def __init__(self, url: str | None, image: str) -> None:
        self.url = url
        self.image = image

    @property
    def is_podman(self) -> bool:
        """Whether podman answers under Docker's interface, as in `test_podman`."""
        client = self.client()
        try:
            return any("Podman" in part["Name"] for part in client.version().get("Components") or ())
        finally:
            client.close()

    def client(self) -> Any:
        return docker.DockerClient(base_url=self.url) if self.url else docker.from_env()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def docker_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Docker]:
    """The engine of DOCKER_HOST, or one of our own: one for all workers, stopped by the last."""
    if os.environ.get("DOCKER_HOST"):
        client = docker.from_env()
        yield Docker(None, import_image(client))
        client.close()
        return
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "dockerd"
    shared.mkdir(exist_ok=True)
    known = shared / "engine.json"
    with _locked(shared / "lock"):
        found = json.loads(known.read_bytes()) if known.exists() else _started()
        known.write_text(json.dumps(found | {"users": found["users"] + 1}))
    engine = Dockerd(**found["engine"])
    yield Docker(engine.url, found["image"])
    with _locked(shared / "lock"):
        left = json.loads(known.read_bytes())["users"] - 1
        known.write_text(json.dumps(found | {"users": left}))
        if not left:
            known.unlink()
            engine.stop()


def _started() -> dict[str, Any]:
    engine = start_dockerd()
    client = docker.DockerClient(base_url=engine.url)
    image = import_image(client)
    client.close()
    return {"engine": asdict(engine), "image": image, "users": 0}


@pytest.fixture
def provenance(tmp_path: Path) -> Provenance:
    """Of a ledger of this test's own: other workers use the same engine."""
    return replace(PROVENANCE, ledger=f"example.org/{tmp_path.parent.name}-{tmp_path.name}".lower())


@pytest.fixture
def tell(docker_engine: Docker, provenance: Provenance, tmp_path: Path) -> Iterator[Tell]:
    """Run a story with a launcher, and see that it left no container and no spool behind."""
    client = docker_engine.client()

    def left() -> list[Any]:
        filters = {"label": f"anvil.ledger={provenance.ledger}"}
        return list(client.containers.list(all=True, filters=filters))

    def run(story: Story) -> None:
        async def whole() -> None:
            launcher = DockerLauncher(tmp_path / "spools", base_url=docker_engine.url)
            try:
                await asyncio.wait_for(story(launcher), 60)
            finally:
                launcher.close()

        asyncio.run(whole())
        assert left() == []
        assert not (tmp_path / "spools").is_dir() or list((tmp_path / "spools").iterdir()) == []

    yield run
    for container in left():
        container.remove(force=True)
    client.close()


@pytest.fixture
def plan(docker_engine: Docker, provenance: Provenance) -> Callable[..., LaunchPlan]:
    def make(
        behave: str = "serve", *more: str, container: dict[str, Any] | None = None, **changes: Any
    ) -> LaunchPlan:
        inside = ContainerPlan(**{"image": docker_engine.image, "port": 8000, **(container or {})})
        argv = ("--port", "8000", "--behave", behave, *more)
        return LaunchPlan(
            provenance, changes.pop("port", None) or free_port(), argv, container=inside, **changes
        )

    return make


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[ProcessLauncher]:
    yield ProcessLauncher(tmp_path / "spools")
    for name in spools(tmp_path) if (tmp_path / "spools").is_dir() else ():  # only of a test that failed
        for process in procfs.with_variable("ANVIL_LAUNCH", name):
            os.kill(process.pid, signal.SIGKILL)
