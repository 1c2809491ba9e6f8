"""The table of characters that no public text may hold: what is in it, and that it never changes."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from anvil.ledger import inert
from anvil.ledger.public import PublicText

EVERY = [chr(code) for code in range(0x110000)]
ACCEPTED = [c for c in EVERY if not inert.is_refused(c)]
REFUSED_CATEGORIES = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
FORMAT = Path(__file__).parents[2] / "docs" / "format.md"
COUNT, DIGEST = 144262, "91a08571f4cc09b97471fe35eee6f9002aaf966c4c5fe39ee6b50c4254a7110b"
SAYS = unicodedata.unidata_version
"""The Unicode of the Python that runs the tests."""


def test_the_table_is_the_one_that_every_ledger_was_written_under() -> None:
    accepted = " ".join(f"{ord(c):X}" for c in ACCEPTED)
    assert len(ACCEPTED) == COUNT
    assert hashlib.sha256(accepted.encode()).hexdigest() == DIGEST


def test_no_character_that_is_accepted_is_hidden_or_unassigned_in_any_later_unicode() -> None:
    assert [c for c in ACCEPTED if unicodedata.category(c) in REFUSED_CATEGORIES] == []


def documented() -> set[str]:
    """Return the single code points and ranges that docs/format.md lists."""
    text = FORMAT.read_text().partition("*PublicText* is not empty")[2].partition("show nothing.")[0]
    pairs = re.findall(r"U\+([0-9A-F]+)(?:\s+to\s+U\+([0-9A-F]+))?", text)
    return {chr(c) for a, b in pairs for c in range(int(a, 16), int(b or a, 16) + 1)}


@pytest.mark.skipif(SAYS != "14.0.0", reason=f"Python's Unicode is {SAYS}; the table is of 14.0")
def test_the_table_is_what_the_format_says() -> None:
    by_category = {c for c in EVERY if unicodedata.category(c) in REFUSED_CATEGORIES}
    assert set(EVERY) - set(ACCEPTED) == by_category | documented()
    assert {c for c in EVERY if unicodedata.category(c) == "Zs"} == set(inert.BLANKS)


@pytest.mark.parametrize(
    "character",
    ["\U0001fae8", "\u0cf3", "\U00011f00", "\U0001e4d0", "\u2ffc", "\U0002ebf0", "\u1c89", "\U0001faea"],
)
def test_a_character_that_is_younger_than_the_oldest_python_is_refused_by_every_python(
    character: str,
) -> None:
    with pytest.raises(ValueError, match=f"U\\+{ord(character):04X}"):
        TypeAdapter(PublicText).validate_python(f"a{character}b", strict=True)


def test_the_interpreter_is_asked_for_nothing_but_the_normal_form(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("category", "name", "bidirectional", "combining"):
        monkeypatch.setattr(unicodedata, name, lambda *_: pytest.fail("asked the interpreter"))
    assert TypeAdapter(PublicText).validate_python("\u65e5\u672c \u2014 \u00fc", strict=True)


def test_each_end_of_each_range_is_in_it_and_no_range_meets_another() -> None:
    spans = inert._ranges()
    for (first, last), (following, _) in zip(spans, [*spans[1:], (0x110000, 0)], strict=True):
        assert first <= last < following
        assert inert.is_refused(chr(first))
        assert inert.is_refused(chr(last))
        if last + 1 < following:
            assert not inert.is_refused(chr(last + 1))


@pytest.mark.parametrize("blank", inert.BLANKS)
def test_a_blank_stands_between_words_and_at_no_end(blank: str) -> None:
    adapter = TypeAdapter(PublicText)
    if unicodedata.is_normalized("NFC", blank):
        assert adapter.validate_python(f"a{blank}b", strict=True)
    for text in (f"{blank}a", f"a{blank}", blank):
        with pytest.raises(ValueError, match="blanks at its ends"):
            adapter.validate_python(text, strict=True)
