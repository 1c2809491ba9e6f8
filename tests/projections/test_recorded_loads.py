"""Loads as summaries tell of them: what came from a cache, how long prompts were, what supports no figure."""

from __future__ import annotations

from typing import Any

from support.fine.loads import load, row
from support.fine.summaries import NAME, started

from anvil.projections.rendering import Draft


def loaded(count: int = 5, **more: Any) -> Draft:
    stage = started()
    members = {name: more.pop(name) for name in ("prompt_tokens", "cached_tokens") if name in more}
    made = [row(at, 10**8, 10**9, 20, started_ns=at * 10**9, **members) for at in range(count)]
    load(stage, "tiny", "a1", made, **more)
    return stage.drawn(NAME)


def test_what_came_from_a_cache_is_said() -> None:
    """Prompts that were called independent shared their prefix: most of their tokens came from the cache."""
    notes = loaded(cached_tokens=3891).limit.notes
    assert "Load, capacity-4k c1 of tiny: 95.0 % of the prompt tokens came from a cache." in notes
    assert not any("cache" in note for note in loaded(cached_tokens=0).limit.notes)
    silent = "Load, capacity-4k c1 of tiny: the endpoint does not say what came from a cache."
    assert silent in loaded(cached_tokens=None).limit.notes


def test_a_prompt_that_is_not_as_long_as_planned_is_said() -> None:
    drawn = loaded(prompt_tokens=3610)
    protocol = drawn.rendered.document["capacity_4k_c1"]["protocol"]
    assert "4096 prompt tokens planned, 3610 counted on average; " in protocol
    assert (
        "Load, capacity-4k c1 of tiny: 4096 prompt tokens were planned, 3610 counted on average."
        in drawn.limit.notes
    )
    assert "counted" not in loaded(prompt_tokens=4100).rendered.document["capacity_4k_c1"]["protocol"]


def test_too_few_samples_give_no_median_and_the_rule_says_so() -> None:
    drawn = loaded(count=4)
    assert drawn.rendered.document["capacity_4k_c1"]["tiny"]["ttft_p50_ms"] is None
    leaf = drawn.rendered.leaf("/capacity_4k_c1/tiny/ttft_p50_ms")
    assert leaf is not None
    assert leaf.figures[0].rule.endswith("null: 4 samples of a run do not support a p50")
    assert drawn.rendered.document["capacity_4k_c1"]["tiny"]["aggregate_output_tok_s"] is not None


def test_findings_and_a_client_that_was_not_measured_are_said() -> None:
    notes = loaded(findings=("rate-below-mean",), resolution_ns=None).limit.notes
    assert "Load, capacity-4k c1 of tiny: rate-below-mean." in notes
    assert "Load, capacity-4k c1 of tiny: the client's own resolution was not measured in every run." in notes
