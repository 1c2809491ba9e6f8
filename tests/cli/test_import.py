"""`anvil import`: from a file of somebody else to signed statements, and on to the same document."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from support.command import Anvil
from support.importing import tokens
from support.planted import PLANTED
from support.published import DOCUMENTS, EVIDENCE, EVIDENCE_DIGEST, failure, lanes, spelled, summary
from support.tools import SEEDS


def written(name: str, value: Any) -> Path:
    path = Path(name)
    path.write_bytes(value if isinstance(value, bytes) else spelled(value))
    return path


def events(anvil: Anvil) -> list[Any]:
    return list(anvil("log", "--json").json["events"])


def contents() -> list[Path]:
    return [path for path in Path("anvil-ledger").rglob("*") if path.is_file() and "blobs" in path.parts]


# --- refused, and nothing half imported ----------------------------------------------------------------------


BAD = {
    "truncated": spelled(failure())[:-30],
    "mixed": b"starting\n" + spelled(failure()),
    "other": b'{"schema": "someone.else/v3"}',
    "empty": b"",
    "escape": spelled({**failure(), "decision": "\x1b[2J"}),
    "digits": spelled(failure()).replace(b"200", b"2" * 1000),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("options", [(), ("--kind", "document"), ("--dry-run",)])
def test_a_bad_file_is_one_clear_error_and_leaves_nothing(
    ledger: Anvil, name: str, options: tuple[str, ...]
) -> None:
    before = events(ledger)
    ran = ledger("import", written("bad.json", BAD[name]), *options)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("Error: bad.json cannot be imported, and nothing was: ")
    assert "fault of anvil" not in ran.err
    assert len(ran.err.strip().splitlines()) <= 2
    assert events(ledger) == before
    assert contents() == []


@pytest.mark.parametrize("planted", [PLANTED["hf"], "/home/somebody/models", "sk-ant-" + "api03-" + "x" * 40])
@pytest.mark.parametrize("escaped", [False, True])
@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_a_secret_in_a_file_does_not_get_into_the_log(
    ledger: Anvil, planted: str, escaped: bool, options: tuple[str, ...]
) -> None:
    """What stands in the log stays there: it is looked at before, and never shown."""
    before = events(ledger)
    content = spelled({**failure(), "decision": f"Not taken; see {planted} for more."})
    if escaped:
        content = content.replace(
            planted[:3].encode(), "".join(f"\\u{ord(c):04x}" for c in planted[:3]).encode()
        )
    ran = ledger("import", written("leak.json", content), *options)
    assert (ran.code, ran.out) == (1, "")
    assert "leak.json, statement" in ran.err
    assert planted not in ran.err
    assert events(ledger) == before
    assert contents() == []


def test_one_bad_file_among_good_ones_refuses_them_all(ledger: Anvil) -> None:
    before = events(ledger)
    good, bad = written("good.json", failure()), written("bad.json", BAD["truncated"])
    assert ledger("import", good, bad).code == 1
    assert ledger("import", bad, good).code == 1
    assert events(ledger) == before
    assert contents() == []


def test_a_document_is_imported_into_a_campaign_once(ledger: Anvil) -> None:
    path = written("a.json", failure())
    assert ledger("import", path).code == 0
    before = events(ledger)
    again = ledger("import", path)
    assert again.code == 1
    assert "already holds anvil-serving.candidate-failure.v1, at index 3" in again.err
    assert events(ledger) == before
    assert ledger("import", path, "--campaign", "other").code == 0
    assert ledger("retract", 3, "--reason", "Not the last version.").code == 0
    assert ledger("import", path).code == 0
    assert ledger("verify").code == 0


def test_two_documents_of_one_schema_have_a_campaign_each(ledger: Anvil) -> None:
    one, two = written("a.json", failure()), written("b.json", {**failure(), "date": "2026-03-05"})
    ran = ledger("import", one, two, "--campaign", "mine")
    assert ran.code == 1
    assert "a.json and b.json are both" in ran.err
    assert ledger("import", one, one).code == 1
    assert ledger("import", one, two).code == 0


@pytest.mark.parametrize("campaign", ["Mine", "a b", "../x", "", "x" * 65])
def test_a_campaign_is_a_label(ledger: Anvil, campaign: str) -> None:
    ran = ledger("import", written("a.json", failure()), "--campaign", campaign)
    assert ran.code == 2
    assert "is no label" in ran.err


def test_a_large_file_is_not_read_to_its_end(ledger: Anvil) -> None:
    path = Path("large.json")
    with path.open("wb") as file:
        file.truncate(65 << 20)
    ran = ledger("import", path)
    assert ran.code == 1
    assert "it has more than 67,108,864 bytes; nothing was imported" in ran.err


def test_the_largest_statement_that_is_taken_fits_into_an_entry(ledger: Anvil) -> None:
    settings = {f"setting-{number}": "\\" * 1000 for number in range(18)} | {"rest": '"' * 1000}
    path = written("a.json", {**summary(), "common_recipe": settings})
    ran = ledger("import", path)
    assert ran.code == 0, ran.err
    assert ledger("verify").code == 0


# --- dry run ----------------------------------------------------------------------------------------------------


def test_a_dry_run_needs_no_ledger_and_says_what_would_be_recorded(anvil: Anvil) -> None:
    path = written("a.json", failure())
    ran = anvil("import", path, "--dry-run")
    assert ran.code == 0
    assert "7 statements: 1 document, 1 candidate, 1 hardware, 1 decision, 1 limit, 2 attempt" in ran.out
    assert "not said: image, recipe" in ran.out
    assert "Nothing was recorded" in ran.out
    assert not Path("anvil-ledger").exists()


def test_a_dry_run_refuses_a_secret_without_a_ledger_too(anvil: Anvil) -> None:
    content = spelled({**failure(), "decision": f"Not taken; see {PLANTED['hf']} for more."})
    ran = anvil("import", written("leak.json", content), "--dry-run")
    assert (ran.code, ran.out) == (1, "")
    assert "leak.json, statement" in ran.err
    assert PLANTED["hf"] not in ran.err


def disown(anvil: Anvil, good: int) -> None:
    keys = anvil("key", "list", "--json").json["keys"]
    operator = next(key["key"] for key in keys if key["role"] == "operator" and not key["revoked"])
    assert anvil("key", "new", "operator").code == 0
    assert anvil("key", "revoke", operator, "--cause", "lost", "--last-good", good).code == 0


def test_what_a_thief_imported_or_took_back_changes_nothing(ledger: Anvil) -> None:
    path = written("a.json", failure())
    assert ledger("import", path).code == 0
    good = ledger("log", "--json").json["size"]
    assert ledger("retract", 3, "--reason", "By the thief.").code == 0
    disown(ledger, good)
    again = ledger("import", path)
    assert (again.code, "at index 3" in again.err) == (1, True)
    assert ledger("import", path, "--campaign", "another").code == 0
    disown(ledger, good)
    assert ledger("import", path, "--campaign", "another").code == 0, "the thief's import is nobody's"


def test_a_dry_run_refuses_what_the_ledger_holds_already(ledger: Anvil) -> None:
    path = written("a.json", failure())
    assert ledger("import", path, "--campaign", "one").code == 0
    before = events(ledger)
    ran = ledger("import", path, "--campaign", "one", "--dry-run")
    assert (ran.code, ran.out) == (1, "")
    assert "already holds" in ran.err
    assert ledger("import", path, "--campaign", "another", "--dry-run").code == 0
    assert events(ledger) == before


def test_a_dry_run_refuses_what_is_sealed_in_the_ledger(ledger: Anvil) -> None:
    sealed = "It ran on the third host from the left."
    assert ledger("observe", sealed, "--status", "declared").code == 0
    content = spelled({**failure(), "decision": sealed})
    ran = ledger("import", written("leak.json", content), "--campaign", "one", "--dry-run")
    assert (ran.code, ran.out) == (1, "")
    assert sealed not in ran.err


def test_what_a_dry_run_says_is_what_is_recorded(ledger: Anvil) -> None:
    path = written("a.json", summary())
    dry = ledger("import", path, "--dry-run", "--json").json
    assert (dry["schema"], dry["dry_run"], dry["indices"]) == ("anvil.import/1", True, [])
    real = ledger("import", path, "--json").json
    assert real["imports"] == dry["imports"]
    first, *rest = real["indices"]
    shown = [ledger("show", index, "--json").json["header"] for index in rest]
    assert [{"event": s["event"], "subject": s["subject"], "facts": s["facts"]} for s in shown] == dry[
        "imports"
    ][0]["statements"]
    assert ledger("show", first, "--json").json["header"]["facts"]["statements"] == len(rest)


# --- recorded -----------------------------------------------------------------------------------------------


def test_the_file_is_kept_whole_and_everything_verifies(ledger: Anvil) -> None:
    content = spelled(failure()) + b"\n\n"
    assert ledger("import", written("a.json", content)).code == 0
    header = ledger("show", 3, "--json").json["header"]
    digest = "sha256:" + hashlib.sha256(content).hexdigest()
    assert header["facts"]["digest"] == header["artifacts"][0]["digest"] == digest
    assert header["artifacts"][0]["disclosure"] == "public"
    assert contents()[0].read_bytes() == content
    assert ledger("verify").code == 0
    status = ledger("status", "--json").json["campaigns"][0]
    assert [file["format"] for file in status["imports"]] == ["anvil-serving.candidate-failure.v1"]
    assert status["name"] == f"imported-2026-03-04-{digest[7:15]}"


def test_status_shows_what_a_file_calls_a_caveat_or_a_gap(ledger: Anvil) -> None:
    ledger("import", written("a.json", summary()), "--campaign", "one")
    ledger("import", written("b.json", lanes()), "--campaign", "two")
    one, two = ledger("status", "--json").json["campaigns"]
    assert [caveat["text"] for caveat in one["caveats"]] == summary()["retained_failures_and_caveats"]
    assert [gap["text"] for gap in two["gaps"]] == lanes()["gaps"]
    assert "the host was shared" in [caveat["text"] for caveat in two["caveats"]]


@pytest.mark.needs("seeds")
def test_the_seeds_come_out_of_a_real_ledger(ledger: Anvil) -> None:
    seeds = [SEEDS / f"{name}.json" for name in DOCUMENTS]
    answer = ledger("import", *seeds, "--json").json
    for name, taken in zip(DOCUMENTS, answer["imports"], strict=True):
        ran = ledger("render", name, "--campaign", taken["campaign"], "--provenance", "p.json")
        assert tokens(ran.out.encode()) == tokens((SEEDS / f"{name}.json").read_bytes())
        statuses = {
            leaf["status"] for leaf in json.loads(Path("p.json").read_text())["leaves"] if leaf["events"]
        }
        assert statuses == {"external-prior"}


def test_why_leads_back_into_the_file(ledger: Anvil) -> None:
    ledger("import", written("a.json", lanes()))
    name = "qwen38-27b-qualification-summary.v1"
    Path("draft.json").write_text(ledger("render", name).out)
    shown = ledger("why", "draft.json", "/baseline/tiny_text/context/0/ttft_s", "--json").json
    assert (shown["value"], shown["status"]) == ("0.5", "external-prior")
    assert [event["event"] for event in shown["events"]] == ["import.recorded/1", "statement.imported/1"]
    ran = ledger("why", "draft.json", "/baseline/tiny_text/context/0/ttft_s")
    assert "a number as the file spells it = 0.5" in ran.out


# --- raw evidence ---------------------------------------------------------------------------------------------


def test_raw_evidence_that_a_file_names_by_digest_strengthens_that_and_nothing_else(ledger: Anvil) -> None:
    path, log = written("a.json", lanes()), written("kept.log", EVIDENCE)
    assert ledger("import", path, "--evidence", log).code == 0
    assert ledger("render", "qwen38-27b-qualification-summary.v1", "--provenance", "p.json").code == 0
    provenance = json.loads(Path("p.json").read_text())
    by_pointer = {leaf["pointer"]: leaf for leaf in provenance["leaves"] if leaf["kind"] == "leaf"}
    kept = {pointer for pointer, leaf in by_pointer.items() if leaf["status"] == "imported-artifact"}
    assert kept == {"/private_artifact_digests/log"}
    assert by_pointer["/private_artifact_digests/rows"]["status"] == "external-prior"
    assert EVIDENCE_DIGEST not in json.dumps([a for leaf in provenance["leaves"] for a in leaf["artifacts"]])
    assert "log" in " ".join(provenance["evidence_limit"]["notes"])
    assert ledger("verify").code == 0


def test_evidence_that_no_file_names_is_refused(ledger: Anvil) -> None:
    before = events(ledger)
    ran = ledger("import", written("a.json", lanes()), "--evidence", written("other.log", b"something else"))
    assert ran.code == 1
    assert "which no imported file states; nothing was imported" in ran.err
    assert events(ledger) == before
