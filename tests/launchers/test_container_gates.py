"""Container gates with a real engine: launched as before, launched otherwise, stopped, gone; and its version."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from anvil.collectors.launchers.containers import ContainerEngine, NoSuchObject
from anvil.collectors.recipes.gates import GatePlace, RestorationGate
from anvil.collectors.restoration.gates import Gates, compared, recorded
from anvil.collectors.restoration.state import State

if TYPE_CHECKING:
    from launchers.conftest import Docker

pytestmark = pytest.mark.needs("docker")
GATE = RestorationGate(gate="original", kind="container", about="The original engine runs as before")


class Original:
    """A container of somebody's, which is launched, changed and removed; and what the gate says of it."""

    def __init__(self, docker: Docker) -> None:
        self.docker = docker
        self.client = docker.client()
        self.name = f"anvil-gate-{uuid4().hex[:8]}"

    def launch(self, *argv: str, **more: Any) -> None:
        argv = ("--port", "8000", *argv)
        self.client.containers.run(self.docker.image, list(argv), name=self.name, detach=True, **more)

    def remove(self) -> None:
        for container in self.client.containers.list(all=True, filters={"name": self.name}):
            container.remove(force=True)

    def look(self) -> State:
        return asyncio.run(self._look())

    async def _look(self) -> State:
        with closing(ContainerEngine(self.docker.url)) as engine:

            async def inspect(name: str) -> Mapping[str, Any]:
                try:
                    return await engine.inspect(name)
                except NoSuchObject:
                    return {}

            places = {"original": GatePlace(container=self.name)}
            return (await Gates([GATE], places, inspect, engine.inspect_image).look())["original"]

    def after(self, before: State) -> tuple[str, tuple[str, ...]]:
        event = compared(GATE, self.look(), None, before, "ab" * 32)
        return event.outcome, event.differences


@pytest.fixture
def original(docker_engine: Docker) -> Iterator[Original]:
    original = Original(docker_engine)
    original.launch(environment={"HF_TOKEN": "hunter2-hunter2"})
    yield original
    original.remove()
    original.client.close()


def test_what_was_launched_again_exactly_as_before(original: Original, docker_engine: Docker) -> None:
    before = original.look()
    event = recorded(GATE, before, None)
    assert (event.outcome, event.value, event.differences) == ("recorded", docker_engine.image, ())
    assert b"hunter2" not in before.content() + b"".join(kept.content for kept in before.seen_in)
    original.remove()
    assert original.after(before) == ("failed", tuple(GATE_FACTS))
    original.launch(environment={"HF_TOKEN": "hunter2-hunter2"})
    assert original.after(before) == ("passed", ())


GATE_FACTS = ("running", "image", "image-id", "argv", "env", "mounts", "devices", "host")


@pytest.mark.parametrize(
    ("argv", "more", "difference"),
    [
        (("--behave", "nonsense"), {}, "argv"),
        ((), {"environment": {"HF_TOKEN": "another"}}, "env"),
        ((), {"shm_size": "32m"}, "host"),
        ((), {"volumes": ["/tmp:/elsewhere:ro"]}, "mounts"),
    ],
)
def test_what_was_launched_otherwise(
    argv: tuple[str, ...], more: dict[str, Any], difference: str, original: Original
) -> None:
    before = original.look()
    original.remove()
    original.launch(*argv, **{"environment": {"HF_TOKEN": "hunter2-hunter2"}, **more})
    outcome, differences = original.after(before)
    assert outcome == "failed"
    assert set(differences) <= {difference, "host"}
    assert difference in differences


def test_the_engines_version_is_one_that_can_be_published(docker_engine: Docker) -> None:
    from anvil.collectors.host.observation import observe_host
    from anvil.collectors.running.host import container_engine

    seen = asyncio.run(container_engine(docker_engine.url))
    event = observe_host("before", engine=seen).event
    assert event.container_engine
    assert "container_engine" not in {item.field for item in event.absent}
