"""Ends that are none (cases 5, 6, 7)."""

from __future__ import annotations

from collections.abc import Iterator

from support.endpoint.cases.table import GOOD, STOP, add, add_stream
from support.endpoint.wire import CLOSE, HANG, RESET, Pause, Reply, Step, events

add_stream("cut_cleanly", "5: five tokens, then a clean end", *events(*GOOD[:6], done=False))
add_stream("no_done", "6: all but [DONE]", *events(*GOOD, done=False))
add_stream(
    "reset_mid_stream", "7: a reset after five tokens", *events(*GOOD[:6], done=False), Pause(0.05), RESET
)
add_stream("closed_mid_stream", "7: a FIN inside the chunked body", *events(*GOOD[:6], done=False), CLOSE)
add_stream("hang_mid_stream", "7: silence after five tokens", *events(*GOOD[:6], done=False), HANG)
add_stream(
    "last_border_missing",
    "the finish chunk lacks its empty line",
    *events(*GOOD[:6], done=False),
    events(STOP, done=False)[0].strip(),
)
add("hang_at_once", "no byte of a response", Reply([HANG], raw=True))
add("close_at_once", "a FIN instead of a response", Reply([CLOSE], raw=True))
add("reset_at_once", "an RST instead of a response", Reply([RESET], raw=True))
add("hang_in_headers", "a status line and silence", Reply([b"HTTP/1.1 200 OK\r\ncontent-", HANG], raw=True))
add(
    "short_body",
    "fewer bytes than Content-Length says",
    Reply([b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{}", CLOSE], raw=True),
)
add("not_http", "bytes that are no HTTP", Reply(b"SSH-2.0-OpenSSH_9.2p1\r\n\r\n", raw=True))
add(
    "bad_chunk_size",
    "a chunk size that is no number",
    Reply(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", raw=True),
)


def _dripping() -> Iterator[Step]:
    while True:
        yield b": still here\n\n"
        yield Pause(0.02)


add("drip_for_ever", "a comment every 20 ms and nothing else", lambda: Reply.of_events(_dripping()))
