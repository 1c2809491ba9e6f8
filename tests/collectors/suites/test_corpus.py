"""Each picture and clip of the packaged corpus really shows what its case asks for.

The pixels are decoded here by hand, from the packaged bytes, and looked at without a word of what drew them: which
colours there are and where, how much of its box a shape fills, which letters a font of ours finds.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import pytest
from support import corpus as maker
from support.endpoint import Chat, Reply
from support.repeating import chosen_for, suite

from anvil.collectors.checks.pictures import COLOURS, SHAPES, Picture
from anvil.collectors.suites.corpus import Case, Medium, packaged_corpus, read_corpus
from anvil.collectors.suites.multimodal import case_faults

CORPUS = read_corpus(packaged_corpus())
CASES = {case.id: case for case in CORPUS.cases}
WHITE = (255, 255, 255)
Pixel = tuple[int, int, int]
Grid = list[list[str]]
"""Rows of colours' names; `white` for what is none."""


# --- decoding --------------------------------------------------------------------------------------------


def named(pixel: Pixel) -> str:
    """The nearest colour that has a name; a clip's are off by a little."""
    palette = {**COLOURS, "white": WHITE}
    return min(palette, key=lambda name: sum((a - b) ** 2 for a, b in zip(palette[name], pixel, strict=True)))


