"""Ports that are left to us: free, held, and given over."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from anvil.collectors.launchers import ports
from anvil.collectors.launchers.interface import LOOPBACK
from anvil.collectors.launchers.ports import LOWEST, HeldPort
from anvil.ledger.errors import CollectorError


def bind(number: int) -> None:
    """Bind a port as servers do, and let it go."""
    with socket.socket() as mine:
        mine.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        mine.bind((LOOPBACK, number))
        mine.listen()


def test_a_held_port_is_nobody_elses_until_it_is_let_go() -> None:
    with HeldPort() as held:
        with pytest.raises(OSError, match="in use"):
            bind(held.number)
        held.release()
        bind(held.number)
        held.release()


def test_several_are_different_and_below_those_of_the_system(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = tmp_path / "range"
    said.write_text(f"{LOWEST + 3}\t60999\n")
    monkeypatch.setattr(ports, "_RANGE", said)
    with HeldPort() as one, HeldPort() as two, HeldPort() as three:
        numbers = {one.number, two.number, three.number}
        assert len(numbers) == 3
        if all(number < LOWEST + 3 for number in numbers):  # unless somebody else here has one of the three
            with HeldPort() as fourth:
                assert fourth.number >= LOWEST + 3


@pytest.mark.parametrize("said", ["1024 65535\n", "", "some\n"])
def test_where_there_is_no_room_below_the_system_chooses(
    said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "range"
    path.write_text(said)
    monkeypatch.setattr(ports, "_RANGE", path)
    with HeldPort() as held:
        assert held.number > 0


def test_what_the_system_refuses_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "LOOPBACK", "192.0.2.1")  # no address of this machine
    with pytest.raises(CollectorError, match="can be held: Cannot assign"):
        HeldPort()
