"""Several at once: lanes side by side, and many recordings into one ledger."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.endpoint import Chat, Server
from support.running import Bench

from anvil.ledger.events import CheckCompleted, HostObserved, LaunchStarted, StreamClosed

ANVIL = Path(sys.executable).with_name("anvil")
PARALLEL = 10


def test_two_lanes_record_into_two_streams_at_the_same_time(bench: Bench) -> None:
    path = bench.recipe(behave={"a1": "serve", "a2": "serve"}, checks=["identity", "structured-json"])
    text = path.read_text()
    for key in ("a1", "a2"):
        text = text.replace(
            f'key = "{key}"\n', f'key = "{key}"\nside_by_side = "both"\nplacement = "on-{key}"\n'
        )
    path.write_text(text)
    site = bench.directory / "anvil-site.toml"
    ports = bench.ports
    site.write_text("".join(f"[placements.on-{key}]\nport = {ports[key]}\n" for key in ports))
    ran = bench.run(path)
    assert ran.code == 0, ran.err
    attempts: dict[str, set[str | None]] = {}
    order = []
    for seen in bench.seen():
        if seen.header.subject.attempt is not None:
            attempts.setdefault(seen.header.stream, set()).add(seen.header.subject.attempt)
            order.append(type(seen.event))
    assert sorted(attempts.values(), key=str) == [{"a1"}, {"a2"}]
    assert order.index(CheckCompleted) > len(order) - 1 - order[::-1].index(
        LaunchStarted
    )  # both were up first
    first, second = bench.types()
    assert first == second
    bench.require_whole()
    bench.require_nothing_running()


def test_two_lanes_whose_placements_are_then_exchanged(bench: Bench) -> None:
    keys = ("a1", "a2", "b1", "b2")
    path = bench.recipe(behave=dict.fromkeys(keys, "serve"), checks=["identity"])
    text = path.read_text()
    on = {"a1": ("first", "left"), "a2": ("first", "right"), "b1": ("then", "right"), "b2": ("then", "left")}
    for key, (when, where) in on.items():
        more = f'key = "{key}"\nside_by_side = "{when}"\nplacement = "{where}"\n'
        text = text.replace(f'key = "{key}"\n', more)
    path.write_text(text)
    ports = {"left": bench.ports["a1"], "right": bench.ports["a2"]}
    site = "".join(f"[placements.{name}]\nport = {port}\n" for name, port in ports.items())
    (bench.directory / "anvil-site.toml").write_text(site)
    ran = bench.run(path)
    assert ran.code == 0, ran.err
    placed = {
        s.header.subject.attempt: s.event.placement
        for s in bench.seen()
        if isinstance(s.event, LaunchStarted)
    }
    assert placed == {key: where for key, (_, where) in on.items()}
    moments = [event.moment for event in bench.events(HostObserved)]
    assert sorted(moments) == ["after"] * 4 + ["before"] * 4
    assert len(bench.types()) == 4
    bench.require_whole()
    bench.require_nothing_running()


def test_ten_parallel_recordings_lose_nothing(bench: Bench) -> None:
    recipe = bench.recipe(checks=["structured-json"])
    with Server(chat=lambda payload: Chat(content="{}")) as server:
        argv = [str(ANVIL), "run", str(recipe), "--base-url", server.base_url]
        children = [
            subprocess.Popen([*argv, "--campaign", f"c{number}"], stderr=subprocess.PIPE, text=True)
            for number in range(PARALLEL)
        ]
        said = [child.communicate(timeout=120)[1] for child in children]
    assert [child.returncode for child in children] == [0] * PARALLEL, said
    one = bench.types()[0]
    assert bench.types() == [one] * PARALLEL
    assert [e.outcome for e in bench.events(StreamClosed)][-PARALLEL:] == ["completed"] * PARALLEL
    campaigns = {s.header.subject.campaign for s in bench.seen() if isinstance(s.event, CheckCompleted)}
    assert campaigns == {f"c{number}" for number in range(PARALLEL)}
    bench.require_whole()
