"""What each importer of raw evidence takes from a small file: counts, rows, figures made again, findings."""

from __future__ import annotations

import hashlib
from fractions import Fraction

import pytest
from support.evidence_files import ENGINE_LOG, FILES, bakeoff, multimodal, preflight, spelled
from support.taking import found, names, results, taken

from anvil.collectors.importers import KINDS
from anvil.ledger.events import StatementImported
from anvil.ledger.metrics import AGGREGATE, METRICS
from anvil.ledger.public import MetricId

# --- all of them ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FILES)
def test_a_file_is_recognised_as_its_kind_and_as_no_other(kind: str) -> None:
    content = spelled(FILES[kind]())
    assert [name for name, importer in KINDS.items() if importer.recognises(content)] == [kind]
    assert taken(content).nature == "raw-evidence"


@pytest.mark.parametrize("kind", FILES)
def test_every_statement_names_the_file_and_its_place(kind: str) -> None:
    content = spelled(FILES[kind]())
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    for said in taken(content).said:
        assert said.event.source == digest  # type: ignore[union-attr]
        assert said.event.position.startswith("$")  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", FILES)
def test_no_word_of_a_file_stands_in_the_clear(kind: str) -> None:
    took = taken(FILES[kind]())
    clear = "".join(said.event.model_dump_json() for said in took.said)
    clear += "".join(said.rows.encode().decode() for said in took.said if said.rows is not None)
    for private in (
        "10.1.2.3",
        "/home/somebody",
        "answer of a person",
        "no codec",
        "C:\\\\Users",
        "A Card",
        "sentence",
    ):
        assert private not in clear


@pytest.mark.parametrize("kind", FILES)
def test_a_member_that_nobody_knows_changes_nothing_and_survives_in_the_file(kind: str) -> None:
    file = FILES[kind]()
    before = [said.event.model_dump(exclude={"source"}) for said in taken(file).said]
    file["somebody_added_this"] = {"deep": [{"x": None}], "Ünicode ": "\x1b"}
    assert [said.event.model_dump(exclude={"source"}) for said in taken(file).said] == before


def test_the_ids_of_metrics_are_those_that_are_defined() -> None:
    from pydantic import TypeAdapter, ValidationError

    adapter: TypeAdapter[str] = TypeAdapter(MetricId)
    for name in (*METRICS, AGGREGATE):
        assert adapter.validate_python(name) == name
    with pytest.raises(ValidationError):
        adapter.validate_python("ttft/1")


# --- preflight --------------------------------------------------------------------------------------------------


def test_each_selected_check_leaves_a_result_and_what_is_missing_is_named() -> None:
    smoke, needle, tools, video = (event for event, _ in results(preflight()))
    assert [(e.called, e.check, e.outcome, e.passed, e.expected) for e in (smoke, needle, tools, video)] == [
        ("smoke", "coding", "passed", 1, 1),
        ("needle", "retrieval", "passed", 1, 1),
        ("tools", "tools-batch", "failed", 2, 3),
        ("video", "video", "failed", 0, 1),
    ]
    assert names(smoke) == set()
    assert names(needle) == {"target_missed", "reasoning_counted_not_seen", "reasoning_despite_disabled"}
    assert names(tools) == {"partly_failed", "shared_prefix"}
    shared = found(tools, "shared_prefix")
    assert shared is not None
    assert shared.about == ("declared", "cached_tokens")
    assert (video.failure, names(video)) == ("http_error", {"check_without_observation"})
    missed = found(needle, "target_missed")
    assert missed is not None
    assert (missed.found, missed.out_of) == (900, 1000)


def test_a_selected_check_without_a_verdict_is_incomplete() -> None:
    file = preflight()
    del file["results"][1:]
    events = [event for event, _ in results(file)]
    assert [event.outcome for event in events] == ["passed", "incomplete", "incomplete", "incomplete"]
    assert {"check_without_observation"} == names(events[3])


def test_verdicts_are_told_apart_by_their_titles_when_one_is_missing() -> None:
    file = preflight()
    del file["results"][0]
    assert [event.outcome for event, _ in results(file)] == ["incomplete", "passed", "failed", "failed"]


def test_a_verdict_against_its_own_answers_is_found() -> None:
    file = preflight()
    file["results"][2]["passed"] = True
    event = results(file)[2][0]
    differs = found(event, "verdict_differs")
    assert differs is not None
    assert (differs.found, differs.out_of) == (2, 3)


def test_preflight_says_nothing_of_what_was_tested() -> None:
    assert taken(preflight()).not_said == (
        "date",
        "hardware",
        "engine",
        "image",
        "model",
        "revision",
        "recipe",
    )


# --- bakeoff ----------------------------------------------------------------------------------------------------


def test_a_repeated_suite_is_judged_by_the_rate_of_each_item() -> None:
    (suite, rows), (session, _), (chat, _) = results(bakeoff())
    assert (suite.called, suite.passed, suite.expected, suite.required_rate) == ("sums-2", 3, 6, "0.66")
    assert [(item.item, item.passed, item.repetitions, item.is_stable) for item in suite.items] == [
        ("add", 2, 3, True),
        ("root", 1, 3, False),
    ]
    assert rows is not None
    assert rows.statistic("median_interpolated", "latency") == 2000
    assert [row.failure for row in rows.rows] == [None, None, "reasoning_budget_exhausted", None] + [
        "reasoning_budget_exhausted"
    ] * 2
    assert names(suite) == {"partly_failed", "reasoning_seen_not_counted", "reasoning_despite_disabled"}
    assert (session.called, session.expected, names(session)) == ("session", 0, {"check_without_observation"})
    assert (chat.called, chat.expected, names(chat)) == ("chat", 0, {"zero_without_samples"})


