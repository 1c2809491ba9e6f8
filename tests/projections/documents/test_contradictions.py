"""What an imported summary prints that does not follow from what else it prints: said in the limit, never in it.

The cases are numbered in the project's list of what goes wrong: 16 and 15 (medians), 17 (differences), 19 (labels), 20
(a ladder that asked nothing), 22 (cold that is not), 24 (derived figures that do not follow).
"""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.importing import imported, rendered, tokens
from support.published import lanes, spelled, summary
from support.tools import SEEDS

from anvil.ledger.statistics import rounded
from anvil.projections.contradictions import Span, does_not_follow, input_tokens, is_no_quotient, sizes_in
from anvil.projections.figures import Figure, Printed, Support
from anvil.projections.rendering import Draft

SUMMARY, LANES = "sanitized-qualification-summary.v1", "qwen38-27b-qualification-summary.v1"
EVENT = Support(frozenset(("e" * 64,)))
PREFIX = "In the imported document, "


def told(drawn: Draft) -> list[str]:
    return [note.removeprefix(PREFIX) for note in drawn.limit.notes if note.startswith(PREFIX)]


def printed(number: Fraction, places: int) -> Span:
    found = Span.of(Figure(Printed(rounded(number, places)), "printed", EVENT, "external-prior"))
    assert found is not None
    return found


# --- the seeds ----------------------------------------------------------------------------------------------


@pytest.mark.needs("seeds")
def test_the_published_summary_is_told_where_it_contradicts_itself() -> None:
    content = (SEEDS / f"{SUMMARY}.json").read_bytes()
    drawn = rendered(SUMMARY, imported(content))
    said = told(drawn)
    assert len(said) == 6
    assert said[0].startswith(
        "capacity_4k_c1: the protocol calls its values means of each run's median; aggregate"
    )
    assert "of 10 requests, an even number" in said[1]
    assert said[2].endswith(
        "the protocol says 4,096 prompt tokens; 6512 tok/s over 554.3 ms are about 3,610."
    )
    assert said[3].endswith("8409 tok/s over 429.3 ms are about 3,610.")
    assert said[4].startswith("the label “128k-retrieval” says a size (official_fp8, inferact_nvfp4)")
    assert said[5].startswith("near_limit_context: what was asked is not said")
    assert tokens(drawn.rendered.text.encode()) == tokens(content)


@pytest.mark.needs("seeds")
def test_the_published_lanes_are_told_where_they_contradict_themselves() -> None:
    content = (SEEDS / f"{LANES}.json").read_bytes()
    drawn = rendered(LANES, imported(content))
    assert [said.partition(":")[0] for said in told(drawn)] == [
        "context of bf16_multimodal",
        "context of official_fp8_text",
        "prefix_cache, enabled_cold",
        "capacity_4k",
    ]
    assert tokens(drawn.rendered.text.encode()) == tokens(content)


# --- one fault at a time ------------------------------------------------------------------------------------


def with_(content: dict[str, Any], value: Any, *path: str | int) -> dict[str, Any]:
    made: Any = copy.deepcopy(content)
    at = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return dict(made)


