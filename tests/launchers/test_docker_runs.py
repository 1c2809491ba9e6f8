"""`anvil run` with a real container engine: what it cannot launch, and what it can."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from support.command import run_here
from support.running import Bench

from anvil.ledger.creation import create_ledger
from anvil.ledger.events import EngineIdentified, LaunchFailed, LaunchStopped, LogExcerpted, StreamClosed

ABSENT = "sha256:" + "0" * 64


def in_container(text: str, attempt: str, image_id: str) -> str:
    """Turn an engine's block into one of a container of that image, whose entrypoint is the server."""
    before, head, after = text.partition(f"[engines.{attempt}]")
    block, line, rest = after.partition("[[attempts]]")
    argv = '["--port", "{port}", "--model", "{model}"]'
    lines = [
        f"argv = {argv}" if row.startswith("argv = ") else row.replace('"process"', '"docker"')
        for row in block.splitlines()
    ]
    container = f'image_id = "{image_id}"\n[engines.{attempt}.container]\ngpus = 0\n\n'
    return before + head + "\n".join(lines).rstrip() + "\n" + container + line + rest


@pytest.mark.needs("docker")
def test_an_image_that_is_absent_ends_its_own_attempt(
    docker_engine: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    url, image = docker_engine.url, docker_engine.image  # type: ignore[attr-defined]
    monkeypatch.chdir(tmp_path)
    create_ledger(tmp_path / "anvil-ledger", "runs.test.invalid")
    bench = Bench(tmp_path, partial(run_here, capfdbinary))
    path = bench.recipe(behave={"a1": "serve", "a2": "serve"}, checks=["structured-json"])
    path.write_text(in_container(in_container(path.read_text(), "a1", ABSENT), "a2", image))
    if url:
        (tmp_path / "anvil-site.toml").write_text(f'[docker]\nbase_url = "{url}"\n')
    ran = bench.run(path)
    assert ran.code == 0, ran.err
    (failed,) = bench.events(LaunchFailed)
    assert (failed.launcher, failed.failure) == ("docker", "not_found")
    assert f"docker pull {ABSENT}" in ran.err
    assert bench.verdicts("a1") == {"structured-json": ("incomplete", "prerequisite_failed")}
    assert bench.verdicts("a2")["structured-json"][0] == "failed"
    assert len(bench.events(EngineIdentified)) == len(bench.events(LogExcerpted)) == 1
    assert [event.is_removed for event in bench.events(LaunchStopped)] == [True]
    assert [event.reason for event in bench.events(StreamClosed)][-2:] == ["launch_failed", None]
    bench.require_whole()
    bench.require_nothing_running()
