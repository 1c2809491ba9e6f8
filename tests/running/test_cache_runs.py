"""Ladders, bursts on a shared prefix and the longest prompt, in a run: what their events say and what proves it."""

from __future__ import annotations

import json
from typing import Any

from support.caching import TEMPLATE, Model
from support.endpoint import Reply, Server
from support.loads import content, loads, measured
from support.running import Bench

from anvil.collectors.protocols.needles import NeedleLine
from anvil.ledger.events import CheckCompleted, LoadMeasured

LADDER = """[[protocols]]
id = "context-ladder"
parameters = { input_tokens = [200, 300], depths = [10, 90], repetitions = 2, output_tokens = 16 }
"""
BURSTS = """[[protocols]]
id = "prefix-cache"
parameters = { shared_prefix_tokens = 300, ending_tokens = 120, concurrency = 3, output_tokens = 8 }
"""
LONGEST = """[[protocols]]
id = "near-limit"
parameters = { runs = 2, output_tokens = 8 }
"""
WINDOW = "[engines.a1.settings]\ncontext_tokens = 700\n"


def run(bench: Bench, model: Model, protocols: str, **of_recipe: Any) -> list[LoadMeasured]:
    """Carry protocols out at a server that stands there, and return what was measured."""
    recipe = bench.recipe(checks=[], more=protocols, engine="vllm", **of_recipe)
    with Server(chat=model, model="org/tiny") as server:
        model.count_at(server)
        server.on("/metrics", lambda request: Reply(model.metrics(), content_type="text/plain"))
        ran = bench.run(recipe, "--base-url", server.base_url)
    assert ran.code == 0, ran.err
    bench.require_whole()
    return [event for event in measured(bench) if event.phase == "measured"]


def counted(event: LoadMeasured) -> dict[str, int]:
    """How much each of the engine's counters grew."""
    return {item.name: int(item.after or 0) - int(item.before or 0) for item in event.counters}


def observed(event: LoadMeasured) -> dict[str, object]:
    return {item.name: item.value for item in event.observed}


def test_a_ladder_has_a_verdict_at_each_rung_beside_what_was_measured(bench: Bench) -> None:
    runs = run(bench, Model(), LADDER)
    assert [(event.cell, event.completed, event.cache_state) for event in runs] == [
        ("rung-1", 5, "cold"),
        ("rung-2", 5, "cold"),
    ]
    verdicts = [event for event in bench.events(CheckCompleted) if event.check == "retrieval"]
    assert [(event.selected_as, event.passed, event.expected) for event in verdicts] == [
        ("context-ladder.rung-1", 4, 4),
        ("context-ladder.rung-2", 4, 4),
    ]
    for event, target in zip(verdicts, (200, 300), strict=True):
        assert {request.prompt_tokens for request in event.requests} <= {target - 1, target, target + 1}
    # This server takes no longer for a longer prompt.
    assert {label for event in runs for label in event.findings} <= {"ttft_falls_along_ladder"}
    for seen in loads(bench):
        lines = content(bench, seen, "prompts").splitlines()
        assert {NeedleLine.read(line).generator for line in lines} == {"salted-needle"}


def test_a_repeat_is_primed_by_cached_tokens_and_the_engine_agrees(bench: Bench) -> None:
    first, repeat = run(bench, Model(), BURSTS)
    assert (first.cell, first.cache_state, first.findings) == ("first-1", "shared_within_run", ())
    assert (repeat.cell, repeat.cache_state, repeat.findings) == ("repeat-1", "primed", ())
    assert counted(repeat) == {
        "prompt_tokens": 3 * 420,
        "cached_prompt_tokens": 3 * (TEMPLATE + 300),
        "completion_tokens": 3 * 4,
    }
    told = observed(repeat)
    assert (told["template_tokens"], told["cache_basis"]) == (TEMPLATE, "cached_tokens")
    assert (told["shared_tokens_counted"], repeat.shared_prefix_tokens) == (300, 300)


def test_an_engine_without_a_prefix_cache_reads_the_prefix_again(bench: Bench) -> None:
    runs = run(bench, Model(keeps=False), BURSTS)
    assert [(event.cache_state, event.findings) for event in runs] == [("shared_within_run", ())] * 2


def test_without_cached_tokens_reuse_is_timing_and_the_state_is_by_counters_or_unknown(bench: Bench) -> None:
    first, repeat = run(bench, Model(reports=False), BURSTS)
    assert (repeat.cache_state, repeat.findings) == ("unknown", ("reuse_by_timing_only",))
    assert "cold" not in {first.cache_state, repeat.cache_state}


def test_the_longest_prompt_that_fits_the_window(bench: Bench) -> None:
    runs = run(bench, Model(window=700), LONGEST, lines=WINDOW, argv=["--max-model-len", "700"])
    assert [(event.completed, event.findings) for event in runs] == [(1, ()), (1, ())]
    for event in runs:
        assert (observed(event)["window_tokens"], observed(event)["aimed_tokens"]) == (700, 684)
    rows = [json.loads(content(bench, seen, "rows").splitlines()[1]) for seen in loads(bench)]
    assert [row["prompt_tokens"] for row in rows] == [684, 684]


def test_without_a_window_the_cell_is_left_out_and_a_caveat_says_so(bench: Bench) -> None:
    assert run(bench, Model(), LONGEST) == []
    (types,) = bench.types()
    assert "caveat.noted" in types


def test_somebody_else_who_uses_the_engine_is_seen(bench: Bench) -> None:
    model = Model()
    model.others = 100
    for event in run(bench, model, LADDER):
        assert "other_requests_counted" in event.findings
