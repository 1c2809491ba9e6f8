"""The largest suites there can be, at their wordiest, fit into one entry of the log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.endpoint import Chat
from support.repeating import suite
from support.suitefile import GOOD

from anvil.collectors.journal import Journal
from anvil.collectors.recorder import LedgerRecorder
from anvil.collectors.suites import MAX_NAMES, MAX_REQUESTS
from anvil.ledger.creation import create_ledger
from anvil.ledger.events.suites import SuiteCompleted
from anvil.ledger.header import Subject
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import Stream

ABOUT = Subject("c" * 64, "m" * 64, "a" * 64)
_LONG = " ".join(map(str, range(700)))


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[LedgerRecorder]:
    create_ledger(tmp_path / "ledger", "suites.test.invalid")
    with Ledger.open(tmp_path / "ledger") as ledger:
        stream = Stream(ledger, ledger.signer("collector"))
        journal = Journal.create(tmp_path / "journals", stream.id)
        stream.open("run")
        with stream:
            yield LedgerRecorder(ledger, stream, journal, ABOUT)
        journal.finish()


def wordy(payload: dict[str, Any]) -> Chat:
    """A wrong answer with reasoning in every channel, large counts and all that can be odd about it."""
    return Chat(
        content=f"<think>{_LONG}</think>{_LONG}",
        reasoning="because",
        message={"reasoning": "because"},
        finish_reason="content_filter_of_a_very_careful_engine",
        usage={
            "prompt_tokens": 2**50,
            "completion_tokens": 2**50,
            "total_tokens": 1,
            "reasoning_tokens": 2**50,
            "completion_tokens_details": {"reasoning_tokens": 2**49},
            "prompt_tokens_details": {"cached_tokens": 2**50},
        },
    )


def require_recorded(recorder: LedgerRecorder, name: str, **selected: Any) -> SuiteCompleted:
    done = suite(name, wordy, recorder=recorder, key="k" * 64, **selected)
    recorder.append(done.event, subject=ABOUT, attachments=done.attachments)
    assert {item.name for item in done.attachments} >= {"messages"}
    assert len(done.messages) >= len(done.event.items)
    assert all(len(json.dumps(text)) <= 1200 for text in done.messages.values())
    return done.event


def test_a_file_with_as_many_items_as_there_may_be(recorder: LedgerRecorder) -> None:
    block = '[[items]]\nid = "{}"\nprompt = "p"\nvalidator = "exact"\nexpected = "{}"\n'
    items = [
        block.format(f"{number:0{MAX_NAMES // MAX_REQUESTS}}", "y" * 3000) for number in range(MAX_REQUESTS)
    ]
    name = "h" * 64
    head = GOOD[: GOOD.index("[[items]]")].replace('name = "house"', f'name = "{name}"')
    content = "\n".join([head, *items]).encode()
    event = require_recorded(recorder, name, content=content, file="house.toml", repetitions=1)
    assert len(event.requests) == MAX_REQUESTS


def test_a_retrieval_at_as_many_depths_as_there_may_be(recorder: LedgerRecorder) -> None:
    parameters = {"target_tokens": 100, "depths": tuple(range(10))}
    event = require_recorded(recorder, "retrieval", parameters=parameters)
    assert len(event.requests) == 10 * 3 + 1
    assert len(event.prompts) == 10 * 3 + 1


def test_all_pictures_and_clips_three_times(recorder: LedgerRecorder) -> None:
    assert len(require_recorded(recorder, "multimodal").requests) == MAX_REQUESTS
