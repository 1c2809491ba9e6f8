"""Documents print what other tools measured: each figure with its metric, statistic, n, status and meaning, down to rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.command import Anvil
from support.evidence_files import bakeoff, benchmark, multimodal, preflight
from support.evidence_files import spelled as evidence_of
from support.published import failure, spelled, summary
from support.toolfiles import FOLDER

NAME = "sanitized-qualification-summary.v1"
SECTION = "imported_evidence"


def written(name: str, content: bytes) -> Path:
    path = Path(name)
    path.write_bytes(content)
    return path


def rendered(anvil: Anvil, *options: object) -> Any:
    ran = anvil("render", NAME, "--campaign", "one", *options)
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def figure(document: Any, called: str, kind: str = "loads") -> Any:
    return next(
        one for result in document[SECTION][kind] for one in result["figures"] if one["called"] == called
    )


@pytest.fixture
def held(ledger: Anvil) -> Anvil:
    """A ledger with a published summary and one file of each of our relatives."""
    paths = [written("summary.json", spelled(summary()))]
    made = (benchmark, preflight, bakeoff, multimodal)
    paths += [written(f"{make.__name__}.json", evidence_of(make())) for make in made]
    assert ledger("import", *paths, "--campaign", "one").code == 0
    return ledger


def test_there_is_no_such_section_where_nothing_of_tools_was_imported(ledger: Anvil) -> None:
    ledger("import", written("summary.json", spelled(summary())), "--campaign", "one")
    assert SECTION not in rendered(ledger)


def test_a_figure_has_its_metric_statistic_n_and_status_beside_what_the_tool_prints(held: Anvil) -> None:
    document = rendered(held)
    assert figure(document, "ttft_p50_ms") == {
        "called": "ttft_p50_ms",
        "of": None,
        "metric": "ttft.visible/1",
        "statistic": "nearest_rank_p50",
        "unit": "ms",
        "n": 3,
        "stated": 110.0,
        "remade": 110.0,
        "agreement": "same",
        "meaning": None,
        "status": "imported-artifact",
    }
    throughput = figure(document, "throughput_tok_s")
    assert (throughput["metric"], throughput["statistic"]) == (None, "sum_over_wall")
    assert throughput["meaning"] == "output tokens / wall time, in which the prompts were made too"
    assert throughput["remade"] == 32.983508


def test_checks_suites_and_findings_are_printed(held: Anvil) -> None:
    section = rendered(held)[SECTION]
    checks = {one["called"]: one for one in section["checks"]}
    assert (checks["tools"]["check"], checks["tools"]["passed"], checks["tools"]["expected"]) == (
        "tools-batch",
        2,
        3,
    )
    assert checks["video"]["findings"] == ["selected, and without an observation"]
    suites = {one["called"]: one for one in section["suites"]}
    assert (suites["sums-2"]["passed"], suites["sums-2"]["expected"], suites["sums-2"]["candidate"]) == (
        3,
        6,
        "small",
    )
    (file,) = (one for one in section["files"] if one["kind"] == "benchmark")
    assert file["not_said"] == ["image", "revision", "recipe"]
    assert file["said_only_in_the_file"] == ["model"]
    assert {"topic": "hardware", "name": "gpu", "value": "rtx-5090"} in file["said"]


def test_identity_that_is_missing_is_a_limit(held: Anvil) -> None:
    rendered(held, "--provenance", "p.json")
    notes = " ".join(json.loads(Path("p.json").read_text())["evidence_limit"]["notes"])
    assert "Imported evidence is what other tools measured and wrote: 4 of their files" in notes
    assert "Of 4 imported files what was tested is not wholly said: " in notes
    assert "image in 3, revision in 3, recipe in 4" in notes


def test_why_lands_on_the_rows_and_on_the_file(held: Anvil) -> None:
    document = rendered(held)
    Path("d.json").write_text(held("render", NAME, "--campaign", "one").out)
    at = next(
        n for n, one in enumerate(document[SECTION]["loads"][0]["figures"]) if one["called"] == "ttft_p50_ms"
    )
    for leaf in ("remade", "stated", "status"):
        pointer = f"/{SECTION}/loads/0/figures/{at}/{leaf}"
        why = held("why", "d.json", pointer, "--campaign", "one", "--json").json
        assert why["status"] == "imported-artifact"
        artifacts = {one["name"]: one for one in why["artifacts"]}
        assert set(artifacts) == {"rows", "source"}
        assert "anvil.imported.rows/1" in artifacts["rows"]["rows"][0]
        assert '"ttft":"100.0"' in artifacts["rows"]["rows"][1]
    told = held("why", "d.json", f"/{SECTION}/loads/0/figures/{at}/remade", "--campaign", "one").out
    assert "nearest_rank_p50 of ttft, n=3" in told


def test_a_file_that_is_gone_leaves_no_strength(held: Anvil) -> None:
    events = held("log", "--json").json["events"]
    shown = {one["index"]: held("show", one["index"], "--json").json["header"] for one in events}
    index = next(
        at
        for at, header in shown.items()
        if header["event"] == "import.recorded/1" and header["facts"]["kind"] == "benchmark"
    )
    assert held("redact", index, "--reason", "It named a host.").code == 0
    assert figure(rendered(held), "ttft_p50_ms")["status"] == "artifact-missing"


def test_rows_that_are_gone_give_no_figure_and_say_so(held: Anvil) -> None:
    index = next(
        one["index"] for one in held("log", "--json").json["events"] if one["event"] == "load.imported/1"
    )
    assert held("redact", index, "--artifact", "rows", "--reason", "They named a host.").code == 0
    made = figure(rendered(held), "ttft_p50_ms")
    assert (made["stated"], made["remade"], made["n"], made["status"]) == (
        110.0,
        None,
        None,
        "artifact-missing",
    )


def test_rows_that_were_altered_refuse_the_document(held: Anvil) -> None:
    index = next(
        one["index"] for one in held("log", "--json").json["events"] if one["event"] == "load.imported/1"
    )
    (rows,) = held("show", index, "--json").json["header"]["artifacts"]
    blob = Path("anvil-ledger/blobs/sha256") / rows["digest"][7:9] / rows["digest"][9:]
    blob.chmod(0o600)
    blob.write_bytes(blob.read_bytes().replace(b"100.0", b"900.0"))
    ran = held("render", NAME, "--campaign", "one")
    assert (ran.code, ran.out) == (1, "")
    assert "artifact rows of event" in ran.err


def test_what_was_retracted_is_not_printed(held: Anvil) -> None:
    index = next(
        one["index"] for one in held("log", "--json").json["events"] if one["event"] == "load.imported/1"
    )
    held("retract", index, "--reason", "Of another host.")
    assert {one["called"] for one in rendered(held)[SECTION]["loads"]} == {"chat"}


def test_files_of_tools_alone_make_a_document_in_which_all_else_is_null(ledger: Anvil) -> None:
    files = [path for path in sorted(FOLDER.iterdir()) if path.suffix in (".json", ".jsonl")]
    assert ledger("import", *files, "--campaign", "one").code == 0
    document = rendered(ledger)
    assert (document["observed_date"], document["candidates"]) == ("2026-11-30", {})
    assert len(document[SECTION]["loads"]) == 7
    summary_of = figure(document, "request_latency.p50")
    assert (summary_of["agreement"], summary_of["remade"], summary_of["n"]) == ("no_rows", None, None)
    assert summary_of["meaning"].startswith("to the last chunk with output")
    own = figure(document, "http_req_duration")
    assert (own["metric"], own["statistic"], own["stated"], own["n"]) == (
        "e2e/1",
        "nearest_rank_p50",
        None,
        9,
    )
    score = figure(document, "exact_match_stderr,whole", "suites")
    assert score["statistic"] == "stderr, the tool's own"


def test_other_documents_still_say_that_nothing_was_run(ledger: Anvil) -> None:
    ledger("import", written("a.json", evidence_of(benchmark())), "--campaign", "one")
    ran = ledger("render", "qwen38-27b-qualification-summary.v1", "--campaign", "one")
    assert ran.code == 1
    assert "nothing was run" in ran.err


@pytest.mark.parametrize("form", ["md", "html"])
def test_pages_print_them_with_their_marks(held: Anvil, form: str) -> None:
    page = held("render", NAME, "--campaign", "one", "--format", form).out
    assert "What other tools measured" in page
    for text in ("Load capacity-v3", "Check video", "Suite sums-2", "rtx-5090", "said only in the file"):
        assert text in page.replace("&#39;", "'"), text
    words = " ".join(page.split())
    assert "wall time, in which the prompts were made too" in words
    without = "candidate-failure.v1"
    held("import", written("f.json", spelled(failure())), "--campaign", "two")
    assert (
        "What other tools measured" not in held("render", without, "--campaign", "two", "--format", form).out
    )


def test_bytes_attached_to_what_was_imported_make_it_no_complete_evidence(ledger: Anvil) -> None:
    """Whatever lies beside it, a figure of another tool is what that tool wrote."""
    assert ledger("import", written("b.json", evidence_of(benchmark())), "--campaign", "one").code == 0
    for index, family in ((at["index"], at["event"]) for at in ledger("log", "--json").json["events"]):
        if family.startswith(("import.recorded", "load.imported", "statement.imported")):
            more = written("more", f"beside {index}".encode())
            attached = ledger("observe", "--attach", more, "--status", "retained-complete", "--to", index)
            assert attached.code == 0, attached.err
    section = rendered(ledger, "--provenance", "p.json")[SECTION]
    assert {one["status"] for load in section["loads"] for one in load["figures"]} == {"imported-artifact"}
    leaves = json.loads(Path("p.json").read_text())["leaves"]
    assert {leaf["status"] for leaf in leaves} <= {"imported-artifact", "declared"}
