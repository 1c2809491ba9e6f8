"""How the corpus of `multimodal` was made, and is made again: `PYTHONPATH=tests .venv/bin/python -m support.corpus`.

Each case is drawn by a few lines here, beside what is asked. tests/collectors/suites/test_corpus.py looks at the
packaged bytes and finds in their pixels what each case asks for.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from typing import Any

from anvil.collectors.checks.clips import avi
from anvil.collectors.checks.pictures import COLOURS, SHAPES, Picture, page
from support.tools import ROOT

PLACE = ROOT / "collectors" / "suites" / "corpus.zip"
SIDE = 256
CLIP_SIDE = 128
PER_SECOND = 2
EACH = 4
"""Frames of one scene of a clip: two seconds."""

NUMBERS = ("one", "two", "three", "four", "five", "six")
PLACES = (("first", "1st", "1"), ("second", "2nd", "2"), ("third", "3rd", "3"))


def others(words: Sequence[str], *right: str) -> list[str]:
    """The words of an offer that are wrong."""
    return [word for word in words if word not in right]


def case(
    name: str,
    modality: str,
    question: str,
    media: dict[str, bytes],
    stated: Sequence[Sequence[str]],
    absent: Sequence[str] = (),
    *,
    in_order: bool = False,
) -> tuple[dict[str, Any], dict[str, bytes]]:
    listed = {
        "id": name,
        "modality": modality,
        "question": question,
        "media": list(media),
        "stated": [list(group) for group in stated],
        "absent": list(absent),
        "in_order": in_order,
    }
    return listed, media


# --- pictures --------------------------------------------------------------------------------------------


def shape(name: str, colour: str, kind: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    picture = Picture(SIDE, SIDE)
    picture.shape(kind, COLOURS[colour])
    question = (
        f"One shape is in the picture. Which one: {', '.join(SHAPES)}? And of which colour: {', '.join(COLOURS)}? "
        "Answer with the colour and the shape, two words and no more."
    )
    wrong = [*others(tuple(COLOURS), colour), *others(SHAPES, kind)]
    return case(name, "image", question, {f"{name}.png": picture.png()}, [[colour], [kind]], wrong)


def count() -> tuple[dict[str, Any], dict[str, bytes]]:
    picture = Picture(SIDE, SIDE)
    for left, top in ((24, 24), (152, 40), (40, 152), (168, 168)):
        picture.fill(left, top, left + 60, top + 60, COLOURS["green"])
    question = "How many green squares are in the picture? Answer with the number alone."
    wrong = [word for n, name in enumerate(NUMBERS, start=1) if n != 4 for word in (str(n), name)]
    return case(
        "count-squares", "image", question, {"count-squares.png": picture.png()}, [["4", "four"]], wrong
    )


def words() -> tuple[dict[str, Any], dict[str, bytes]]:
    lines = ["WALNUT BRIDGE", "COPPER LANTERN"]
    question = "Write down the four words in the picture, in their order, and nothing else."
    stated = [[word] for line in lines for word in line.split()]
    return case("page", "image", question, {"page.png": page(lines, 4).png()}, stated, in_order=True)


def sides() -> tuple[dict[str, Any], dict[str, bytes]]:
    picture = Picture(SIDE, SIDE)
    picture.fill(20, 78, 110, 178, COLOURS["purple"])
    picture.fill(146, 78, 236, 178, COLOURS["yellow"])
    question = (
        f"Two squares are in the picture. Which colour has the one on the left: {', '.join(COLOURS)}? "
        "Answer with the colour alone."
    )
    wrong = others(tuple(COLOURS), "purple")
    return case("left-colour", "image", question, {"left-colour.png": picture.png()}, [["purple"]], wrong)


def largest() -> tuple[dict[str, Any], dict[str, bytes]]:
    picture = Picture(SIDE, SIDE)
    picture.fill(16, 176, 56, 216, COLOURS["red"])
    picture.fill(76, 56, 236, 216, COLOURS["blue"])
    picture.fill(16, 40, 60, 84, COLOURS["green"])
    question = (
        f"Three squares are in the picture. Which colour has the largest: {', '.join(COLOURS)}? "
        "Answer with the colour alone."
    )
    wrong = others(tuple(COLOURS), "blue")
    return case("largest-colour", "image", question, {"largest-colour.png": picture.png()}, [["blue"]], wrong)


# --- clips -----------------------------------------------------------------------------------------------


def plain(colour: str) -> Picture:
    frame = Picture(CLIP_SIDE, CLIP_SIDE)
    frame.fill(0, 0, CLIP_SIDE, CLIP_SIDE, COLOURS[colour])
    return frame


def clip(scenes: Sequence[Picture], each: int = EACH) -> bytes:
    return avi([scene for scene in scenes for _ in range(each)], PER_SECOND)


def colours(name: str, *shown: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    question = (
        f"The clip shows {NUMBERS[len(shown) - 1]} colours one after another, each of {', '.join(COLOURS)}. "
        "Which ones, in order? Answer with the colours alone."
    )
    content = clip([plain(colour) for colour in shown])
    wrong = others(tuple(COLOURS), *shown)
    stated = [[colour] for colour in shown]
    return case(name, "video", question, {f"{name}.avi": content}, stated, wrong, in_order=True)


def moving() -> tuple[dict[str, Any], dict[str, bytes]]:
    scenes = []
    for left in range(0, 97, 12):
        frame = Picture(CLIP_SIDE, CLIP_SIDE)
        frame.fill(left, 48, left + 32, 80, COLOURS["blue"])
        scenes.append(frame)
    question = (
        "A blue square moves through the clip. To which side: left, right, up or down? Answer with one word."
    )
    return case(
        "moves", "video", question, {"moves.avi": clip(scenes, 1)}, [["right"]], ["left", "up", "down"]
    )


def growing() -> tuple[dict[str, Any], dict[str, bytes]]:
    scenes = []
    for half in range(8, 57, 6):
        frame = Picture(CLIP_SIDE, CLIP_SIDE)
        frame.fill(64 - half, 64 - half, 64 + half, 64 + half, COLOURS["red"])
        scenes.append(frame)
    question = (
        "A red square is in the middle of the clip. What does it do: grow, shrink, or stay as it is? "
        "Answer with one word: grow, shrink or stay."
    )
    right = ["grow", "grows", "growing"]
    wrong = ["shrink", "shrinks", "shrinking", "stay", "stays", "staying"]
    return case("grows", "video", question, {"grows.avi": clip(scenes, 1)}, [right], wrong)


def spelled() -> tuple[dict[str, Any], dict[str, bytes]]:
    shown = ("CAKE", "BOAT", "MILK")
    scenes = []
    for word in shown:
        frame = Picture(CLIP_SIDE, CLIP_SIDE)
        frame.text(word, 16, 48, 4)
        scenes.append(frame)
    question = (
        "The clip shows three words one after another. Which ones, in order? Answer with the words alone."
    )
    return case(
        "words", "video", question, {"words.avi": clip(scenes)}, [[word] for word in shown], in_order=True
    )


# --- both ------------------------------------------------------------------------------------------------


def when() -> tuple[dict[str, Any], dict[str, bytes]]:
    picture = Picture(SIDE, SIDE)
    picture.shape("circle", COLOURS["green"])
    shown = ("red", "green", "blue")
    question = (
        "The picture shows a circle. The clip shows three colours one after another. As which of them does the clip "
        "show the colour of the circle: first, second or third? Answer with one word."
    )
    media = {"when.png": picture.png(), "when.avi": clip([plain(colour) for colour in shown])}
    at = shown.index("green")
    wrong = [word for number, group in enumerate(PLACES) if number != at for word in group]
    return case("when", "mixed", question, media, [PLACES[at]], wrong)


def missing() -> tuple[dict[str, Any], dict[str, bytes]]:
    picture = Picture(SIDE, SIDE)
    for at, colour in enumerate(("red", "yellow", "blue")):
        picture.fill(16 + 80 * at, 96, 80 + 80 * at, 160, COLOURS[colour])
    media = {"missing.png": picture.png(), "missing.avi": clip([plain("blue"), plain("red")])}
    question = (
        "The picture shows three squares, a red one, a yellow one and a blue one. The clip shows two of their colours. "
        "Which colour of the picture does the clip not show? Answer with that colour alone."
    )
    return case("missing", "mixed", question, media, [["yellow"]], others(tuple(COLOURS), "yellow"))


def made() -> list[tuple[dict[str, Any], dict[str, bytes]]]:
    """Every case, with its media."""
    return [
        shape("red-circle", "red", "circle"),
        shape("black-triangle", "black", "triangle"),
        count(),
        words(),
        sides(),
        largest(),
        colours("two-colours", "yellow", "purple"),
        colours("three-colours", "blue", "red", "green"),
        colours("three-others", "black", "yellow", "blue"),
        colours("four-colours", "green", "purple", "red", "yellow"),
        moving(),
        growing(),
        spelled(),
        when(),
        missing(),
    ]


def corpus() -> bytes:
    """The archive. What deflate makes of the same pixels depends on the library; the packaged file is what counts."""
    cases = made()
    listed = {"format": "anvil.corpus/1", "version": 1, "cases": [told for told, _ in cases]}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        _put(archive, "corpus.json", json.dumps(listed, indent=1).encode() + b"\n")
        for _, media in cases:
            for name, content in media.items():
                _put(archive, name, content)
    return buffer.getvalue()


def _put(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
    info.external_attr = 0o644 << 16
    info.create_system = 3
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, content)


if __name__ == "__main__":
    PLACE.write_bytes(corpus())
