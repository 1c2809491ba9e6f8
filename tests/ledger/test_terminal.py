"""Lines that fit a terminal: broken between words, no word cut, nothing lost."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil.ledger.terminal import NARROWEST, columns, folded, hung

DIGEST = "sha256:" + "0123456789abcdef" * 4


@given(
    st.lists(st.text("abcdef0123456789:/ ", max_size=150), max_size=5).map("\n".join),
    st.integers(NARROWEST, 120),
)
def test_nothing_is_lost_and_no_word_is_cut(text: str, width: int) -> None:
    made = folded(text, width)
    assert made.split() == text.split()
    for line in made.split("\n"):
        assert len(line) <= width or len(line.split()) <= 1, line


@given(st.text("abc \n", max_size=200))
def test_what_fits_stays_as_it_is(text: str) -> None:
    assert folded(text, None) == text
    assert folded(text, 200) == text


def test_what_follows_stands_below_the_value() -> None:
    line = "  checks     " + ", ".join(["structured-json"] * 6)
    first, *others = folded(line, 60).split("\n")
    assert first.startswith("  checks     structured-json,")
    assert others
    for other in others:
        assert other.startswith(" " * 13 + "structured-json")


def test_a_digest_can_be_copied() -> None:
    made = folded(f"          an artifact of that event, as it was signed: {DIGEST} (public)", 80).split("\n")
    assert any(line.strip().startswith(DIGEST) for line in made)
    assert max(map(len, made)) <= 80


def test_a_word_that_fits_nowhere_begins_at_the_margin() -> None:
    key = "example.com/gpu-lab+69fe081d+" + "A" * 80
    assert folded(f"Public key    {key}", 80).split("\n") == ["Public key", key]


WORDS = st.lists(st.text("abc123/:", min_size=1, max_size=50), min_size=1, max_size=12)


@given(WORDS, st.integers(NARROWEST, 120), st.integers(0, 8))
def test_what_belongs_together_is_not_parted_and_hangs_below_its_beginning(
    words: list[str], width: int, indent: int
) -> None:
    pairs = [f"{word} {word}" for word in words]
    first, *others = hung(pairs, width, indent, indent + 4)
    assert " ".join([first, *others]).split() == " ".join(pairs).split()
    assert first.startswith(" " * indent + words[0])
    for line in (first, *others):
        assert len(line) <= width or line.strip() in pairs
    for other in others:
        assert other.startswith(" " * (indent + 4))
        assert other.strip().split(" ")[0] in words
    assert list(hung(pairs, None, 2, 6)) == ["  " + " ".join(pairs)]


def test_a_file_is_not_folded_unless_a_width_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert columns(io.StringIO()) is None
    monkeypatch.setenv("COLUMNS", "72")
    assert columns(io.StringIO()) == 72
    monkeypatch.setenv("COLUMNS", "10")
    assert columns(io.StringIO()) == NARROWEST
