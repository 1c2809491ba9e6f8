"""`anvil recompute`: the rows that an event names, made again from the record that it names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.command import Ran, run_here
from support.endpoint import CASES, Server
from support.loading import load

from anvil.collectors.load.comparison import differences
from anvil.collectors.load.record import write_record
from anvil.collectors.load.rows import PARSER_VERSION, derive
from anvil.ledger.creation import create_ledger
from anvil.ledger.drafts import Attachment, Draft
from anvil.ledger.events import LoadMeasured
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import Stream


@pytest.fixture(scope="module")
def record() -> bytes:
    with Server(every=CASES["good"]) as server:
        return write_record(*load(server, count=3))


def measured(**changed: Any) -> LoadMeasured:
    members: dict[str, Any] = {
        "protocol": "steady",
        "kind": "capacity",
        "version": 1,
        "parser_version": PARSER_VERSION,
        "cell": "c1",
        "phase": "measured",
        "run": 1,
        "outcome": "completed",
        "expected": 3,
        "completed": 3,
        "failed": 0,
        "arrival": "closed-loop",
        "concurrency": 1,
        "rate_per_s": None,
        "input_target_tokens": None,
        "output_cap_tokens": 16,
        "ignores_eos": False,
        "shared_prefix_tokens": 0,
        "cache_state": "unknown",
        "seed": 1,
        "prompts": (),
        "resolution_ns": None,
        "lag_p99_ns": None,
        "output_events": 0,
        "output_reads": 0,
        "canary": "not_sent",
        "counters": (),
        "counters_missing": "not_asked",
        "telemetry_missing": "no_gpu",
        "parameters": (),
        "observed": (),
        "findings": (),
        "messages": None,
    }
    return LoadMeasured(**members | changed)


def recorded(directory: Path, record: bytes, rows: bytes, **changed: Any) -> int:
    """Make a ledger with a load event in it, and return the event's index."""
    create_ledger(directory, "ledger.test.invalid/load")
    with Ledger.open(directory) as ledger:
        kept = (
            Attachment("rows", "application/x-ndjson", ledger.blobs.put(rows), is_public=True),
            Attachment("record", "application/x-ndjson", ledger.blobs.put(record)),
        )
        stream = Stream.start(ledger, ledger.signer("collector"), purpose="test")
        done = stream.append([Draft(measured(**changed), attachments=kept)])
        stream.close()
    return done[0].index


@pytest.fixture
def recompute(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Any:
    def run(record: bytes, rows: bytes, *options: object, index: int | None = None, **changed: Any) -> Ran:
        at = recorded(tmp_path / "ledger", record, rows, **changed)
        target = at if index is None else index
        return run_here(capfdbinary, "--ledger", tmp_path / "ledger", "recompute", target, *options)

    return run


def test_what_was_kept_is_what_is_made(recompute: Any, record: bytes) -> None:
    rows = derive(record)
    done = recompute(record, rows)
    assert (done.code, done.out) == (0, f"Equal: 3 rows, {len(rows)} bytes, made by parser 1.\n")


def test_a_figure_that_was_changed_is_named(recompute: Any, record: bytes) -> None:
    rows = derive(record)
    done = recompute(record, rows.replace(b'"completion_tokens":5', b'"completion_tokens":6', 1), "--json")
    assert (done.code, done.json["equal"]) == (1, False)
    assert done.json["differences"] == ["line 2: completion_tokens: kept 6, made 5"]


def test_a_row_that_was_left_out_is_named(recompute: Any, record: bytes) -> None:
    lines = derive(record).splitlines(keepends=True)
    done = recompute(record, b"".join(lines[:-1]))
    assert done.code == 1
    assert "line 4: made only\n" in done.out


def test_the_events_own_counts_are_compared(recompute: Any, record: bytes) -> None:
    done = recompute(record, derive(record), completed=2, failed=1)
    assert done.code == 1
    assert done.out.splitlines()[:2] == [
        "the event says 2 completed, its rows 3",
        "the event says 1 failed, its rows 0",
    ]


def test_rows_of_another_parser_are_not_compared(recompute: Any, record: bytes) -> None:
    done = recompute(record, derive(record), parser_version=PARSER_VERSION + 1)
    assert (done.code, done.out) == (1, "")
    assert "made by parser 2, and this anvil has parser 1" in done.err


def test_other_events_have_no_rows(recompute: Any, record: bytes) -> None:
    done = recompute(record, derive(record), index=0)
    assert (done.code, done.out) == (1, "")
    assert "entry 0 is ledger.created/1, which has no rows" in done.err


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        (b'{"a":1}\n{"b":2}\n', []),
        (b'{"a":1}\n{"b":2}', ["the ends of the files differ"]),
        (b'{"a":1}\n{"b":2}\n\n', ["line 3: kept only"]),
        (b'{"a":1}\n{"c":2}\n', ["line 2: b: kept nothing, made 2", "line 2: c: kept 2, made nothing"]),
        (b"[]\n{}\n", ["line 1: what was kept is no row", "line 2: b: kept nothing, made 2"]),
        (b'{"a":1}\n{"b":2}\n{"c":3}\n', ["line 3: kept only"]),
    ],
    ids=str,
)
def test_each_difference_is_told(kept: bytes, told: list[str]) -> None:
    assert list(differences(kept, b'{"a":1}\n{"b":2}\n')) == told


def test_a_line_that_is_no_json_is_told() -> None:
    (told,) = differences(b'{"a":1}\noops\n', b'{"a":1}\n{"b":2}\n')
    assert told.startswith("line 2: what was kept is no row: not canonical JSON")
