"""Prompts for load, of a wanted number of tokens: each one its own, or all with one beginning.

1. A prompt is one user message: words of the filler's vocabulary with one blank between them, and a
   sentence that asks for more. Most tokenizers give each such word one token, so that tokens go with words.
2. Its first eight words are its salt. So prompts share nothing but what the chat template puts before them:
   the first words of `len(WORDS)` prompts in a row are all different, the first two of that many squared.
3. In a shared-prefix prompt the shared words stand first, and the salt after them.
4. All is drawn from a seed and a number. The seed comes from the recipe's seed and the salt's name, so that
   another run has other prompts. The same seed, number and counts of words give the same bytes (`make_prompt`).
5. Where the endpoint counts without reading (`/tokenize`), each prompt is counted until it fits. Where only
   `usage` counts, reading a prompt would put it into the cache: then two short prompts of another salt are
   counted, and the lengths are reckoned from them.
6. What is printed is never the target but what the endpoint reports; `size_problem` says when that is off.

A changed vocabulary, sentence or draw is a new `VERSION`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Annotated, Literal

from pydantic import Field

from anvil.collectors.filler import WORDS, Draws, seed_for
from anvil.ledger.errors import CollectorError
from anvil.ledger.lines import Count, Line
from anvil.ledger.statistics import mean

GENERATOR = "salted-words"
VERSION = 1

SALT_WORDS = 8
_END = "Go on with words like these and do not stop."
_ROUNDS = 12
_SHORT, _LONGER = 32, 160
"""Words of the two prompts that are counted where counting is reading."""

Messages = tuple[dict[str, str], ...]
CountTokens = Callable[[Messages], Awaitable[int | None]]
Make = Callable[[int, int, int, int], "Prompt"]
"""Makes a prompt from a seed, a number, words of its own and shared words; `make_prompt` is one."""

Basis = Literal["counted", "reckoned", "guessed"]
"""How a length was found: each prompt counted, reckoned from two short ones, or nothing was to be had."""


@dataclass(frozen=True)
class TokenSource:
    """How the endpoint counts the prompt tokens of a whole chat.

    `is_reading` says that the engine reads the prompt in order to count it, so that it may be cached.
    """

    name: str
    count: CountTokens
    is_reading: bool


class PromptLine(Line):
    """What makes a prompt again: a line of the artifact `prompts`. No text."""

    generator: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,64}$")]
    """Which generator."""
    version: Count
    """Its version."""
    seed: Count
    """What all was drawn from."""
    number: Count
    """Which of the seed's prompts."""
    shared_words: Count
    """How many words all prompts of the seed begin with."""
    words: Count
    """How many words follow its salt."""
    digest: Annotated[str, Field(pattern="^sha256:[0-9a-f]{64}$")]
    """The SHA-256 of the message's text as UTF-8."""


@dataclass(frozen=True)
class Prompt:
    """One prompt: `shared_words` in common with others of its seed, a salt, `words` of its own."""

    seed: int
    number: int
    shared_words: int
    words: int
    text: str

    @property
    def messages(self) -> Messages:
        """What the chat request says."""
        return ({"role": "user", "content": self.text},)

    @property
    def digest(self) -> str:
        """The SHA-256 of its text, as ``sha256:…``."""
        return "sha256:" + hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def line(self) -> PromptLine:
        """What makes it again."""
        return PromptLine(
            generator=GENERATOR,
            version=VERSION,
            seed=self.seed,
            number=self.number,
            shared_words=self.shared_words,
            words=self.words,
            digest=self.digest,
        )


@dataclass(frozen=True)
class Wanted:
    """Which prompts are wanted: how long, in tokens of the whole chat, and drawn from what.

    `salt` names what they are for; other names give other prompts. Of `target_tokens` the first
    `shared_tokens` are the same in all; 0 for prompts that share nothing.
    """

    target_tokens: int
    seed: int
    salt: str
    shared_tokens: int = 0

    @property
    def drawn_from(self) -> int:
        """The seed of the prompts themselves."""
        return seed_for(GENERATOR, VERSION, self.seed, self.salt)


@dataclass(frozen=True)
class Sized:
    """Prompts of the length that was found. `counted` has each one's tokens, null where it was not counted.

    `shared_tokens` is how many tokens the shared words have, without the template's own; null when that
    was not counted.
    """

    prompts: tuple[Prompt, ...]
    counted: tuple[int | None, ...]
    basis: Basis
    source: str | None
    shared_tokens: int | None


def make_prompt(seed: int, number: int, words: int, shared_words: int = 0) -> Prompt:
    """Return a prompt; the same arguments give the same bytes."""
    parts = (
        *_drawn(shared_words, seed, "shared"),
        *salt_words(seed, number),
        *_drawn(words, seed, "words", number),
    )
    return Prompt(seed, number, shared_words, words, f"{' '.join(parts)}\n\n{_END}")


def make_again(line: PromptLine) -> Prompt:
    """Return the prompt that a line tells of.

    Raises:
        CollectorError: it was made by another generator or version, or the bytes are not the same.
    """
    if (line.generator, line.version) != (GENERATOR, VERSION):
        raise CollectorError(
            f"the prompt was made by {line.generator}/{line.version}, and this is {GENERATOR}/{VERSION}",
            advice="The request's own bytes are in the attempt record.",
        )
    made = make_prompt(line.seed, line.number, line.words, line.shared_words)
    if made.line != line:
        raise CollectorError(f"prompt {line.number}: expected {line.digest}, made {made.line.digest}")
    return made


