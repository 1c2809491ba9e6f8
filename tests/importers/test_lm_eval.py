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
