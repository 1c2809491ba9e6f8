"""`anvil disclose`: a private artifact becomes public, and everything that follows from it."""

from __future__ import annotations

import hashlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from support.command import Anvil
from support.planted import PLANTED

LOG = "boot ok\nserving on all interfaces\n"
DIGEST = f"sha256:{hashlib.sha256(LOG.encode()).hexdigest()}"
ABOUT = ("--subject", "campaign=mine")
NAME = "attachment-1"
CANNOT = "This cannot be taken back."


def observed(anvil: Anvil, *files: object, said: str = "It ran.") -> int:
    attached = [argument for file in files for argument in ("--attach", file)]
    ran = anvil("observe", said, "--status", "retained-complete", *attached, *ABOUT, "--json")
    assert ran.code == 0, ran.err
    index = ran.json["index"]
    assert isinstance(index, int)
    return index


def codes(anvil: Anvil, *arguments: object) -> tuple[int, list[str]]:
    report = anvil("verify", *arguments, "--json")
    return report.code, [finding["code"] for finding in report.json["findings"]]


def size(anvil: Anvil) -> int:
    found = anvil("log", "--json").json["size"]
    assert isinstance(found, int)
    return found


def blob(content: str) -> Path:
    digest = hashlib.sha256(content.encode()).hexdigest()
    return Path(f"anvil-ledger/blobs/sha256/{digest[:2]}/{digest[2:]}")


def facts(anvil: Anvil, index: int) -> dict[str, Any]:
    found: dict[str, Any] = anvil("show", index, "--json").json["header"]["facts"]
    return found


@pytest.fixture
def kept(ledger: Anvil) -> int:
    """The index of an observation with a log."""
    Path("boot.log").write_text(LOG)
    return observed(ledger, "boot.log")


# --- what is recorded -------------------------------------------------------------------------------------------


def test_bytes_become_public(ledger: Anvil, kept: int) -> None:
    ran = ledger("disclose", kept, NAME, "--reason", "It names nobody.", "--yes", "--json")
    assert ran.code == 0, ran.err
    done = ran.json
    assert (done["target"], done["artifact"], done["extent"]) == (kept, NAME, "bytes")
    assert (done["digest"], done["size"]) == (DIGEST, len(LOG))
    said = facts(ledger, done["index"])
    assert (said["extent"], said["digest"], said["size"]) == ("bytes", DIGEST, len(LOG))
    assert (said["reason"], said["exceptions"]) == ("It names nobody.", [])
    shown = ledger("show", done["index"], "--json").json["header"]
    assert (shown["event"], shown["subject"]) == ("artifact.disclosed/2", {"campaign": "mine"})
    assert codes(ledger) == (0, [])


def test_what_would_become_public_is_shown_first(ledger: Anvil, kept: int) -> None:
    ran = ledger("disclose", kept, NAME, "--yes")
    assert ran.code == 0, ran.err
    for told in (DIGEST, f"{len(LOG)} bytes", "media type  text/plain", "| boot ok", CANNOT):
        assert told in ran.err, told
    assert ran.out == (
        f"Disclosed the bytes of artifact {NAME} of event {kept}, recorded at index {size(ledger) - 2}\n"
    )


def test_a_digest_alone_shows_no_byte(ledger: Anvil, kept: int) -> None:
    ran = ledger("disclose", kept, NAME, "--digest-only", "--yes", "--json")
    assert ran.code == 0, ran.err
    assert facts(ledger, ran.json["index"])["extent"] == "digest"
    assert facts(ledger, ran.json["index"])["reason"] is None
    assert "boot ok" not in ran.err
    assert "stay private" in ran.err
    assert CANNOT in ran.err


def test_an_event_is_named_by_its_hash_too(ledger: Anvil, kept: int) -> None:
    entry_hash = ledger("show", kept, "--json").json["entry_hash"]
    assert ledger("disclose", entry_hash, NAME, "--yes").code == 0


def test_bytes_can_follow_a_digest(ledger: Anvil, kept: int) -> None:
    first = ledger("disclose", kept, NAME, "--digest-only", "--yes", "--json").json["index"]
    shown = ledger("show", kept, "--json").json["disclosed"]
    assert shown == {NAME: {"index": first, "extent": "digest", "digest": DIGEST, "size": len(LOG)}}
    second = ledger("disclose", kept, NAME, "--yes", "--json").json["index"]
    shown = ledger("show", kept, "--json").json["disclosed"]
    assert shown == {NAME: {"index": second, "extent": "bytes", "digest": DIGEST, "size": len(LOG)}}
    assert "Disclosed" in ledger("show", kept).out
    assert codes(ledger) == (0, [])


