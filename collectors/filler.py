"""Filler: text of a wanted length that can be made again, byte for byte, from a seed.

1. Nothing here depends on the Python version or the machine: draws come from SHA-256 in counter mode,
   not from the `random` module.
2. A longer text of one seed begins with the shorter ones, but for their last sentence, so that what was
   measured on a part holds for the whole.
3. The vocabulary holds no digit and no hyphen: what is hidden in a filler cannot stand in it by chance.

A changed vocabulary, grammar or draw is a new `VERSION`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

GENERATOR = "filler"
VERSION = 1

_SEED_BITS = 53
_PER_PARAGRAPH = 6
_SHORTEST, _SPREAD = 8, 8  # a sentence has from 8 to 15 words

WORDS = (
    "air", "arm", "art", "back", "ball", "bank", "base", "bell", "bird", "boat", "book", "bread", "bridge",
    "brush", "cake", "call", "camp", "cap", "card", "care", "cart", "chair", "chalk", "chart", "city",
    "clay", "clock", "cloth", "cloud", "coal", "coast", "coat", "coin", "cook", "corn", "cost", "cow",
    "craft", "crop", "cup", "day", "deck", "desk", "dish", "dog", "door", "dot", "draw", "dress", "drum",
    "dust", "ear", "earth", "east", "edge", "egg", "end", "eye", "face", "fact", "fair", "farm", "field",
    "fire", "fish", "flag", "floor", "flower", "food", "foot", "fork", "form", "frame", "friend", "fruit",
    "game", "garden", "gate", "glass", "goat", "gold", "grain", "grass", "green", "ground", "group",
    "guest", "hall", "hand", "harbor", "hat", "head", "hill", "home", "horse", "hotel", "hour", "house",
    "ice", "idea", "ink", "iron", "island", "job", "juice", "key", "kitchen", "lake", "lamp", "land",
    "leaf", "letter", "light", "line", "lock",
)  # fmt: skip
"""Short words; that they make no sense together is of no matter."""

T = TypeVar("T")


class Draws:
    """An endless, reproducible row of choices, named by what it is for."""

    def __init__(self, *name: object) -> None:
        self._key = hashlib.sha256("\0".join(str(part) for part in name).encode()).digest()
        self._numbers = self._draw()

    def _draw(self) -> Iterator[int]:
        counter = 0
        while True:
            block = hashlib.sha256(self._key + counter.to_bytes(8, "big")).digest()
            yield from (int.from_bytes(block[at : at + 4], "big") for at in range(0, 32, 4))
            counter += 1

    def below(self, limit: int) -> int:
        """Return a number from 0 to `limit` - 1. The bias of a 32-bit draw is of no matter here."""
        return next(self._numbers) % limit

    def pick(self, choices: Sequence[T]) -> T:
        """Return one of the choices."""
        return choices[self.below(len(choices))]

    def sample(self, choices: Sequence[T], count: int) -> list[T]:
        """Return `count` different choices, in the order drawn.

        Raises:
            ValueError: there are not so many.
        """
        if count > len(choices):
            raise ValueError(f"{count} different choices of {len(choices)}")
        rest = list(choices)
        return [rest.pop(self.below(len(rest))) for _ in range(count)]


def seed_for(*name: object) -> int:
    """Return the seed, a number below 2**53, that belongs to a name."""
    digest = hashlib.sha256("\0".join(str(part) for part in name).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - _SEED_BITS)


@dataclass(frozen=True)
class Filler:
    """Filler of `words` words from `seed`, as sentences; the last may be cut short."""

    seed: int
    words: int
    sentences: tuple[str, ...]

    @cached_property
    def text(self) -> str:
        """The whole text."""
        return self.around(None, 0)

    @property
    def digest(self) -> str:
        """The SHA-256 of the text as UTF-8, as ``sha256:…``."""
        return "sha256:" + hashlib.sha256(self.text.encode()).hexdigest()

    def around(self, sentence: str | None, depth_percent: int) -> str:
        """Return the text with `sentence` put in after `depth_percent` of its sentences."""
        place = (len(self.sentences) * depth_percent + 50) // 100
        parts = [*self.sentences[:place], *([sentence] if sentence else []), *self.sentences[place:]]
        paragraphs = (parts[at : at + _PER_PARAGRAPH] for at in range(0, len(parts), _PER_PARAGRAPH))
        return "\n\n".join(" ".join(paragraph) for paragraph in paragraphs)


def filler(seed: int, words: int) -> Filler:
    """Return `words` words of filler from `seed`."""
    draws = Draws(GENERATOR, VERSION, seed)
    sentences: list[str] = []
    left = words
    while left > 0:
        length = _SHORTEST + draws.below(_SPREAD)
        chosen = [draws.pick(WORDS) for _ in range(length)][:left]
        left -= len(chosen)
        sentences.append(" ".join(chosen).capitalize() + ".")
    return Filler(seed, words, tuple(sentences))
