"""Verdicts: the words of decisions, and what they mean to somebody who does not know them."""

from __future__ import annotations

from collections.abc import Iterable

MEANINGS: dict[str, str] = {
    "current": "it is what is served",
    "rollback": "it is what is gone back to",
    "challenger": "it is compared with what is served, and not served itself",
    "qualified-control": "it stands as what others are measured against",
    "no-promotion": "it does not take the place of what is served",
    "rejected": "it is not taken",
    "rejected_tested_recipes": "it is not taken with the recipes that were tested",
}

NOT_TAKEN = frozenset({"challenger", "no-promotion", "rejected", "rejected_tested_recipes"})
"""The verdicts after which a reader asks why."""


def explained(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return the verdicts that stand in texts, each once, with their meaning. Several are parted by semicolons."""
    words = dict.fromkeys(word.strip() for text in texts for word in text.split(";"))
    return [(word, MEANINGS[word]) for word in words if word in MEANINGS]
