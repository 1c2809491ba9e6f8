"""Pages in a browser: nothing is asked for, nothing is complained of, and people can read them anywhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from support.browser import Browser
from support.importing import imported, rendered
from support.laguna import laguna
from support.published import lanes, spelled, summary
from support.tools import SEEDS

from anvil.projections.document import find
from anvil.projections.opened import opened
from anvil.projections.pages import page
from anvil.projections.provenance import State
from anvil.projections.record import fold
from anvil.projections.rendering import draft

STATE = State("scene.test.invalid/log", 99, "ab" * 32)
SEEDED = ("candidate-failure.v1", "sanitized-qualification-summary.v1", "qwen38-27b-qualification-summary.v1")

pytestmark = pytest.mark.needs("chromium")


@cache
def imported_page(name: str, content: bytes) -> str:
    seen = imported(content)
    return page(rendered(name, seen), STATE, fold(seen), "html")


@cache
def recorded_page(home: Path) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANVIL_KEYS", str(home / "keys"))
        patch.setenv("ANVIL_STATE", str(home / "state"))
        made = laguna(home / "ledger")
        with opened(made.place, None) as ledger:
            one = draft(ledger.record, ledger.artifacts, find("candidate-failure.v1"))
            return page(one, ledger.state, ledger.record, "html")


PAGES: dict[str, Callable[[], str]] = {
    "summary": lambda: imported_page(SEEDED[1], spelled(summary())),
    "lanes": lambda: imported_page(SEEDED[2], spelled(lanes())),
    **{
        f"seed-{name}": lambda name=name: imported_page(name, (SEEDS / f"{name}.json").read_bytes())  # type: ignore[misc]
        for name in SEEDED
    },
}


@pytest.fixture(params=["recorded", *PAGES])
def shown(
    request: pytest.FixtureRequest,
    need: Callable[[str], None],
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    name = request.param
    if name.startswith("seed-"):
        need("seeds")
    made = recorded_page(tmp_path_factory.getbasetemp() / "recorded") if name == "recorded" else PAGES[name]()
    place = tmp_path / f"{name}.html"
    place.write_text(made, encoding="utf-8")
    return place


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_page_can_be_read(shown: Path, browser: Browser, dark: bool) -> None:
    widths = (360, 1280)
    seen = browser.measured(shown, widths, dark=dark)
    assert seen["complaints"] == []
    for width, found in zip(widths, seen["frames"], strict=True):
        assert "error" not in found
        assert found["asked_for"] == []
        assert found["lost"] == 0
        assert found["width"] == width
        assert found["scroll_width"] <= width
        assert found["is_dark"] is dark
        assert found["texts"] > 100
        assert found["poor"] == []
        assert found["outside"] == []
        has_plots = shown.stem not in ("recorded", "seed-candidate-failure.v1")
        assert (found["plots"] > 0) is has_plots
        assert found["smallest"] is None or found["smallest"] >= 8


def test_a_page_is_printed(shown: Path, browser: Browser) -> None:
    made = browser.printed(shown)
    assert made.startswith(b"%PDF-")
    assert len(made) > 20_000


def test_a_page_is_light_or_dark_as_its_reader_is(tmp_path: Path, browser: Browser) -> None:
    place = tmp_path / "lanes.html"
    place.write_text(PAGES["lanes"](), encoding="utf-8")
    light, dark = (browser.picture(place, width=1280, height=1400, dark=dark) for dark in (False, True))
    assert min(len(light), len(dark)) > 20_000
    assert light != dark


def test_a_fault_would_be_seen(tmp_path: Path, browser: Browser) -> None:
    """What the tests above look at is there to be found."""
    place = tmp_path / "faulty.html"
    style = "p{color:#999;background:#fff;width:500px}"
    policy = '<meta http-equiv="Content-Security-Policy" content="script-src \'none\'">'
    more = '<a href="#n1">lost</a><img src="http://elsewhere.test.invalid/x.png"><script>1</script>'
    place.write_text(f"{policy}<style>{style}</style><p>faint</p>{more}", encoding="utf-8")
    seen = browser.measured(place, (360,), dark=False)
    (found,) = seen["frames"]
    assert seen["complaints"]
    assert found["asked_for"] == ["http://elsewhere.test.invalid/x.png"]
    assert (found["lost"], found["scroll_width"] > 360) == (1, True)
    assert [poor.split(": ")[1] for poor in found["poor"]] == ["faint"]
