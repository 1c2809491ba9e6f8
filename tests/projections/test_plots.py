"""Plots: what is drawn is what was handed in, from 0, and every text is inert."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.hostile import HOSTILE

from anvil.projections.plots import Point, Rung, bars, ladder, patterns
from anvil.projections.plots.bars import WIDTH
from anvil.projections.plots.labels import Labels
from anvil.projections.plots.patterns import SERIES
from anvil.projections.plots.scale import rounded_up, spelled, up_to

SVG = "{http://www.w3.org/2000/svg}"


def point(series: int = 0, number: str | None = "554.3", **changed: str) -> Point:
    value = None if number is None else Fraction(number)
    text = "the run was cut" if number is None else number
    made = Point(
        series, f"candidate_{series}", value, text, "ms", "external-prior", "elsewhere", 7, f"/cell/{series}"
    )
    return replace(made, **changed)


def rung(size: int | None = 1000, *, passed: bool = True, of: Point | None = None) -> Rung:
    return Rung(
        of or point(), None if size is None else Fraction(size), "passed" if passed else "failed", passed
    )


def marks(drawn: str) -> list[ElementTree.Element]:
    return [g for g in ElementTree.fromstring(drawn).iter(f"{SVG}g") if g.get("class") == "point"]


def title(group: ElementTree.Element) -> str:
    return group.findtext(f"{SVG}title") or ""


def bar_widths(drawn: str) -> list[Fraction]:
    found = (r for r in ElementTree.fromstring(drawn).iter(f"{SVG}rect") if r.get("class") == "bar")
    return [Fraction(r.get("width", "")) for r in found]


# --- what a bar says ---------------------------------------------------------------------------------------------


def test_a_bar_carries_its_pointer_its_value_its_runs_and_its_status() -> None:
    (mark,) = marks(bars("ttft", [point(runs="5")]))
    assert mark.get("data-pointer") == "/cell/0"
    assert title(mark) == "candidate_0: 554.3 ms, n = 5 runs; external-prior (elsewhere), support 7, /cell/0"
    shown = "".join(text for part in mark.iter(f"{SVG}text") for text in part.itertext())
    assert "554.3 ms" in shown
    assert "elsewhere" in shown


def test_bars_begin_at_0_and_are_as_long_as_their_numbers() -> None:
    drawn = bars("ttft", [point(0, "400"), point(1, "100"), point(2, "0")])
    longest = Fraction(WIDTH - 2)
    assert bar_widths(drawn) == [longest, Fraction("79.5"), 0]
    assert all(
        r.get("x") == "0" for r in ElementTree.fromstring(drawn).iter(f"{SVG}rect") if r.get("class") == "bar"
    )


def test_what_is_null_is_a_gap_with_its_reason_and_no_bar() -> None:
    drawn = bars("ttft", [point(0), point(1, None)])
    assert len(bar_widths(drawn)) == 1
    gap = marks(drawn)[1]
    assert [r.get("class") for r in gap.iter(f"{SVG}rect")] == ["hit", "gap"]
    assert "no value: the run was cut" in title(gap)
    assert "no value: the run was cut" in "".join(gap.itertext())


def test_bars_that_are_all_null_or_0_are_drawn() -> None:
    assert bar_widths(bars("ttft", [point(0, None)])) == []
    assert bar_widths(bars("ttft", [point(0, "0")])) == [0]
    assert marks(bars("ttft", [])) == []


def test_long_names_and_reasons_take_lines_of_their_own() -> None:
    drawn = bars("ttft", [point(0, None, label="c" * 64, text="since " * 20)])
    lines = ["".join(text.itertext()) for text in ElementTree.fromstring(drawn).iter(f"{SVG}text")]
    assert max(map(len, lines)) <= 46
    assert "".join(lines).count("c") >= 64


@pytest.mark.parametrize("is_variant", [False, True])
def test_series_differ_without_colour(is_variant: bool) -> None:
    kind = "variant" if is_variant else "series"
    drawn = bars("ttft", [replace(point(number), is_variant=is_variant) for number in range(SERIES)])
    fills = re.findall(rf'fill="(url\(#{kind}-\d\))"', drawn)
    assert len(set(fills)) == SERIES
    page = str(patterns())
    tiles = re.findall(rf'<pattern id="{kind}[^>]*>(.*?)</pattern>', page)
    assert len({re.sub(r'class="s\d"', "", tile) for tile in tiles}) == SERIES
    assert all(fill[5:-1] in page for fill in fills)
    colours = {colour for tile in tiles for colour in re.findall(r"\bs[0-9v]\b", tile)}
    assert colours == ({"sv"} if is_variant else {f"s{number}" for number in range(SERIES)})


# --- what a ladder says ----------------------------------------------------------------------------------------


def test_a_rung_says_its_size_its_outcome_and_its_time() -> None:
    (mark,) = marks(ladder("ttft", "tokens", [rung(139_428)]))
    assert title(mark).startswith("139428 tokens, passed. candidate_0: 554.3 ms; external-prior")


@pytest.mark.parametrize(
    "one", [rung(passed=False), rung(of=point(0, None))], ids=["that failed", "without a time"]
)
def test_a_rung_is_crossed_out(one: Rung) -> None:
    (mark,) = marks(ladder("ttft", "tokens", [one]))
    classes = [path.get("class") for path in mark.iter(f"{SVG}path")]
    assert classes == ["s0 hollow", "cross", "cross"]


def test_a_rung_without_a_time_is_not_joined_and_one_without_a_size_is_named() -> None:
    rungs = [rung(100), rung(200, of=point(0, None)), rung(None), rung(300)]
    drawn = ElementTree.fromstring(ladder("ttft", "tokens", rungs))
    assert len([line for line in drawn.iter(f"{SVG}path") if line.get("class") == "join"]) == 1
    assert any("no size is stated" in "".join(text.itertext()) for text in drawn.iter(f"{SVG}text"))
    assert len(marks(ladder("ttft", "tokens", rungs))) == 4


def test_a_ladder_of_nothing_is_drawn() -> None:
    assert marks(ladder("ttft", "tokens", [])) == []


@given(st.lists(st.tuples(st.integers(40, 340), st.integers(20, 200)), min_size=1, max_size=8))
def test_labels_that_have_room_cover_nothing(places: list[tuple[int, int]]) -> None:
    labels = Labels(360, 210)
    for x, y in places:
        labels.mark(Fraction(x), Fraction(y))
    before = len(labels.taken)
    for x, y in places:
        labels.place(Fraction(x), Fraction(y), 12)
    put = labels.taken[before:]
    assert not any(one.meets(other) for at, one in enumerate(put) for other in labels.taken[: before + at])


# --- scales ----------------------------------------------------------------------------------------------------

numbers = st.fractions(min_value=0, max_value=10**9, max_denominator=1000)


@given(st.lists(numbers, max_size=6), st.integers(1, 8))
def test_a_round_scale_holds_all_values_with_few_round_marks(values: list[Fraction], count: int) -> None:
    scale = rounded_up(values, 300, count)
    ticks = scale.ticks()
    assert ticks[0] == 0
    assert ticks[-1] == scale.top >= max(values, default=0)
    assert len(ticks) <= count + 1
    assert scale.top - scale.step < (max(values, default=Fraction(0)) or 1)
    assert all(0 <= scale.at(value) <= 300 for value in values)
    assert re.fullmatch(r"[125]0*|0\.0*[125]", spelled(scale.step).replace("\u2009", ""))


@given(st.lists(numbers, max_size=6))
def test_a_scale_up_to_the_largest_value_ends_there(values: list[Fraction]) -> None:
    scale = up_to(values, 300)
    assert scale.at(max(values, default=Fraction(0))) in (0, 300)


# --- inert and the same everywhere -----------------------------------------------------------------------------


class Tags(HTMLParser):
    """The tags and attributes of a fragment of a page, as a browser's parser finds them."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.text = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("text", [*HOSTILE, "]]>", "a\nb\r\nc\u2028d", "\N{RIGHT-TO-LEFT OVERRIDE}abc"])
