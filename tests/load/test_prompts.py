"""Prompts of exact length: their bytes, what they share, and how their length is found."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anvil.collectors.filler import WORDS
from anvil.collectors.load.prompts import (
    SALT_WORDS,
    Messages,
    Prompt,
    PromptLine,
    Sized,
    TokenSource,
    Wanted,
    make_again,
    make_prompt,
    size_problem,
    size_prompts,
    write_prompts,
)
from anvil.ledger.errors import CollectorError

SEEDS = st.integers(0, 2**53 - 1)
NUMBERS = st.integers(0, len(WORDS) ** 2 - 1)
TEMPLATE = 23  # tokens that the pretended chat template adds


class Tokenizer:
    """Counts like a tokenizer: words whose length is a multiple of `splits` have two tokens."""

    def __init__(self, splits: int = 0, limit: int | None = None) -> None:
        self.splits, self.limit = splits, limit
        self.seen: list[str] = []

    def tokens(self, text: str) -> int:
        pieces = re.findall(r"[A-Za-z]+|[^A-Za-z\s]", text)
        return TEMPLATE + sum(2 if self.splits and len(piece) % self.splits == 0 else 1 for piece in pieces)

    async def __call__(self, messages: Messages) -> int | None:
        self.seen.append(messages[0]["content"])
        if self.limit is not None and len(self.seen) > self.limit:
            return None
        return self.tokens(messages[0]["content"])


def sized(wanted: Wanted, numbers: Sequence[int], source: TokenSource | None) -> Sized:
    return asyncio.run(size_prompts(wanted, numbers, source))


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many words two texts begin with in common."""
    for position, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return position
    return min(len(one), len(other))


# --- what they share -------------------------------------------------------------------------------------------


@given(SEEDS, st.integers(0, 10_000), st.integers(1, len(WORDS) - 1))
def test_independent_prompts_shared_their_prefix(seed: int, first: int, apart: int) -> None:
    """Lesson 22: 95 % of tokens came from the cache while the run was marked as not shared."""
    one, other = make_prompt(seed, first, 100), make_prompt(seed, first + apart, 100)
    assert common(one.text.split(), other.text.split()) == 0


@given(SEEDS, NUMBERS, NUMBERS)
def test_many_prompts_of_one_salt_share_a_word_at_most(seed: int, one: int, other: int) -> None:
    if one != other:
        shared = common(make_prompt(seed, one, 50).text.split(), make_prompt(seed, other, 50).text.split())
        assert shared <= 1


@given(SEEDS, st.text(max_size=8), st.text(max_size=8), NUMBERS, NUMBERS)
def test_prompts_of_two_salts_share_no_salt(seed: int, a: str, b: str, one: int, other: int) -> None:
    if a != b:
        prompts = [
            make_prompt(Wanted(100, seed, salt).drawn_from, number, 50).text.split()
            for salt, number in ((a, one), (b, other))
        ]
        assert common(*prompts) < SALT_WORDS


@given(SEEDS, NUMBERS, st.integers(1, 50), st.integers(1, 300))
def test_shared_words_stand_first_and_the_salt_after_them(
    seed: int, number: int, apart: int, shared: int
) -> None:
    one, other = make_prompt(seed, number, 20, shared), make_prompt(seed, number + apart, 20, shared)
    assert common(one.text.split(), other.text.split()) == shared


# --- the same bytes again ---------------------------------------------------------------------------------------


@given(SEEDS, NUMBERS, st.integers(0, 200), st.integers(0, 200))
def test_the_same_seed_gives_the_same_bytes(seed: int, number: int, words: int, shared: int) -> None:
    prompt = make_prompt(seed, number, words, shared)
    assert make_prompt(seed, number, words, shared) == prompt
    assert make_again(PromptLine.read(prompt.line.spelled().rstrip(b"\n"))).text == prompt.text


def test_the_bytes_of_this_version_are_these() -> None:
    """A change of the generator that forgets its version would make kept digests wrong."""
    assert make_prompt(1, 0, 3, 2).line.digest == DIGEST
    lines = write_prompts([make_prompt(1, number, 3) for number in range(2)]).splitlines()
    assert [PromptLine.read(line).number for line in lines] == [0, 1]


@given(SEEDS, NUMBERS, st.integers(0, 100), st.integers(1, 100))
def test_a_longer_prompt_begins_with_the_shorter(seed: int, number: int, words: int, more: int) -> None:
    shorter, longer = make_prompt(seed, number, words), make_prompt(seed, number, words + more)
    assert longer.text.split("\n")[0].startswith(shorter.text.split("\n")[0])


@pytest.mark.parametrize("changed", [{"version": 2}, {"generator": "another"}, {"words": 4}])
def test_what_cannot_be_made_again_is_refused(changed: dict[str, object]) -> None:
    line = make_prompt(1, 0, 3).line
    with pytest.raises(CollectorError):
        make_again(line.model_copy(update=changed))


