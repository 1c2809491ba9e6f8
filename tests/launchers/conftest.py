"""A Docker engine for the session, shared by its workers."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import docker
import pytest
from support.dockerd import Dockerd, import_image, start_dockerd


class Docker:
    """An engine that answers, with an image of ours in it."""

    def __init__(self, url: str | None, image: str) -> None:
        self.url = url
        self.image = image

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
