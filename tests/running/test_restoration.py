"""Gates around a run: recorded before the first launch, compared after the last stop, and again when asked."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.router import Engine, Router
from support.running import Bench

from anvil.ledger.events import RestorationChecked, StreamAbandoned, StreamClosed

ANVIL = Path(sys.executable).with_name("anvil")

GATES = """
[[restoration]]
gate = "client"
kind = "file"
about = "What clients are configured with did not change"

[[restoration]]
gate = "health"
kind = "command"
about = "The host's own check is content"
"""

ROUTED = """
[[restoration]]
gate = "engine"
kind = "http"
about = "The engine answers"
served_model = "qwen"

[[restoration]]
gate = "router"
kind = "http"
about = "The alias leads to it"
served_model = "primary"
direct = "engine"
"""


def place(bench: Bench, text: str = "", *, command: str = "pass") -> None:
    """Write a site that places the gates of `GATES`, and what `text` says."""
    (bench.directory / "client.toml").write_text("model = 'qwen'\n")
    (bench.directory / "anvil-site.toml").write_text(
        f'[restoration.client]\npath = "{bench.directory}/client.toml"\n'
        f"[restoration.health]\nargv = ['{sys.executable}', '-c', '{command}']\n{text}"
    )


def looks(bench: Bench) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(e.gate, e.outcome, e.differences) for e in bench.events(RestorationChecked)]


def test_gates_are_recorded_before_and_compared_after(bench: Bench) -> None:
    place(bench)
    ran = bench.run(bench.recipe(checks=[], more=GATES))
    assert ran.code == 0, ran.err
    assert bench.types("restoration") == [["stream.opened", *["restoration.checked"] * 4, "stream.closed"]]
    assert [look[:2] for look in looks(bench)] == [
        ("client", "recorded"),
        ("health", "recorded"),
        ("client", "passed"),
        ("health", "passed"),
    ]
    order = [seen.header.event.partition("/")[0] for seen in bench.seen()]
    launched = order.index("launch.started")
    stopped = len(order) - 1 - order[::-1].index("launch.stopped")
    at = [index for index, kind in enumerate(order) if kind == "restoration.checked"]
    assert at[1] < launched < stopped < at[2]
    hashes = {seen.entry_hash: seen.event for seen in bench.seen()}
    for event in bench.events(RestorationChecked)[2:]:
        assert hashes[event.before].gate == event.gate
    bench.require_whole()
    bench.require_nothing_running()


def test_a_gate_that_fails_is_looked_at_again_when_asked_against_the_same_state(bench: Bench) -> None:
    flag = bench.directory / "flag"
    place(bench, command=f'import os, sys; sys.exit(os.path.exists("{flag}"))')
    recipe = bench.recipe(checks=["identity"], more=GATES)
    on_launch(bench, recipe, flag.touch)
    assert looks(bench)[-1] == ("health", "failed", ("exit-code",))
    assert bench.run(recipe, "--gates").code == 1
    flag.unlink()
    ran = bench.run(recipe, "--gates", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["gates"][-1] == {"gate": "health", "outcome": "passed", "differences": []}
    first = next(
        s for s in bench.seen() if isinstance(s.event, RestorationChecked) and s.event.gate == "health"
    )
    last = bench.events(RestorationChecked)[-1]
    assert (last.gate, last.outcome, last.before) == ("health", "passed", first.entry_hash)
    bench.require_whole()


def on_launch(bench: Bench, recipe: Path, act: Callable[[], object]) -> None:
    """Run in a process of its own, and act once the engine is launched."""
    argv = [str(ANVIL), "run", str(recipe)]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as child:
        assert child.stderr is not None
        said = []
        for line in child.stderr:
            said.append(line)
            if "launched tiny" in line:
                act()
        assert child.wait(60) == 0, said


def test_a_router_and_the_engine_behind_it(bench: Bench) -> None:
    with Engine("qwen", "fp-1") as engine, Engine("b") as other, Router({"primary": engine}) as router:
        places = f'[restoration.engine]\nbase_url = "{engine.base_url}"\n'
        places += f'[restoration.router]\nbase_url = "{router.base_url}"\n'
        place(bench, places)
        recipe = bench.recipe(checks=[], more=ROUTED)
        assert bench.run(recipe).code == 0
        assert [look[:2] for look in looks(bench)][2:] == [("engine", "passed"), ("router", "passed")]
        router.advertised = "fp-0"
        assert bench.run(recipe).code == 0
        assert looks(bench)[-1] == ("router", "failed", ("direct-advertised",))
        router.aliases["primary"], router.advertised = other, None
        assert bench.run(recipe, "--gates").code == 1
        assert "direct-prompt-tokens" not in looks(bench)[-1][2]  # they count alike
        assert {"model", "direct-model"} <= set(looks(bench)[-1][2])
    assert b"chat.completion" in bench.body("response")
    bench.require_whole()


def test_a_later_run_does_not_take_what_it_finds_for_what_was(bench: Bench) -> None:
    place(bench)
    recipe = bench.recipe(checks=[], more=GATES)
    client = bench.directory / "client.toml"
    on_launch(bench, recipe, lambda: client.write_text("model = 'other'\n"))
    assert bench.run(recipe).code == 0
    outcomes = [event.outcome for event in bench.events(RestorationChecked) if event.gate == "client"]
    assert outcomes == ["recorded", "failed", "failed"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_ends_early(number: signal.Signals, bench: Bench) -> None:
    place(bench)
    argv = [str(ANVIL), "run", str(bench.recipe(behave="deaf", more=GATES))]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as child:
        assert child.stderr is not None
        for line in child.stderr:
            if "waiting for the first token" in line:
                time.sleep(0.2)
                child.send_signal(number)
                break
        child.communicate(timeout=60)
    if number == signal.SIGINT:
        assert [look[:2] for look in looks(bench)][2:] == [("client", "incomplete"), ("health", "incomplete")]
        assert bench.events(StreamClosed)[-1].reason == "interrupted"
    assert bench.run("--recover").code == 0
    if number == signal.SIGKILL:
        assert len(bench.events(StreamAbandoned)) == 2  # the attempt's and the gates'
    bench.require_whole()
    bench.require_nothing_running()
    assert bench.run(bench.directory / "mine.toml", "--gates").code == 0  # what was before is still known


def test_misuse(bench: Bench) -> None:
    recipe = bench.recipe()
    assert bench.run(recipe, "--gates").code == 1
    assert bench.run("--gates").code == 2
    assert bench.run("--gates", "--recover").code == 2
