"""A router in between, and metrics elsewhere: both are asked who they are, and what differs is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.authority import Authority
from support.endpoint import Chat, Reply, Server
from support.running import Bench

from anvil.ledger.events import EngineIdentified, EngineReported, HealthObserved
from anvil.ledger.events.engines import IdentityClaim

KEY = "sk-router-0123456789abcdef"


def metrics(dtype: str) -> Callable[[object], Reply]:
    line = f'vllm:cache_config_info{{cache_dtype="{dtype}"}} 1.0\n'
    return lambda request: Reply(line.encode(), content_type="text/plain")


def site(bench: Bench, **lines: str) -> None:
    block = "".join(f'{name} = "{value}"\n' for name, value in lines.items())
    (bench.directory / "anvil-site.toml").write_text(f"[endpoints.a1]\n{block}")


def identified(bench: Bench) -> EngineIdentified:
    (event,) = bench.events(EngineIdentified)
    assert isinstance(event, EngineIdentified)
    return event


def said(event: EngineIdentified, what: str) -> set[tuple[str, str]]:
    """Who says what about something, in the clear or sealed."""
    claims: tuple[IdentityClaim, ...] = event.claims
    clear = {(claim.source, claim.value) for claim in claims if claim.what == what and claim.value}
    sealed = event.sealed_claims if isinstance(event.sealed_claims, list) else []
    return clear | {(name.split()[0], text) for name, text in sealed if name.endswith(f" {what}")}


def dtypes(bench: Bench) -> list[str]:
    (event,) = bench.events(EngineReported)
    return [figure.word for figure in event.figures if figure.name == "kv_cache_dtype"]


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUTER_KEY", KEY)


# --- behind a router -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("key")
def test_a_launched_engine_and_its_router_are_both_asked(bench: Bench) -> None:
    with Server(model="org/tiny") as router:
        site(bench, base_url=router.base_url, via="router", api_key_env="ROUTER_KEY")
        ran = bench.run(bench.recipe(checks=["identity", "structured-json"]))
        assert ran.code == 0, ran.err
        assert all(r.headers["authorization"] == f"Bearer {KEY}" for r in router.requests)
    event = identified(bench)
    assert event.disagreements == ()
    assert event.served_name_matches is True
    assert said(event, "served_name") == {("models_endpoint", "org/tiny"), ("router", "org/tiny")}
    assert said(event, "engine_version") == {("version_endpoint", "1.2.3"), ("router", "1.2.3")}
    named = {name for kind, name, _ in bench.artifacts() if kind == "engine.identified"}
    assert {"models_response", "router_models_response", "router_answer_response"} <= named
    assert bench.verdicts()["structured-json"][0] == "failed"  # answered by the router, which says "ok"
    bench.require_whole()
    bench.require_nothing_running()


def test_a_router_that_answers_with_a_fallback_model(bench: Bench) -> None:
    """It passed a marker probe: the words were right, and another model had said them."""
    with Server(model="org/tiny", chat=lambda payload: Chat(content="four", model="org/fallback")) as router:
        site(bench, base_url=router.base_url, via="router")
        assert bench.run(bench.recipe(checks=["structured-json"])).code == 0
    event = identified(bench)
    assert event.disagreements == ("served_name",)
    assert ("router", "org/fallback") in said(event, "served_name")
    assert bench.verdicts()["structured-json"] == ("failed", "identity_mismatch")


def test_a_router_that_advertises_another_engine(bench: Bench) -> None:
    with Server(model="org/tiny", version="0.9.0") as router:
        site(bench, base_url=router.base_url, via="router")
        assert bench.run(bench.recipe(checks=[])).code == 0
    event = identified(bench)
    assert event.disagreements == ("engine_version",)
    assert said(event, "engine_version") == {("version_endpoint", "1.2.3"), ("router", "0.9.0")}


def test_a_router_that_answers_before_the_engine_is_there(bench: Bench) -> None:
    """A fallback model answered, and the engine that was launched never did."""
    with Server(model="org/tiny") as router:
        site(bench, base_url=router.base_url, via="router")
        assert bench.run(bench.recipe(behave="deaf", checks=["structured-json"], ready_s=1)).code == 0
        assert router.requests == []
    assert not bench.events(HealthObserved)[0].is_ready
    assert bench.verdicts() == {"structured-json": ("incomplete", "prerequisite_failed")}


def test_a_router_that_calls_the_engine_otherwise(bench: Bench) -> None:
    """What it asks of the engine nobody sees, so the engine's own name is missed."""
    with Server(model="org/tiny") as router, Server(model="/models/tiny") as engine:
        site(bench, via="router", engine_url=engine.base_url)
        assert bench.run(bench.recipe(checks=[]), "--base-url", router.base_url).code == 0
    assert identified(bench).disagreements == ("served_name",)


