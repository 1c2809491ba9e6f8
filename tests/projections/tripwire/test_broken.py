"""A detector that is missing, fails or finds nothing refuses everything."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.planted import PLANTED

from anvil.projections.tripwire import Tripwire, TripwireBroken, foreign, scanning
from anvil.projections.tripwire.detector import Detector
from anvil.projections.tripwire.forms import MAX_CHARACTERS

ALL = tuple(detector for source in scanning.DETECTORS for detector in source())
NAMES = [detector.name for detector in ALL]


def with_one_changed(monkeypatch: pytest.MonkeyPatch, name: str, **changes: Any) -> None:
    changed = tuple(replace(d, **changes) if d.name == name else d for d in ALL)
    monkeypatch.setattr(scanning, "DETECTORS", (lambda: changed,))


def fail(_text: str) -> list[str]:
    raise ZeroDivisionError("secret words that the message must not repeat")


@pytest.mark.parametrize("name", NAMES)
def test_a_detector_that_fails_refuses(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with_one_changed(monkeypatch, name, find=fail)
    with pytest.raises(TripwireBroken, match=name) as refusal:
        Tripwire()
    assert "secret words" not in str(refusal.value)


@pytest.mark.parametrize("name", NAMES)
def test_a_detector_that_finds_nothing_refuses(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with_one_changed(monkeypatch, name, find=lambda _text: [])
    with pytest.raises(TripwireBroken, match=name):
        Tripwire()


@pytest.mark.parametrize("name", NAMES)
def test_a_detector_that_is_missing_refuses(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(scanning, "DETECTORS", (lambda: tuple(d for d in ALL if d.name != name),))
    with pytest.raises(TripwireBroken, match="expected"):
        Tripwire()


def test_a_detector_that_fails_on_one_text_only_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def sometimes(text: str) -> list[str]:
        return [text] if "sample" in text else fail(text)

    with_one_changed(monkeypatch, "bearer", find=sometimes, sample="sample")
    with pytest.raises(TripwireBroken, match="bearer"):
        Tripwire().look("/x", "any other text")


def test_each_detector_finds_its_sample_alone() -> None:
    assert len(set(NAMES)) == scanning.EXPECTED
    for detector in ALL:
        detector.require_sound()


@pytest.mark.parametrize("where", foreign.PLUGINS)
def test_a_foreign_detector_that_is_gone_refuses(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    module, _, _ = where.partition(":")
    moved = {f"{module}:Gone" if name == where else name: what for name, what in foreign.PLUGINS.items()}
    monkeypatch.setattr(foreign, "PLUGINS", moved)
    with pytest.raises(TripwireBroken):
        Tripwire()


def test_another_version_of_detect_secrets_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "version", lambda _name: "1.4.0")
    with pytest.raises(TripwireBroken, match=r"1\.4\.0"):
        Tripwire()


def test_detect_secrets_not_installed_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_name: str) -> str:
        raise foreign.PackageNotFoundError

    monkeypatch.setattr(foreign, "version", absent)
    with pytest.raises(TripwireBroken, match="not installed"):
        Tripwire()


def test_a_text_that_cannot_be_looked_at_whole_refuses() -> None:
    with pytest.raises(TripwireBroken, match="more encoded layers"):
        Tripwire().look("/x", "a" * (MAX_CHARACTERS + 1))


def test_a_detector_never_shows_what_it_found() -> None:
    hits = Tripwire().look("/x", PLANTED["hf"])
    assert PLANTED["hf"] not in repr(hits)
    assert Detector in {type(d) for d in ALL}