def test_what_is_empty_can_be_disclosed(ledger: Anvil) -> None:
    Path("nothing.log").write_bytes(b"")
    index = observed(ledger, "nothing.log")
    ran = ledger("disclose", index, NAME, "--yes")
    assert (ran.code, "0 lines" in ran.err) == (0, True)


# --- a person's act ---------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1), ("\n", 1)])
def test_it_asks_on_a_terminal(
    ledger: Anvil, kept: int, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    before = size(ledger)
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    ran = ledger("disclose", kept, NAME)
    assert ran.code == code, ran.err
    assert ran.err.index(CANNOT) < ran.err.index("Disclose it?")
    assert size(ledger) == before + (0 if code else 3)


def test_where_nobody_can_be_asked_nothing_is_disclosed(
    ledger: Anvil, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = size(ledger)
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    ran = ledger("disclose", kept, NAME)
    assert (ran.code, "--yes" in ran.err, size(ledger)) == (1, True, before)


def test_without_an_operator_s_key_nothing_is_shown(
    ledger: Anvil, kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANVIL_KEYS", str(tmp_path / "none"))
    ran = ledger("disclose", kept, NAME, "--yes")
    assert (ran.code, "operator" in ran.err, "boot ok" in ran.err) == (1, True, False)


# --- what is refused --------------------------------------------------------------------------------------------


def refused(anvil: Anvil, *arguments: object, says: str) -> None:
    """Require one clear message, and that nothing was recorded."""
    before = size(anvil)
    ran = anvil("disclose", *arguments, "--yes")
    assert ran.code == 1, ran.out
    assert ran.err.startswith("Error: "), ran.err
    assert says in ran.err, ran.err
    assert len(ran.err.splitlines()) <= 2, "one message and what to do next"
    assert size(anvil) == before


def test_twice(ledger: Anvil, kept: int) -> None:
    first = ledger("disclose", kept, NAME, "--yes", "--json").json["index"]
    refused(ledger, kept, NAME, says=f"event {first} disclosed it with its bytes")
    refused(ledger, kept, NAME, "--digest-only", says=f"event {first} disclosed it with its bytes")


def test_a_digest_twice(ledger: Anvil, kept: int) -> None:
    first = ledger("disclose", kept, NAME, "--digest-only", "--yes", "--json").json["index"]
    refused(ledger, kept, NAME, "--digest-only", says=f"event {first} disclosed it by its digest")


@pytest.mark.parametrize(
    "name", ["log", "attachment-2", "аttachment-1", "../../ledger.db", "ATTACHMENT-1", ""]
)
def test_a_name_that_is_not_there(ledger: Anvil, kept: int, name: str) -> None:
    """Neither a look-alike in another alphabet nor a path leads anywhere."""
    refused(ledger, kept, name, says=f"has no artifact {name!r}")


@pytest.mark.parametrize("index", [99, "f" * 64])
def test_an_event_that_is_not_there(ledger: Anvil, kept: int, index: object) -> None:
    refused(ledger, index, NAME, says=f"{index}")


def test_an_event_without_artifacts(ledger: Anvil, kept: int) -> None:
    refused(ledger, 0, NAME, says="ledger.created/1) has no artifact")


def test_a_public_one(ledger: Anvil) -> None:
    from anvil.ledger.drafts import Attachment, Draft
    from anvil.ledger.events import ObservationNoted
    from anvil.ledger.recording import Ledger
    from anvil.ledger.streams import record

    with Ledger.open(Path("anvil-ledger")) as opened:
        event = ObservationNoted(status="declared", claims=None, public_text="Rows.", text=None)
        rows = Attachment("rows", "application/x-ndjson", opened.blobs.put(b"{}\n"), is_public=True)
        index = record(opened, opened.signer("operator"), [Draft(event, attachments=(rows,))], purpose="run")[
            0
        ]
    refused(ledger, index.index, "rows", says="is public: its digest stands in the event")


def test_what_was_redacted(ledger: Anvil, kept: int) -> None:
    assert ledger("redact", kept, "--reason", "It named a customer.").code == 0
    refused(ledger, kept, NAME, says="was redacted, as event")
    refused(ledger, kept, NAME, "--digest-only", says="was redacted, as event")


def test_what_is_lost(ledger: Anvil, kept: int) -> None:
    blob(LOG).unlink()
    refused(ledger, kept, NAME, says="found nothing")
    assert ledger("note", "missing", kept, "--reason", "The disk died.").code == 0
    refused(ledger, kept, NAME, "--digest-only", says="was lost, as event")


def test_what_was_altered(ledger: Anvil, kept: int) -> None:
    blob(LOG).chmod(0o600)
    blob(LOG).write_text("another log\n")
    refused(ledger, kept, NAME, says="found 12 bytes of sha256:")


def test_what_nobody_can_open(ledger: Anvil, kept: int) -> None:
    import sqlite3
    from contextlib import closing

    from anvil.ledger.schema import TRIGGERS

    with closing(sqlite3.connect("anvil-ledger/ledger.db", isolation_level=None)) as db:
        for trigger in TRIGGERS:
            db.execute(f"DROP TRIGGER {trigger}")
        db.execute("UPDATE openings SET salt = zeroblob(32)")
        for statement in TRIGGERS.values():
            db.execute(statement)
    refused(ledger, kept, NAME, says="its opening is not what was sealed")


def test_an_event_of_a_disowned_key(ledger: Anvil, kept: int) -> None:
    first = ledger("key", "list", "--json").json["keys"]
    operator = next(key["key"] for key in first if key["role"] == "operator")
    assert ledger("key", "new", "operator").code == 0
    assert ledger("key", "revoke", operator, "--cause", "compromised", "--last-good", "1").code == 0
    refused(ledger, kept, NAME, says="it supports nothing")


def test_a_disclosure_cannot_be_retracted(ledger: Anvil, kept: int) -> None:
    index = ledger("disclose", kept, NAME, "--yes", "--json").json["index"]
    ran = ledger("retract", index, "--reason", "I did not mean it.")
    assert (ran.code, "it is not taken back" in ran.err) == (1, True)


# --- the tripwire -----------------------------------------------------------------------------------------------

TOKEN = PLANTED["hf"]


def attached(anvil: Anvil, content: bytes) -> int:
    Path("some.log").write_bytes(content)
    return observed(anvil, "some.log")


@pytest.mark.parametrize(
    "content",
    [
        f"boot\nlogged in with {TOKEN}\n",
        f"boot\nlogged in with {TOKEN[:12]}\x1b[1;36m{TOKEN[12:]}\n",
        "\n" * 40 + f"boot {TOKEN}\n" + "x\n" * 40,
        f"boot\n{TOKEN[:12]}\n{TOKEN[12:]}\n",
    ],
    ids=["a token", "coloured in the middle", "far below", "over two lines"],
)
def test_a_secret_stays_private(ledger: Anvil, content: str) -> None:
    index = attached(ledger, content.encode())
    refused(ledger, index, NAME, says="tripwire found")
    ran = ledger("disclose", index, NAME, "--yes")
    assert (TOKEN[3:12] in ran.err, CANNOT in ran.err) == (False, False), (
        "not even the one who asks is shown it"
    )


def test_what_is_sealed_stays_private(ledger: Anvil) -> None:
    sealed = "The customer is Nordwind Reederei."
    Path("none.log").write_text("x\n")
    observed(ledger, "none.log", said=sealed)
    index = attached(ledger, f"prompt: {sealed}\n".encode())
    refused(ledger, index, NAME, says="tripwire found")
    assert ledger("disclose", index, NAME, "--digest-only", "--yes").code == 0


@pytest.mark.parametrize(
    "content",
    [b"\x1f\x8b\x08\x00packed", b"\xff\xfe", b"h\0f\0_\0", b"a\x08b", "a\x85b".encode()],
    ids=["packed", "no utf-8", "utf-16", "a backspace", "a control of latin-1"],
)
def test_what_nobody_can_look_into_stays_private(ledger: Anvil, content: bytes) -> None:
    index = attached(ledger, content)
    refused(ledger, index, NAME, says="the tripwire cannot look into it")
    assert ledger("disclose", index, NAME, "--digest-only", "--yes").code == 0


def test_what_is_too_long_stays_private(ledger: Anvil, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anvil.ledger.disclosure.MOST_BYTES", 10)
    index = attached(ledger, b"eleven byte")
    refused(ledger, index, NAME, says="at most 10 can be looked through")


def test_an_exception_lets_a_text_pass_and_is_named(ledger: Anvil) -> None:
    index = attached(ledger, b"library 10.20.30.40 loaded\n")
    refused(ledger, index, NAME, says="ipv4")
    excepted = ledger(
        "except", "ipv4", "10.20.30.40", "--reason", "A version.", "--expires", "2999-01-01", "--json"
    ).json
    ran = ledger("disclose", index, NAME, "--yes", "--json")
    assert ran.code == 0, ran.err
    assert facts(ledger, ran.json["index"])["exceptions"] == [excepted["entry_hash"]]


def test_an_exception_that_has_expired_lets_nothing_pass(ledger: Anvil) -> None:
    index = attached(ledger, b"library 10.20.30.40 loaded\n")
    old = ("except", "ipv4", "10.20.30.40", "--reason", "A version.", "--expires", "2020-01-01")
    assert ledger(*old).code == 0
    refused(ledger, index, NAME, says="ipv4")


def test_the_reason_is_looked_at_too(ledger: Anvil, kept: int) -> None:
    refused(ledger, kept, NAME, "--reason", f"For {TOKEN}", says="tripwire found")


# --- exports ----------------------------------------------------------------------------------------------------


def held(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted((folder / "blobs").rglob("*")) if path.is_file()]


def tiles(anvil: Anvil, folder: str) -> tuple[int, list[str]]:
    return codes(anvil, "--tiles", folder, "--key", "anvil-ledger/log.vkey")


def test_an_export_for_everybody_carries_what_was_disclosed(ledger: Anvil, kept: int) -> None:
    other = attached(ledger, b"nobody may have this\n")
    assert ledger("export", "before").code == 0
    assert not Path("before/blobs").exists()
    assert ledger("disclose", kept, NAME, "--yes").code == 0
    assert ledger("disclose", other, NAME, "--digest-only", "--yes").code == 0
    ran = ledger("export", "before")
    assert (ran.code, "With 1 public artifact." in ran.err) == (0, True)
    assert held(Path("before")) == [LOG.encode()]
    assert not Path("before/openings.ndjson").exists()
    assert tiles(ledger, "before") == (3, ["unanchored", "not-checked"])
    (path,) = [path for path in Path("before/blobs").rglob("*") if path.is_file()]
    path.write_text("another log\n")
    assert tiles(ledger, "before") == (1, ["unanchored", "artifact-altered", "not-checked"])
    path.unlink()
    assert tiles(ledger, "before") == (1, ["unanchored", "artifact-missing", "not-checked"])


def test_an_export_loses_what_was_redacted_after_it_was_disclosed(ledger: Anvil, kept: int) -> None:
    assert ledger("disclose", kept, NAME, "--yes").code == 0
    assert ledger("export", "public").code == 0
    ran = ledger("redact", kept, "--reason", "It named a customer after all.")
    assert ran.code == 0
    assert f"event {size(ledger)}" not in ran.err
    assert "was disclosed" in ran.err
    assert ledger("export", "public").code == 0
    assert held(Path("public")) == []
    assert tiles(ledger, "public") == (3, ["unanchored", "redacted", "not-checked"])
    assert codes(ledger) == (0, ["redacted"])
    assert ledger("export", "--audit", "audit").code == 0
    assert tiles(ledger, "audit") == (3, ["unanchored", "redacted"])


def test_an_export_for_an_auditor_is_refused_even_when_its_openings_are_gone(
    ledger: Anvil, kept: int
) -> None:
    other = attached(ledger, b"nobody may have this\n")
    assert ledger("disclose", kept, NAME, "--yes").code == 0
    assert ledger("export", "--audit", "audit").code == 0
    assert tiles(ledger, "audit") == (3, ["unanchored"])
    Path("audit/openings.ndjson").unlink()
    ran = ledger("export", "audit")
    assert (ran.code, "blobs is private" in ran.err, other > kept) == (1, True, True)
    assert len(held(Path("audit"))) == 2


# --- what people ask ----------------------------------------------------------------------------------------------


def test_the_log_lists_it(ledger: Anvil, kept: int) -> None:
    assert ledger("disclose", kept, NAME, "--yes").code == 0
    events = ledger("log", "--event", "artifact.disclosed", "--json").json["events"]
    assert [(one["event"], one["subject"]) for one in events] == [
        ("artifact.disclosed/2", {"campaign": "mine"})
    ]


def test_the_status_says_what_is_public(ledger: Anvil, kept: int) -> None:
    index = ledger("disclose", kept, NAME, "--digest-only", "--yes", "--json").json["index"]
    (campaign,) = ledger("status", "--json").json["campaigns"]
    assert campaign["disclosed"] == [{"index": index, "target": kept, "artifact": NAME, "extent": "digest"}]
    assert f"Disclosed by its digest: {NAME} of event {kept} (event {index})" in ledger("status").out
    index = ledger("disclose", kept, NAME, "--yes", "--json").json["index"]
    (campaign,) = ledger("status", "--json").json["campaigns"]
    assert campaign["disclosed"] == [{"index": index, "target": kept, "artifact": NAME, "extent": "bytes"}]


def test_a_person_reads_no_escape_of_a_terminal(ledger: Anvil) -> None:
    index = attached(ledger, b"\x1b[2Jboot \x1b]0;title\x07ok\n")
    refused(ledger, index, NAME, says="the tripwire cannot look into it")  # a bell is no text
    index = attached(ledger, b"\x1b[31mboot ok\x1b[0m\n")
    ran = ledger("disclose", index, NAME, "--yes")
    assert ran.code == 0, ran.err
    assert "\x1b" not in ran.err
    assert json.dumps("\x1b")[1:-1] in ran.err
