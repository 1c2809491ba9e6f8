"""Markdown and HTML: every text is inert, the status stands at every figure, nothing is asked of anybody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from pydantic import TypeAdapter
from support.hostile import HOSTILE
from support.laguna import Laguna, about, laguna, observation

from anvil.ledger.drafts import Draft
from anvil.ledger.public import PublicText
from anvil.projections.document import find
from anvil.projections.opened import opened
from anvil.projections.pages import page
from anvil.projections.pages.inert import markdown
from anvil.projections.rendering import draft

VOID = {"meta", "link", "br"}
PRINTED = {
    "html", "head", "meta", "title", "link", "style", "body", "main", "p", "h1", "h2", "h3", "div", "br", "section",
    "ul", "li", "bdi", "span", "code", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td", "ol", "footer",
    "a", "b", "svg", "defs", "pattern", "rect", "circle",
}  # fmt: skip


class Read(HTMLParser):
    """What a reader of a page finds: tags with their attributes, and the text outside of tags."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.bdi: list[str] = []
        self._open: list[str] = []
        self.feed(source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "bdi":
            self.bdi.append("")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "bdi" in self._open:
            self.bdi[-1] += data


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laguna]:
    home = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANVIL_KEYS", str(home / "keys"))
        patch.setenv("ANVIL_STATE", str(home / "state"))
        made = laguna(home / "ledger")
        words = [observation(2, "operator-observed-incomplete", text.strip()) for text in HOSTILE]
        made.add(*(Draft(event, about(2)) for event in words))
        yield made


def paged(campaign: Laguna, form: str, as_of: int | None = None) -> str:
    with opened(campaign.place, as_of) as ledger:
        made = draft(ledger.record, ledger.artifacts, find("candidate-failure.v1"))
        return page(made, ledger.state, ledger.record, form)


@pytest.fixture(scope="module")
def html(campaign: Laguna) -> str:
    return paged(campaign, "html")


# --- inert ---------------------------------------------------------------------------------------------------


def test_there_are_enough_hostile_texts_and_all_may_be_published() -> None:
    assert len(HOSTILE) >= 60
    for text in HOSTILE:
        TypeAdapter(PublicText).validate_python(text)


def test_hostile_texts_stand_in_the_html_as_text(html: str) -> None:
    read = Read(html)
    told = " ".join(read.bdi)
    for text in HOSTILE:
        assert text.strip() in told
    assert {tag for tag, _ in read.tags} <= PRINTED


def test_no_attribute_but_ours_is_in_the_html(html: str) -> None:
    drawn = {"svg", "defs", "pattern", "rect", "circle"}
    names = {name for tag, attributes in Read(html).tags if tag not in drawn for name in attributes}
    assert names <= {
        "lang", "charset", "name", "content", "http-equiv", "rel", "href", "class", "id", "aria-label", "aria-hidden",
        "title", "scope", "data-name", "data-at", "value", "role", "tabindex",
    }  # fmt: skip


def test_the_html_asks_for_nothing(html: str) -> None:
    tags = Read(html).tags
    targets = [a["href"] for _, a in tags if "href" in a]
    assert all(str(target).startswith(("#n", "#e")) or target == "data:," for target in targets)
    anchors = {f"#{a['id']}" for _, a in tags if "id" in a}
    assert set(targets) - {"data:,"} <= anchors
    assert not any(tag in ("script", "img", "iframe", "object", "embed", "form") for tag, _ in tags)
    policy = next(a["content"] for _, a in tags if a.get("http-equiv") == "Content-Security-Policy")
    assert str(policy).startswith("default-src 'none';")


INLINE_BY_US = {
    "em_open",
    "em_close",
    "strong_open",
    "strong_close",
    "text",
    "code_inline",
    "softbreak",
    "text_special",
}


def reader() -> MarkdownIt:
    return MarkdownIt("gfm-like", {"html": True, "linkify": False})


def shown(source: str) -> str:
    """The text of one paragraph of Markdown, which must be nothing but text."""
    tokens = reader().parse(source)
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"], source
    children = tokens[1].children or []
    assert {token.type for token in children} <= {"text", "code_inline", "text_special"}, source
    return "".join(token.content for token in children)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_is_a_paragraph_of_text_in_markdown(text: str) -> None:
    assert shown(markdown(text)) == text.strip()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_is_one_cell_of_a_table(text: str) -> None:
    tokens = reader().parse(f"| a | b |\n|---|---|\n| {markdown(text)} | {markdown(7)} |\n")
    cells = [tokens[at + 1] for at, token in enumerate(tokens) if token.type == "td_open"]
    assert len(cells) == 2
    children = cells[0].children or []
    assert {token.type for token in children} <= {"text", "code_inline", "text_special"}
    assert "".join(token.content for token in children) == text.strip()


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_site_would_notice_is_code(text: str) -> None:
    tokens = reader().parse(markdown(text))
    plain = "".join(t.content for t in tokens[1].children or [] if t.type != "code_inline")
    assert not re.search(r"@\w|#\d|://|www\.|:\w+:", plain)


