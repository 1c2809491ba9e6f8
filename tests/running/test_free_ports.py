"""`port = 0`: each run has a port of its own, chosen by anvil; one that is named is as strict as ever."""

from __future__ import annotations

import socket

import pytest
from support.running import Bench

from anvil.collectors.launchers.ports import HeldPort
from anvil.ledger.events import LaunchStarted

CHECKS = ("identity",)


def ports(bench: Bench) -> list[int]:
    """The ports that engines were given, as the ledger has them."""
    started = [event.argv for event in bench.events(LaunchStarted)]
    return [int(argv[argv.index("--port") + 1]) for argv in started]


def test_each_attempt_gets_a_free_one_and_it_is_on_record(bench: Bench) -> None:
    bench.ports |= {"a1": 0, "a2": 0}
    ran = bench.run(bench.recipe(behave={"a1": "serve", "a2": "serve"}, checks=CHECKS))
    assert ran.code == 0, ran.err
    for key in ("a1", "a2"):
        assert bench.verdicts(key)["identity"][0] == "passed"
    first, second = ports(bench)
    assert first != second
    assert min(first, second) > 0
    for number in (first, second):
        assert f"at 127.0.0.1:{number}" in ran.err
    bench.require_whole()
    bench.ports |= {"a1": first, "a2": second}
    bench.require_nothing_running()


def test_the_chosen_one_is_held_from_the_plan_to_the_launch(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []
    chosen: list[HeldPort] = []
    release = HeldPort.release

    def try_first(self: HeldPort) -> None:
        if self not in chosen:
            chosen.append(self)
            with socket.socket() as other, pytest.raises(OSError, match="in use"):
                other.bind(("127.0.0.1", self.number))
            tried.append(self.number)
        release(self)

    monkeypatch.setattr(HeldPort, "release", try_first)
    bench.ports["a1"] = 0
    assert bench.run(bench.recipe(checks=CHECKS)).code == 0
    assert tried == ports(bench)


def test_an_engine_that_is_launched_once_more_has_it_again(bench: Bench) -> None:
    bench.ports["a1"] = 0
    path = bench.recipe(behave="traceback", checks=CHECKS)
    path.write_text(path.read_text().replace("about = ", 'on_exit = "relaunch"\nabout = ', 1))
    bench.run(path)
    first, second = ports(bench)
    assert first == second


def test_nothing_of_it_is_left_where_the_run_does_not_begin(bench: Bench) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        bench.ports |= {"a1": 0, "a2": taken.getsockname()[1]}
        ran = bench.run(bench.recipe(behave={"a1": "serve", "a2": "serve"}, checks=CHECKS))
    assert ran.code == 1
    assert f"attempt 'a2' was not started: port {bench.ports['a2']} is held by" in ran.err
    assert bench.events(LaunchStarted) == []