def png_grid(raw: bytes) -> Grid:
    assert raw[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, width, height = 8, b"", 0, 0
    while at < len(raw):
        (size,) = struct.unpack(">I", raw[at : at + 4])
        kind, content = raw[at + 4 : at + 8], raw[at + 8 : at + 8 + size]
        assert struct.unpack(">I", raw[at + 8 + size : at + 12 + size]) == (zlib.crc32(kind + content),)
        if kind == b"IHDR":
            width, height, depth, colour, *_ = struct.unpack(">IIBBBBB", content)
            assert (depth, colour) == (8, 2)
        packed += content if kind == b"IDAT" else b""
        at += 12 + size
    lines = zlib.decompress(packed)
    step = 3 * width + 1
    rows = [lines[at : at + step] for at in range(0, len(lines), step)]
    assert len(rows) == height
    assert {row[0] for row in rows} == {0}  # no filter
    return [names(row[1:]) for row in rows]


_KNOWN: dict[Pixel, str] = {}


def names(row: bytes) -> list[str]:
    found = []
    for pixel in zip(row[0::3], row[1::3], row[2::3], strict=True):
        if pixel not in _KNOWN:
            _KNOWN[pixel] = named(pixel)
        found.append(_KNOWN[pixel])
    return found


def avi_grids(raw: bytes) -> Iterator[Grid]:
    assert (raw[:4], raw[8:12]) == (b"RIFF", b"AVI ")
    head = raw.index(b"strf") + 8
    width, height = struct.unpack("<II", raw[head + 4 : head + 12])
    at = raw.index(b"movi") + 4
    while raw[at : at + 4] == b"00dc":
        (size,) = struct.unpack("<I", raw[at + 4 : at + 8])
        yield i420_grid(raw[at + 8 : at + 8 + size], width, height)
        at += 8 + size + size % 2


def i420_grid(raw: bytes, width: int, height: int) -> Grid:
    """ITU-R BT.601, studio range, back to red, green and blue; one pixel of four, which is what colour has."""
    light, half = raw[: width * height], width // 2
    blueness = raw[width * height :][: half * height // 2]
    redness = raw[width * height + len(blueness) :]
    rows = []
    for y in range(0, height, 2):
        row = bytearray()
        for x in range(0, width, 2):
            c = 1.164 * (light[y * width + x] - 16)
            d, e = (plane[(y // 2) * half + x // 2] - 128 for plane in (blueness, redness))
            for value in (c + 1.596 * e, c - 0.392 * d - 0.813 * e, c + 2.017 * d):
                row.append(min(255, max(0, round(value))))
        rows.append(names(bytes(row)))
    return rows


def grids(medium: Medium) -> list[Grid]:
    return list(avi_grids(medium.content)) if medium.is_clip else [png_grid(medium.content)]


def only(case: Case) -> list[Grid]:
    (medium,) = CORPUS.shown(case)
    return grids(medium)


# --- looking ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spot:
    """Neighbouring pixels of one colour: its box, and how many there are."""

    colour: str
    left: int
    top: int
    right: int
    bottom: int
    pixels: int

    @property
    def filled(self) -> float:
        return self.pixels / ((self.right - self.left) * (self.bottom - self.top))


def spots(grid: Grid) -> list[Spot]:
    seen, found = set(), []
    for y, row in enumerate(grid):
        for x, colour in enumerate(row):
            if colour == "white" or (x, y) in seen:
                continue
            todo, own = [(x, y)], {(x, y)}
            while todo:
                a, b = todo.pop()
                for near in ((a + 1, b), (a - 1, b), (a, b + 1), (a, b - 1)):
                    p, q = near
                    if near not in own and 0 <= q < len(grid) and 0 <= p < len(row) and grid[q][p] == colour:
                        own.add(near)
                        todo.append(near)
            seen |= own
            across, down = [p for p, _ in own], [q for _, q in own]
            found.append(Spot(colour, min(across), min(down), max(across) + 1, max(down) + 1, len(own)))
    return found


def shape_of(spot: Spot) -> str:
    """By how much of its box it fills: a square all, a circle π/4, a triangle a half."""
    shares = {"square": 1.0, "circle": 0.785, "triangle": 0.5}
    return min(shares, key=lambda name: abs(shares[name] - spot.filled))


def plain_colours(case_grids: Sequence[Grid]) -> list[str]:
    """The colour of each scene of a clip whose frames have one colour each."""
    frames = []
    for grid in case_grids:
        (colour,) = {colour for row in grid for colour in row}
        frames.append(colour)
    return [colour for colour, _ in groupby(frames)]


def reads(grid: Grid, word: str, left: int, top: int, scale: int) -> bool:
    """Whether a word stands at a place, dot by dot, as the font draws it on a page of its own."""
    drawn = Picture(len(word) * 6 * scale, 7 * scale)
    drawn.text(word, 0, 0, scale)
    return all(
        (grid[top + y][left + x] == "black") == (drawn.rows[y][3 * x] == 0)
        for y in range(drawn.height)
        for x in range(drawn.width)
    )


def first_groups(case: Case) -> list[str]:
    return [group[0] for group in case.stated]


# --- the cases -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["red-circle", "black-triangle"])
def test_a_shape(name: str) -> None:
    ((grid,), case) = only(CASES[name]), CASES[name]
    (spot,) = spots(grid)
    assert first_groups(case) == [spot.colour, shape_of(spot)]
    assert set(case.absent) == (set(COLOURS) | set(SHAPES)) - {spot.colour, shape_of(spot)}


def test_a_number_of_squares() -> None:
    case = CASES["count-squares"]
    found = spots(only(case)[0])
    assert {(spot.colour, shape_of(spot)) for spot in found} == {("green", "square")}
    assert first_groups(case) == [str(len(found))]
    assert "green squares" in case.question


def test_a_page_of_words() -> None:
    case = CASES["page"]
    (grid,) = only(case)
    lines = [("WALNUT", "BRIDGE"), ("COPPER", "LANTERN")]
    assert first_groups(case) == [word for line in lines for word in line]
    for number, line in enumerate(lines):
        at = 24
        for word in line:
            assert reads(grid, word, at, 24 + number * 44, 4), word
            at += (len(word) + 1) * 24


def test_sides() -> None:
    case = CASES["left-colour"]
    found = sorted(spots(only(case)[0]), key=lambda spot: spot.left)
    assert [shape_of(spot) for spot in found] == ["square", "square"]  # nearly: their sides are 90 and 100
    assert first_groups(case) == [found[0].colour]
    assert "left" in case.question
    assert set(case.absent) == set(COLOURS) - {found[0].colour}


def test_sizes() -> None:
    case = CASES["largest-colour"]
    found = sorted(spots(only(case)[0]), key=lambda spot: spot.pixels)
    assert len(found) == 3
    assert found[-1].pixels > 10 * found[-2].pixels
    assert first_groups(case) == [found[-1].colour]


@pytest.mark.parametrize("name", ["two-colours", "three-colours", "three-others", "four-colours"])
def test_colours_one_after_another(name: str) -> None:
    case = CASES[name]
    shown = plain_colours(only(case))
    assert first_groups(case) == shown
    assert case.in_order
    assert set(case.absent) == set(COLOURS) - set(shown)
    assert f"{('two', 'three', 'four')[len(shown) - 2]} colours" in case.question


def test_a_square_that_moves() -> None:
    found = [spots(grid) for grid in only(CASES["moves"])]
    assert all(len(one) == 1 and one[0].colour == "blue" for one in found)
    lefts = [one[0].left for one in found]
    assert lefts == sorted(set(lefts))
    assert len({one[0].top for one in found}) == 1
    assert first_groups(CASES["moves"]) == ["right"]


def test_a_square_that_grows() -> None:
    found = [spots(grid) for grid in only(CASES["grows"])]
    assert all(len(one) == 1 and one[0].colour == "red" for one in found)
    sizes = [one[0].pixels for one in found]
    assert sizes == sorted(set(sizes))
    assert first_groups(CASES["grows"]) == ["grow"]


def test_words_one_after_another() -> None:
    case = CASES["words"]
    scenes = [grid for grid, _ in groupby(only(case))]
    assert len(scenes) == len(case.stated) == 3
    for grid, word in zip(scenes, first_groups(case), strict=True):
        assert reads(grid, word, 8, 24, 2), word  # a clip's grid has every second pixel


def test_when_a_colour_comes() -> None:
    case = CASES["when"]
    picture, clip = CORPUS.shown(case)
    (spot,) = spots(grids(picture)[0])
    assert shape_of(spot) == "circle"
    at = plain_colours(grids(clip)).index(spot.colour)
    assert first_groups(case) == [("first", "second", "third")[at]]


def test_which_colour_does_not_come() -> None:
    case = CASES["missing"]
    picture, clip = CORPUS.shown(case)
    pictured = {spot.colour for spot in spots(grids(picture)[0])}
    assert pictured == {"red", "yellow", "blue"}
    assert pictured - set(plain_colours(grids(clip))) == set(first_groups(case))


# --- the corpus ------------------------------------------------------------------------------------------


def test_the_packaged_corpus_is_what_its_maker_draws() -> None:
    made = read_corpus(maker.corpus())
    assert made.cases == CORPUS.cases
    for name, medium in CORPUS.media.items():
        other = made.media[name]
        # What deflate makes of the same pixels depends on the library.
        assert other.content == medium.content or png_grid(other.content) == png_grid(medium.content), name


def test_counts_by_modality_are_those_of_a_campaign_at_two_repetitions() -> None:
    counts = [sum(case.modality == kind for case in CORPUS.cases) for kind in ("image", "video", "mixed")]
    assert [2 * count for count in counts] == [12, 14, 4]
    for case in CORPUS.cases:
        kinds = {medium.is_clip for medium in CORPUS.shown(case)}
        assert kinds == {"image": {False}, "video": {True}, "mixed": {True, False}}[case.modality]


def right_answer(case: Case) -> str:
    return ", ".join(first_groups(case))


@pytest.mark.parametrize("name", CASES)
def test_right_answers_pass_and_near_misses_fail(name: str) -> None:
    case = CASES[name]
    right = right_answer(case)
    for group in range(len(case.stated)):
        for word in case.stated[group]:
            words = [*first_groups(case)]
            words[group] = word
            assert case_faults(" ".join(words), case) == []
    for text in (right.upper(), f"It is: {right}.", right.replace(", ", "\n")):
        assert case_faults(text, case) == [], text
    assert case_faults(" ".join(first_groups(case)[:-1]) or "nothing", case)
    for word in case.absent:
        assert case_faults(f"{right}, {word}", case), word
    if case.in_order:
        assert case_faults(", ".join(reversed(first_groups(case))), case)
    assert case_faults("x" + right.replace(" ", "x") + "x", case)
    assert {fault.failure for fault in case_faults("none of it", case)} == {"wrong_value"}


@pytest.mark.parametrize("name", CASES)
def test_a_question_offers_what_it_forbids_and_does_not_answer_itself(name: str) -> None:
    case = CASES[name]
    if not case.absent:  # words are to be read: none of them may stand in the question
        assert case_faults(case.question, case), name
    else:
        assert case_faults(case.question, case), "whoever repeats the question has chosen nothing"


# --- the suite -------------------------------------------------------------------------------------------


def seeing(payload: dict[str, object]) -> str:
    question = payload["messages"][0]["content"][-1]["text"]  # type: ignore[index]
    return right_answer(
        next(case for case in CORPUS.cases if case.question == question and is_shown(case, payload))
    )


def is_shown(case: Case, payload: dict[str, object]) -> bool:
    from anvil.collectors.checks.pictures import data_url

    (first, *_) = CORPUS.shown(case)
    return data_url(first.media_type, first.content) in json.dumps(payload)


def test_all_of_it_passes_at_two_repetitions() -> None:
    done = suite("multimodal", seeing, repetitions=2)
    assert done.verdict == ("passed", None, 30, 30)
    by_kind = {
        kind: (
            sum(item.passed for item in done.event.items if item.modality == kind),
            sum(item.repetitions for item in done.event.items if item.modality == kind),
        )
        for kind in ("image", "video", "mixed")
    }
    assert by_kind == {"image": (12, 12), "video": (14, 14), "mixed": (4, 4)}
    # The digest is that of the bytes that were kept, whatever a checkout makes of a file.
    assert done.event.digest == "sha256:" + hashlib.sha256(done.kept["corpus"]).hexdigest()
    assert "corpus" in {item.name for item in done.attachments}


def test_the_engines_own_kind_of_part_is_sent() -> None:
    done = suite("multimodal", seeing, repetitions=1, endpoint={"media_part": "input_image"})
    parts = json.loads(done.kept["when.1.request"])["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["input_image", "video_url", "text"]
    assert parts[0]["image_url"].startswith("data:image/png;base64,")
    assert parts[1]["video_url"]["url"].startswith("data:video/x-msvideo;base64,")


def test_an_endpoint_without_eyes_is_unsupported_and_not_wrong() -> None:
    refused = Reply.of_json({"error": {"message": "image input is not supported"}}, 500)
    done = suite("multimodal", lambda payload: refused, repetitions=1)
    assert done.verdict == ("incomplete", "unsupported_by_endpoint", 0, 15)
    assert {item.is_stable for item in done.event.items} == {None}


def test_one_that_sees_pictures_only_fails_no_picture() -> None:
    def half_blind(payload: dict[str, object]) -> Chat | Reply | str:
        return (
            Reply.of_json({"detail": "bad"}, 400) if "video_url" in json.dumps(payload) else seeing(payload)
        )

    done = suite("multimodal", half_blind, repetitions=1)
    assert done.verdict == ("incomplete", "unsupported_by_endpoint", 6, 15)
    assert {item.is_stable for item in done.event.items if item.modality == "image"} == {True}


def test_an_event_holds_the_suite_at_three_repetitions() -> None:
    assert chosen_for("multimodal").expected_requests == 45