def new(name: str, before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return what is said of a document with a fault and was not said without it."""
    known = told(rendered(name, imported(spelled(before))))
    return [said for said in told(rendered(name, imported(spelled(after)))) if said not in known]


CELL: dict[str, Any] = {
    "protocol": "three 5-request runs; values are means over runs",
    "tiny_a": {
        "runs": 3,
        "ttft_p50_ms": 200.0,
        "e2e_p50_ms": 900.0,
        "effective_prefill_tok_s_p50": 5120,
        "decode_tok_s_p50": 40.0,
        "aggregate_output_tok_s": 30.0,
    },
    "tiny_b": {
        "runs": 3,
        "ttft_p50_ms": 150.0,
        "e2e_p50_ms": 800.0,
        "effective_prefill_tok_s_p50": 6827,
        "decode_tok_s_p50": 50.0,
        "aggregate_output_tok_s": 36.0,
    },
    "b_delta_percent": {
        "ttft": -25.0,
        "e2e": -11.1,
        "effective_prefill": 33.3,
        "decode": 25.0,
        "aggregate_output_throughput": 20.0,
    },
}


def cell(*changes: tuple[Any, str, str]) -> dict[str, Any]:
    made = copy.deepcopy(CELL)
    for value, one, other in changes:
        made[one] = {**made[one], other: value}
    return {**summary(), "capacity_1k_c1": made}


def test_a_difference_that_follows_is_not_spoken_of() -> None:
    assert not any("capacity_1k_c1" in said for said in told(rendered(SUMMARY, imported(spelled(cell())))))


@pytest.mark.parametrize("name", list(CELL["b_delta_percent"]))
def test_a_difference_that_does_not_follow_is_said(name: str) -> None:
    (said,) = new(SUMMARY, cell(), cell((CELL["b_delta_percent"][name] + 1, "b_delta_percent", name)))
    assert said.startswith(f"capacity_1k_c1: {name} of b_delta_percent is printed as ")


def test_a_median_of_an_odd_number_is_one_and_an_aggregate_has_none() -> None:
    protocol = "three 5-request runs; values are means of each run median"
    (said,) = new(SUMMARY, cell(), with_(cell(), protocol, "capacity_1k_c1", "protocol"))
    assert "aggregate_output_tok_s is a quotient over a whole run" in said


def test_a_prompt_of_another_size_than_the_protocol_says_is_said() -> None:
    fits, other = (f"three 5-request runs; {size} configured input tokens" for size in ("1024", "4096"))
    assert not new(SUMMARY, cell(), with_(cell(), fits, "capacity_1k_c1", "protocol"))
    said = new(SUMMARY, cell(), with_(cell(), other, "capacity_1k_c1", "protocol"))
    assert [each.partition(": ")[0] for each in said] == ["capacity_1k_c1, tiny_a", "capacity_1k_c1, tiny_b"]
    assert said[0].endswith("5120 tok/s over 200.0 ms are about 1,024.")


def test_a_prompt_near_the_limit_that_rate_and_time_do_not_give_is_said() -> None:
    def near(tokens_: int) -> dict[str, Any]:
        one = {"status": "failed", "ttft_s": 10.0, "effective_prefill_tok_s": 1000, "decode_tok_s": 9.0}
        return {**summary(), "near_limit_context": {"actual_prompt_tokens": tokens_, "tiny_a": one}}

    (said,) = new(SUMMARY, near(10_002), near(12_000))
    assert (
        said
        == "near_limit_context, tiny_a: 1000 tok/s over 10.0 s are about 10,000 prompt tokens, and 12000 are printed."
    )


def test_a_suite_that_did_not_pass_beside_no_failure_is_said() -> None:
    quality = {"tiny_a": {"session": "3/3", "failures": 0}}
    short = {"tiny_a": {"session": "2/3", "failures": 0}}
    (said,) = new(SUMMARY, {**summary(), "bounded_quality": quality}, {**summary(), "bounded_quality": short})
    assert said == "bounded_quality of tiny_a: no failure is printed beside session 2/3."


def lane(**more: Any) -> dict[str, Any]:
    made = copy.deepcopy(lanes())
    key = next(name for name in made["baseline"] if name != "shared")
    made["baseline"]["shared"]["context_tokens"] = 1000
    made["baseline"][key].update({"engine_kv_tokens": 2345, "reported_full_window_concurrency": 2.35, **more})
    return made


def test_windows_that_do_not_follow_from_tokens_are_said() -> None:
    assert not new(LANES, lane(), lane(reported_full_window_concurrency=2.3))  # 2.345, rounded to one place
    (said,) = new(LANES, lane(), lane(reported_full_window_concurrency=2.36))
    assert said.endswith(
        "2.36 full windows are printed; 2345 KV tokens by a window of 1000 do not give that."
    )


def test_a_corpus_whose_parts_are_not_its_sum_is_said() -> None:
    corpus = {"corpus_sha256": "ab" * 32, "attempts": 5, "passed": 5, "image": "3/3", "video": "2/2"}
    (said,) = new(LANES, lane(multimodal=corpus), lane(multimodal={**corpus, "passed": 4}))
    assert said.endswith("4/5 is printed; its parts come to 5/5.")


def test_a_retrieval_of_a_size_that_no_rung_counted_is_said() -> None:
    rungs = [{"actual_prompt_tokens": 1050, "ttft_s": 1.0, "status": "failed"}]
    fits, other = (f"session and {size}-token retrieval passed" for size in (1050, 1024))
    (said,) = new(
        LANES, lane(context=rungs, repeated_quality=fits), lane(context=rungs, repeated_quality=other)
    )
    assert "it speaks of 1024 tokens; no rung" in said


def test_they_stand_in_no_figure() -> None:
    drawn = rendered(SUMMARY, imported(spelled(summary())))
    assert PREFIX not in drawn.rendered.text
    assert not any(PREFIX in str(leaf.value) for leaf in drawn.rendered.leaves)
    assert json.loads(drawn.rendered.text) == json.loads(spelled(summary()))


# --- what is rounded contradicts nothing --------------------------------------------------------------------

NUMBERS = st.fractions(min_value=1, max_value=100_000, max_denominator=10_000)
PLACES = st.integers(min_value=0, max_value=3)


@given(NUMBERS, NUMBERS, PLACES, PLACES, PLACES)
def test_a_difference_of_exact_figures_follows_however_they_are_rounded(
    before: Fraction, after: Fraction, one: int, other: int, third: int
) -> None:
    difference = printed((after - before) / before * 100, third)
    assert not does_not_follow(printed(before, one), printed(after, other), difference)


@given(NUMBERS, NUMBERS, PLACES, PLACES, PLACES)
def test_a_quotient_of_exact_figures_follows_however_they_are_rounded(
    dividend: Fraction, divisor: Fraction, one: int, other: int, third: int
) -> None:
    quotient = printed(dividend / divisor, third)
    assert not is_no_quotient(printed(dividend, one), printed(divisor, other), quotient)


@pytest.mark.parametrize(
    ("label", "found"),
    [
        ("128k-retrieval", ["128k"]),
        ("capacity_4k", ["4k"]),
        ("1M", ["1M"]),
        ("tools-20-of-20", []),
        ("kv4k8", []),
        ("mtp3", []),
    ],
)
def test_a_size_is_read_from_a_label(label: str, found: list[str]) -> None:
    assert list(sizes_in(label)) == found


@pytest.mark.parametrize(
    ("protocol", "tokens_"),
    [
        ("4096 configured input tokens; 256-token output cap", 4096),
        ("4,096 prompt tokens; 256-token output cap", 4096),
        ("256-token output cap; concurrency one", None),
    ],
)
def test_the_size_of_a_prompt_is_read_from_a_protocol(protocol: str, tokens_: int | None) -> None:
    assert input_tokens(protocol) == tokens_