@pytest.mark.usefixtures("key")
def test_an_engines_figures_are_its_own_and_its_router_gets_the_key_alone(bench: Bench) -> None:
    with Server(model="org/tiny") as router, Server(model="org/tiny") as engine:
        router.on("/metrics", metrics("auto"))
        router.on("/props", lambda request: {"total_slots": 9})
        engine.on("/metrics", metrics("fp8_e4m3"))
        site(bench, via="router", engine_url=engine.base_url, api_key_env="ROUTER_KEY")
        ran = bench.run(bench.recipe(engine="vllm", checks=[]), "--base-url", router.base_url)
        assert ran.code == 0, ran.err
        assert "/metrics" not in [request.path for request in router.requests]
        assert [request.path for request in engine.requests if request.method == "POST"] == []
        assert not any("authorization" in request.headers for request in engine.requests)
    assert dtypes(bench) == ["fp8_e4m3"]
    assert b"fp8_e4m3" in bench.body("metrics")


def test_where_only_the_router_is_known_its_figures_are_not_the_engines(bench: Bench) -> None:
    with Server(model="org/tiny") as router:
        router.on("/metrics", metrics("auto"))
        site(bench, via="router")
        assert bench.run(bench.recipe(engine="vllm", checks=[]), "--base-url", router.base_url).code == 0
    event = identified(bench)
    assert said(event, "served_name") == {("router", "org/tiny")}
    assert dtypes(bench) == []
    assert "metrics" not in [name for _, name, _ in bench.artifacts()]


def test_an_engine_behind_a_router_that_does_not_answer(bench: Bench) -> None:
    with Server(model="org/tiny") as router, Server() as engine:
        engine.refuse_connections()
        site(bench, via="router", engine_url=engine.base_url)
        assert bench.run(bench.recipe(engine="vllm", checks=[]), "--base-url", router.base_url).code == 0
    assert said(identified(bench), "served_name") == {("router", "org/tiny")}
    bench.require_whole()


# --- metrics elsewhere ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("key")
def test_metrics_at_an_address_of_their_own(bench: Bench) -> None:
    with Server(model="org/tiny") as engine, Server() as exporter:
        engine.on("/metrics", metrics("auto"))
        exporter.on("/engine/metrics", metrics("fp8_e5m2"))
        site(bench, metrics_url=f"{exporter.base_url}/engine/metrics", api_key_env="ROUTER_KEY")
        assert bench.run(bench.recipe(engine="vllm", checks=[]), "--base-url", engine.base_url).code == 0
        assert "/metrics" not in [request.path for request in engine.requests]
        assert not any("authorization" in request.headers for request in exporter.requests)
    assert dtypes(bench) == ["fp8_e5m2"]
    assert identified(bench).disagreements == ()


def test_metrics_over_tls_beside_an_endpoint_without(bench: Bench, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with Server(model="org/tiny") as engine, Server(tls=authority.server()) as exporter:
        exporter.on("/metrics", metrics("fp8_e5m2"))
        site(bench, metrics_url=f"{exporter.base_url}/metrics")
        path = bench.directory / "anvil-site.toml"
        path.write_text(f'ca_file = "{authority.file}"\n{path.read_text()}')
        assert bench.run(bench.recipe(engine="vllm", checks=[]), "--base-url", engine.base_url).code == 0
    assert dtypes(bench) == ["fp8_e5m2"]


# --- what is refused -----------------------------------------------------------------------------------


def test_an_engine_url_without_a_router_is_refused_with_its_line(bench: Bench) -> None:
    site(bench, base_url="http://127.0.0.1:9", engine_url="http://127.0.0.1:8")
    ran = bench.run(bench.recipe())
    assert ran.code == 1
    assert "anvil-site.toml:1: `engine_url` is for an engine behind a router" in ran.err
    assert 'via = "router"' in ran.err
