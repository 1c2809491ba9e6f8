"""The cache state of a run, proved by what requests and the engine reported, and what contradicts it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import row

from anvil.collectors.load.cachestate import CacheProof, EngineCounts, prove_state, template_tokens
from anvil.ledger.events.load import CacheState
from anvil.ledger.rows import Row

TEMPLATE = 24


def rows(*cached: int | None, prompt: int | None = 600, **changed: Any) -> list[Row]:
    """Requests that were sent one after another."""
    return [
        row(index=number, started_ns=number * 10**9, cached_tokens=count, prompt_tokens=prompt, **changed)
        for number, count in enumerate(cached)
    ]


def prove(
    found: list[Row],
    wanted: CacheState = "cold",
    *,
    shared: bool = False,
    template: int | None = TEMPLATE,
    counted: EngineCounts | None = None,
) -> CacheProof:
    return prove_state(found, wanted, shares_prefix=shared, template=template, counted=counted)


def test_the_templates_own_prefix_is_what_prompts_that_share_nothing_have_in_the_cache() -> None:
    assert template_tokens(rows(0, 24, 26, 24)) == 24
    assert template_tokens(rows(599, 24)) == 24
    assert template_tokens(rows(0, 0, 0)) == 0
    assert template_tokens(rows(0, 0, 24)) == 24
    assert template_tokens(rows(None, None)) is None
    assert template_tokens(rows(0)) is None


@pytest.mark.parametrize(
    ("cached", "state", "findings"),
    [
        ((0, 24, 24), "cold", ()),
        ((0, 40, 24), "cold", ()),
        ((0, 41, 24), "primed", ("cache_not_as_wanted",)),
        ((24, 24, 599), "primed", ("cache_not_as_wanted",)),
        ((None, None, None), "unknown", ("cache_state_unproved",)),
        ((24, None, 24), "unknown", ("cache_state_unproved",)),
    ],
)
def test_cold_is_the_template_and_one_block(
    cached: tuple[int | None, ...], state: str, findings: tuple[str, ...]
) -> None:
    proof = prove(rows(*cached))
    assert (proof.state, proof.findings) == (state, findings)
    assert proof.basis == ("nothing" if state == "unknown" else "cached_tokens")


def test_independent_prompts_that_were_not() -> None:
    """Lesson 22: 95 % of tokens came from the cache while the run was marked as not shared."""
    proof = prove(rows(0, 570, 570, 570))
    assert (proof.state, proof.findings) == ("primed", ("cache_not_as_wanted",))
    assert (proof.cached_tokens, proof.prompt_tokens) == (1710, 2400)


@given(st.lists(st.one_of(st.none(), st.integers(0, 600)), min_size=1, max_size=6), st.booleans())
def test_a_burst_that_shares_its_prefix_is_never_called_cold(
    cached: list[int | None], by_counters: bool
) -> None:
    known = [count or 0 for count in cached]
    counted = EngineCounts(sum(known), 600 * len(cached)) if by_counters else None
    proof = prove(rows(*cached), "shared_within_run", shared=True, counted=counted)
    assert proof.state != "cold"


@pytest.mark.parametrize(
    ("cached", "wanted", "state", "findings"),
    [
        ((0, 324, 324), "shared_within_run", "shared_within_run", ()),
        ((24, 24, 24), "shared_within_run", "shared_within_run", ()),
        ((324, 324, 324), "shared_within_run", "primed", ("cache_not_as_wanted",)),
        ((324, 324, 324), "primed", "primed", ()),
        ((0, 324, 324), "primed", "shared_within_run", ("cache_not_as_wanted",)),
        ((324, 0, 324), "primed", "primed", ()),
    ],
)
def test_whoever_is_sent_before_an_answer_tells_a_shared_prefix_from_a_primed_one(
    cached: tuple[int, ...], wanted: CacheState, state: str, findings: tuple[str, ...]
) -> None:
    proof = prove(rows(*cached), wanted, shared=True)
    assert (proof.state, proof.findings) == (state, findings)
    assert prove(rows(*cached)[::-1], wanted, shared=True) == proof


def test_of_a_burst_any_request_may_be_served_first() -> None:
    burst = [
        row(index=number, started_ns=number * 1000, cached_tokens=count, prompt_tokens=600)
        for number, count in enumerate((324, 324, 0))
    ]
    assert prove(burst, "shared_within_run", shared=True).state == "shared_within_run"
    late = [*burst[:2], row(index=2, started_ns=10**9, cached_tokens=0, prompt_tokens=600)]
    assert prove(late, "primed", shared=True).state == "primed"


def test_a_template_that_was_not_measured() -> None:
    assert prove(rows(0, 0), template=None).state == "cold"
    assert prove(rows(24, 24), template=None).state == "unknown"
    assert prove(rows(0, 570), template=None).state == "primed"


@pytest.mark.parametrize(
    ("counted", "shared", "state"),
    [
        (EngineCounts(48, 1800), False, "cold"),
        (EngineCounts(cached_tokens=48, computed_tokens=1752), False, "cold"),
        (EngineCounts(1200, 1800), False, "primed"),
        (EngineCounts(48, 1800), True, "shared_within_run"),
        (EngineCounts(1200, 1800), True, "unknown"),
        (EngineCounts(48, None), False, "unknown"),
        (EngineCounts(None, 1800), False, "unknown"),
    ],
)
def test_the_engines_counters_stand_in_for_counts_that_requests_lack(
    counted: EngineCounts, shared: bool, state: str
) -> None:
    proof = prove(rows(None, None, None), "unknown", shared=shared, counted=counted)
    assert (proof.state, proof.findings) == (state, ())
    assert proof.basis == ("nothing" if state == "unknown" else "engine_counters")


def test_counters_that_counted_others_too_prove_nothing() -> None:
    proof = prove(rows(None, None), counted=EngineCounts(48, 9000))
    assert (proof.state, proof.findings) == ("unknown", ("other_requests_counted", "cache_state_unproved"))


def test_counters_that_say_something_else_than_the_requests() -> None:
    assert prove(rows(0, 24), counted=EngineCounts(24, 1200)).findings == ()
    assert prove(rows(0, 24), counted=EngineCounts(600, 1200)).findings == ("cached_tokens_disagree",)


def test_after_a_failure_the_counters_are_not_compared() -> None:
    """A request that failed may have been read, and does not say how much."""
    failed = row(index=9, outcome="failed", failure="timeout", cached_tokens=None, prompt_tokens=None)
    proof = prove([*rows(0, 24), failed], counted=EngineCounts(24, 1800))
    assert (proof.state, proof.findings) == ("cold", ())
    assert prove([failed]).state == "unknown"
