"""Gates behind a router: an alias that leads elsewhere is found however the router words its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from support.router import Engine, Router

from anvil.collectors.recipes.gates import GatePlace, RestorationGate
from anvil.collectors.restoration.gates import Gates, compared, recorded
from anvil.collectors.restoration.state import State
from anvil.ledger.events import RestorationChecked

ROUTER = RestorationGate(
    gate="router", kind="http", about="The alias leads home", served_model="primary", direct="engine"
)
DIRECT = RestorationGate(gate="engine", kind="http", about="The engine answers", served_model="qwen")


async def nobody(_: str) -> Mapping[str, Any]:
    return {}


class Scene:
    """A router, the engine that its alias leads to, and another that could answer instead."""

    def __init__(self, engine: Engine, other: Engine, router: Router) -> None:
        self.engine, self.other, self.router = engine, other, router
        self.gate = ROUTER

    def look(self) -> dict[str, State]:
        places = {
            "router": GatePlace(base_url=self.router.base_url, deadline_s=5),
            "engine": GatePlace(base_url=self.engine.base_url, deadline_s=5),
        }
        return asyncio.run(Gates([self.gate, DIRECT], places, nobody, nobody).look())

    def after(self, before: dict[str, State]) -> RestorationChecked:
        now = self.look()
        return compared(self.gate, now["router"], now["engine"], before["router"], "ab" * 32)


@pytest.fixture
def scene() -> Iterator[Scene]:
    with (
        Engine("qwen", "fp-1") as engine,
        Engine("tiny", "fp-9", tokens=2) as other,
        Router({"primary": engine}) as router,
    ):
        yield Scene(engine, other, router)


def fall_back(scene: Scene) -> None:
    scene.engine.is_up = False
    scene.router.fallback = scene.other


def fall_back_in_disguise(scene: Scene) -> None:
    fall_back(scene)
    scene.router.rewrites = True


def lead_elsewhere(scene: Scene) -> None:
    scene.router.aliases["primary"] = scene.other


def lead_elsewhere_in_disguise(scene: Scene) -> None:
    lead_elsewhere(scene)
    scene.router.rewrites = True
    scene.other.fingerprint = None


def advertise_what_was(scene: Scene) -> None:
    scene.router.advertised = "fp-0"


def restart_the_engine_as_another(scene: Scene) -> None:
    scene.engine.fingerprint = "fp-2"


def forget_the_alias(scene: Scene) -> None:
    del scene.router.aliases["primary"]


def test_a_router_that_leads_home_passes(scene: Scene) -> None:
    before = scene.look()
    event = recorded(ROUTER, before["router"], before["engine"])
    assert (event.outcome, event.differences, event.value) == ("recorded", (), 200)
    after = scene.after(before)
    assert (after.outcome, after.differences, after.before) == ("passed", (), "ab" * 32)


@pytest.mark.parametrize(
    ("change", "differences"),
    [
        (fall_back, {"model", "fingerprint", "prompt-tokens", "direct"}),
        (fall_back_in_disguise, {"model", "fingerprint", "prompt-tokens", "direct"}),
        (lead_elsewhere, {"model", "direct-model", "direct-fingerprint", "direct-prompt-tokens"}),
        (lead_elsewhere_in_disguise, {"fingerprint", "prompt-tokens", "direct-prompt-tokens"}),
        (advertise_what_was, {"advertised", "direct-advertised"}),
        (restart_the_engine_as_another, {"fingerprint"}),
        (forget_the_alias, {"status", "generated", "listed"}),
    ],
)
def test_each_way_in_which_it_does_not(
    change: Callable[[Scene], None], differences: set[str], scene: Scene
) -> None:
    before = scene.look()
    change(scene)
    after = scene.after(before)
    assert after.outcome == "failed"
    assert differences <= set(after.differences), after.differences


def test_a_stale_fingerprint_shows_before_the_campaign_already(scene: Scene) -> None:
    advertise_what_was(scene)
    states = scene.look()
    event = recorded(ROUTER, states["router"], states["engine"])
    assert (event.outcome, event.differences) == ("recorded", ("direct-advertised",))
    assert ["direct-advertised", "expected fp-1", "found fp-0"] in (event.detail or [])


def test_an_expected_identity(scene: Scene) -> None:
    expecting = ROUTER.model_copy(update={"answers_as": "qwen", "fingerprint": "fp-1"})
    scene.gate = expecting
    before = scene.look()
    assert scene.after(before).outcome == "passed"
    scene.gate = expecting.model_copy(update={"fingerprint": "fp-7"})
    after = scene.after(before)
    assert (after.outcome, after.differences) == ("failed", ("fingerprint",))


def test_an_expectation_replaces_what_was(scene: Scene) -> None:
    before = scene.look()
    restart_the_engine_as_another(scene)
    scene.gate = ROUTER.model_copy(update={"fingerprint": "fp-2"})
    assert scene.after(before).outcome == "passed"


def test_nothing_answers(scene: Scene) -> None:
    before = scene.look()
    place = {"router": GatePlace(base_url="http://127.0.0.1:9", deadline_s=2)}
    now = asyncio.run(Gates([ROUTER], place, nobody, nobody).look())
    event = compared(ROUTER, now["router"], None, before["router"], "ab" * 32)
    assert event.outcome == "failed"
    assert {"status", "generated", "direct"} <= set(event.differences)
    assert event.value is None


def test_a_gate_that_only_lists(scene: Scene) -> None:
    gate = RestorationGate(gate="list", kind="http", about="The same models")
    place = {"list": GatePlace(base_url=scene.router.base_url)}
    before = asyncio.run(Gates([gate], place, nobody, nobody).look())["list"]
    assert before.facts == {"status": "200", "models": "primary"}
    scene.router.aliases["other"] = scene.other
    now = asyncio.run(Gates([gate], place, nobody, nobody).look())["list"]
    assert compared(gate, now, None, before, "ab" * 32).differences == ("models",)
