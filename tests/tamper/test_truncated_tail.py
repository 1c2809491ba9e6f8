"""The last N events are cut off: everything that is left verifies, and only outside knowledge tells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.ledgers import OTHER_STREAM, SIZE, STREAM, Small, attack, push, refused, session, sign_head

from anvil.ledger.wording import counted

CLI = Callable[..., tuple[int, dict[str, Any]]]


def cut(small: Small, events: int, *, checkpoints: bool) -> int:
    """Cut the last `events`, and with `checkpoints` those that cover them; return the new size."""
    size = SIZE - events
    with attack(small) as db:
        db.execute('DELETE FROM entries WHERE "index" >= ?', [size])
        if checkpoints:
            db.execute("DELETE FROM checkpoints WHERE size > ?", [size])
    return size


@pytest.mark.parametrize("checkpoints", [False, True])
@pytest.mark.parametrize("events", [1, 2, 3, 6, SIZE - 1, SIZE])
def test_the_anchor_knows_how_far_it_went(small: Small, events: int, checkpoints: bool) -> None:
    size = cut(small, events, checkpoints=checkpoints)
    report = small.verify()
    refused(report, "rolled-back", size, exit_code=4)
    said = [(f.expected, f.found) for f in report.findings if f.message.startswith("the anchor")]
    assert said == [(counted(SIZE, "entry"), counted(size, "entry"))]


def test_the_command_line_names_both_sizes(small: Small, cli: CLI) -> None:
    cut(small, 3, checkpoints=True)
    code, report = cli(small.place.directory)
    assert code == report["exit_code"] == 4
    assert [(f["code"], f["index"], f["until"]) for f in report["findings"]] == [("rolled-back", 11, 14)]


def test_without_an_anchor_a_stored_checkpoint_tells(small: Small) -> None:
    cut(small, 3, checkpoints=False)
    refused(small.verify(anchored=False), "rolled-back", 11, exit_code=4)


def test_without_anything_outside_it_says_that_it_cannot_know(small: Small, cli: CLI) -> None:
    cut(small, 3, checkpoints=True)
    report = small.verify(anchored=False)
    assert [f.code for f in report.findings] == ["unanchored"]
    assert report.exit_code == 3
    small.anchor.path.unlink()
    assert cli(small.place.directory)[0] == 3


def test_a_kept_checkpoint_tells(small: Small, cli: CLI, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_bytes(small.checkpoint())
    cut(small, 3, checkpoints=True)
    refused(small.verify(anchored=False, pinned=kept.read_bytes()), "rolled-back", 11, exit_code=4)
    small.anchor.path.unlink()
    assert cli(small.place.directory, "--checkpoint", kept)[0] == 4


def test_an_earlier_verification_tells(small: Small, cli: CLI, tmp_path: Path) -> None:
    state = tmp_path / "state"
    assert cli(small.place.directory, "--since", state)[0] == 0
    before = state.read_bytes()
    cut(small, 3, checkpoints=True)
    small.anchor.path.unlink()
    code, report = cli(small.place.directory, "--since", state)
    assert code == 4
    assert "rolled-back" in {f["code"] for f in report["findings"]}
    assert state.read_bytes() == before


@pytest.mark.parametrize("signed", [True, False])
def test_an_earlier_verification_tells_after_the_log_grew_again(small: Small, signed: bool) -> None:
    state = small.state()
    cut(small, 3, checkpoints=True)
    with attack(small) as db:
        for stream in (STREAM, OTHER_STREAM):
            push(db, *session(small.origin, small.key("operator"), stream=stream))
        if signed:
            sign_head(db, small.origin, small.key("ledger"))
    report = small.verify(anchored=False, state=state)
    if signed:
        refused(report, "split-view", 11, exit_code=4)
    else:
        refused(report, "tampered", 11)
