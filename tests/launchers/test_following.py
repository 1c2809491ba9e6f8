"""A container's log, followed in parts: everything is there once, whatever times the engine tells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from anvil.collectors.launchers import following
from anvil.collectors.launchers.following import Follower
from anvil.collectors.launchers.logs import LogFile

LINES = [b"one\n", b"two\n", b"three", b"three, longer than 16 KiB\n", b"five\n"]
TIMES = {
    "docker": [f"2026-11-30T10:00:00.{n:09}Z" for n in (1, 2, 3, 3, 4)],  # the pieces of a line have one time
    "podman": [f"2026-11-30T10:00:0{n}Z" for n in (0, 0, 0, 1, 1)],
    "all at once": ["2026-11-30T10:00:00Z"] * 5,
}


class Engine:
    """Gives out messages from the second that is asked for, up to `until`, and then breaks or ends."""

    def __init__(self, moments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.moments = moments
        self.until = len(LINES)
        self.status = "exited"
        self.api = SimpleNamespace(inspect_container=lambda _: {"State": {"Status": self.status}})
        monkeypatch.setattr(following, "log_messages", self.messages)

    def messages(
        self, _client: Any, _container: str, *, since: int | None, has_terminal: bool
    ) -> Iterator[bytes]:
        assert not has_terminal
        for moment, line in list(zip(self.moments, LINES, strict=True))[: self.until]:
            if since is None or moment[:19] >= "2026-11-30T10:00:0" + str(since % 60):
                yield moment.encode() + b" " + line

    def close(self) -> None:
        """End."""


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("first", range(len(LINES) + 1))
@pytest.mark.parametrize("noted", [True, False])
def test_in_two_parts(
    times: str, first: int, noted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    path.touch()
    engine = Engine(TIMES[times], monkeypatch)
    engine.until = first
    follower = Follower(lambda: engine, "c" * 64, LogFile(path))
    follower.start()
    assert follower.is_over.wait(10)
    if not noted:  # it was killed before it wrote down how far it had come
        (tmp_path / "log.counts.json").unlink()
    engine.until = len(LINES)
    log = LogFile(path)
    again = Follower(lambda: engine, "c" * 64, log)
    assert log.read().content() == b"".join(LINES[:first]), "a reader is there before it goes on"
    again.start()
    assert again.is_over.wait(10)
    assert log.read().content() == b"".join(LINES)
    assert log.read().lines == 4


@pytest.mark.parametrize("first", range(len(LINES) + 1))
def test_a_stream_that_breaks_just_before_the_container_ends_loses_nothing(
    first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    path.touch()
    engine = Engine(TIMES["docker"], monkeypatch)
    engine.until = first

    def ended(_container: str) -> dict[str, Any]:
        engine.until = len(
            LINES
        )  # it wrote the rest and ended after the stream broke, and before anybody asked
        return {"State": {"Status": "exited"}}

    engine.api.inspect_container = ended
    log = LogFile(path)
    follower = Follower(lambda: engine, "c" * 64, log)
    follower.start()
    assert follower.is_over.wait(10)
    assert log.read().content() == b"".join(LINES)
    assert not follower.problem