# --- their length ------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(SEEDS, st.integers(100, 1500), st.sampled_from([0, 4, 5, 7]))
def test_a_counted_prompt_has_the_target_or_misses_it_by_a_token(seed: int, target: int, splits: int) -> None:
    tokenizer = Tokenizer(splits)
    found = sized(Wanted(target, seed, "x"), range(4), TokenSource("tokenize", tokenizer, is_reading=False))
    assert found.basis == "counted"
    counts = [tokenizer.tokens(prompt.text) for prompt in found.prompts]
    assert list(found.counted) == counts
    assert all(abs(count - target) <= (1 if splits else 0) for count in counts)
    assert size_problem(target, counts) is None
    assert len({prompt.text for prompt in found.prompts}) == 4


@settings(max_examples=40)
@given(SEEDS, st.integers(400, 2000), st.sampled_from([0, 5]))
def test_where_only_usage_counts_no_prompt_was_read_before(seed: int, target: int, splits: int) -> None:
    tokenizer = Tokenizer(splits)
    found = sized(Wanted(target, seed, "x"), range(3), TokenSource("usage", tokenizer, is_reading=True))
    assert (found.basis, found.counted) == ("reckoned", (None, None, None))
    assert len(tokenizer.seen) == 2
    for prompt in found.prompts:
        for seen in tokenizer.seen:
            assert common(prompt.text.split(), seen.split()) < 4
        if not splits:
            assert abs(tokenizer.tokens(prompt.text) - target) <= 1
    if splits:  # how many words split depends on which were drawn
        assert all(abs(tokenizer.tokens(prompt.text) - target) * 5 < target for prompt in found.prompts)


def test_without_any_count_the_length_is_a_guess_and_says_so() -> None:
    found = sized(Wanted(500, 1, "x"), [0], None)
    assert (found.basis, found.source, found.counted) == ("guessed", None, (None,))
    silent = sized(Wanted(500, 1, "x"), [0], TokenSource("usage", Tokenizer(limit=0), is_reading=True))
    assert (silent.basis, silent.source) == ("guessed", "usage")


def test_a_counter_that_stops_counting_leaves_what_was_reckoned() -> None:
    found = sized(Wanted(500, 1, "x"), [0, 1], TokenSource("tokenize", Tokenizer(limit=3), is_reading=False))
    assert found.basis == "reckoned"
    assert found.counted[1] is None
    assert len({prompt.text for prompt in found.prompts}) == 2


def test_a_target_below_the_least_prompt_is_off() -> None:
    tokenizer = Tokenizer()
    found = sized(Wanted(20, 1, "x"), [0], TokenSource("tokenize", tokenizer, is_reading=False))
    assert found.prompts[0].words == 0
    assert size_problem(20, found.counted) == "off"


@settings(max_examples=25)
@given(SEEDS, st.integers(200, 1000), st.sampled_from([0, 5]))
def test_a_shared_prefix_has_the_tokens_that_are_stated(seed: int, shared: int, splits: int) -> None:
    tokenizer = Tokenizer(splits)
    wanted = Wanted(2000, seed, "x", shared_tokens=shared)
    found = sized(wanted, range(3), TokenSource("tokenize", tokenizer, is_reading=False))
    assert found.shared_tokens is not None
    assert abs(found.shared_tokens - shared) <= (1 if splits else 0)
    beginning = " ".join(found.prompts[0].text.split()[: found.prompts[0].shared_words])
    assert tokenizer.tokens(beginning) - TEMPLATE == found.shared_tokens
    assert all(prompt.text.startswith(f"{beginning} ") for prompt in found.prompts)
    assert all(abs(tokenizer.tokens(prompt.text) - 2000) <= 1 for prompt in found.prompts)


def test_two_runs_of_one_seed_share_the_same_words() -> None:
    source = TokenSource("tokenize", Tokenizer(5), is_reading=False)
    wanted = Wanted(2000, 3, "x", shared_tokens=700)
    first, repeat = sized(wanted, range(3), source), sized(wanted, range(3, 6), source)
    assert {prompt.shared_words for prompt in (*first.prompts, *repeat.prompts)} == {
        first.prompts[0].shared_words
    }
    assert not {prompt.text for prompt in first.prompts} & {prompt.text for prompt in repeat.prompts}


@pytest.mark.parametrize(
    ("actual", "problem"),
    [
        ([1000], None),
        ([1010], None),
        ([990, 1010], None),
        ([1011], "off"),
        ([980, 990], "off"),
        ([1000, None], "unknown"),
        ([], "unknown"),
    ],
)
def test_more_than_one_percent_off_is_said(actual: list[int | None], problem: str | None) -> None:
    assert size_problem(1000, actual) == problem


def test_a_prompt_is_one_user_message() -> None:
    prompt = make_prompt(7, 0, 10)
    assert isinstance(prompt, Prompt)
    assert [message["role"] for message in prompt.messages] == ["user"]
    assert set(re.findall("[a-z]+", prompt.text.split("\n")[0])) <= set(WORDS)


DIGEST = "sha256:0aa3efb05130282b17b57140b61e805ea97491c1b7224447f395a8c6a1d668e9"
