"""Engine counters: the text format read strictly, and exact differences, or the reason why there is none."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil.collectors.reports.counters import METRICS, Counted, count
from anvil.collectors.reports.exposition import MalformedExposition, Sample, read_exposition
from anvil.ledger.events.load import EngineCounter

NAMES = st.from_regex(r"\A[a-zA-Z_:][a-zA-Z0-9_:]{0,20}\Z")
LABELS = st.dictionaries(
    st.from_regex(r"\A[a-zA-Z_][a-zA-Z0-9_]{0,8}\Z"),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=12),
    max_size=3,
)

VLLM = """\
# HELP vllm:prompt_tokens_total Number of prefill tokens processed.
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{{engine="0",model_name="m"}} {prompt}
vllm:prompt_tokens_total{{engine="1",model_name="m"}} 10.0
# HELP vllm:prefix_cache_hits_total Prefix cache hits, in terms of number of cached tokens.
vllm:prefix_cache_hits_total{{engine="0",model_name="m"}} {hits}
vllm:request_success_total{{engine="0",finished_reason="stop",model_name="m"}} {done}
vllm:request_success_total{{engine="0",finished_reason="length",model_name="m"}} 0.0
vllm:prompt_tokens_created{{engine="0",model_name="m"}} 1.7322e+09
"""


def by_name(found: object) -> dict[str, Counted]:
    assert found is not None
    return {figure.name: figure for figure in found.figures}  # type: ignore[attr-defined]


# --- the text format ------------------------------------------------------------------------------------------


def spelt(name: str, labels: dict[str, str], value: str) -> str:
    def escaped(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    inside = ",".join(f'{key}="{escaped(text)}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {value}" if labels else f"{name} {value}"


@given(
    st.lists(
        st.tuples(NAMES, LABELS, st.decimals(allow_nan=False, allow_infinity=False, places=4)), max_size=5
    )
)
def test_what_is_written_is_read(rows: list[tuple[str, dict[str, str], object]]) -> None:
    text = "# TYPE x counter\n\n" + "".join(
        spelt(name, labels, f"{value}") + "\n" for name, labels, value in rows
    )
    assert read_exposition(text) == tuple(
        Sample(name, labels, Fraction(str(value))) for name, labels, value in rows
    )


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("1.027e+03", Fraction(1027)),
        ("0.1", Fraction(1, 10)),
        ("12 1395066363000", Fraction(12)),
        ("+Inf", None),
        ("NaN", None),
        ("-Inf", None),
        ("9007199254740993", Fraction(9007199254740993)),
    ],
)
def test_numbers_are_the_decimals_that_were_printed(printed: str, value: Fraction | None) -> None:
    assert read_exposition(f"a {printed}\n") == (Sample("a", {}, value),)


@pytest.mark.parametrize(
    "line",
    ["a", "a{", 'a{b="c} 1', "a 1 2 3", "a one", "1a 2", 'a{b="\\x"} 1', "<html>", 'a{b="c"}1 x', "a 1e9999"],
)
def test_a_line_of_another_kind_makes_the_whole_unreadable(line: str) -> None:
    with pytest.raises(MalformedExposition, match="line 2"):
        read_exposition(f"b 1\n{line}\n")


@given(st.text(max_size=60))
def test_no_text_raises_anything_else(text: str) -> None:
    found: tuple[Sample, ...] = ()
    with suppress(MalformedExposition):
        found = read_exposition(text)
    assert len(found) <= text.count("\n") + 1


# --- differences ------------------------------------------------------------------------------------------------


def test_what_was_counted_between_two_readings() -> None:
    before = VLLM.format(prompt="1.5e+06", hits="16.0", done="3.0")
    after = VLLM.format(prompt="1.500600e+06", hits="48.0", done="8.0")
    found = count("vllm", before, after)
    assert found is not None
    assert (found.of("prompt_tokens"), found.of("cached_prompt_tokens"), found.of("finished_requests")) == (
        600,
        32,
        5,
    )
    figures = by_name(found)
    assert (figures["prompt_tokens"].before, figures["prompt_tokens"].after) == ("1500010", "1500610")
    assert (figures["drafts"].counted, figures["drafts"].absent) == (None, "not-exposed")
    assert [fact.name for fact in found.facts] == [
        "prompt_tokens",
        "cached_prompt_tokens",
        "finished_requests",
    ]
    assert found.facts[1] == EngineCounter(name="cached_prompt_tokens", before="16", after="48")


def test_an_older_spelling_is_found_too() -> None:
    found = count("vllm", "vllm:gpu_prefix_cache_hits_total 1\n", "vllm:gpu_prefix_cache_hits_total 5\n")
    assert found is not None
    assert found.of("cached_prompt_tokens") == 4


def test_parts_of_a_counter_are_added_up() -> None:
    text = 'sglang:cached_tokens_total{{cache_source="device"}} {0}\nsglang:cached_tokens_total{{cache_source="host"}} 4\n'
    found = count("sglang", text.format(1), text.format(6))
    assert found is not None
    assert found.of("cached_prompt_tokens") == 5


def test_a_gauge_has_no_difference_and_keeps_what_it_said() -> None:
    found = by_name(count("sglang", "sglang:spec_accept_length 1.5\n", "sglang:spec_accept_length 2.25\n"))
    length = found["accepted_length"]
    assert (length.before, length.after, length.counted, length.absent) == ("1.5", "2.25", None, "gauge")
    two = 'sglang:cache_hit_rate{tp_rank="0"} 0.5\nsglang:cache_hit_rate{tp_rank="1"} 0.25\n'
    assert by_name(count("sglang", two, two))["cache_hit_rate"].absent == "differing-values"


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (None, "llamacpp:prompt_tokens_total 1", "metrics-not-read"),
        ("llamacpp:prompt_tokens_total 1", None, "metrics-not-read"),
        ("<html>", "llamacpp:prompt_tokens_total 1", "malformed-metrics"),
        ("", "llamacpp:prompt_tokens_total 1", "not-exposed"),
        ("llamacpp:prompt_tokens_total 5", "llamacpp:prompt_tokens_total 1", "counter-set-back"),
        ("llamacpp:prompt_tokens_total NaN", "llamacpp:prompt_tokens_total 1", "no-decimal-number"),
        ("llamacpp:prompt_tokens_total 1", "llamacpp:prompt_tokens_total 1e30", "no-decimal-number"),
    ],
)
def test_what_is_not_known_is_null_with_its_reason(
    before: str | None, after: str | None, reason: str
) -> None:
    found = by_name(count("llamacpp", before, after))["computed_prompt_tokens"]
    assert (found.counted, found.tokens, found.absent) == (None, None, reason)


def test_an_engine_without_a_table() -> None:
    assert count("other", "a 1", "a 2") is None


@given(st.sampled_from(sorted(METRICS)), st.integers(0, 10**17), st.integers(0, 10**17))
def test_each_metric_of_each_engine_is_read(engine: str, before: int, more: int) -> None:
    def text(value: int) -> str:
        return "".join(f"{metric.spellings[0]} {value}\n" for metric in METRICS[engine])

    found = count(engine, text(before), text(before + more))
    assert found is not None
    for metric, figure in zip(METRICS[engine], found.figures, strict=True):
        assert figure.tokens == (more if metric.kind == "counter" else None)
        assert (figure.absent is None) is (metric.kind == "counter")
