"""What each command does for the person who types it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from support.command import Anvil

from anvil.ledger.note import VerifierKey
from anvil.ledger.store import Store
from anvil.ledger.tlogproof import TlogProof

STATUS = ("--status", "operator-observed-incomplete")


def observed(anvil: Anvil, text: str, *more: object) -> int:
    ran = anvil("observe", text, *STATUS, *more, "--json")
    assert ran.code == 0, ran.err
    index = ran.json["index"]
    assert isinstance(index, int)
    return index


def test_init_says_where_the_keys_are_and_keeps_them_out_of_the_ledger(anvil: Anvil) -> None:
    ran = anvil("init", "--origin", "example.test.invalid/lab", "--json")
    assert ran.json["origin"].startswith("example.test.invalid/lab-")
    assert set(ran.json["key_files"]) == {"ledger", "root", "operator", "collector"}
    assert not [p for p in Path("anvil-ledger").rglob("*") if p.suffix == ".pem"]
    assert all(Path(p).stat().st_mode & 0o777 == 0o600 for p in ran.json["key_files"].values())


def test_two_ledgers_of_one_name_are_two_ledgers(anvil: Anvil) -> None:
    first = anvil("init", "a", "--origin", "x.test.invalid", "--json").json["origin"]
    assert first != anvil("init", "b", "--origin", "x.test.invalid", "--json").json["origin"]


def test_observed_words_are_sealed_unless_public(ledger: Anvil) -> None:
    secret = observed(ledger, "the customer is Acme")
    public = observed(ledger, "the engine started", "--public")
    raw = ledger("show", secret, "--raw").out
    assert "Acme" not in raw
    assert ledger("show", secret, "--json").json["sealed"] == {"text": "the customer is Acme"}
    assert "the engine started" in ledger("show", public, "--raw").out


def test_an_attachment_is_private_and_its_file_name_is_not_recorded(ledger: Anvil) -> None:
    Path("secret-project.log").write_text("boot ok\n")
    index = observed(ledger, "log kept", "--attach", "secret-project.log")
    shown = ledger("show", index, "--json").json
    digest = "sha256:" + hashlib.sha256(b"boot ok\n").hexdigest()
    assert shown["artifacts"] == {"attachment-1": {"digest": digest, "size": 8}}
    assert digest not in json.dumps(shown["header"])
    everything = b"".join(p.read_bytes() for p in Path("anvil-ledger").rglob("*") if p.is_file())
    assert b"secret-project" not in everything


def test_the_subject_stands_in_the_header(ledger: Anvil) -> None:
    index = observed(ledger, "x", "--subject", "campaign=qwen38", "--subject", "attempt=a1")
    assert ledger("show", index, "--json").json["header"]["subject"] == {
        "campaign": "qwen38",
        "attempt": "a1",
    }
    listed = ledger("log", "--campaign", "qwen38", "--json").json["events"]
    assert [event["index"] for event in listed] == [index]


def test_log_filters_and_limits(ledger: Anvil) -> None:
    for number in range(3):
        observed(ledger, f"n{number}")
    events = ledger("log", "--event", "observation.noted", "--last", 2, "--json").json["events"]
    assert [event["event"] for event in events] == ["observation.noted/2"] * 2
    assert ledger("log", "--event", "nothing.such").out == "No events.\n"
    assert len(ledger("log").out.splitlines()) == ledger("log", "--json").json["size"] == 11
    assert all(len(line) <= 80 for line in ledger("log").out.splitlines())


def test_verify_says_whose_ledger_and_how_far_and_why(ledger: Anvil) -> None:
    key = VerifierKey.parse(Path("anvil-ledger/log.vkey").read_text().strip())
    ran = ledger("verify")
    assert ran.code == 0
    assert key.fingerprint in ran.out
    assert "Verified: 2 entries." in ran.out
    report = ledger("verify", "--json").json
    assert (report["verified"], report["anchored_by"], report["findings"]) == (True, ["the anchor"], [])


def test_verify_without_an_anchor_is_unanchored_and_a_kept_checkpoint_anchors_it(
    ledger: Anvil, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    kept.write_text(ledger("checkpoint").out)
    observed(ledger, "later")
    monkeypatch.setenv("ANVIL_STATE", str(tmp_path / "another-machine"))
    ran = ledger("verify")
    assert ran.code == 3
    assert "whether there were more is not known" in ran.out
    assert ledger("verify", "--checkpoint", kept).code == 0


def test_verify_since_reads_only_what_is_new_and_says_so(ledger: Anvil) -> None:
    first = ledger("verify", "--since", "mine.state")
    assert first.code == 0
    assert "does not exist yet" in first.err
    observed(ledger, "new")
    second = ledger("verify", "--since", "mine.state")
    assert second.code == 0
    assert "2 of them not read again" in second.out
    assert ledger("verify", "--since", "mine.state", "--json").json["read_from"] == 5


def test_verify_structure_says_that_signatures_were_left_out(ledger: Anvil) -> None:
    ran = ledger("verify", "--structure")
    assert ran.code == 0
    assert "signatures of events not checked" in ran.out


def test_an_auditor_verifies_files_with_the_key_alone(ledger: Anvil, tmp_path: Path) -> None:
    Path("a.log").write_text("kept")
    observed(ledger, "secret", "--attach", "a.log")
    assert ledger("export", tmp_path / "audit", "--audit").code == 0
    checkpoint = tmp_path / "c"
    checkpoint.write_text(ledger("checkpoint").out)
    arguments = (
        "verify",
        "--tiles",
        tmp_path / "audit",
        "--key",
        "anvil-ledger/log.vkey",
        "--checkpoint",
        checkpoint,
    )
    report = ledger(*arguments, "--json")
    assert (report.code, report.json["findings"]) == (0, [])
    assert ledger("export", tmp_path / "public").code == 0
    assert not (tmp_path / "public" / "openings.ndjson").exists()
    public = ledger("verify", "--tiles", tmp_path / "public", "--key", "anvil-ledger/log.vkey", "--json").json
    assert [f["code"] for f in public["findings"]] == ["unanchored", "not-checked", "not-checked"]


def test_prove_writes_an_entry_and_a_proof_that_verifies(ledger: Anvil, tmp_path: Path) -> None:
    index = observed(ledger, "x")
    ran = ledger("prove", index, "--out", tmp_path / "proof")
    assert ran.code == 0
    proof = TlogProof.parse((tmp_path / "proof" / f"{index}.tlog-proof").read_bytes())
    key = VerifierKey.parse(Path("anvil-ledger/log.vkey").read_text().strip())
    assert proof.verify((tmp_path / "proof" / f"{index}.entry").read_bytes(), [key]).size == index + 2


def test_keys_are_added_rotated_revoked_and_listed(ledger: Anvil) -> None:
    assert ledger("key", "new", "collector").code == 0
    assert ledger("key", "rotate", "ledger").code == 0
    old = ledger("key", "list", "--json").json["keys"]
    collector = next(k["key"] for k in old if k["role"] == "collector")
    assert ledger("key", "revoke", collector, "--cause", "lost").code == 0
    keys = ledger("key", "list", "--json").json["keys"]
    assert [k["role"] for k in keys if k["rotated"]] == ["ledger"]
    assert [k["key"] for k in keys if k["revoked"]] == [collector]
    assert ledger("checkpoint").out.count("\n— ") == 2, "both ledger keys sign for a while"
    assert ledger("verify").code == 0


def test_key_list_only_reads_and_needs_no_private_key(
    ledger: Anvil, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    held = ledger("key", "list", "--json").json
    assert all(key["file"] for key in held["keys"])
    monkeypatch.setenv("ANVIL_KEYS", str(tmp_path / "no-keys-here"))
    monkeypatch.setenv("ANVIL_STATE", str(tmp_path / "another-machine"))
    before = {p: p.read_bytes() for p in Path("anvil-ledger").rglob("*") if p.is_file()}
    for path in [*Path("anvil-ledger").rglob("*"), Path("anvil-ledger")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    monkeypatch.setattr(Store, "open", lambda _path: pytest.fail("opened for writing"))
    try:
        listed = ledger("key", "list", "--json").json
        text = ledger("key", "list")
    finally:
        for path in [Path("anvil-ledger"), *Path("anvil-ledger").rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert text.out.count("(not held here)") == 4
    assert [{**key, "file": None} for key in held["keys"]] == listed["keys"]
    assert {p: p.read_bytes() for p in Path("anvil-ledger").rglob("*") if p.is_file()} == before
    assert not (tmp_path / "another-machine").exists()


def test_after_ledger_rotation_either_key_verifies(ledger: Anvil, tmp_path: Path) -> None:
    old = Path("anvil-ledger/log.vkey").read_text().strip()
    assert ledger("key", "rotate", "ledger").code == 0
    keys = [k["verifier_key"] for k in ledger("key", "list", "--json").json["keys"] if k["verifier_key"]]
    assert ledger("export", tmp_path / "tiles").code == 0
    for key in keys:
        assert ledger("verify", "--tiles", tmp_path / "tiles", "--key", key).code == 3
    assert old in keys
    other = VerifierKey(VerifierKey.parse(old).name, VerifierKey.parse(keys[1]).public_key)
    assert str(other) == keys[1]


def test_redact_deletes_the_bytes_and_the_log_says_so(ledger: Anvil) -> None:
    Path("a.txt").write_text("very private attachment")
    index = observed(ledger, "very private words", "--attach", "a.txt")
    assert ledger("redact", index, "--reason", "It named a customer.").code == 0
    everything = b"".join(p.read_bytes() for p in Path("anvil-ledger").rglob("*") if p.is_file())
    assert b"very private" not in everything
    report = ledger("verify", "--json")
    assert (report.code, [f["code"] for f in report.json["findings"]]) == (0, ["redacted"])
    assert ledger("show", index, "--json").json["sealed"] == {"text": None}
    events = ledger("log", "--json").json["events"]
    first = [one["index"] for one in events if ".redacted/" in one["event"]]
    told = ledger("redact", index, "--reason", "Again.")
    assert told.code == 0
    assert f"Events {first[0]} and {first[1]} said so before: nothing was recorded again" in told.err
    again = ledger("redact", index, "--reason", "Again.", "--json")
    assert again.json["said_before"] == first
    assert (again.code, again.json["events"]) == (0, [])


def test_redact_refuses_bytes_that_another_event_names(ledger: Anvil) -> None:
    Path("a.txt").write_text("shared")
    first = observed(ledger, "one", "--attach", "a.txt")
    second = observed(ledger, "two", "--attach", "a.txt")
    ran = ledger("redact", first, "--reason", "x")
    assert ran.code == 1
    assert f"attachment-1 of event {second}" in ran.err
    assert f"anvil redact {first} {second}" in ran.err
    assert ledger("redact", first, "--reason", "x", "--field", "text").code == 0


def test_redact_deletes_shared_bytes_from_all_events_at_once(ledger: Anvil) -> None:
    Path("a.txt").write_text("very private")
    Path("b.txt").write_text("other bytes")
    first = observed(ledger, "one", "--attach", "a.txt")
    second = observed(ledger, "two", "--attach", "b.txt", "--attach", "a.txt")
    named = ("--artifact", "attachment-1", "--artifact", "attachment-2")
    assert ledger("redact", first, second, "--reason", "x", "--artifact", "attachment-9").code == 1
    ran = ledger("redact", first, second, first, "--reason", "x", *named, "--json")
    assert [t["artifacts"] for t in ran.json["targets"]] == [
        ["attachment-1"],
        ["attachment-1", "attachment-2"],
    ]
    assert (ran.json["blobs_deleted"], len(ran.json["events"])) == (2, 3)
    assert not [path for path in Path("anvil-ledger/blobs").rglob("*") if path.is_file()]
    report = ledger("verify", "--json")
    assert (report.code, [f["code"] for f in report.json["findings"]]) == (0, ["redacted"])


def test_redact_refuses_bytes_that_the_event_names_twice(ledger: Anvil) -> None:
    Path("a.txt").write_text("twice")
    index = observed(ledger, "one", "--attach", "a.txt", "--attach", "a.txt")
    ran = ledger("redact", index, "--reason", "x", "--artifact", "attachment-1")
    assert ran.code == 1
    assert f"attachment-2 of event {index}" in ran.err
    assert ledger("verify").code == 0
    assert ledger("redact", index, "--reason", "x").code == 0
    assert ledger("verify").code == 0


def test_backup_and_restore_make_a_new_ledger_that_says_what_was_lost(ledger: Anvil, tmp_path: Path) -> None:
    Path("a.txt").write_text("kept bytes")
    observed(ledger, "before", "--attach", "a.txt")
    assert ledger("backup", tmp_path / "b.db").code == 0
    observed(ledger, "after")
    ran = ledger("restore", tmp_path / "b.db", "again", "--blobs", "anvil-ledger/blobs", "--json")
    assert (ran.code, ran.json["carried"], ran.json["lost"], ran.json["blobs"]) == (0, 5, 3, 1)
    assert ran.json["origin"] != ran.json["predecessor"]
    report = ledger("--ledger", "again", "verify", "--json")
    assert (report.code, report.json["findings"]) == (0, [])
    assert ledger("--ledger", "again", "show", "4", "--json").json["sealed"] == {"text": "before"}
    assert ledger("--ledger", "again", "observe", "on", *STATUS).code == 0
    assert ledger("--ledger", "again", "verify").code == 0
    assert ledger("verify").code == 0, "the old ledger is untouched"


def test_a_restore_without_the_artifacts_says_how_many_are_not_there(ledger: Anvil, tmp_path: Path) -> None:
    Path("a.txt").write_text("kept bytes")
    Path("b.txt").write_text("redacted bytes")
    observed(ledger, "before", "--attach", "a.txt")
    index = observed(ledger, "redacted", "--attach", "b.txt")
    assert ledger("redact", index, "--reason", "x").code == 0
    assert ledger("backup", tmp_path / "b.db").code == 0
    ran = ledger("restore", tmp_path / "b.db", "again")
    assert (ran.code, "Not found: the bytes of 1 artifact" in ran.err) == (0, True)
    assert ledger("restore", tmp_path / "b.db", "third", "--json").json["missing_blobs"] == 1


def test_a_restored_ledger_can_be_restored_again(ledger: Anvil, tmp_path: Path) -> None:
    observed(ledger, "old words")
    assert ledger("backup", tmp_path / "1.db").code == 0
    assert ledger("restore", tmp_path / "1.db", "second").code == 0
    assert ledger("--ledger", "second", "backup", tmp_path / "2.db").code == 0
    assert ledger("restore", tmp_path / "2.db", "third").code == 0
    report = ledger("--ledger", "third", "verify", "--json")
    assert (report.code, report.json["findings"]) == (0, [])
    assert {e["ledger"] for e in ledger("--ledger", "third", "log", "--json").json["events"]} == {
        json.loads(ledger("--ledger", name, "verify", "--json").out)["origin"]
        for name in ("anvil-ledger", "second", "third")
    }


def test_every_option_is_an_environment_variable(ledger: Anvil, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANVIL_LEDGER", "nowhere")
    assert ledger("log").code == 3
    monkeypatch.setenv("ANVIL_LEDGER", "anvil-ledger")
    monkeypatch.setenv("ANVIL_LOG_LAST", "1")
    assert len(ledger("log").out.splitlines()) == 1
    monkeypatch.setenv("ANVIL_VERIFY_STRUCTURE", "1")
    assert "not checked" in ledger("verify").out
