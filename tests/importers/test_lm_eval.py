"""Results and samples of lm-evaluation-harness: every figure is the tool's own text, and an independent computation gives it again.

The computation here is done in floats from the raw JSON, with percentiles written down anew; the importers' is exact,
from rows. A figure that both give, and the tool printed, is mapped to what it is.
"""

from __future__ import annotations

from support.toolfiles import changed, spelled, suites, values, whole

from anvil.ledger import statistics


def test_the_samples_give_the_results_and_the_digest_again() -> None:
    raw = values("lm-eval.jsonl")
    results = {event.called.removeprefix("anvil_sums-"): event for event, _ in suites(whole("lm-eval.json"))}
    samples = {
        event.called.removeprefix("samples-"): (event, rows) for event, rows in suites(whole("lm-eval.jsonl"))
    }
    assert results.keys() == samples.keys() == {"last-number", "whole"}
    for name, result in results.items():
        event, rows = samples[name]
        assert rows is not None
        judged = [row["exact_match"] for row in raw if row["filter"] == name]
        assert (
            (event.passed, event.expected) == (result.passed, result.expected) == (sum(judged), len(judged))
        )
        assert event.digest == result.digest is not None
        figure = result.statistics[0]
        assert (figure.called, figure.statistic) == (f"exact_match,{name}", "mean")
        assert figure.number is not None
        assert rows.statistic("mean", "metric") == statistics.exact(figure.number)
    assert results["last-number"].passed == 5


def test_a_metric_of_lm_eval_may_be_below_zero() -> None:
    value = values("lm-eval.json")
    value["results"]["anvil_sums"]["mcc,whole"] = -0.25
    (_, (event, _)) = suites(spelled("lm-eval.json", value))
    assert {f.called: f.number for f in event.statistics}["mcc,whole"] == "-0.25"


def test_a_group_of_lm_eval_is_left_to_its_tasks() -> None:
    value = values("lm-eval.json")
    value["results"]["sums"] = {"alias": "sums", "acc,none": 0.3}
    value["group_subtasks"] = {"sums": ["anvil_sums"], "anvil_sums": []}
    called = [event.called for event, _ in suites(spelled("lm-eval.json", value))]
    assert called == ["anvil_sums-last-number", "anvil_sums-whole"]


def test_a_standard_error_that_the_harness_does_not_have_is_null() -> None:
    path = ["results", "anvil_sums", "exact_match_stderr,whole"]
    (_, (event, _)) = suites(changed("lm-eval.json", path, "N/A"))
    assert {f.called: f.number for f in event.statistics}["exact_match_stderr,whole"] is None


def test_figures_of_any_metric_are_taken_as_the_harness_spells_them() -> None:
    """Named by the harness's own statistic where it is none of ours; nobody says what passed."""
    value = values("lm-eval.json")
    value["results"]["anvil_sums"] = {
        "sample_len": 8,
        "bleu,none": 23.409823451234566,
        "bleu_stderr,none": "N/A",
        "word_perplexity,none": 1.2345e-05,
        "rougeL_acc,none": -0.25,
    }
    config = value["configs"]["anvil_sums"]
    config["metric_list"] = [
        {"metric": "bleu", "aggregation": "bleu"},
        {"metric": "word_perplexity", "aggregation": "weighted_perplexity"},
        {"metric": "rougeL_acc", "aggregation": "mean"},
    ]
    ((event, rows),) = suites(spelled("lm-eval.json", value))
    assert (rows, event.passed, event.expected) == (None, None, 8)
    assert [(f.called, f.number, f.statistic, f.own, f.remade) for f in event.statistics] == [
        ("bleu,none", "23.409823451234566", None, "bleu", "no_rows"),
        ("bleu_stderr,none", None, None, "stderr", "no_rows"),
        ("word_perplexity,none", "1.2345e-05", None, "weighted_perplexity", "no_rows"),
        ("rougeL_acc,none", "-0.25", "mean", None, "no_rows"),
    ]


def test_an_aggregation_that_is_code_is_not_named() -> None:
    path = ["configs", "anvil_sums", "metric_list", 0, "aggregation"]
    (event, _), _ = suites(changed("lm-eval.json", path, "def mine(items):\n    return 1"))
    assert (event.statistics[0].statistic, event.statistics[0].own) == (None, None)


def test_a_mean_that_is_no_whole_number_of_samples_says_of_none_that_it_passed() -> None:
    (event, _), _ = suites(changed("lm-eval.json", ["results", "anvil_sums", "exact_match,last-number"], 0.3))
    assert event.passed is None


def test_samples_of_any_metric_are_kept_and_nobody_says_what_passed() -> None:
    lines = values("lm-eval.jsonl")[:3]
    for number, line in enumerate(lines):
        line["metrics"] = ["bleu", "rougeL_max", "acc"]
        line |= {"bleu": [["2"], "3"], "rougeL_max": -0.1234567890123456 * number, "acc": 0.25 * number}
    ((event, rows),) = suites(spelled("lm-eval.jsonl", lines))
    assert (event.passed, event.expected) == (None, 3)
    assert rows is not None
    assert [column.called for column in rows.columns] == ["rougeL_max", "acc"]
    assert [row.outcome for row in rows.rows] == ["inconclusive"] * 3
    assert rows.rows[2].values == {"metric": "-0.2469135780246912", "metric_2": "0.5"}


def test_the_metric_that_decides_is_the_first_column_and_the_others_are_kept_beside() -> None:
    lines = values("lm-eval.jsonl")[:2]
    for line in lines:
        line["metrics"] = ["bleu_max", "exact_match"]
        line["bleu_max"] = 0.75
    ((event, rows),) = suites(spelled("lm-eval.jsonl", lines))
    assert (event.passed, [p.value for p in event.parameters]) == (2, ["exact_match"])
    assert rows is not None
    assert [(column.name, column.called) for column in rows.columns] == [
        ("metric", "exact_match"),
        ("metric_2", "bleu_max"),
    ]


def test_results_without_samples_say_what_to_import_beside() -> None:
    ((event, _), _) = suites(whole("lm-eval.json"))
    (found,) = event.findings
    assert (found.finding, found.about) == ("rows_missing", ("log_samples", "samples_TASK.jsonl"))
