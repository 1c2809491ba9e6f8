"""A ledger that a later anvil wrote to: events of types that this build does not know get in nobody's way."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.command import Anvil
from support.ledgers import forge, header_in, session

from anvil.ledger.commitments import Opening
from anvil.ledger.events import CATALOGUE
from anvil.ledger.recording import Ledger

UNKNOWN = ("weather.seen/1", "observation.noted/9999")
SECRET = Opening(b"s" * 32, b'"a secret of tomorrow"')
STATUS = ("--status", "declared")


@dataclass(frozen=True)
class Future:
    """A ledger with a stream of unknown events, one of them with a sealed value, and their indices."""

    anvil: Anvil
    indices: tuple[int, ...]


@pytest.fixture
def future(ledger: Anvil) -> Future:
    assert not set(UNKNOWN) & set(CATALOGUE)
    with Ledger.open(Path("anvil-ledger")) as writer:
        operator = writer.signer("operator")
        entries = session(writer.origin, operator, *UNKNOWN, close=False)
        sealed = {"words": SECRET.commitment()}
        facts = {"wind": {"metres_per_second": 7}, "clouds": ["high", None, True]}
        after = header_in(entries[-1])
        entries.append(
            forge(writer.origin, "weather.seen/2", operator, after=after, facts=facts, sealed=sealed)
        )
        start = writer.store.size()
        writer.carry(entries, [SECRET])
        writer.checkpoint()
    return Future(ledger, tuple(range(start + 1, start + len(entries))))


def test_log_lists_events_of_unknown_types(future: Future) -> None:
    listed = {e["index"]: e["event"] for e in future.anvil("log", "--json").json["events"]}
    assert [listed[i] for i in future.indices] == [*UNKNOWN, "weather.seen/2"]
    text = future.anvil("log").out
    assert all(name in text for name in UNKNOWN)
    only = future.anvil("log", "--event", "weather.seen", "--json").json["events"]
    assert [e["index"] for e in only] == [future.indices[0], future.indices[2]]


def test_show_shows_what_an_unknown_event_says_and_what_is_sealed_in_it(future: Future) -> None:
    index = future.indices[2]
    shown = future.anvil("show", index, "--json").json
    assert shown["header"]["facts"] == {"wind": {"metres_per_second": 7}, "clouds": ["high", None, True]}
    assert shown["sealed"] == {"words": "a secret of tomorrow"}
    text = future.anvil("show", index).out
    for part in ("weather.seen/2", '{"metres_per_second": 7}', "a secret of tomorrow"):
        assert part in text
    assert json.loads(future.anvil("show", index, "--raw").out)["event"] == "weather.seen/2"
    for other in future.indices[:2]:
        assert future.anvil("show", other).code == 0


def test_verify_says_which_it_does_not_know(future: Future) -> None:
    report = future.anvil("verify", "--json")
    unknown = [f["message"] for f in report.json["findings"] if f["code"] == "unknown-type"]
    assert (report.code, len(unknown)) == (0, 3)
    assert all(any(name in message for message in unknown) for name in (*UNKNOWN, "weather.seen/2"))


def test_nothing_is_said_about_what_cannot_be_read(future: Future) -> None:
    about = ("--subject", "campaign=mine", "--reason", "x")
    ran = future.anvil("decide", "current", "--rests-on", future.indices[0], *about)
    assert ran.code == 1
    assert f"event {future.indices[0]} cannot be cited" in ran.err
    assert "weather.seen/1" in ran.err


def test_recording_goes_on(future: Future) -> None:
    index = future.anvil("observe", "after it", *STATUS, "--json").json["index"]
    assert index > max(future.indices)
    assert future.anvil("key", "rotate", "operator").code == 0
    assert future.anvil("key", "list").code == 0
    assert future.anvil("checkpoint").code == 0
    assert future.anvil("verify").code == 0


def test_what_is_sealed_in_an_unknown_event_can_be_redacted(future: Future) -> None:
    index = future.indices[2]
    assert future.anvil("redact", index, "--reason", "Of tomorrow.", "--field", "words").code == 0
    assert future.anvil("show", index, "--json").json["sealed"] == {"words": None}
    report = future.anvil("verify", "--json")
    assert report.code == 0
    assert "redacted" in [f["code"] for f in report.json["findings"]]


def test_an_unknown_event_is_proved_exported_backed_up_and_restored(future: Future, tmp_path: Path) -> None:
    anvil, index, key = future.anvil, future.indices[0], Path("anvil-ledger/log.vkey")
    assert anvil("prove", index, "--out", tmp_path).code == 0
    files = ("--proof", tmp_path / f"{index}.tlog-proof", "--entry", tmp_path / f"{index}.entry")
    assert anvil("verify", *files, "--key", key, "--json").json["event"] == UNKNOWN[0]
    assert anvil("export", tmp_path / "out", "--audit").code == 0
    codes = [
        f["code"]
        for f in anvil("verify", "--tiles", tmp_path / "out", "--key", key, "--json").json["findings"]
    ]
    assert (codes.count("unknown-type"), set(codes)) == (3, {"unknown-type", "unanchored", "stream-open"})
    assert anvil("backup", tmp_path / "b.db").code == 0
    assert anvil("restore", tmp_path / "b.db", "again").code == 0
    assert anvil("--ledger", "again", "show", index + 1).code == 0
    assert anvil("--ledger", "again", "observe", "on", *STATUS).code == 0
    assert anvil("--ledger", "again", "verify").code == 0
