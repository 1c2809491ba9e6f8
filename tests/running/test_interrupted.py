"""Ctrl-C, SIGTERM and SIGHUP: the stream is closed as aborted, the engine's log is kept, the engine is gone."""

from __future__ import annotations

import asyncio
import errno
import io
import os
import signal
import sys
from collections.abc import Sequence

import pytest
from support.interrupting import interrupt
from support.running import Bench

from anvil.collectors.commands.run import ended_in_order
from anvil.collectors.running.interrupts import Interrupted
from anvil.collectors.running.narration import LiveNarrator, Narrator, PlainNarrator
from anvil.ledger.drafts import Draft
from anvil.ledger.events import CaveatNoted, HostObserved, LaunchStopped, LogRetained, StreamClosed
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import record

INT, TERM, HUP = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


def require_ended_in_order(bench: Bench) -> None:
    closed = bench.events(StreamClosed)[-1]
    assert (closed.outcome, closed.reason) == ("aborted", "interrupted")
    assert len(bench.events(LogRetained)) == 2
    (stopped,) = bench.events(LaunchStopped)
    assert stopped.is_removed
    assert [event.moment for event in bench.events(HostObserved)] == ["before", "after"]
    bench.require_whole()  # what was seen and named by nothing yet is named
    bench.require_nothing_running()  # nor is a journal left
    before = len(bench.seen())
    ran = bench.run("--recover", "--json")
    assert ran.json["recovered"] == 0
    assert "container" not in ran.err
    assert len(bench.seen()) == before


@pytest.mark.parametrize("number", [INT, TERM, HUP])
def test_during_a_check(bench: Bench, number: signal.Signals) -> None:
    said = interrupt(
        bench, "a1: structured-json", number, behave="hangs", checks=["structured-json", "coding"]
    )
    assert "the run was interrupted; what it had seen is recorded" in said
    require_ended_in_order(bench)
    assert f"anvil run --resume {bench.seen()[-1].header.stream}" in " ".join(said.split())
    assert bench.verdicts() == {"structured-json": ("incomplete", None)}
    assert {n for k, n, _ in bench.artifacts() if k == "check.completed"} == {"object.request"}


@pytest.mark.parametrize("number", [INT, TERM])
def test_while_waiting_for_the_first_token(bench: Bench, number: signal.Signals) -> None:
    interrupt(bench, "waiting for the first token", number, behave="deaf")
    require_ended_in_order(bench)
    assert bench.verdicts() == {}


def test_while_the_engine_is_being_stopped(bench: Bench) -> None:
    """The last check is judged, and the engine takes its time to end."""
    recipe = {"behave": "slow-end", "checks": ["structured-json"]}
    said = " ".join(interrupt(bench, "structured-json          ", TERM, **recipe).split())
    require_ended_in_order(bench)
    assert "the run was interrupted; what it had seen is recorded Nothing is left to do" in said
    assert "--resume" not in said
    ran = bench.run("--resume", bench.seen()[-1].header.stream)
    assert (ran.code, ran.out) == (1, "")
    assert "nothing is left of the run" in ran.err
    assert bench.body("log").endswith(b"ending 9\ngoodbye\n")
    assert set(bench.verdicts()) == {"structured-json"}


async def under_a_signal(ledger: Ledger, number: signal.Signals, recorded: Sequence[Draft]) -> None:
    with ended_in_order(ledger):
        if recorded:
            record(ledger, ledger.signer("collector"), recorded, purpose="run")
        os.kill(os.getpid(), number)
        await asyncio.sleep(60)


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        ((), "the run was interrupted before anything was recorded"),
        ((Draft(CaveatNoted(text="x", about=())),), "the run was interrupted; what it had seen is recorded"),
    ],
)
def test_it_says_that_something_is_recorded_only_when_it_is(
    bench: Bench, recorded: Sequence[Draft], said: str
) -> None:
    with Ledger.open(bench.ledger) as ledger:
        for number in (TERM, INT, HUP):
            with pytest.raises(Interrupted) as ended:
                asyncio.run(under_a_signal(ledger, number, recorded))
            assert (str(ended.value), ended.value.exit_code) == (said, 128 + number)


def test_a_run_under_nohup_goes_on_without_its_terminal(bench: Bench) -> None:
    async def hung_up(ledger: Ledger) -> str:
        with ended_in_order(ledger):
            os.kill(os.getpid(), HUP)
            await asyncio.sleep(0)
            return "went on"

    before = signal.signal(HUP, signal.SIG_IGN)
    try:
        with Ledger.open(bench.ledger) as ledger:
            assert asyncio.run(hung_up(ledger)) == "went on"
        assert signal.getsignal(HUP) is signal.SIG_IGN
    finally:
        signal.signal(HUP, before)


class Gone(io.StringIO):
    """A terminal whose other end went away."""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize("kind", [LiveNarrator, PlainNarrator])
def test_a_terminal_that_went_away_ends_no_run(kind: type[Narrator], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its narration goes nowhere, and keeping goes on."""
    monkeypatch.setattr(sys, "stderr", Gone())
    told = kind()
    told.say("keeping")
    told.begin("stopping")
    told.close()
