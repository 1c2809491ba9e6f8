"""Killed at a chosen system call: nothing half-made stays, nothing acknowledged is lost, and the next
command finishes or begins again.

A tracer kills the process in place of its n-th flush, rename, write or deletion. The usual run takes a
few moments of each kind; `make soak` takes all of them.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from support import faults
from support.faults import Ran, dying

from anvil.ledger.recording import Ledger
from anvil.ledger.streams import record

pytestmark = pytest.mark.needs("strace")

WORDS = "the-host-is-zuerich-7-PRIVATE"
BYTES = b"log of zuerich-7: PRIVATE bytes, of some length\n" * 400


def moments(often: dict[str, tuple[int, ...]], most: int) -> list[Any]:
    """(call, number) of each run, and up to `most` of each call for `make soak`."""
    calls = ("fsync", "fdatasync", "rename", "pwrite64", "write", "unlink", "openat", "ftruncate", "mkdir")
    usual = [(call, number) for call, numbers in often.items() for number in numbers]
    rest = [(call, n) for call in calls for n in range(1, most + 1) if (call, n) not in usual]
    return [*usual, *(pytest.param(*moment, marks=pytest.mark.soak) for moment in rest)]


def killed(ran: Ran) -> bool:
    """Say whether the moment came at all before the command was done."""
    assert ran.code in (0, -9, 137), ran
    return ran.code != 0


def traces(place: Path) -> list[str]:
    """Return the files of a ledger in which the private words or bytes stand, plainly or spelled otherwise."""
    forms = []
    for secret in (WORDS.encode(), BYTES[:48]):
        forms += [secret, secret.hex().encode(), secret.hex().upper().encode()]
        for shift in range(3):  # base64 of the same bytes at any offset
            forms.append(base64.b64encode(b"\0" * shift + secret)[4:-4])
    files = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    return [str(path.relative_to(place)) for path, held in files.items() if any(f in held for f in forms)]


def with_secret(place: Path) -> int:
    """Record private words and bytes; return the index of their event."""
    with Ledger.open(place) as ledger:
        draft = faults.secret(ledger, WORDS, BYTES)
        index = record(ledger, ledger.signer("operator"), [draft], purpose="observation")[0].index
    assert len(traces(place)) == 2  # the database and the blob: the search itself works
    return index


@pytest.mark.parametrize(
    ("call", "number"), moments({"fsync": (16,), "fdatasync": (2,), "rename": (3, 7)}, 25)
)
def test_killed_while_a_ledger_is_made(tmp_path: Path, call: str, number: int) -> None:
    place = tmp_path / "here" / "ledger"
    place.parent.mkdir()
    died = killed(faults.anvil(place, "init", "--origin", faults.NAME, under=dying(call, number)))
    if died and not place.exists():
        faults.make(place)
    faults.require_sound(place)
    faults.observe(place, "works").done()


@pytest.mark.parametrize(("call", "number"), moments({"rename": (1,), "fsync": (3,), "fdatasync": (1,)}, 12))
def test_killed_while_an_artifact_is_kept(place: Path, tmp_path: Path, call: str, number: int) -> None:
    """No event names a blob that is not there."""
    (tmp_path / "engine.log").write_bytes(BYTES)
    arguments = (
        "observe",
        WORDS,
        "--status",
        "retained-complete",
        "--attach",
        tmp_path / "engine.log",
        "--json",
    )
    died = killed(faults.anvil(place, *arguments, under=dying(call, number)))
    faults.require_sound(place)
    assert died or faults.size(place) == 5
    faults.anvil(place, *arguments).done()
    faults.require_sound(place)


@pytest.mark.parametrize(
    ("call", "number"),
    moments(
        {"unlink": (1,), "fdatasync": (1, 2, 3), "fsync": (1, 2), "ftruncate": (1, 2), "pwrite64": (9,)}, 30
    ),
)
def test_killed_while_redacting(place: Path, call: str, number: int) -> None:
    """Running it again finishes: no byte of what was redacted is found in any file."""
    index = with_secret(place)
    arguments = ("redact", str(index), "--reason", "It named a host.")
    killed(faults.anvil(place, *arguments, under=dying(call, number)))
    faults.require_sound(place, "redacted")
    faults.anvil(place, *arguments).done()
    assert traces(place) == []
    report = faults.require_sound(place, "redacted")
    assert [f.message for f in report.findings] == ["2 sealed values or artifacts were redacted"]


def test_an_artifact_half_written_before_a_kill_goes_with_the_redaction(place: Path, tmp_path: Path) -> None:
    """The bytes lie under a temporary name that nothing knows; the same artifact is then kept and redacted."""
    (tmp_path / "engine.log").write_bytes(BYTES)
    arguments = (
        "observe",
        "x",
        "--status",
        "retained-complete",
        "--attach",
        tmp_path / "engine.log",
        "--json",
    )
    assert killed(faults.anvil(place, *arguments, under=dying("rename", 1)))
    assert len(traces(place)) == 1
    index = faults.anvil(place, *arguments).done().json["index"]
    faults.anvil(place, "redact", str(index), "--reason", "It named a host.").done()
    assert traces(place) == []


@pytest.mark.parametrize(("call", "number"), moments({"rename": (6, 8), "fsync": (20,)}, 40))
def test_killed_while_restoring(place: Path, tmp_path: Path, call: str, number: int) -> None:
    """A restored ledger is there whole, with its artifacts, or not at all."""
    with_secret(place)
    faults.anvil(place, "backup", tmp_path / "copy.db").done()
    target = tmp_path / "here" / "restored"
    target.parent.mkdir()
    arguments = ("restore", tmp_path / "copy.db", "--blobs", place / "blobs")
    died = killed(faults.anvil(target, *arguments, under=dying(call, number)))
    if died and not target.exists():
        faults.anvil(target, *arguments).done()
    faults.require_sound(target)
    faults.observe(target, "works").done()
    faults.require_sound(place)


@pytest.mark.parametrize(("call", "number"), moments({"pwrite64": (8,), "rename": (1,)}, 12))
def test_killed_while_a_backup_is_made(place: Path, tmp_path: Path, call: str, number: int) -> None:
    with_secret(place)
    copy = tmp_path / "copies" / "copy.db"
    copy.parent.mkdir()
    died = killed(faults.anvil(place, "backup", copy, under=dying(call, number)))
    assert all(path.stat().st_mode & 0o077 == 0 for path in copy.parent.iterdir())  # it is all private
    if died and not copy.exists():
        faults.anvil(place, "backup", copy).done()
    faults.anvil(tmp_path / "restored", "restore", copy, "--blobs", place / "blobs").done()
    faults.require_sound(tmp_path / "restored")


@pytest.mark.parametrize(("call", "number"), moments({"rename": (1, 3, 7)}, 20))
def test_killed_while_exporting(place: Path, tmp_path: Path, call: str, number: int) -> None:
    with Ledger.open(place) as ledger:
        drafts = [faults.said(f"{n}") for n in range(300)] + [faults.secret(ledger, WORDS, BYTES)]
        record(ledger, ledger.signer("operator"), drafts, purpose="run")
    out = tmp_path / "export"
    killed(faults.anvil(place, "export", "--audit", out, under=dying(call, number)))
    faults.anvil(place, "export", "--audit", out).done()
    faults.anvil(place, "checkpoint", "--json").done()
    ran = faults.anvil(place, "verify", "--tiles", out, "--key", place / "log.vkey", "--json")
    assert ran.code == 3, ran.out
    assert [f["code"] for f in ran.json["findings"]] == ["unanchored"]


@pytest.mark.parametrize(("call", "number"), moments({"rename": (1,), "fdatasync": (2,)}, 12))
def test_killed_while_anchoring(place: Path, tmp_path: Path, call: str, number: int) -> None:
    acknowledged = faults.leave_wal(place, tmp_path / "acks")
    killed(faults.anvil(place, "checkpoint", under=dying(call, number)))
    assert not faults.missing(place, acknowledged)
    faults.require_sound(place)
    faults.observe(place, "works").done()
    assert faults.anchored_size(place) == faults.size(place)
