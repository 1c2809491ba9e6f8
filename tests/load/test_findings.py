"""Impossible and suspicious results, each found where it is, and none where it is not."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.endpoint import Chat, Server
from support.loading import MODEL, PATIENT
from support.rows import row

from anvil.collectors.interface import Endpoint
from anvil.collectors.load.closed_loop import ClosedLoop
from anvil.collectors.load.findings import FINDINGS, Asked, Finding, Rung, falls, find, most_in_flight
from anvil.collectors.load.requests import PlannedRequest, Target
from anvil.collectors.load.rows import read_request, write_rows
from anvil.ledger.events.load import IMPOSSIBLE as NO_FIGURE
from anvil.ledger.rows import Row, RunRow, read_rows

ASKED = Asked(requests=1, cap_tokens=10, target_tokens=1000)


def run(**changed: Any) -> RunRow:
    members: dict[str, Any] = {
        "parser_version": 1,
        "concurrency": 1,
        "stepped": False,
        "aborted": False,
        "offset_error_ns": 100,
        "ended_ns": 10**12,
    }
    return RunRow(**members | changed)


def labels(*rows: Row, asked: Asked = ASKED, **of_run: Any) -> list[str]:
    return [finding.label for finding in find(run(**of_run), rows, asked)]


def test_an_ordinary_run_has_no_findings() -> None:
    assert labels(row()) == []
    second = row(index=1, started_ns=700_000_000)
    assert labels(row(), second, asked=Asked(2, 10, 1000)) == []


IMPOSSIBLE = {
    "moments_out_of_order": [
        {"ttft_ns": 50_000_000},
        {"end_ns": 400_000_000},
        {"ttfo_earliest_ns": 100_000_001},
        {"first_event_ns": 100_000_001},
        {"head_ns": 0, "first_event_ns": 0},
    ],
    "gaps_do_not_sum": [
        {"delta_ns": (100_000_000, 200_000_000, 499_999_999)},
        {"delta_ns": (100_000_000, 300_000_000, 200_000_000, 400_000_000, 500_000_000)},
        {"delta_ns": (100_000_001, 200_000_000, 500_000_000)},
    ],
    "peak_rate_under_mean": [{"delta_completion_tokens": (1, 2, 3, 4, 5), "completion_tokens": 6}],
    "cap_exceeded": [{"completion_tokens": 11}, {"warnings": ("cap_exceeded",)}],
    "prefill_contradicts": [
        {
            "ttfo_ns": 0,
            "ttfo_earliest_ns": 0,
            "head_ns": 0,
            "first_event_ns": None,
            "delta_ns": (0, 200_000_000, 300_000_000, 400_000_000, 500_000_000),
        }
    ],
    "more_cached_than_prompt": [{"cached_tokens": 1001}],
    "cap_reached_with_stop": [
        {"completion_tokens": 10, "finish_reason": "stop"},
        {"warnings": ("cap_reached_with_stop",)},
    ],
}


@pytest.mark.parametrize(
    ("label", "changed"), [(label, one) for label, all_ in IMPOSSIBLE.items() for one in all_]
)
def test_a_request_that_cannot_be(label: str, changed: dict[str, Any]) -> None:
    assert find(run(), [row(**changed)], ASKED) == (Finding(label, (0,)),)


def test_what_a_failed_request_holds_is_no_finding() -> None:
    failed = row(outcome="failed", failure="truncated_stream", completion_tokens=11, cached_tokens=1001)
    assert labels(failed) == ["requests_failed"]


def test_failed_requests_limit_what_the_others_say() -> None:
    asked = Asked(requests=3, cap_tokens=10)
    rows = [
        row(),
        row(index=1, outcome="failed", failure="http_error", http_status=429),
        row(index=2, outcome="failed", failure="connection_reset", http_status=None),
    ]
    assert find(run(concurrency=3), rows, asked) == (
        Finding("requests_failed", (1, 2)),
        Finding("load_refused", (1,)),
    )


def test_what_was_sent_again_on_a_fresh_connection_did_not_fail() -> None:
    stale = row(outcome="failed", failure="connection_stale", http_status=None)
    asked = Asked(requests=1, cap_tokens=10)
    assert find(run(), [stale, row(attempt=2, started_ns=10**9)], asked) == ()


def test_another_length_where_the_end_was_to_be_ignored() -> None:
    asked = Asked(requests=2, cap_tokens=5, ignores_eos=True)
    rows = [row(), row(index=1, started_ns=10**9, completion_tokens=4)]
    assert find(run(), rows, asked) == (Finding("lengths_differ", (1,)),)


def test_the_clock_was_set() -> None:
    assert labels(row(), stepped=True) == ["clock_stepped"]


def test_more_under_way_than_streams() -> None:
    rows = [row(), row(index=1, started_ns=699_000_000)]
    asked = Asked(2, 10, 1000)
    assert labels(*rows, asked=asked) == ["more_in_flight_than_cap"]
    assert labels(*rows, asked=asked, concurrency=2) == []
    assert labels(*rows, asked=asked, offset_error_ns=600_000) == []


def test_a_request_without_a_row_and_one_with_two() -> None:
    assert find(run(), [row()], Asked(3, 10, 1000)) == (Finding("requests_missing", (1, 2)),)
    assert labels(row(), asked=Asked(3, 10, 1000), aborted=True) == []
    twice = [row(), row(started_ns=10**9)]
    assert labels(*twice) == ["requests_doubled"]
    never_stale = [row(), row(attempt=2, started_ns=10**9)]
    assert labels(*never_stale) == ["requests_doubled"]
    stale = row(outcome="failed", failure="connection_stale", end_ns=None, gave_up_ns=1000)
    assert labels(stale, row(attempt=2, started_ns=2000)) == []


@pytest.mark.parametrize(
    ("tokens", "found"),
    [(1010, []), (1011, ["prompt_size_off"]), (989, ["prompt_size_off"]), (None, ["prompt_size_unknown"])],
)
def test_prompts_of_another_size(tokens: int | None, found: list[str]) -> None:
    assert labels(row(prompt_tokens=tokens)) == found


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)), max_size=12))
def test_how_many_are_under_way_is_what_counting_at_each_moment_gives(spans: list[tuple[int, int]]) -> None:
    rows = [row(index=number, started_ns=start, end_ns=lasts) for number, (start, lasts) in enumerate(spans)]
    at_once = [sum(start <= now < start + lasts for start, lasts in spans) for now in range(80)]
    assert most_in_flight(run(offset_error_ns=0), rows) == max(at_once)


# --- along a ladder -----------------------------------------------------------------------------------------------


def rung(tokens: int, ttft_ms: int, cached: int | None = 20) -> Rung:
    return Rung(f"at-{tokens}", tokens, ttft_ms, cached)


@pytest.mark.parametrize(
    ("rungs", "found"),
    [
        ([rung(1000, 100), rung(2000, 200), rung(4000, 400)], ()),
        ([rung(1000, 100), rung(2000, 90), rung(4000, 95)], ("at-2000", "at-4000")),
        ([rung(4000, 95), rung(1000, 100)], ("at-4000",)),
        ([rung(1000, 100), rung(2000, 90, cached=1900)], ()),
        ([rung(1000, 100), rung(2000, 90, cached=None)], ("at-2000",)),
        ([rung(1000, 100), Rung("none", None, None, None)], ()),
    ],
)
def test_ttft_falling_along_a_ladder(rungs: list[Rung], found: tuple[str, ...]) -> None:
    assert falls(rungs, allowed_cached_tokens=40) == found


def test_a_rung_is_made_of_its_completed_requests() -> None:
    failed = row(outcome="failed", failure="timeout", prompt_tokens=7, ttft_ns=None)
    assert Rung.of("x", [row(), row(prompt_tokens=1001, cached_tokens=None), failed]) == Rung(
        "x", Fraction(2001, 2), 200_000_000, 250
    )
    assert Rung.of("x", [failed]) == Rung("x", None, None, None)


# --- of real runs ---------------------------------------------------------------------------------------------------


def found_at(server: Server, asked: Asked) -> list[str]:
    """Return what is found in the rows of a real run, written and read again."""
    body = b'{"stream":true,"stream_options":{"include_usage":true}}'
    planned = [PlannedRequest(number, body, asked.cap_tokens) for number in range(asked.requests)]
    target = Target.of(Endpoint(server.base_url, MODEL))
    done, records = ClosedLoop(target, planned, concurrency=3, deadlines=PATIENT).run()
    raw = write_rows(done, [read_request(done, record).row for record in records])
    return [finding.label for finding in find(*read_rows(raw), asked)]


def test_a_real_run_has_none_and_a_lying_endpoint_has_those_it_earns() -> None:
    with Server(chat=lambda asked: Chat("a b c", prompt_tokens=1000, completion_tokens=3)) as server:
        assert found_at(server, Asked(6, 5, 1000)) == []
        assert found_at(server, Asked(6, 5, 2000, ignores_eos=True)) == ["lengths_differ", "prompt_size_off"]
    with Server(
        chat=lambda asked: Chat("a b c", prompt_tokens=10, completion_tokens=9, cached_tokens=11)
    ) as server:
        assert found_at(server, Asked(6, 5, 10)) == [
            "cap_exceeded",
            "more_cached_than_prompt",
            "tokens_not_seen",
        ]


# --- the list ---------------------------------------------------------------------------------------------------------


def test_every_label_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "load.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z_]+)` \| (impossible|suspicious|limited) \| (.+) \|$", page, re.MULTILINE)
    assert [(label, (severity, meaning)) for label, severity, meaning in rows] == list(FINDINGS.items())


def test_what_is_impossible_is_what_gives_no_figure() -> None:
    assert {label for label, (severity, _) in FINDINGS.items() if severity == "impossible"} == NO_FIGURE


def test_an_answer_that_was_held_back_until_it_was_whole_is_suspicious() -> None:
    """A thousand tokens of prompt took two seconds, and five hundred of output 4 ms."""
    moments = {"ttfo_ns": 2_000_000_000, "ttfo_earliest_ns": 2_000_000_000, "ttft_ns": 2_000_000_000}
    moments |= {"ttft_earliest_ns": 2_000_000_000, "end_ns": 2_004_000_000}
    deltas = (2_000_000_000, 2_004_000_000)
    last = {"last_output_ns": deltas[1], "last_output_earliest_ns": deltas[1], "delta_kinds": "cc"}
    told = {**moments, **last, "delta_ns": deltas, "delta_earliest_ns": deltas, "completion_tokens": 500}
    assert labels(row(**told), asked=Asked(1, 500, 1000)) == ["output_in_a_burst"]
    assert labels(row(**{**told, "completion_tokens": 15}), asked=Asked(1, 500, 1000)) == []
    assert labels(row(**{**told, "prompt_tokens": 255}), asked=Asked(1, 500, 255)) == []


@pytest.mark.parametrize("reason", ["more_tokens_than_bytes", "reasoning_not_streamed"])
def test_tokens_that_are_counted_and_never_came_are_suspicious(reason: Any) -> None:
    """They give no decode rate; the aggregate counts them all the same."""
    assert labels(row(decode_unmeasurable=reason)) == ["tokens_not_seen"]
    assert labels(row(decode_unmeasurable="output_in_one_read")) == []
