"""Prompts of a context ladder: the question of the check `retrieval`, with a salt before it.

1. The prompts of a rung are numbered: for each repetition one for each depth, and at the end one control
   without a secret. Each has a salt, filler and a secret of its own.
2. The text is that of `anvil.collectors.checks.retrieval`, so that its verdict means the same.
3. Seed, number, words and depth make it again, byte for byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from anvil.collectors.checks.retrieval import retrieval_prompt, secret_of
from anvil.collectors.filler import filler, seed_for
from anvil.collectors.load.prompts import Prompt, PromptLine, salt_words
from anvil.ledger.lines import Count

GENERATOR, VERSION = "salted-needle", 1


class NeedleLine(PromptLine):
    """What makes a prompt of a ladder again."""

    depth_percent: Count | None
    """After how much of the filler the secret stands; null in the control."""


@dataclass(frozen=True)
class NeedlePrompt(Prompt):
    """One prompt of a rung. Without a depth it is the control, which holds no secret."""

    depth_percent: int | None = None
    secret: str = ""

    @cached_property
    def line(self) -> NeedleLine:
        """What makes it again."""
        return NeedleLine(
            generator=GENERATOR,
            version=VERSION,
            seed=self.seed,
            number=self.number,
            shared_words=0,
            words=self.words,
            depth_percent=self.depth_percent,
            digest=self.digest,
        )


@dataclass(frozen=True)
class Layout:
    """Which prompts a rung has."""

    depths: tuple[int, ...]
    repetitions: int

    @property
    def count(self) -> int:
        """How many there are, the control among them."""
        return self.expected + 1

    @property
    def expected(self) -> int:
        """How many of them hold a secret."""
        return len(self.depths) * self.repetitions

    def depth(self, number: int) -> int | None:
        """Return a prompt's depth; null for the control."""
        return None if number >= self.expected else self.depths[number % len(self.depths)]

    def name(self, number: int) -> str:
        """Return what a prompt's request is called."""
        depth = self.depth(number)
        return "control" if depth is None else f"depth_{depth}.r{number // len(self.depths) + 1}"

    def make(self, seed: int, number: int, words: int, shared_words: int = 0) -> NeedlePrompt:
        """Return a prompt with so many words of filler. It shares none with others, whatever is asked."""
        del shared_words
        depth = self.depth(number)
        secret = "" if depth is None else secret_of(seed_for(GENERATOR, VERSION, seed, number))
        text = filler(seed_for(GENERATOR, VERSION, seed, number, "filler"), words)
        salt = f"{' '.join(salt_words(seed, number))}\n\n"
        (message,) = retrieval_prompt(text, depth, secret, salt)
        return NeedlePrompt(seed, number, 0, words, message["content"], depth, secret)
