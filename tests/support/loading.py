"""Load without a network: attempt records made of replies, and a run against a server of ours."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from anvil.collectors.interface import Deadlines, Endpoint
from anvil.collectors.load.closed_loop import ClosedLoop
from anvil.collectors.load.record import RequestRecord, RunRecord
from anvil.collectors.load.requests import PlannedRequest, Target
from anvil.ledger.rows import Row
from support.endpoint import CLOSE, HANG, RESET, Pause, Reply, Server
from support.endpoint.wire import Ending, Step

MODEL = "test-model"
CAP = 5
BODY = b'{"stream":true}'
PATIENT = Deadlines(5, 10, 10, 20)
SHORT = Deadlines(1, 0.3, 0.3, 0.6)

_ROWS = json.loads((Path(__file__).parent / "endpoint" / "rows.json").read_bytes())["rows"]
EXPECTED: dict[str, dict[str, Any]] = {
    case: {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    for case, row in _ROWS.items()
}
"""For each case the members of its row that do not depend on when its bytes came."""

RUN = RunRecord(
    base_realtime_ns="1790000000000000000",
    offset_low_ns=0,
    offset_high_ns=0,
    stepped=False,
    aborted=False,
    concurrency=1,
    served_model=MODEL,
    ended_ns=10**10,
)


def sent(reply: Reply) -> tuple[bytes, Ending | None]:
    """Return all bytes of a reply and how it ends; null when as HTTP wants it."""
    raw = bytearray()
    for step in reply.steps():
        if isinstance(step, bytes):
            raw += step
        elif not isinstance(step, Pause):
            return bytes(raw), step
    return bytes(raw), None


def record_of(
    pieces: Sequence[bytes], ending: Ending | None = None, stamps: Sequence[int] | None = None, **more: Any
) -> RequestRecord:
    """Return the record of a response that came in these reads, by default 1 µs apart, the first after 1 µs."""
    came = [piece for piece in pieces if piece]
    moments = tuple(stamps or (1000 * number for number in range(1, len(came) + 1)))
    members: dict[str, Any] = {
        "index": 0,
        "attempt": 1,
        "slot": 0,
        "cap_tokens": CAP,
        "request": BODY,
        "is_fresh": True,
        "intended_ns": 0,
        "connect_ns": 0,
        "started_ns": 0,
        "written_ns": 0,
        "ended_ns": 10**9,
        "is_stopped": False,
        "is_closed": ending == CLOSE,
        "failure": {RESET: "connection_reset", HANG: "timeout"}.get(ending or ""),
        "message": "",
        "sizes": tuple(map(len, came)),
        "kernel_ns": moments,
        "client_ns": moments,
        "response": b"".join(came),
    }
    return RequestRecord(**members | more)


def facts(row: Row) -> dict[str, Any]:
    """Return what of a row does not depend on when its bytes came."""
    members = {name: getattr(row, name) for name in FACTS}
    if row.decode_unmeasurable == "output_in_one_read":
        members["decode_unmeasurable"] = None
    return members


FACTS = (
    "outcome",
    "failure",
    "http_status",
    "finish_reason",
    "delta_kinds",
    "delta_completion_tokens",
    "events",
    "comments",
    "empty_events",
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "reasoning_tokens",
    "total_tokens",
    "reasoning_seen",
    "decode_unmeasurable",
    "warnings",
)


def planned(count: int) -> list[PlannedRequest]:
    return [PlannedRequest(number, BODY, CAP) for number in range(count)]


def load(
    server: Server, count: int = 1, concurrency: int = 1, deadlines: Deadlines = PATIENT, **more: Any
) -> tuple[RunRecord, tuple[RequestRecord, ...]]:
    """Send requests to a server in a closed loop."""
    target = Target.of(Endpoint(server.base_url, MODEL), **more)
    return ClosedLoop(target, planned(count), concurrency=concurrency, deadlines=deadlines).run()


def cut(steps: Iterable[Step], at: int, pause_s: float = 0.004) -> Reply:
    """Return a reply with the same bytes and end, but in two writes and without its pauses."""
    raw, ending = sent(Reply(list(steps), raw=True))
    parts: list[Step] = [raw[:at], Pause(pause_s), raw[at:]]
    return Reply([part for part in parts if part != b""] + ([ending] if ending else []), raw=True)
