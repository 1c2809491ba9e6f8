"""Long texts, such as logs that are to be disclosed: what is split over a few lines is found wherever it stands."""

from __future__ import annotations

import pytest
from support.planted import PLANTED

from anvil.projections.tripwire.canaries import Canaries
from anvil.projections.tripwire.scanning import BLOCK, OVERLAP, Tripwire

TOKEN = PLANTED["hf"]
SAID = "We asked what Nordwind Reederei\npays for its containers."


@pytest.fixture(scope="module")
def tripwire() -> Tripwire:
    return Tripwire(Canaries.of([("sealed text", SAID)]))


def log(before: int, *lines: str, after: int = 100) -> str:
    return "\n".join([*(f"step {n}" for n in range(before)), *lines, *("done" for _ in range(after))])


@pytest.mark.parametrize(
    "before", [0, BLOCK - OVERLAP - 1, BLOCK - OVERLAP, BLOCK - 1, BLOCK, 3 * BLOCK - 1, 500]
)
def test_a_token_over_two_lines_is_found_wherever_it_stands(tripwire: Tripwire, before: int) -> None:
    hits = tripwire.look_through("boot.log", log(before, TOKEN[:12], TOKEN[12:]))
    assert hits, before
    assert all(hit.place.startswith("boot.log, lines ") for hit in hits)
    first, last = hits[0].place.removeprefix("boot.log, lines ").split(" to ")
    assert int(first) <= before + 1 <= int(last)


@pytest.mark.parametrize("after", [0, 1, OVERLAP - 1, OVERLAP, BLOCK])
@pytest.mark.parametrize("before", [0, 1, BLOCK - OVERLAP, BLOCK - 1, BLOCK])
def test_no_line_is_left_out(tripwire: Tripwire, before: int, after: int) -> None:
    hits = tripwire.look_through("boot.log", log(before, TOKEN, after=after))
    assert {hit.place for hit in hits} == {f"boot.log, line {before + 1}"}


def test_colours_hide_nothing(tripwire: Tripwire) -> None:
    coloured = f"{TOKEN[:10]}\x1b[1;36m{TOKEN[10:20]}\x1b[0m{TOKEN[20:]}"
    assert {hit.form for hit in tripwire.look("boot.log", coloured)} >= {"terminal"}
    assert tripwire.look("boot.log", f"\x1b]0;{TOKEN}\x1b\\ready"), "nor does a title"
    assert not tripwire.look("boot.log", "\x1b[32mINFO\x1b[0m model loaded")


def test_a_sealed_text_of_several_lines_is_found(tripwire: Tripwire) -> None:
    assert tripwire.look_through("answer.txt", log(40, SAID))


def test_an_ordinary_log_passes(tripwire: Tripwire) -> None:
    assert tripwire.look_through("boot.log", log(200, "INFO model loaded in 41.2 s")) == []
    assert tripwire.look_through("nothing.log", "") == []
