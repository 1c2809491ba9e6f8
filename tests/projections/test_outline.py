"""Pages of imported summaries: nothing is left out, and every text is inert."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from markdown_it import MarkdownIt
from support.hostile import HOSTILE
from support.importing import imported, rendered
from support.published import lanes, spelled, summary

from anvil.projections.pages import page
from anvil.projections.pages.outline import outline
from anvil.projections.pages.view import Shown, view
from anvil.projections.provenance import State
from anvil.projections.record import fold

STATE = State("scene.test.invalid/log", 99, "ab" * 32)
NAMES = {"sanitized-qualification-summary.v1": summary, "qwen38-27b-qualification-summary.v1": lanes}


class Read(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in ("meta", "link", "br"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(name: str, content: bytes, form: str) -> str:
    seen = imported(content)
    return page(rendered(name, seen), STATE, fold(seen), form)


def leaves(value: Any) -> list[Shown]:
    if isinstance(value, Shown):
        return [value]
    items = value.values() if isinstance(value, dict) else value
    return [leaf for item in items for leaf in leaves(item)]


@pytest.mark.parametrize("name", NAMES)
def test_an_outline_shows_every_leaf_once_and_in_order_within_its_column(name: str) -> None:
    seen = imported(spelled(NAMES[name]()))
    document = view(rendered(name, seen), STATE, fold(seen))["document"]
    found: list[Shown] = []
    for block in outline(document):
        found += [block.figure] if block.figure is not None else []
        found += block.figures
        found += [figure for _, cells in block.rows for cell in cells for figure in cell]
    assert sorted(map(id, found)) == sorted(map(id, leaves(document)))


def is_told(leaf: Shown, form: str, made: str) -> bool:
    """Say whether a page shows a leaf with its mark."""
    if form == "html":
        return f'data-at="{leaf.pointer}"' in made
    return f"{leaf.sign}{leaf.note}" in made


@pytest.mark.parametrize("form", ["md", "html"])
@pytest.mark.parametrize("name", NAMES)
def test_a_page_leaves_no_leaf_out(name: str, form: str) -> None:
    seen = imported(spelled(NAMES[name]()))
    made = shown(name, spelled(NAMES[name]()), form)
    document = view(rendered(name, seen), STATE, fold(seen))["document"]
    assert [leaf.pointer for leaf in leaves(document) if not is_told(leaf, form, made)] == []


def test_candidates_stand_side_by_side() -> None:
    name = "sanitized-qualification-summary.v1"
    columns = re.findall(r'<th scope="col">([a-z0-9_ ]+)</th>', shown(name, spelled(summary()), "html"))
    assert columns[:4] == ["capacity 1k c1", "tiny_a", "tiny_b", "tiny_b against tiny_a"]


@pytest.fixture(scope="module")
def harmless() -> dict[str, str]:
    """The pages with harmless texts."""
    content = spelled({**summary(), "retained_failures_and_caveats": ["x", "y"]})
    return {form: shown("sanitized-qualification-summary.v1", content, form) for form in ("md", "html")}


@pytest.mark.parametrize("form", ["md", "html"])
@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_of_a_file_is_text_on_the_page_and_nothing_else(
    harmless: dict[str, str], form: str, text: str
) -> None:
    name = "sanitized-qualification-summary.v1"
    made = shown(name, spelled({**summary(), "retained_failures_and_caveats": [text, text]}), form)
    if form == "html":
        found, before = Read(made), Read(harmless[form])
        assert found.tags == before.tags
        assert found.text.count(text) == before.text.count(text) + 2
    else:
        reader = MarkdownIt("gfm-like", {"linkify": False})
        assert [t.type for t in reader.parse(made)] == [t.type for t in reader.parse(harmless[form])]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_no_script_and_asks_for_nothing(name: str) -> None:
    made = shown(name, spelled(NAMES[name]()), "html")
    assert "script" not in Read(made).tags
    assert not re.search(r'(?:src|href)="(?!#|data:)', made)
