"""Measure 7: what functional checks cost beside the bare requests, against a server that answers at once.

The checks go through everything that a run does with them: bodies kept before they are judged and
flushed before an event names them, a journal, signed events; stream and journal are there before, as in a run.
Each round asks with a seed of its own, and no two answers are equal, since equal bytes are kept once. The
floor sends the bodies of one such round with bare httpx, each on a fresh connection as the checks do and
without the certificates that an address without TLS does not need, and reads the answers.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from unittest.mock import patch

import httpx
from measure import Row, Setting, interleaved, seconds

from anvil.collectors.checks import CHECKS, UnderTest, carry_out, context
from anvil.collectors.checks.control import ThinkingControl
from anvil.collectors.client import Client
from anvil.collectors.interface import Endpoint
from anvil.collectors.journal import Journal
from anvil.collectors.recorder import LedgerRecorder
from anvil.ledger.creation import create_ledger
from anvil.ledger.header import Subject
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import Stream

CHOSEN = ("structured-json", "structured-json-schema", "tools-batch", "tool-result", "responses")
SUBJECT = Subject("bench", "none", "a1")
ROUNDS = 75
TESTS = Path(__file__).resolve().parent.parent / "tests"

_SERVE = """
from itertools import count
from support.endpoint import Server
number = count()
with Server(chat=lambda payload: f"ok {next(number)}") as server:
    print(server.base_url, flush=True)
    input()
"""


def measure(setting: Setting) -> list[Row]:
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVE],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        places = {"ANVIL_STATE": str(setting.folder / "state"), "ANVIL_KEYS": str(setting.folder / "keys")}
        with patch.dict(os.environ, places):
            place = create_ledger(setting.folder / "functional", "bench.test.invalid").place
            with Ledger.open(place.directory) as ledger, _recorder(ledger) as recorder:
                sent, seeds = _Sent(), count(1)
                asyncio.run(_checks(recorder, url, seeds, sent))
                ours, bare = interleaved(
                    ROUNDS,
                    lambda: seconds(lambda: asyncio.run(_checks(recorder, url, seeds, None))),
                    lambda: seconds(lambda: asyncio.run(_bare(url, sent.batches))),
                )
    finally:
        server.terminate()
        server.wait()
    requests = sum(len(batch) for batch in sent.batches)
    name = f"functional checks, {requests} requests"
    return [Row(name, ours * 1e3, "ms", 1.5, bare * 1e3, "the same requests with bare httpx")]


class _Sent:
    """The bodies that the checks sent, each batch in flight together."""

    def __init__(self) -> None:
        self.batches: list[list[tuple[str, bytes]]] = []


class _Watching:
    """A client that remembers what is sent through it."""

    def __init__(self, client: Client, sent: _Sent) -> None:
        self._client = client
        self._sent = sent
        self._in_flight = 0

    async def exchange(self, method: str, path: str, payload: bytes | None = None, *, stream: bool = False):  # type: ignore[no-untyped-def]
        if self._in_flight == 0:
            self._sent.batches.append([])
        self._in_flight += 1
        self._sent.batches[-1].append((path, payload or b""))
        try:
            return await self._client.exchange(method, path, payload, stream=stream)
        finally:
            self._in_flight -= 1


@contextmanager
def _recorder(ledger: Ledger) -> Iterator[LedgerRecorder]:
    with Stream.start(ledger, ledger.signer("collector"), purpose="bench") as stream:
        journal = Journal.create(ledger.place.directory / "journals", stream.id)
        yield LedgerRecorder(ledger, stream, journal).about(SUBJECT)
    journal.finish()


async def _checks(recorder: LedgerRecorder, url: str, seeds: Iterator[int], sent: _Sent | None) -> None:
    endpoint = Endpoint(url, "test-model")
    async with Client(endpoint) as client:
        sender = client if sent is None else _Watching(client, sent)
        under_test = UnderTest(
            recorder, sender, endpoint, ThinkingControl(), next(seeds), cap_field="max_tokens"
        )
        for name in CHOSEN:
            ctx = context(under_test, name, {})
            event = await carry_out(CHECKS[name], ctx)
            recorder.append(event, subject=SUBJECT, attachments=ctx.attachments)


async def _bare(url: str, batches: Sequence[Sequence[tuple[str, bytes]]]) -> None:
    limits = httpx.Limits(max_keepalive_connections=0)
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    async with httpx.AsyncClient(
        base_url=url, limits=limits, trust_env=False, timeout=60, verify=trust
    ) as client:
        headers = {"Content-Type": "application/json"}
        for batch in batches:
            answers = [client.post(path, content=body, headers=headers) for path, body in batch]
            for answer in await asyncio.gather(*answers):
                answer.json()
