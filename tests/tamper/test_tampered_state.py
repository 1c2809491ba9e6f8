"""The verifier's own state file is altered, exchanged, or of another ledger."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.ledgers import SIZE, Small, attack, grow, push, refused, said, session, small_ledger

from anvil.ledger import canonical
from anvil.ledger.errors import LedgerError
from anvil.ledger.verifierstate import VerifierState

CLI = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def state(small: Small, cli: CLI, tmp_path: Path) -> Path:
    path = tmp_path / "state"
    assert cli(small.place.directory, "--since", path)[0] == 0
    return path


def change(path: Path, **members: Any) -> None:
    path.write_bytes(canonical.encode({**json.loads(path.read_bytes()), **members}))


def test_another_ledgers(small: Small, cli: CLI, tmp_path: Path) -> None:
    other = small_ledger(tmp_path / "other")
    refused(small.verify(state=other.state()), "other-ledger")
    refused(small.verify(state=other.state(), anchored=False), "other-ledger")


def test_a_byte_is_flipped(small: Small, state: Path, cli: CLI) -> None:
    raw = state.read_bytes()
    for at in range(0, len(raw), max(1, len(raw) // 40)):
        state.write_bytes(raw[:at] + bytes([raw[at] ^ 0xFF]) + raw[at + 1 :])
        assert cli(small.place.directory, "--since", state)[0] in (1, 3)


@pytest.mark.parametrize(
    "members",
    [
        {"schema": "anvil.verifier-state/2"},
        {"size": SIZE - 1},
        {"root": "00" * 32},
        {"tiles": []},
        {"tiles": [["00" * 32] * SIZE]},
        {"tiles": 7},
        {"keyrings": None},
        {"keyrings": [{}]},
        {"heads": [{"stream": "x"}]},
        {"heads": [["x"]]},
        {"heads": [{"stream": [], "ledger": "a", "key": "b", "seq": 0, "header_hash": "c", "state": "open"}]},
        {
            "heads": [
                {"stream": "s", "ledger": "a", "key": "b", "seq": "0", "header_hash": "c", "state": "open"}
            ]
        },
        {"carried": [{}]},
        {"origin": 7},
    ],
)
def test_a_member_is_altered(small: Small, state: Path, cli: CLI, members: dict[str, Any]) -> None:
    change(state, **members)
    grow(small)
    assert cli(small.place.directory, "--since", state)[0] in (1, 3)


@pytest.mark.parametrize("number", ["x", None, -1, [1]])
@pytest.mark.parametrize("member", ["added", "rotated", "revoked", "last_good"])
def test_a_key_counts_from_elsewhere(small: Small, state: Path, cli: CLI, member: str, number: Any) -> None:
    keyrings = json.loads(state.read_bytes())["keyrings"]
    for key in keyrings[0]["keys"]:
        key[member] = number
    change(state, keyrings=keyrings)
    grow(small)
    code, _ = cli(small.place.directory, "--since", state)
    assert code in (0, 1, 3)


def test_another_tree_that_fits_its_own_root(small: Small, state: Path) -> None:
    from anvil.ledger.tiledtree import TiledTree

    tree = TiledTree([[b"\x01" * 32] * SIZE])
    change(state, tiles=[["01" * 32] * SIZE], root=tree.root().hex())
    grow(small)
    report = small.verify(state=VerifierState.parse(state.read_bytes()))
    assert report.exit_code == 4
    refused(report, "split-view", 0, exit_code=4)


def test_a_head_is_altered(small: Small, cli: CLI, tmp_path: Path) -> None:
    key = small.key("operator")
    entries = session(small.origin, key, said("x"))
    with attack(small) as db:
        push(db, *entries[:1])
    state = tmp_path / "state"
    assert cli(small.place.directory, "--since", state)[0] == 0
    (head,) = json.loads(state.read_bytes())["heads"]
    change(state, heads=[{**head, "header_hash": "00" * 32}])
    with attack(small) as db:
        push(db, *entries[1:])
    refused(small.verify(state=VerifierState.parse(state.read_bytes())), "chain-broken", SIZE + 1)


def test_old_rows_are_not_read_again_and_it_says_so(small: Small, state: Path, cli: CLI) -> None:
    with attack(small) as db:
        db.execute("UPDATE entries SET campaign = 'x' WHERE \"index\" = 4")
    code, report = cli(small.place.directory, "--since", state)
    assert (code, report["read_from"]) == (0, SIZE)
    assert cli(small.place.directory)[0] == 1


def test_a_new_row_is_read(small: Small, state: Path, cli: CLI) -> None:
    grow(small)
    with attack(small) as db:
        db.execute("UPDATE entries SET campaign = 'x' WHERE \"index\" = ?", [SIZE + 1])
    before = state.read_bytes()
    code, report = cli(small.place.directory, "--since", state)
    assert code == 1
    assert ("column-differs", SIZE + 1) in {(f["code"], f["index"]) for f in report["findings"]}
    assert state.read_bytes() == before


def test_no_state_at_all(small: Small, state: Path) -> None:
    for content in (b"", b"null", b"[]", b"\xff", b"[" * 10_000):
        with pytest.raises(LedgerError):
            VerifierState.parse(content)