def test_a_hostile_text_is_text_wherever_a_plot_has_one(text: str) -> None:
    def drawn(words: str) -> str:
        told = dict.fromkeys(("label", "unit", "word", "pointer", "runs"), words)
        shown, absent = point(0, "1", **told), point(1, None, **told, text=words)
        rungs = [Rung(shown, Fraction(5), words, True), Rung(absent, None, words, False)]
        return str(bars(words, [shown, absent]) + ladder(words, words, rungs))

    made, harmless = drawn(text), drawn("x" * len(" ".join(text.splitlines())))
    assert Tags(made).found == Tags(harmless).found
    assert " ".join(text.splitlines()) in Tags(made).text
    for part in made.strip().split("\n\n"):
        ElementTree.fromstring(f"<all>{part}</all>")


def test_a_plot_names_no_font_no_colour_and_nothing_elsewhere() -> None:
    made = bars("ttft", [point(0), point(1, None)]) + ladder("ttft", "tokens", [rung()])
    assert not re.search(r"font-family|<style|<script|#[0-9a-f]{3,6}\b|rgb\(|\bid=", made)
    assert set(re.findall(r"https?://[^\"]*", made)) == {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


DRAWN = """
import os, sys
os.umask(int(sys.argv[1], 8))
from fractions import Fraction
from anvil.projections.plots import Point, Rung, bars, ladder, patterns
points = [Point(n, f"c{n}", Fraction(n * 7, 3), str(n), "s", "declared", "declared", n, f"/{n}") for n in range(9)]
rungs = [Rung(one, Fraction(n * 999), "passed", n % 2 == 0) for n, one in enumerate(points)]
sys.stdout.write(patterns() + bars("a", points) + ladder("b", "c", rungs))
"""


def test_the_bytes_are_the_same_in_any_process() -> None:
    def run(umask: str, **settings: str) -> bytes:
        argv = [sys.executable, "-c", DRAWN, umask]
        return subprocess.run(argv, env=os.environ | settings, capture_output=True, check=True).stdout

    first = run("022", PYTHONHASHSEED="0", TZ="UTC", LC_ALL="C.UTF-8")
    assert first
    assert run("077", PYTHONHASHSEED="4711", TZ="Asia/Kathmandu", LC_ALL="C") == first
    assert run("000", PYTHONHASHSEED="1", TZ="America/St_Johns", LC_ALL="tr_TR.UTF-8") == first


def test_the_bytes_are_those_of_the_golden_file() -> None:
    """A newer library that writes other bytes makes published pages others: seen here first."""
    points = [point(0, "554.3", runs="5"), point(1, "429.3"), point(2, None)]
    rungs = [rung(31_225), rung(139_428, passed=False, of=point(1, "42.04"))]
    made = bars("ttft", points) + ladder("ttft by size", "prompt tokens", rungs, "time, ")
    golden = Path(__file__).parent / "golden" / "plots.svg"
    assert made == golden.read_text(encoding="utf-8")
