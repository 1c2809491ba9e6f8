"""Secrets stay out: no byte of one is in the database, whoever repeats it."""

from __future__ import annotations

import base64
import json
import stat
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from support.endpoint import Reply, Request, Server
from support.launching import answers, free_port, server_argv
from support.running import Bench

from anvil.ledger.events import CheckCompleted, LaunchStarted

SECRETS = {
    "HF_TOKEN": "hf_QwErTyUiOpAsDfGhJkLzXcVbNm12345678",
    "OPENAI_API_KEY": "sk-proj-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c",
    "ANTHROPIC_API_KEY": "sk-ant-api03-zZyYxXwWvVuUtTsSrRqQpPoO",
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    "GITHUB_TOKEN": "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "WANDB_API_KEY": "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
    "NGC_API_KEY": "nvapi-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
    "DB_PASSWORD": 'p@ss"w\\rd with spaces & signs',
    "SLACK_WEBHOOK": "https://hooks.example.org/services/T0001/B0002/XyZzYxAbCdEfGh",
    "SESSION_COOKIE": "c2Vzc2lvbi1jb29raWUtdmFsdWU",
    "DATABASE_DSN": "postgres://svc:hunter2hunter2@db.example.org/prod",
    "MY_PRIVATE_KEY": "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ+D\n-----END PRIVATE KEY-----",
    "PLAIN_BEARER": "bearer-value-93847561029",
}
LISTED = ", ".join(f'"{name}"' for name in SECRETS)


def spellings(secret: str) -> set[bytes]:
    """A secret as it may stand in a file: plain, JSON-escaped, percent-encoded, hex, base64 at each alignment."""
    raw = secret.encode()
    found = {raw, json.dumps(secret)[1:-1].encode(), quote(secret, safe="").encode(), raw.hex().encode()}
    for shift in range(3):
        digits = base64.b64encode(b"x" * shift + raw)
        found.add(digits[4 if shift else 0 :].rstrip(b"=")[:-3])
    return found


def require_no_trace(bench: Bench) -> None:
    for path in bench.ledger.rglob("*"):
        if path.is_file() and "blobs" not in path.parts:
            content = path.read_bytes()
            for name, secret in SECRETS.items():
                for spelling in spellings(secret):
                    assert spelling not in content, f"{name} is in {path.name} as {spelling!r}"


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("environment")
def test_an_engine_that_repeats_all_it_was_given(bench: Bench) -> None:
    argv = ["--api-key", SECRETS["OPENAI_API_KEY"], f"--hf-token={SECRETS['HF_TOKEN']}"]
    endpoint = (
        f"env_names = [{LISTED}]\n"
        '[engines.a1.endpoint]\napi_key_env = "OPENAI_API_KEY"\n'
        'headers_env = { "X-Other" = "PLAIN_BEARER" }\n'
    )
    path = bench.recipe(behave="echoes", checks=["structured-json"], lines=endpoint)
    arguments = ", ".join(f"'{element}'" for element in argv)
    path.write_text(path.read_text().replace("'--model',", f"{arguments}, '--model',"))
    refused = bench.run(path)
    assert refused.code == 1  # a recipe holds no secrets
    for secret in SECRETS.values():
        assert secret not in refused.err
    assert bench.run(bench.recipe(behave="echoes", checks=["structured-json"], lines=endpoint)).code == 0
    assert bench.verdicts()["structured-json"] == ("failed", "http_error")
    (started,) = bench.events(LaunchStarted)
    assert started.withheld_env == len(SECRETS)
    assert dict(started.env) == dict.fromkeys(SECRETS, "[withheld]")
    (check,) = bench.events(CheckCompleted)
    assert "[withheld]" in str(check.messages)
    require_no_trace(bench)
    bench.require_whole()


@pytest.mark.usefixtures("environment")
def test_what_repeats_a_secret_is_a_private_artifact(bench: Bench) -> None:
    assert bench.run(bench.recipe(behave="echoes", checks=[], lines=f"env_names = [{LISTED}]\n")).code == 0
    assert SECRETS["HF_TOKEN"].encode() in bench.body("log")  # kept whole, outside the log of events
    for seen in bench.seen():
        assert all(artifact.commitment is not None for artifact in seen.header.artifacts)
    for path in (bench.ledger / "blobs").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert stat.S_IMODE((bench.ledger / "blobs").stat().st_mode) == 0o700
    require_no_trace(bench)


@pytest.mark.usefixtures("environment")
def test_an_endpoint_that_repeats_headers_in_identity_and_errors(bench: Bench, tmp_path: Path) -> None:
    told = " ".join(SECRETS.values())
    recipe = bench.recipe(checks=["identity", "structured-json", "finish"])
    site = bench.directory / "anvil-site.toml"
    site.write_text('[endpoints.a1]\napi_key_env = "OPENAI_API_KEY"\n')

    def chat(payload: dict[str, object]) -> Reply | str:
        if "JSON" in str(payload["messages"]):
            body = {
                "error": {"message": f"bad {told} {base64.b64encode(told.encode()).decode()} {quote(told)}"}
            }
            return Reply.of_json(body, 401)
        return "four"

    with Server(chat=chat, version=f"1.0 {told}") as server:
        server.on("/props", lambda request: {"build_info": told, "model_path": f"/models/{told}"})
        assert bench.run(recipe, "--base-url", server.base_url).code == 0
        assert _sent_key(server.requests)
    require_no_trace(bench)
    bench.require_whole()


def _sent_key(requests: list[Request]) -> bool:
    return any(r.headers.get("authorization") == f"Bearer {SECRETS['OPENAI_API_KEY']}" for r in requests)


@pytest.mark.usefixtures("environment")
def test_secrets_in_the_argv_of_what_is_attached_to(bench: Bench) -> None:
    port = free_port()
    argv = [*server_argv(port), "--api-key", SECRETS["OPENAI_API_KEY"], "--model", SECRETS["PLAIN_BEARER"]]
    log = bench.directory / "engine.log"
    with log.open("w") as output, subprocess.Popen(argv, stdout=output, stderr=output) as engine:
        try:
            site = bench.directory / "anvil-site.toml"
            site.write_text(f"[endpoints.a1]\npid = {engine.pid}\n")
            until_served(port)
            ran = bench.run(
                bench.recipe(checks=["structured-json"]), "--base-url", f"http://127.0.0.1:{port}"
            )
            assert engine.poll() is None
        finally:
            engine.kill()
    assert ran.code == 0, ran.err
    (started,) = bench.events(LaunchStarted)
    assert started.withheld_argv == 2
    assert started.argv.count("[withheld]") == 2
    assert started.withheld_env >= len(SECRETS)
    assert b"starting as serve" in bench.body("log")
    require_no_trace(bench)


def until_served(port: int) -> None:
    for _ in range(200):
        if answers(f"http://127.0.0.1:{port}"):
            return
        time.sleep(0.05)
    raise AssertionError("the engine does not answer")


@pytest.mark.usefixtures("environment")
def test_a_url_with_a_password_is_refused_and_not_repeated(bench: Bench) -> None:
    url = f"http://user:{SECRETS['OPENAI_API_KEY']}@127.0.0.1:9"
    ran = bench.run(bench.recipe(), "--base-url", url)
    assert ran.code == 1
    assert SECRETS["OPENAI_API_KEY"] not in ran.err
    require_no_trace(bench)
