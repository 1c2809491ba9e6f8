"""`anvil import` of files that measuring tools wrote: many of a format, all or none, shown by `anvil status`."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.command import Anvil
from support.evidence_files import FILES, bakeoff, benchmark, multimodal, preflight, spelled
from support.published import failure

from anvil.ledger.events import ArtifactRedacted
from anvil.ledger.places import LedgerPlace
from anvil.ledger.rowtable import RowTable
from anvil.projections.evidence import Evidence
from anvil.projections.importedfigures import Measured, measured
from anvil.projections.opened import opened

PLACE = LedgerPlace(Path("anvil-ledger"))


def written(name: str, file: dict[str, Any] | bytes) -> Path:
    path = Path(name)
    path.write_bytes(file if isinstance(file, bytes) else spelled(file))
    return path


def blobs() -> list[Path]:
    return sorted(path for path in PLACE.blobs.rglob("*") if path.is_file())


def size(ledger: Anvil) -> int:
    return len(ledger("log", "--json").json["events"])


def results() -> list[Measured]:
    with opened(PLACE, None) as ledger:
        evidence = Evidence(ledger.record, ledger.artifacts.content)
        campaigns = ledger.record.campaigns.values()
        return [one for each in campaigns for one in measured(evidence, each)]


def test_every_kind_is_recorded_and_verifies_and_nothing_private_is_in_the_log(ledger: Anvil) -> None:
    paths = [written(f"{kind}.json", make()) for kind, make in FILES.items()]
    assert ledger("import", *paths, "--campaign", "one").code == 0
    assert ledger("verify").code == 0
    headers = json.dumps(ledger("log", "--json").json)
    assert "secret-model" not in headers
    assert "10.1.2.3" not in headers
    status = ledger("status", "--json").json["campaigns"][0]
    assert [file["kind"] for file in status["imports"]] == list(FILES)
    called = [[result["called"] for result in file["results"]] for file in status["imports"]]
    assert called == [
        ["capacity-v3 c1 1024-tokens"],
        ["smoke", "needle", "tools", "video"],
        ["sums-2", "session", "chat"],
        ["multimodal"],
        ["control"],
        [],
        ["load"],
    ]


def test_the_file_is_private_and_its_rows_are_public(ledger: Anvil) -> None:
    ledger("import", written("a.json", benchmark()))
    indices = ledger("log", "--json").json["events"]
    shown = [ledger("show", event["index"], "--json").json["header"] for event in indices]
    (recorded,) = (header for header in shown if header["event"] == "import.recorded/1")
    assert recorded["artifacts"][0]["disclosure"] == "private"
    (load,) = (header for header in shown if header["event"] == "load.imported/1")
    (rows,) = load["artifacts"]
    assert (rows["name"], rows["disclosure"]) == ("rows", "public")
    raw = (PLACE.blobs / "sha256" / rows["digest"][7:9] / rows["digest"][9:]).read_bytes()
    assert RowTable.parse(raw).values("ttft") == [100, 120, 110]


def test_status_says_what_a_reader_of_the_figures_must_know(ledger: Anvil) -> None:
    paths = [
        written(f"{n}.json", make()) for n, make in enumerate((benchmark, preflight, bakeoff, multimodal))
    ]
    ledger("import", *paths, "--campaign", "one")
    out = ledger("status").out
    for sentence in (
        "3 samples do not support a percentile that needs 59: ttft_p95_ms",
        "not said: image, revision, recipe",
        "said only in the file: model",
        "selected, and without an observation",
        "figures rest on a partly failed run: 1 of 3 did not pass",
        "reasoning tokens were counted and not seen, in 1 of 1",
        "prompts shared a prefix, or seem to (declared, cached_tokens)",
        "the prompt had 900 tokens, 1000 were aimed at",
        "a number stands where there are no samples: ttft_p50_ms, ttft_p95_ms, e2e_p50_ms",
        "reasoning was seen and not counted apart, in 6 of 6",
    ):
        assert sentence in " ".join(out.split()), sentence


def test_status_shows_events_by_index_and_main_figures(ledger: Anvil) -> None:
    ledger("import", written("a.json", benchmark()), "--campaign", "one")
    events = {e["index"]: e["event"] for e in ledger("log", "--json").json["events"]}
    (file,) = ledger("status", "--json").json["campaigns"][0]["imports"]
    (load,) = file["results"]
    assert (events[file["index"]], events[load["index"]]) == ("import.recorded/1", "load.imported/1")
    figures = {one["called"]: one for one in load["figures"]}
    assert list(figures) == [
        "ttft_p50_ms",
        "ttft_p95_ms",
        "e2e_p50_ms",
        "decode_tok_s_p50",
        "throughput_tok_s",
        "prefix_cache_hit_avg",
    ]
    assert figures["ttft_p50_ms"]["definition"] == "ttft.visible/1"
    out = ledger("status").out
    assert f"3/3  [{load['index']}]" in out
    words = " ".join(out.split())
    assert "ttft_p50_ms = 110.0 ms ttft.visible/1, same from rows" in words
    assert "throughput_tok_s = 32.98350824587706 tokens_per_s the tool's own, same from rows" in words
    assert "ttft_p95_ms = " not in words


def test_status_shows_what_an_imported_document_decided_as_somebody_elses_word(ledger: Anvil) -> None:
    ledger("import", written("a.json", failure()), "--campaign", "one")
    events = {e["index"]: e["event"] for e in ledger("log", "--json").json["events"]}
    (file,) = ledger("status", "--json").json["campaigns"][0]["imports"]
    (decision,) = file["decisions"]
    assert events[decision["index"]] == "statement.imported/1"
    assert (decision["said"], decision["status"]) == (["rejected", "Not on this card."], "external-prior")
    out = " ".join(ledger("status").out.split())
    assert "as that document says: rejected; Not on this card." in out
    assert ledger("retract", decision["index"], "--reason", "Not theirs.").code == 0
    (file,) = ledger("status", "--json").json["campaigns"][0]["imports"]
    assert file["decisions"] == []


def test_a_dry_run_says_the_same_and_needs_no_ledger(anvil: Anvil) -> None:
    ran = anvil("import", written("a.json", preflight()), "--dry-run")
    assert ran.code == 0
    assert "check tools: 2/3 (partly failed, shared prefix)" in ran.out
    assert not PLACE.directory.exists()


# --- all or none ------------------------------------------------------------------------------------------------

LAST = {
    "benchmark": ("request_timings", 2, "e2e_ms"),
    "preflight": ("observations", 4, "seconds"),
    "bakeoff": ("suites", "sums-2", "checks", 1, "attempts", 2, "latency_ms"),
    "multimodal": ("attempts", 3, "seconds"),
    "control": ("status",),
    "startup": ("startup_allocations", "exact_fold"),
    "load-failure": ("outcome",),
}


@pytest.mark.parametrize("kind", LAST)
def test_a_fault_at_the_end_of_the_last_file_leaves_nothing_of_any(ledger: Anvil, kind: str) -> None:
    before, held = size(ledger), blobs()
    file: Any = FILES[kind]()
    part = file
    for step in LAST[kind][:-1]:
        part = part[step]
    part[LAST[kind][-1]] = [{}]
    ran = ledger("import", written("good.json", benchmark()), written("bad.json", file), "--campaign", "one")
    assert ran.code == 1
    assert "bad.json cannot be imported, and nothing was" in ran.err
    assert ran.out == ""
    assert (size(ledger), blobs()) == (before, held)


def test_one_file_comes_once_into_a_campaign_and_many_of_its_format_may(ledger: Anvil) -> None:
    first, other = written("a.json", benchmark()), written("b.json", {**benchmark(), "run_id": "another"})
    copy = written("c.json", benchmark())
    twice = ledger("import", first, copy, "--campaign", "one")
    assert twice.code == 1
    assert "Name it once: the bytes are the same." in twice.err
    assert ledger("import", first, other, "--campaign", "one").code == 0
    again = ledger("import", copy, "--campaign", "one")
    assert again.code == 1
    assert "already holds sha256:" in again.err
    index = next(
        e["index"] for e in ledger("log", "--json").json["events"] if e["event"] == "import.recorded/1"
    )
    assert ledger("retract", index, "--reason", "The wrong file.").code == 0
    assert ledger("import", copy, "--campaign", "one").code == 0


# --- figures ----------------------------------------------------------------------------------------------------


def test_a_figure_is_made_from_the_rows_and_rests_on_the_file(ledger: Anvil) -> None:
    ledger("import", written("a.json", benchmark()), "--campaign", "one")
    (load,) = results()
    figure = load.statistic("nearest_rank_p50", "ttft")
    assert (figure.value, figure.status) == (110, "imported-artifact")
    assert load.again("ttft_p95_ms").value == 120
    assert load.again("throughput_tok_s").value == Fraction(33_000) / Fraction("1000.5")
    assert load.again("prefix_cache_hit_avg").value is None
    assert load.stated("completed").value == 3
    assert {name.name for name in figure.support.artifacts} == {"source", "rows"}
    assert len(figure.support.events) == 2


def test_items_of_a_suite_are_counted_from_the_rows_by_their_own_rate(ledger: Anvil) -> None:
    ledger("import", written("a.json", bakeoff()), "--campaign", "one")
    suite = results()[0]
    assert (suite.stable().value, suite.passed().value, suite.asked("add").value) == (1, 3, 3)


def test_a_file_that_was_redacted_weakens_every_figure_of_it(ledger: Anvil) -> None:
    ledger("import", written("a.json", benchmark()), "--campaign", "one")
    index = next(
        e["index"] for e in ledger("log", "--json").json["events"] if e["event"] == "import.recorded/1"
    )
    assert ledger("redact", index, "--reason", "It named a host.").code == 0
    assert any(e["event"] == ArtifactRedacted.event_type for e in ledger("log", "--json").json["events"])
    (load,) = results()
    assert load.statistic("nearest_rank_p50", "ttft").status == "artifact-missing"


def test_a_retracted_import_gives_no_figure(ledger: Anvil) -> None:
    ledger("import", written("a.json", benchmark()), "--campaign", "one")
    index = next(
        e["index"] for e in ledger("log", "--json").json["events"] if e["event"] == "import.recorded/1"
    )
    ledger("retract", index, "--reason", "The wrong file.")
    assert results() == []
    assert ledger("status", "--json").json["campaigns"][0]["imports"] == []


# --- documents --------------------------------------------------------------------------------------------------


def test_a_document_says_what_is_wrong_with_the_evidence_in_its_campaign(ledger: Anvil) -> None:
    ledger("import", written("a.json", failure()), "--campaign", "one")
    without = ledger("render", "candidate-failure.v1", "--campaign", "one").out
    assert "Imported evidence" not in without
    ledger("import", written("b.json", benchmark()), written("c.json", preflight()), "--campaign", "one")
    made = ledger("render", "candidate-failure.v1", "--campaign", "one", "--provenance", "p.json")
    assert made.code == 0
    notes = " ".join(json.loads(Path("p.json").read_text())["evidence_limit"]["notes"])
    for sentence in (
        "Imported evidence, percentile unsupported: load capacity-v3 c1 1024-tokens: ",
        "Imported evidence, check without observation: check video: selected, and without an observation.",
        "Imported evidence, partly failed: check tools: figures rest on a partly failed run: 1 of 3 did not pass.",
        "Imported evidence, shared prefix: check tools: ",
        "Of 2 imported files what was tested is not wholly said: image in 2, revision in 2, recipe in 2",
    ):
        assert sentence in notes, notes
        assert sentence in made.out