def write_prompts(prompts: Iterable[Prompt]) -> bytes:
    """Return the artifact `prompts`: a line for each, in the order of their requests."""
    return b"".join(prompt.line.spelled() for prompt in prompts)


def size_problem(target: int, actual: Sequence[int | None]) -> Literal["unknown", "off"] | None:
    """Say whether prompts are not of the wanted size: the mean is over 1 % off, or a count is unknown."""
    known = [count for count in actual if count is not None]
    average = mean(known)
    if average is None or len(known) < len(actual):
        return "unknown"
    return "off" if abs(average - target) * 100 > target else None


# --- 1. to 4. the words -------------------------------------------------------------------------------------


def salt_words(seed: int, number: int) -> list[str]:
    """Return the words that no other prompt of the seed begins with (rule 2)."""
    size = len(WORDS)
    first, second = _order(seed, "first"), _order(seed, "second")
    rest = Draws(GENERATOR, VERSION, seed, "salt", number)
    return [
        first[number % size],
        second[number // size % size],
        *(rest.pick(WORDS) for _ in range(SALT_WORDS - 2)),
    ]


@lru_cache(maxsize=64)
def _order(seed: int, name: str) -> tuple[str, ...]:
    return tuple(Draws(GENERATOR, VERSION, seed, "order", name).sample(WORDS, len(WORDS)))


@lru_cache(maxsize=8)
def _drawn(count: int, seed: int, *name: object) -> tuple[str, ...]:
    """Return words; more words of one name begin with the fewer."""
    draws = Draws(GENERATOR, VERSION, seed, *name)
    return tuple(draws.pick(WORDS) for _ in range(count))


# --- 5. their number ----------------------------------------------------------------------------------------


async def size_prompts(
    wanted: Wanted, numbers: Sequence[int], source: TokenSource | None, make: Make = make_prompt
) -> Sized:
    """Return a prompt for each number, as near to the target as counting can bring it."""
    seed = wanted.drawn_from
    ruler = await _Ruler.measured(wanted, source, make)
    shared = ruler.words(wanted.shared_tokens) if wanted.shared_tokens else 0
    words = max(0, ruler.words(wanted.target_tokens - ruler.bare) - shared)
    basis: Basis = "guessed" if source is None or not ruler.is_known else "reckoned"
    if source is None or source.is_reading or not ruler.is_known:
        prompts = tuple(make(seed, number, words, shared) for number in numbers)
        told = ruler.tokens(shared) if shared and ruler.is_known else None
        return Sized(prompts, (None,) * len(prompts), basis, source.name if source else None, told)
    told = None
    if shared:
        shared, told = await _shared(source.count, partial(make, seed, 0), shared, wanted.shared_tokens)
    found: list[tuple[Prompt, int | None]] = []
    for number in numbers:
        made = partial(_made, make, seed, number, shared)
        prompt, counted = await _fitted(source.count, made, words, wanted.target_tokens)
        words = prompt.words
        found.append((prompt, counted))
    return Sized(
        prompts=tuple(prompt for prompt, _ in found),
        counted=tuple(counted for _, counted in found),
        basis="counted" if all(counted is not None for _, counted in found) else "reckoned",
        source=source.name,
        shared_tokens=told,
    )


def _made(make: Make, seed: int, number: int, shared: int, words: int) -> Prompt:
    return make(seed, number, words, shared)


@dataclass(frozen=True)
class _Ruler:
    """What a prompt without words of its own has in tokens, and what each word adds."""

    bare: int
    per_word: Fraction
    is_known: bool

    @classmethod
    async def measured(cls, wanted: Wanted, source: TokenSource | None, make: Make) -> _Ruler:
        """Count two prompts of another salt, so that no prompt to come was read before."""
        other = seed_for(wanted.drawn_from, "ruler")
        counts = []
        for number, words in enumerate((_SHORT, _LONGER)):
            counts.append(await source.count(make(other, number, words, 0).messages) if source else None)
        short, longer = counts
        if short is None or longer is None or longer <= short:
            return cls(0, Fraction(1), is_known=False)
        per_word = Fraction(longer - short, _LONGER - _SHORT)
        return cls(round(short - _SHORT * per_word), per_word, is_known=True)

    def words(self, tokens: int) -> int:
        return max(0, round(tokens / self.per_word))

    def tokens(self, words: int) -> int:
        return round(words * self.per_word)


async def _fitted(
    count: CountTokens, make: Callable[[int], Prompt], words: int, target: int
) -> tuple[Prompt, int | None]:
    """Return the prompt that comes nearest to the target, and its count; null when counting failed."""
    best: tuple[Prompt, int] | None = None
    low, high = -1, 2**31  # fewer words are too few, more are too many
    for _ in range(_ROUNDS):
        prompt = make(words)
        counted = await count(prompt.messages)
        if counted is None:
            break
        if best is None or abs(counted - target) < abs(best[1] - target):
            best = prompt, counted
        low, high = (words, high) if counted < target else (low, words)
        if counted == target or high - low < 2:
            break
        words = min(high - 1, max(low + 1, words + target - counted))
    return best or (make(words), None)


async def _shared(
    count: CountTokens, make: Callable[[int, int], Prompt], words: int, target: int
) -> tuple[int, int | None]:
    """Return how many shared words have the wanted tokens, and their tokens: what a prompt has more with them.

    It is always the same prompt that is counted, so that another run of the same seed shares the same words.
    """
    without = await count(make(0, 0).messages)
    if without is None:
        return words, None
    prompt, counted = await _fitted(count, partial(make, 0), words, without + target)
    return prompt.shared_words, None if counted is None else counted - without
