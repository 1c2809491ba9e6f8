"""The weights of an attempt are looked through before it is launched, once per campaign."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.running import Bench
from support.snapshots import REVISION, TEMPLATE, Cache, good_cache

from anvil.collectors.weights.documents import template_digest
from anvil.ledger.events import EngineIdentified, LaunchStarted, StreamClosed, WeightsInspected


def with_cache(bench: Bench, recipe: Path, revision: str = REVISION) -> Cache:
    """A cache with the recipe's model in it, which the site names."""
    cache = good_cache(bench.directory / "hf")
    site = f'[caches]\nhuggingface = "{bench.directory / "hf"}"\n'
    (bench.directory / "anvil-site.toml").write_text(site)
    text = recipe.read_text().replace('model = "org/tiny"', f'model = "org/tiny"\nrevision = "{revision}"', 1)
    recipe.write_text(text.replace("'{model}'", "'{model}', '--revision', '{revision}'"))
    return cache


def test_weights_come_before_the_launch_and_are_kept_whole(bench: Bench) -> None:
    recipe = bench.recipe(checks=["identity"])
    with_cache(bench, recipe)
    ran = bench.run(recipe)
    assert ran.code == 0, ran.err
    (order,) = bench.types()
    assert order.index("weights.inspected") < order.index("launch.started")
    (event,) = bench.events(WeightsInspected)
    assert (event.model, event.revision, event.tensors, event.findings) == ("org/tiny", REVISION, 3, ())
    assert len(json.loads(bench.body("inventory"))["files"]) == event.files == 8
    assert "GB/s" in ran.err or "MB/s" in ran.err or "kB/s" in ran.err
    bench.require_whole()
    bench.require_nothing_running()


def test_what_the_files_say_is_one_more_source_of_identity(bench: Bench) -> None:
    recipe = bench.recipe(behave="last-words", checks=["identity"])
    with_cache(bench, recipe)
    ran = bench.run(recipe)
    assert ran.code == 0, ran.err
    (identity,) = bench.events(EngineIdentified)
    claims = {(claim.source, claim.what): claim.value for claim in identity.claims}
    assert claims["model_files", "model_revision"] == REVISION
    assert claims["chat_template", "chat_template"] == template_digest(TEMPLATE)


def test_a_later_attempt_of_the_campaign_cites_the_first_look(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = bench.recipe(behave={"a1": "serve", "a2": "serve"}, checks=[])
    cache = with_cache(bench, recipe)
    monkeypatch.setattr(
        "anvil.collectors.weights.inspection.SETTLED_NS", -1 << 60
    )  # nothing changes meanwhile
    assert bench.run(recipe, "--attempt", "a1").code == 0
    first = next(seen for seen in bench.seen() if isinstance(seen.event, WeightsInspected))
    (cache.snapshot / "README.md").resolve().write_bytes(b"# bent\n")
    assert bench.run(recipe, "--attempt", "a2").code == 0
    again = bench.events(WeightsInspected)[-1]
    assert (again.earlier, again.reused_files) == (first.entry_hash, 7)
    assert [finding.kind for finding in again.findings] == ["identity-differs"]
    assert bench.run(recipe, "--attempt", "a2", "--campaign", "other").code == 0
    assert bench.events(WeightsInspected)[-1].earlier is None


def test_weights_that_a_recipe_describes_and_that_are_not_here(bench: Bench) -> None:
    recipe = bench.recipe(checks=[])
    text = recipe.read_text()
    recipe.write_text(
        text.replace('thinking = "none"', 'thinking = "none"\nweights = { safetensors_files = 2 }')
    )
    assert bench.run(recipe).code == 0
    (event,) = bench.events(WeightsInspected)
    assert [finding.kind for finding in event.findings] == ["snapshot-not-found"]


def test_somebody_elses_engine_has_weights_that_are_not_ours_to_name(bench: Bench) -> None:
    from support.endpoint import Server

    recipe = bench.recipe(checks=[])
    with_cache(bench, recipe)
    with Server() as server:
        assert bench.run(recipe, "--base-url", server.base_url).code == 0
    assert bench.events(WeightsInspected) == []


def test_an_interrupt_ends_the_look_and_launches_nothing(bench: Bench) -> None:
    recipe = bench.recipe(checks=[])
    cache = with_cache(bench, recipe)
    with (cache.snapshot / "model-huge.safetensors").open("wb") as file:
        file.truncate(900 << 30)  # sparse; minutes of reading
    argv = [str(Path(sys.executable).with_name("anvil")), "run", str(recipe)]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as child:
        assert child.stderr is not None
        for line in child.stderr:
            if "looking through the weights" in line:
                time.sleep(0.3)
                child.send_signal(signal.SIGINT)
                break
        said = child.communicate(timeout=60)[1]
    assert child.returncode == 130
    assert "interrupted" in said
    assert bench.events(LaunchStarted) == []
    assert bench.events(StreamClosed)[-1].reason == "interrupted"
    bench.require_whole()
