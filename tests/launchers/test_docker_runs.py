"""`anvil run` with a real container engine: what it cannot launch, and what it can."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
from support.command import run_here
from support.loads import content, loads, measured, told
from support.running import Bench

from anvil.ledger.creation import create_ledger
from anvil.ledger.events import (
    EngineIdentified,
    LaunchFailed,
    LaunchStopped,
    LoadMeasured,
    LogExcerpted,
    StreamClosed,
)
from anvil.ledger.rows import read_rows

ABSENT = "sha256:" + "0" * 64


LOAD = """[[protocols]]
id = "capacity"
parameters = { input_tokens = 40, output_tokens = 16, concurrency = [4], requests = 8, runs = 2 }
"""


def in_container(text: str, attempt: str, image_id: str, behave: str = "serve") -> str:
    """Turn an engine's block into one of a container of that image, whose entrypoint is the server."""
    before, head, after = text.partition(f"[engines.{attempt}]")
    block, line, rest = after.partition("[[attempts]]")
    argv = '["--port", "{port}", "--model", "{model}", "--behave", "' + behave + '"]'
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


@pytest.mark.needs("docker")
def test_a_load_through_the_published_port(
    docker_engine: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    """Docker's proxy stands between; calibration, counters and identity are those of a load without one."""
    url, image = docker_engine.url, docker_engine.image  # type: ignore[attr-defined]
    monkeypatch.chdir(tmp_path)
    create_ledger(tmp_path / "anvil-ledger", "runs.test.invalid")
    bench = Bench(tmp_path, partial(run_here, capfdbinary))
    path = bench.recipe(engine="vllm", checks=[], more=LOAD)
    path.write_text(in_container(path.read_text(), "a1", image, "load"))
    if url:
        (tmp_path / "anvil-site.toml").write_text(f'[docker]\nbase_url = "{url}"\n')
    ran = bench.run(path)
    assert ran.code == 0, ran.err
    warm, *runs = measured(bench)
    assert [told(event) for event in (warm, *runs)] == [
        ("c4", "warm-up", 1, "completed", warm.expected),
        ("c4", "measured", 1, "completed", 8),
        ("c4", "measured", 2, "completed", 8),
    ]
    for seen in loads(bench)[1:]:
        event = seen.event
        assert isinstance(event, LoadMeasured)
        assert (event.canary, event.failed, event.counters_missing) == ("passed", 0, None)
        observed = {item.name: item.value for item in event.observed}
        assert observed["calibration_transport"] == "tcp"
        assert observed["calibration_requests"]
        assert event.resolution_ns is not None
        counted = {
            item.name: int(Fraction(item.after or 0) - Fraction(item.before or 0)) for item in event.counters
        }
        _, rows = read_rows(content(bench, seen, "rows"))
        assert counted["prompt_tokens"] == sum(row.prompt_tokens or 0 for row in rows)
        assert counted["completion_tokens"] == 8 * event.expected == event.output_events
        assert counted["finished_requests"] == event.expected
        assert {row.prompt_tokens for row in rows} == {40}
    (identified,) = bench.events(EngineIdentified)
    said = {(claim.source, claim.what): claim.value for claim in identified.claims}
    assert said["image_digest", "image"] == image
    assert said["version_endpoint", "engine_version"] == "1.2.3"
    assert (identified.served_name_matches, identified.accepts_any_model) == (True, True)
    assert [event.is_removed for event in bench.events(LaunchStopped)] == [True]
    bench.require_whole()
    bench.require_nothing_running()