marks = st.text(st.sampled_from("ab1 `*_{}[]()#+-.!|~<>&=:\\/\"'@$^%,;?\t"), min_size=1, max_size=24)


@given(marks)
def test_any_text_is_text_in_markdown(text: str) -> None:
    flat = " ".join(text.split())
    if flat:
        assert " ".join(shown(markdown(flat)).split()) == flat


def test_the_markdown_page_has_our_blocks_and_no_others(campaign: Laguna) -> None:
    tokens = reader().parse(paged(campaign, "md"))
    headings = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]
    assert [heading for heading in headings if not heading.startswith("Attempt ")] == [
        "Candidate failure: poolside/Laguna-XS-2.1-NVFP4",
        "What was decided, and why was it not promoted?",
        "What was not tested?",
        "How strong is the evidence?",
        "Attempts",
        "Words",
        "How to check it",
        "Support",
        "Events",
    ]
    assert sum(token.type == "table_open" for token in tokens) == 2
    every = [child for token in tokens for child in token.children or []]
    assert not {child.type for child in every} & {"link_open", "image", "html_inline"}
    assert not any(token.type in ("html_block", "fence", "code_block", "blockquote_open") for token in tokens)


# --- what stands on a page ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["md", "html"])
def test_a_synthetic_stream_is_marked(campaign: Laguna, form: str) -> None:
    assert "Synthetic: recorded for a test or a demonstration." in paged(campaign, form)


def test_the_answers_and_the_limits_stand_before_the_figures(html: str) -> None:
    places = [html.index(words) for words in ("What was decided", "How strong is the evidence", "<table")]
    assert places == sorted(places)


def test_every_figure_has_its_status_and_its_note(html: str) -> None:
    cells = re.findall(r"<td [^>]*>(.*?)</td>", html, re.DOTALL)
    figures = [cell for cell in cells if "<bdi" in cell]
    assert len(figures) == 6 * 5 + 3
    notes = set(re.findall(r'<li id="n(\d+)"', html))
    for cell in figures:
        assert re.search(r'class="mark (retained|operator|declared)', cell)
        assert re.search(r'href="#n(\d+)"', cell)[1] in notes  # type: ignore[index]


def test_a_check_that_failed_is_marked_and_health_is_not(html: str) -> None:
    first = html[html.index('data-name="Attempt">1<') : html.index('data-name="Attempt">2<')]
    marks = re.findall(r'<td data-name="([^"]*)" class="(\w+)">', first)
    assert marks == [("Health", "said"), ("Checks as served", "failed"), ("Checks, thinking off", "failed")]


def test_attempts_without_checks_are_named(html: str) -> None:
    assert "No checks as served are recorded for attempts 2, 3, 4, 5, 6." in html
    assert "No checks with thinking off are recorded for attempts 2, 3, 5, 6." in html


def test_what_is_null_says_why(html: str) -> None:
    assert "the health request was not recorded</bdi>" in html
    assert "health of attempts 2, 3, 5, 6" in html
    mark = html.partition("the health request was not recorded</bdi>")[2].partition("</a>")[0]
    assert "∅" in mark  # no sign of strength, as if it were a figure
    assert "no value" in mark


def test_the_evidence_limit_stands_once(html: str) -> None:
    sentence = "Not kept for attempts 3 and 5 (nothing is attached): any raw evidence."
    assert html.count(sentence) == 1
    assert 'data-at="/evidence_limit"' in html


@pytest.mark.parametrize("form", ["md", "html"])
def test_a_page_says_how_it_is_checked_with_whole_commands(campaign: Laguna, form: str) -> None:
    made = unescape(paged(campaign, form))
    found = re.search(
        r"anvil why document\.json (/\S+) --campaign (\S+) --candidate (\S+) --as-of ([0-9]+)", made
    )
    assert found is not None
    with opened(campaign.place, None) as ledger:
        drawn = draft(ledger.record, ledger.artifacts, find("candidate-failure.v1"))
        assert drawn.rendered.leaf(found[1]) is not None
        assert (found[2], found[3], int(found[4])) == (drawn.campaign, drawn.candidate, ledger.state.size - 1)
    assert (
        f"anvil render candidate-failure.v1 --campaign {found[2]} --candidate {found[3]} --as-of {found[4]} > document.json"
        in made
    )
