"""The server in C that notes when it really wrote: what it does for clients of other people."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from support.tools import ROOT

from anvil.collectors.load.truth import Schedule, truth_server

pytestmark = pytest.mark.needs("cc")

SCHEDULE = Schedule(2, 1_000_000, 1_000_000)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    built = tmp_path_factory.mktemp("truth") / "truth_server"
    source = ROOT / "bench" / "truth_server.c"
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", built, source], check=True)
    return str(built)


@contextmanager
def connected(url: str) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=20) as connection:
        yield connection


def asked(connection: socket.socket, body: object) -> bytes:
    """Send a request, and return its answer up to the last chunk, or the end."""
    content = json.dumps(body, separators=(",", ":")).encode()
    connection.sendall(b"POST / HTTP/1.1\r\ncontent-length: %d\r\n\r\n%s" % (len(content), content))
    answer = b""
    while not answer.endswith(b"\r\n0\r\n\r\n") and (piece := connection.recv(1 << 16)):
        answer += piece
    return answer


def test_a_connection_is_used_again_where_that_is_asked_for(program: str) -> None:
    with truth_server(SCHEDULE, (program, "--keep-alive")) as server:
        with connected(server.base_url) as connection:
            answers = [asked(connection, {"seed": seed}) for seed in (5, 6)]
        notes = server.finish()
    assert [answer.count(b" token") for answer in answers] == [2, 2]
    assert notes.keys() == {5, 6}
    assert all(note.received_ns <= note.writes_ns[0] <= note.writes_ns[1] for note in notes.values())


def test_it_is_closed_elsewhere(program: str) -> None:
    with truth_server(SCHEDULE, (program,)) as server, connected(server.base_url) as connection:
        assert asked(connection, {"seed": 5}).endswith(b"\r\n0\r\n\r\n")
        assert connection.recv(1) == b""


def test_the_number_of_a_request_may_stand_in_its_prompt(program: str) -> None:
    with truth_server(SCHEDULE, (program,)) as server:
        with connected(server.base_url) as connection:
            asked(connection, {"messages": [{"role": "user", "content": "Say something (seed 17)."}]})
        assert server.finish().keys() == {17}


@pytest.mark.parametrize("options", [(), ("--keep-alive",)])
def test_who_looks_for_models_is_answered_and_not_noted(program: str, options: tuple[str, ...]) -> None:
    with truth_server(SCHEDULE, (program, *options)) as server:
        with connected(server.base_url) as connection:
            connection.sendall(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")
            answer = connection.recv(1 << 16)
            head, _, body = answer.partition(b"\r\n\r\n")
            assert json.loads(body)["data"][0]["id"] == "truth"
            assert b"content-length: %d" % len(body) in head
            if options:
                assert asked(connection, {"seed": 3}).count(b" token") == 2
            else:
                assert connection.recv(1) == b""
        assert server.finish().keys() == ({3} if options else set())


def test_an_unknown_option_is_refused(program: str) -> None:
    done = subprocess.run([program, "--keep", "1", "2", "3"], stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 2
