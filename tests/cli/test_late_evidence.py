"""Bytes that are found later, and bytes that are lost: `observe --to` and `note missing`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from support.command import Anvil, Ran, run_here
from support.laguna import laguna

ABOUT = ("--subject", "campaign=mine")
REASON = ("--reason", "The disk died.")


def observed(anvil: Anvil, *arguments: object) -> int:
    ran = anvil("observe", *arguments, "--json")
    assert ran.code == 0, ran.err
    index = ran.json["index"]
    assert isinstance(index, int)
    return index


def status(anvil: Anvil, index: int) -> dict[str, Any]:
    campaigns = anvil("status", "--json").json["campaigns"]
    return next(o for c in campaigns for o in c["observations"] if o["index"] == index)


def lose(content: bytes) -> None:
    files = Path("anvil-ledger/blobs").rglob("*")
    next(path for path in files if path.is_file() and path.read_bytes() == content).unlink()


def codes(anvil: Anvil) -> tuple[int, list[str]]:
    report = anvil("verify", "--json")
    return report.code, [finding["code"] for finding in report.json["findings"]]


@pytest.fixture
def kept(ledger: Anvil) -> int:
    """The index of an observation with a file."""
    Path("a.log").write_bytes(b"boot ok\n")
    return observed(ledger, "It ran.", "--status", "retained-complete", "--attach", "a.log", *ABOUT)


def test_the_status_rises_by_what_the_bytes_support(ledger: Anvil) -> None:
    said = observed(ledger, "Nonsense.", "--status", "operator-observed-incomplete", *ABOUT)
    Path("response.json").write_bytes(b'{"text":"nonsense"}')
    found = observed(ledger, "--attach", "response.json", "--to", said)
    assert (status(ledger, said)["status"], status(ledger, said)["claimed_status"]) == (
        "imported-artifact",
        "operator-observed-incomplete",
    )
    shown = ledger("show", found, "--json").json
    assert (shown["header"]["event"], shown["header"]["subject"]) == (
        "evidence.attached/1",
        {"campaign": "mine"},
    )
    Path("whole.json").write_bytes(b'{"whole":"answer"}')
    more = ("From the proxy's disk.", "--status", "retained-complete")
    second = observed(ledger, *more, "--attach", "whole.json", "--to", said)
    assert status(ledger, said)["later_evidence"] == [found, second]
    assert status(ledger, said)["status"] == "retained-complete"
    assert ledger("show", second, "--json").json["sealed"] == {"text": "From the proxy's disk."}
    assert ledger("redact", second, "--reason", "x").code == 0
    assert status(ledger, said)["status"] == "imported-artifact"
    assert codes(ledger) == (0, ["redacted"])


def test_a_loss_is_said_and_what_is_found_again_comes_back(ledger: Anvil, kept: int) -> None:
    lose(b"boot ok\n")
    assert codes(ledger) == (1, ["artifact-missing"])
    ran = ledger("note", "missing", kept, *REASON)
    assert (ran.code, ran.out.startswith("Noted at index")) == (0, True)
    assert codes(ledger) == (0, ["lost"])
    assert status(ledger, kept)["status"] == "artifact-missing"
    again = ledger("note", "missing", kept, "--artifact", "attachment-1", *REASON)
    assert (again.code, "was lost, as event" in again.err) == (1, True)
    found = observed(ledger, "--attach", "a.log", "--to", kept)
    assert ledger("show", found, "--json").json["header"]["facts"]["restores"] == ["attachment-1"]
    assert status(ledger, kept)["status"] == "retained-complete"
    assert codes(ledger) == (0, ["lost"])
    lose(b"boot ok\n")
    assert ledger("note", "missing", kept, *REASON).code == 0, "lost once more"


def test_only_what_is_lost_is_called_lost(ledger: Anvil, kept: int) -> None:
    ran = ledger("note", "missing", kept, "--artifact", "attachment-1", *REASON)
    assert (ran.code, "its bytes are in the blob store" in ran.err) == (1, True)
    assert "lacks nothing" in ledger("note", "missing", kept, *REASON).err
    path = next(p for p in Path("anvil-ledger/blobs").rglob("*") if p.is_file())
    path.write_bytes(b"other")
    ran = ledger("note", "missing", kept, "--artifact", "attachment-1", *REASON)
    assert (ran.code, "not lost but altered" in ran.err, "found 5 bytes" in ran.err) == (1, True, True)
    assert ledger("redact", kept, "--reason", "x").code == 0
    ran = ledger("note", "missing", kept, "--artifact", "attachment-1", *REASON)
    assert (ran.code, "was redacted, as event" in ran.err) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--to", 3], 2, "--to needs --attach"),
        (["--to", 3, "--attach", "a.log"], 1, "is no new evidence"),
        (["--to", 3, "--attach", "b.log", "--subject", "campaign=x"], 2, "--subject does not go with --to"),
        (["--to", 3, "--attach", "b.log", "--status", "declared"], 1, "does not say that bytes were kept"),
        (["--to", 99, "--attach", "b.log"], 1, "there is no entry 99"),
        (["--to", 0, "--attach", "b.log"], 1, "about the ledger itself"),
        (["--to", 6, "--attach", "b.log"], 1, "observes nothing"),
        (["--to", 9, "--attach", "b.log"], 1, "is declared"),
        (["x", "--attach", "b.log"], 2, "--status"),
        ([*ABOUT, "--status", "declared"], 2, "one of them"),
        (["x", "--file", "b.log", "--status", "declared"], 2, "one of them"),
    ],
)
def test_what_is_refused(ledger: Anvil, kept: int, arguments: list[object], code: int, says: str) -> None:
    assert kept == 3
    assert ledger("note", "gap", "x", *ABOUT).code == 0
    assert observed(ledger, "x", "--status", "declared", *ABOUT) == 9
    Path("b.log").write_bytes(b"other bytes")
    before = ledger("log", "--json").json["size"]
    ran = ledger("observe", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err
    assert ledger("log", "--json").json["size"] == before
    assert not [
        p for p in Path("anvil-ledger/blobs").rglob("*") if p.is_file() and p.read_bytes() == b"other bytes"
    ]


def test_words_from_a_file_and_from_standard_input(ledger: Anvil, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("words.txt").write_bytes("Zürich said:\n“no”\n".encode())
    status = ("--status", "declared")
    first = observed(ledger, "--file", "words.txt", *status)
    for arguments in (("-",), ("--file", "-")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path("words.txt").read_bytes())))
        index = observed(ledger, *arguments, *status)
        assert ledger("show", index, "--json").json["sealed"] == {"text": "Zürich said:\n“no”"}
    assert ledger("show", first, "--json").json["sealed"] == {"text": "Zürich said:\n“no”"}
    ran = ledger("observe", "--file", "words.txt", "--public", *status)
    assert (ran.code, "one line" in ran.err) == (1, True)


def test_a_file_for_an_observation_in_parts_names_those_that_it_supports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    made = laguna(tmp_path / "anvil-ledger")
    index = made.observed[2].index
    Path("found.json").write_text("{}")

    def observe(*options: object) -> Ran:
        return run_here(capfdbinary, "observe", "--attach", "found.json", "--to", *options)

    refused = observe(index)
    assert refused.code == 1
    assert "--supports words" in refused.err
    assert observe(index, "--supports", "settings").code == 2
    assert observe(index, "--supports", "health", "--supports", "health").code == 0
    said = run_here(capfdbinary, "status", "--json").json["campaigns"][0]["observations"][2]
    assert (said["index"], said["status"]) == (index, "operator-observed-incomplete")
    document = run_here(capfdbinary, "render", "candidate-failure.v1", "--provenance", "p.json").json
    assert document["attempts"][2]["evidence_status"] == "operator-observed-incomplete"
    leaves = {leaf["pointer"]: leaf for leaf in json.loads(Path("p.json").read_text())["leaves"]}
    assert leaves["/attempts/2/health"]["status"] == "imported-artifact"
    assert leaves["/attempts/2/failure"]["status"] == "operator-observed-incomplete"
    words = run_here(
        capfdbinary, "observe", "It ran.", "--status", "operator-observed-incomplete", "--json"
    ).json
    whole = run_here(
        capfdbinary, "observe", "--attach", "found.json", "--to", words["index"], "--supports", "words"
    )
    assert whole.code == 1
    assert "Leave out --supports" in whole.err
