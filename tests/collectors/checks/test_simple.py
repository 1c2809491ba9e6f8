"""`identity`, `responses`, and the checks of pictures and clips."""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from typing import Any

import pytest
from support.checking import check
from support.endpoint import Chat, Reply, Server

from anvil.collectors.checks import Launched
from anvil.collectors.checks.clips import avi
from anvil.collectors.checks.pictures import COLOURS, SHAPES, Picture, media_message, page

# --- identity --------------------------------------------------------------------------------------


def test_the_served_name_passes_and_any_name_is_a_fact() -> None:
    done = check("identity", lambda payload: Chat(content="hello", model=payload["model"]))
    assert done.verdict == ("passed", None)
    assert done.findings["accepts_any_model"] is True
    assert (done.event.passed, done.event.expected) == (2, 2)


def test_a_name_that_is_refused_is_a_fact_too() -> None:
    def answer(payload: dict[str, Any]) -> Any:
        unknown = Reply.of_json({"error": {"message": "The model does not exist"}}, 404)
        return "hello" if payload["model"] == "test-model" else unknown

    done = check("identity", answer)
    assert done.verdict == ("passed", None)
    assert done.findings["accepts_any_model"] is False


def test_another_served_name_fails() -> None:
    with Server() as server:
        server.on("/v1/models", lambda request: {"data": [{"id": "/models/x.gguf"}]})
        done = check("identity", server=server)
    assert done.verdict == ("failed", "identity_mismatch")
    assert "'/models/x.gguf'" in done.messages["models"]


@pytest.mark.parametrize("listed", [{"data": "none"}, {"data": [1]}, {}, Reply(b"<html>")])
def test_a_list_that_is_none_fails_as_well(listed: Any) -> None:
    with Server() as server:
        server.on("/v1/models", lambda request: listed)
        assert check("identity", server=server).verdict == ("failed", "identity_mismatch")


def test_what_was_launched_is_held_against_what_the_endpoint_says() -> None:
    with Server(version="v1.2.3") as server:
        entry = {"id": "test-model", "max_model_len": 8192}
        server.on("/v1/models", lambda request: {"data": [entry]})
        done = check("identity", server=server, launched=Launched("1.2.3", 8192))
        assert done.verdict == ("passed", None)
        assert done.findings["context_tokens"] == 8192
        done = check("identity", server=server, launched=Launched("1.2.4", 4096))
    assert done.verdict == ("failed", "identity_mismatch")
    assert (done.findings["version_matches"], done.findings["context_matches"]) == (False, False)
    assert "'v1.2.3'" in done.messages["version"]


# --- responses -----------------------------------------------------------------------------------------


def exact(payload: dict[str, Any]) -> str:
    return payload["input"].rpartition(": ")[2]  # type: ignore[no-any-return]


def test_the_exact_answer_passes() -> None:
    assert check("responses", exact).verdict == ("passed", None)


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (lambda text: f"Sure: {text}", "prose_around"),
        (lambda text: "nothing", "wrong_value"),
        (lambda text: "", "visible_answer_missing"),
        (lambda text: Chat(content=text, finish_reason="length", completion_tokens=256), "visible_answer_budget_exhausted"),
    ],
)  # fmt: skip
def test_another_answer_fails(answer: Any, failure: str) -> None:
    done = check("responses", lambda payload: answer(exact(payload)))
    assert done.verdict == ("failed", failure)


@pytest.mark.parametrize("status", [404, 501, 405])
def test_no_such_interface_is_no_failure(status: int) -> None:
    with Server() as server:
        server.on("/v1/responses", lambda request: Reply.of_json({"detail": "Not Found"}, status))
        done = check("responses", server=server)
    assert done.verdict == ("incomplete", "unsupported_by_endpoint")


# --- pictures and clips --------------------------------------------------------------------------------


def medium(payload: dict[str, Any]) -> tuple[str, bytes]:
    part = payload["messages"][0]["content"][0]
    url = part["image_url"] if part["type"] == "input_image" else part[part["type"]]["url"]
    media_type, _, encoded = url.removeprefix("data:").partition(";base64,")
    return media_type, base64.b64decode(encoded)


