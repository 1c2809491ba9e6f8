"""A ledger that another anvil wrote: an event in a shape of other days is named, and what to do; no word of pydantic."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.command import Anvil
from support.ledgers import STREAM, forge, header_in, session
from support.sides import PLAIN, recipe

from anvil.ledger.events import Event
from anvil.ledger.header import Subject
from anvil.ledger.recording import Ledger

MINE = Subject("mine")
READERS = (
    ("status",),
    ("status", "--json"),
    ("status", "--campaign", "mine"),
    ("render", "candidate-failure.v1"),
    ("render", "candidate-failure.v1", "--campaign", "mine"),
    ("compare", "mine/a", "mine/b"),
    ("why", "draft.json", "/schema"),
    ("run", "--resume", STREAM),
)


@dataclass(frozen=True)
class Earlier:
    """A ledger in which a recipe was declared before recipes had experiments, and where that stands."""

    anvil: Anvil
    index: int


def append(event: Event | str, facts: dict[str, Any]) -> int:
    """Append a stream with one event of these facts; return its index."""
    with Ledger.open(Path("anvil-ledger")) as writer:
        collector = writer.signer("collector")
        opened, *_ = session(writer.origin, collector, close=False)
        before = header_in(opened)
        odd = forge(writer.origin, event, collector, after=before, facts=facts, subject=MINE)
        start = writer.store.size()
        writer.carry([opened, odd], [])
        writer.checkpoint()
    return start + 1


@pytest.fixture
def earlier(ledger: Anvil, monkeypatch: pytest.MonkeyPatch) -> Earlier:
    # Nobody's container engine; where its socket is absent, the SDK leaves one of ours unclosed.
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    declared = recipe(("a", "tiny", PLAIN))
    facts = declared.facts()
    del facts["experiments"]
    Path("draft.json").write_text('{"schema": "candidate-failure.v1"}')
    return Earlier(ledger, append(declared, facts))


@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_an_event_in_another_shape_is_named_and_what_to_do(
    earlier: Earlier, command: tuple[str, ...]
) -> None:
    ran = earlier.anvil(*command)
    assert (ran.code, ran.out) == (1, "")
    first, advice = ran.err.splitlines()
    assert f"event {earlier.index} is a recipe.declared/1 in a shape that this anvil does not know" in first
    assert "another anvil wrote it, an earlier or a later one" in first
    assert "Use the anvil that wrote this ledger" in advice
    assert "Field required" not in ran.err


def test_what_can_be_done_with_it_all_the_same(earlier: Earlier) -> None:
    assert earlier.anvil("verify").code == 0
    assert "recipe.declared/1" in earlier.anvil("log").out
    assert '"key":"a"' in earlier.anvil("show", earlier.index).out.replace(" ", "")
    ran = earlier.anvil("decide", "current", "--rests-on", earlier.index, "--reason", "x")
    assert f"event {earlier.index} cannot be cited" in ran.err
    assert "another anvil wrote it" in ran.err


def test_a_run_that_another_anvil_left_is_not_guessed_at(ledger: Anvil) -> None:
    index = append("stream.abandoned/1", {"abandoned": STREAM})
    ran = ledger("status")
    assert f"event {index} is a stream.abandoned/1" in ran.err


def test_a_type_of_other_days_is_named_with_its_version(ledger: Anvil) -> None:
    index = append("recipe.declared/9", {})
    for command in (("status",), ("render", "candidate-failure.v1"), ("compare", "mine/a", "mine/b")):
        ran = ledger(*command)
        assert f"event {index} is a recipe.declared/9, which this anvil does not know" in ran.err
        assert "Use the anvil that wrote this ledger" in ran.err
