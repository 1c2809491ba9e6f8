"""Where keys stand: the locator against documents whose lines are known, and against `tomllib`."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil.collectors.recipes.lines import key_lines, line_of
from anvil.collectors.recipes.loader import packaged_recipes
from anvil.collectors.recipes.problems import KeyPath

DOCUMENT = '''# a comment, with = and [brackets]
top = 1

[table]
plain = "a # in a string"
"quoted key" = 'and [this]'
dotted.inner = true
array = [
    "first",  # ] in a comment
    { x = 1, y = "}" },
    """
    three lines
    """,
    "last",
]

[[rows]]
key = "a"
[rows.below]
deep = 1979-05-27T07:32:00Z

[[rows]]
key = "b"
[[rows.inner]]
n = 0x1F
[[rows.inner]]
n = [[1, 2], [3]]
[other.table]
text = \'\'\'
[not a table]
\'\'\'
after = 2
'''

LINES: dict[KeyPath, int] = {
    ("top",): 2,
    ("table",): 4,
    ("table", "plain"): 5,
    ("table", "quoted key"): 6,
    ("table", "dotted", "inner"): 7,
    ("table", "array"): 8,
    ("table", "array", 0): 9,
    ("table", "array", 1): 10,
    ("table", "array", 1, "y"): 10,
    ("table", "array", 2): 11,
    ("table", "array", 3): 14,
    ("rows", 0): 17,
    ("rows", 0, "key"): 18,
    ("rows", 0, "below", "deep"): 20,
    ("rows", 1): 22,
    ("rows", 1, "key"): 23,
    ("rows", 1, "inner", 0, "n"): 25,
    ("rows", 1, "inner", 1): 26,
    ("rows", 1, "inner", 1, "n", 1, 0): 27,
    ("other", "table", "text"): 29,
    ("other", "table", "after"): 32,
}


def paths(value: Any, at: KeyPath = ()) -> set[KeyPath]:
    """Every path of a document, as `tomllib` sees it."""
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    return {at}.union(*(paths(item, (*at, name)) for name, item in members))


def test_each_key_has_its_line() -> None:
    lines = key_lines(DOCUMENT)
    assert {path: lines.get(path) for path in LINES} == LINES
    assert set(lines) == paths(tomllib.loads(DOCUMENT))


def test_carriage_returns_change_no_line() -> None:
    assert key_lines(DOCUMENT.replace("\n", "\r\n")) == key_lines(DOCUMENT)


def test_what_is_not_there_has_the_line_of_what_it_would_be_in() -> None:
    lines = key_lines(DOCUMENT)
    assert line_of(lines, ("rows", 1, "missing")) == 22
    assert line_of(lines, ("nothing", "at", "all")) == 1


@pytest.mark.parametrize("name", packaged_recipes())
def test_it_finds_every_key_of_our_own_recipes(name: str) -> None:
    from importlib.resources import files

    text = (files("anvil.recipes") / f"{name}.toml").read_text(encoding="utf-8")
    assert set(key_lines(text)) == paths(tomllib.loads(text))


KEYS = st.text("abcdefgh_-0", min_size=1, max_size=4)
SCALARS = st.one_of(
    st.integers(0, 99).map(str),
    st.sampled_from(
        ["true", "1.5", '"x"', "'y # ] }'", '"""a\nb"""', "'''[t]\n= 1'''", '"\\"#"', "[]", "{}"]
    ),
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A document of tables and arrays of tables, with comments and odd spacing."""
    lines = []
    for number in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["[t{}]", "[[a]] # a{}", "[a{}.b]"])).format(number)
        lines.append(kind)
        for key in draw(st.lists(KEYS, unique=True, max_size=3)):
            values = draw(st.lists(SCALARS, min_size=1, max_size=3))
            value = values[0] if len(values) == 1 else "[\n  " + ",\n  # ]\n  ".join(values) + ",]"
            lines.append(f"{key}{draw(st.sampled_from(['=', ' = ', '  =']))}{value} # end")
    return "\n".join(lines)


@given(documents())
def test_it_finds_every_key_of_any_document(text: str) -> None:
    assert set(key_lines(text)) == paths(tomllib.loads(text))
