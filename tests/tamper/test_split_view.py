"""Two histories of one ledger, both signed by its real ledger key: whoever stole it, or runs the log, can.

Only what is known from outside tells them apart: an anchor, a kept checkpoint, an earlier verification.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.ledgers import (
    SEALED,
    SIZE,
    Small,
    attack,
    grow,
    push,
    refused,
    rewrite,
    said,
    session,
    sign_head,
)

from anvil.ledger.errors import SplitView
from anvil.ledger.recording import Ledger

CLI = Callable[..., tuple[int, dict[str, Any]]]


def second_history(small: Small, *, keep: int, more: int) -> None:
    """Replace what follows the first `keep` entries by other streams, `more` of them, and sign the end."""
    entries = small.entries()[:keep]
    for number in range(more):
        stream = f"20261130T072616Z-{number:016x}"
        entries += session(small.origin, small.key("operator"), said(f"other {number}"), stream=stream)
    with attack(small) as db:
        rewrite(db, entries)
        if keep <= SEALED:
            db.execute("DELETE FROM openings")
        sign_head(db, small.origin, small.key("ledger"))


SIZES = [(11, 1), (11, 3), (2, 4), (2, 9)]
"""As long as the true one or longer."""


@pytest.mark.parametrize(("keep", "more"), SIZES)
def test_against_the_anchor(small: Small, cli: CLI, keep: int, more: int) -> None:
    second_history(small, keep=keep, more=more)
    finding = refused(small.verify(), "split-view", keep, exit_code=4)
    assert finding.expected != finding.found
    assert cli(small.place.directory)[0] == 4
    with pytest.raises(SplitView):
        Ledger.open(small.place.directory)


@pytest.mark.parametrize(("keep", "more"), SIZES)
def test_against_a_kept_checkpoint(small: Small, cli: CLI, keep: int, more: int, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_bytes(small.checkpoint())
    second_history(small, keep=keep, more=more)
    small.anchor.path.unlink()
    refused(small.verify(anchored=False, pinned=kept.read_bytes()), "split-view", keep, exit_code=4)
    code, report = cli(small.place.directory, "--checkpoint", kept)
    (finding,) = report["findings"]
    assert (code, finding["code"]) == (4, "split-view")
    assert finding["expected"] != finding["found"]


@pytest.mark.parametrize(("keep", "more"), SIZES)
def test_against_an_earlier_verification(
    small: Small, cli: CLI, keep: int, more: int, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    assert cli(small.place.directory, "--since", state)[0] == 0
    second_history(small, keep=keep, more=more)
    small.anchor.path.unlink()
    code, report = cli(small.place.directory, "--since", state)
    assert code == 4
    assert "split-view" in {f["code"] for f in report["findings"]}


def test_a_shorter_second_history_is_a_rollback(small: Small) -> None:
    second_history(small, keep=2, more=1)
    refused(small.verify(), "rolled-back", 5, exit_code=4)


def test_a_kept_checkpoint_older_than_the_earlier_verification(
    small: Small, tmp_path: Path, cli: CLI
) -> None:
    # The verifier believes one history, and holds a checkpoint of another: what it kept is not forgotten.
    state, kept = tmp_path / "state", tmp_path / "kept"
    kept.write_bytes(small.checkpoint())
    second_history(small, keep=2, more=9)
    small.anchor.path.unlink()
    assert cli(small.place.directory, "--since", state)[0] == 3
    code, report = cli(small.place.directory, "--since", state, "--checkpoint", kept)
    assert code == 4
    assert "split-view" in {f["code"] for f in report["findings"]}


def test_without_anything_from_outside_neither_can_be_told_from_the_other(small: Small) -> None:
    second_history(small, keep=2, more=5)
    report = small.verify(anchored=False)
    assert (report.exit_code, [f.code for f in report.findings]) == (3, ["unanchored"])


def test_the_true_history_goes_on(small: Small) -> None:
    state, kept = small.state(), small.checkpoint()
    grow(small)
    report = small.verify(pinned=kept, state=state)
    assert (report.exit_code, report.begin, report.size) == (0, SIZE, SIZE + 3)


def test_both_checkpoints_are_stored(small: Small) -> None:
    second_history(small, keep=11, more=1)
    with attack(small) as db:
        push(db, *session(small.origin, small.key("collector"), stream="20261130T072616Z-00000000000000ff"))
    refused(small.verify(), "split-view", 11, exit_code=4)
