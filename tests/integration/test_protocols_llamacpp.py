"""Protocols at a real engine: exact lengths, hits by cached tokens, and a window filled to its last few tokens."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import pytest
from support.llamacpp import llamacpp
from support.protocols import measured_at

from anvil.collectors.load.cachestate import EngineCounts, prove_state, template_tokens
from anvil.collectors.load.findings import Asked, find
from anvil.collectors.load.rows import write_rows
from anvil.collectors.reports.counters import count
from anvil.ledger.rows import read_rows

SHARED, ENDING = 300, 100
BURSTS = {"shared_prefix_tokens": SHARED, "ending_tokens": ENDING, "concurrency": 2, "output_tokens": 4}
EMPTY = {"input_tokens": 120, "requests": 3, "runs": 1, "warmup_requests": 0, "output_tokens": 1}


def metrics(base_url: str) -> str:
    with urllib.request.urlopen(f"{base_url}/metrics", timeout=60) as answer:
        return str(answer.read().decode())


@pytest.mark.needs("quickstart")
def test_a_prefix_that_was_read_before_is_found_in_the_cache_and_a_salted_prompt_is_not(
    tmp_path: Path,
) -> None:
    with llamacpp(tmp_path) as base_url:
        (alone,) = measured_at(base_url, "capacity", EMPTY)
        template = template_tokens(alone.rows)
        before = metrics(base_url)
        _, first, repeat = measured_at(base_url, "prefix-cache", BURSTS)
        after = metrics(base_url)

    assert template is not None
    assert 0 < template < 60
    assert prove_state(alone.rows, "cold", shares_prefix=False, template=template).state == "cold"

    for run in (alone, first, repeat):
        target = run.cell.input_target_tokens or 0
        assert [row.prompt_tokens for row in run.rows] == [target] * len(run.rows)
        asked = Asked(len(run.rows), run.cell.output_cap_tokens, target)
        read, rows = read_rows(write_rows(run.run, run.rows))
        assert [finding.label for finding in find(read, rows, asked)] == []

    proofs = [
        prove_state(run.rows, run.cell.cache_wanted, shares_prefix=True, template=template)
        for run in (first, repeat)
    ]
    assert [(proof.state, proof.basis, proof.findings) for proof in proofs] == [
        ("shared_within_run", "cached_tokens", ()),
        ("primed", "cached_tokens", ()),
    ]
    for row in repeat.rows:
        assert SHARED + template <= (row.cached_tokens or 0) < SHARED + template + 16
    assert repeat.concluded.findings == ()

    counts = count("llamacpp", before, after)
    assert counts is not None
    engine = EngineCounts(counts.of("cached_prompt_tokens"), None, counts.of("computed_prompt_tokens"))
    cached = engine.cached_tokens or 0
    assert cached >= sum(row.cached_tokens or 0 for run in (first, repeat) for row in run.rows) > 0


@pytest.mark.needs("quickstart")
def test_the_longest_prompt_that_fits_a_real_window(tmp_path: Path) -> None:
    window = 512
    with llamacpp(tmp_path, slots=1, slot_context=window) as base_url:
        given = {"output_tokens": 8, "runs": 1, "ignore_eos": True}
        (fits,) = measured_at(base_url, "near-limit", given, window)
        (exceeds,) = measured_at(base_url, "near-limit", given | {"spare_tokens": 0}, window + 64)
    (row,) = fits.rows
    assert (row.outcome, row.prompt_tokens, row.completion_tokens) == ("completed", window - 16, 8)
    assert row.ttft_ns
    assert fits.concluded.findings == ()
    (row,) = exceeds.rows
    assert (row.outcome, row.failure, row.http_status) == ("failed", "http_error", 400)