def pixels(png: bytes) -> tuple[int, int, list[bytes]]:
    """A decoder of our own, for the kind of PNG that is made here; checksums are checked."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(png):
        (size,), kind = struct.unpack(">I", png[at : at + 4]), png[at + 4 : at + 8]
        content = png[at + 8 : at + 8 + size]
        assert struct.unpack(">I", png[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + content)
        parts[kind] = content
        at += 12 + size
    width, height, depth, colour = struct.unpack(">IIBB", parts[b"IHDR"][:10])
    assert (depth, colour) == (8, 2)
    raw = zlib.decompress(parts[b"IDAT"])
    rows = [raw[row * (3 * width + 1) + 1 : (row + 1) * (3 * width + 1)] for row in range(height)]
    assert raw[:: 3 * width + 1] == bytes(height)
    return width, height, rows


def look(payload: dict[str, Any]) -> str:
    """Name the colour in the middle, and the shape by how much of the picture is painted."""
    width, height, rows = pixels(medium(payload)[1])
    middle = tuple(rows[height // 2][3 * (width // 2) : 3 * (width // 2) + 3])
    painted = sum(row[x : x + 3] != b"\xff\xff\xff" for row in rows for x in range(0, 3 * width, 3))
    share = painted / (width * height * 9 / 16)
    shape = "square" if share > 0.9 else "circle" if share > 0.7 else "triangle"
    colour = next(name for name, value in COLOURS.items() if value == middle)
    return f"A {colour.upper()} {shape}."


def test_shapes_that_are_seen_pass() -> None:
    done = check("image", look)
    assert done.verdict == ("passed", None)
    assert (done.event.passed, done.event.expected) == (2, 2)
    assert medium(json.loads(done.kept["picture_1.request"]))[0] == "image/png"


def test_a_guess_fails() -> None:
    done = check("image", lambda payload: "a reddish squared thing")
    assert done.verdict == ("failed", "wrong_value")


def test_the_part_is_the_engines_own_kind() -> None:
    message = media_message("?", "input_image", "data:x")
    assert message["content"][0] == {"type": "input_image", "image_url": "data:x"}
    message = media_message("?", "image_url", "data:x")
    assert message["content"][0] == {"type": "image_url", "image_url": {"url": "data:x"}}


@pytest.mark.parametrize("name", ["image", "ocr", "video"])
@pytest.mark.parametrize(
    "refusal",
    [
        Reply.of_json({"error": {"message": "test-model is not a multimodal model"}}, 400),
        Reply.of_json({"error": {"message": "image input is not supported - hint: mmproj"}}, 500),
    ],
)
def test_an_engine_that_sees_nothing_is_no_failure(name: str, refusal: Reply) -> None:
    done = check(name, lambda payload: refusal)
    assert done.verdict == ("incomplete", "unsupported_by_endpoint")


def test_a_page_is_read() -> None:
    sent: list[bytes] = []

    def answer(payload: dict[str, Any]) -> str:
        sent.append(medium(payload)[1])
        return "anchor"

    done = check("ocr", answer)
    assert done.verdict == ("failed", "wrong_value")
    words = re.findall("[A-Z]{4,}", done.messages["page"])
    assert len(words) >= 7
    told = check("ocr", lambda payload: f"{' '.join(words).lower()} anchor")
    assert told.verdict == ("passed", None)
    width, height, rows = pixels(sent[0])
    assert sum(row.count(0) for row in rows) > 1000
    assert (width, height) == (pixels(page(["ABCDEF ABCDEF"] * 4).png())[:2])


def test_letters_are_where_they_are_written() -> None:
    picture = Picture(20, 12)
    picture.text("I", 2, 2, 1)
    assert [bytes(row[6:21:3]) for row in picture.rows[2:4]] == [b"\xff\0\0\0\xff", b"\xff\xff\0\xff\xff"]
    with pytest.raises(KeyError):
        picture.text("é", 0, 0, 1)


def frames_of(clip: bytes) -> list[bytes]:
    assert clip[:4] == b"RIFF"
    assert struct.unpack("<I", clip[4:8])[0] == len(clip) - 8
    movie = clip.index(b"movi")
    at, frames = movie + 4, []
    while clip[at : at + 4] == b"00dc":
        (size,) = struct.unpack("<I", clip[at + 4 : at + 8])
        frames.append(clip[at + 8 : at + 8 + size])
        at += 8 + size
    assert clip[at : at + 4] == b"idx1"
    offsets = [
        struct.unpack("<4sIII", clip[at + 8 + 16 * n : at + 24 + 16 * n])[2] for n in range(len(frames))
    ]
    assert all(clip[movie + offset : movie + offset + 4] == b"00dc" for offset in offsets)
    return frames


def test_the_colours_of_a_clip_pass_in_any_case() -> None:
    shown: list[int] = []

    def answer(payload: dict[str, Any]) -> str:
        media_type, clip = medium(payload)
        assert media_type == "video/x-msvideo"
        shown.extend(len(set(frame)) for frame in frames_of(clip))
        return ", ".join(COLOURS).upper()

    done = check("video", answer)
    assert done.verdict == ("passed", None)
    assert len(shown) == 12
    assert check("video", lambda payload: "red").verdict == ("failed", "wrong_value")


def test_a_clip_has_the_lightness_of_its_frames() -> None:
    white, black = Picture(4, 2), Picture(4, 2)
    black.fill(0, 0, 4, 2, (0, 0, 0))
    first, second, third = frames_of(avi([white, black, white], 2))
    assert (first[:8], second[:8], third) == (b"\xeb" * 8, b"\x10" * 8, first)
    assert first[8:] == second[8:] == b"\x80" * 4
    with pytest.raises(ValueError, match="even sides"):
        avi([Picture(3, 2)], 2)
    with pytest.raises(ValueError, match="at least one frame"):
        avi([], 2)


def test_every_shape_can_be_painted() -> None:
    sizes = set()
    for shape in SHAPES:
        picture = Picture(64, 64)
        picture.shape(shape, (0, 0, 0))
        sizes.add(sum(row.count(0) for row in picture.rows))
    assert len(sizes) == len(SHAPES)
