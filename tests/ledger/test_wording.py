"""Numbers and what they count."""

from __future__ import annotations

import pytest

from anvil.ledger.wording import counted, ended


@pytest.mark.parametrize(
    ("number", "what", "said"),
    [
        (0, "run", "0 runs"),
        (1, "run", "1 run"),
        (2, "crashed run", "2 crashed runs"),
        (1, "entry", "1 entry"),
        (2, "entry", "2 entries"),
    ],
)
def test_one_is_no_several(number: int, what: str, said: str) -> None:
    assert counted(number, what) == said
    assert counted(number, what, be=True) == f"{said} {'is' if number == 1 else 'are'}"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("a shared host", "a shared host."),
        ("A shared host.", "A shared host."),
        ("Why?", "Why?"),
        ("\u3042\u3002", "\u3042\u3002"),
    ],
)
def test_another_sentence_can_follow_what_a_person_wrote(words: str, said: str) -> None:
    assert ended(words) == said