def test_the_candidate_and_the_attempt_are_those_of_the_file() -> None:
    said = taken(bakeoff()).said
    assert {(one.candidate, one.attempt) for one in said} == {("small", "small-fp8")}


def test_a_status_that_is_not_what_its_rate_gives_is_found() -> None:
    file = bakeoff()
    file["suites"]["sums-2"]["checks"][1]["status"] = "passed"
    differs = found(results(file)[0][0], "verdict_differs")
    assert differs is not None
    assert differs.about == ("root",)
    file["suites"]["sums-2"]["checks"][0]["pass_count"] = 3
    counted = found(results(file)[0][0], "count_differs")
    assert counted is not None
    assert counted.about == ("add",)


def test_a_bakeoff_without_a_protocol_has_checks_that_were_asked_once_and_a_ladder() -> None:
    file = bakeoff()
    del file["evaluation_protocol"], file["suites"]
    once = {"id": "triage", "status": "passed", "latency_ms": 20.5}
    file["intelligence"] = {"status": "passed", "checks": [once]}
    file["selection"]["suites"] = ["intelligence"]
    rung = {"target_tokens": 1024, "status": "passed", "ttft_ms": 10.5, "e2e_ms": 20.5, "output_tokens": 3}
    file["context"]["targets"] = [rung, {"target_tokens": 2048, "status": "failed", "error": "broken pipe"}]
    (suite, _), (ladder, rows), (chat, _) = results(file)
    assert (suite.called, suite.suite, suite.passed, suite.expected) == ("intelligence", "intelligence", 1, 1)
    assert (ladder.called, ladder.completed, ladder.failed) == ("context-ladder", 1, 1)
    assert rows is not None
    assert rows.values("ttft") == [Fraction("10.5")]
    assert {column.definition for column in rows.columns} == {None}
    assert names(chat) == {"rows_missing"}  # over how many requests its figures are, nobody says


# --- multimodal -------------------------------------------------------------------------------------------------


def test_cases_are_items_and_modalities_groups() -> None:
    ((event, rows),) = results(multimodal())
    assert (event.passed, event.expected, event.digest) == (3, 4, "sha256:" + "ab" * 32)
    assert [(item.item, item.group, item.passed, item.repetitions) for item in event.items] == [
        ("chart", "image", 2, 2),
        ("clip", "video", 1, 2),
    ]
    assert {(figure.called, figure.of): figure.remade for figure in event.statistics} == {
        ("latency_p50_seconds", "chart"): "same",
        ("latency_p95_seconds", "video"): "same",
    }
    assert rows is not None
    assert [row.failure for row in rows.rows] == [None, None, None, "http_error"]
    assert "partly_failed" in names(event)
    assert taken(multimodal()).withheld == ("image",)


def test_counts_of_a_file_that_its_attempts_do_not_give_are_found() -> None:
    file = multimodal()
    file["passed_attempts"] = 4
    file["aggregates"]["modality"]["video"]["passed"] = 2
    event = results(file)[0][0]
    assert {"count_differs", "statistic_differs"} <= names(event)


# --- the small ones ---------------------------------------------------------------------------------------------


def test_control_evidence_is_a_verdict_without_an_answer() -> None:
    ((event, rows),) = results(FILES["control"]())
    assert (event.check, event.outcome, event.observed, rows) == ("thinking-control", "passed", 0, None)
    assert names(event) == {"check_without_observation"}


def test_a_load_failure_is_a_check_that_failed() -> None:
    took = taken(FILES["load-failure"]())
    ((event, _),) = results(FILES["load-failure"]())
    assert (event.called, event.outcome, event.failure, event.observed) == ("load", "failed", None, 1)
    assert [p.value for p in event.parameters] == ["engine-unsupported-architecture"]
    assert took.withheld == ("hardware", "image")
    assert took.not_said == ("revision", "recipe")


def test_start_up_figures_keep_the_text_of_the_file() -> None:
    content = spelled(FILES["startup"]()).replace(b"20.1,", b"20.10,")
    said = taken(content).said
    report = next(
        one.event for one in said if isinstance(one.event, StatementImported) and one.event.topic == "report"
    )
    assert [(value.name, value.number, value.truth) for value in report.values] == [
        ("target_weights_gb", "20.10", None),
        ("target_kv_tokens", "70231", None),
        ("exact_fold", None, True),
    ]


def test_a_log_gives_figures_with_the_number_of_their_line_and_no_line() -> None:
    took = taken(ENGINE_LOG)
    assert took.format == "vllm-log"
    reports = [
        one.event
        for one in took.said
        if isinstance(one.event, StatementImported) and one.event.topic == "report"
    ]
    assert [(event.position, event.values[0].name, event.values[0].number) for event in reports] == [
        ("$[0]", "weight_memory_gib", "35.31"),
        ("$[2]", "kv_capacity_tokens", "5277426"),
    ]
