"""Where a response begins and ends: HTTP/1.1 (RFC 9112), read by llhttp after the bytes are kept.

1. `Framing` only says whether the response has ended, and costs a read nearly nothing; `Frames` takes the
   same bytes again, later, and says what they were.
2. A response ends by its framing or, when it names none, with the connection. An interim one (1xx) is
   passed over.
3. What follows the end belongs to no response: it is not read, and the connection is not used again.
4. Names of headers are in lower case; one that stands several times is one list (RFC 9110, section 5.3).
   Trailers are not read.
5. Nothing raises for what an endpoint sends: bytes that are no HTTP are `broken`, with the reason.
"""

from __future__ import annotations

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

_CR_LF = b"\r\n"


class Framing:
    """Takes a response's bytes as they come. `broken` is why they are no HTTP; empty when they are.

    `status` is null before the head is whole.
    """

    def __init__(self) -> None:
        self.broken = ""
        self.is_complete = False
        self.has_head = False
        self.has_body = False
        self.can_reuse = False
        self.is_delimited = False
        self.status: int | None = None
        self._parser = HttpResponseParser(self)

    def feed(self, piece: bytes) -> bool:
        """Take the next bytes, and say whether there is nothing more to wait for."""
        if self._is_over():
            self.can_reuse = False
            return True
        try:
            self._parser.feed_data(piece)
        except HttpParserUpgrade:
            self.broken = "the endpoint changes to another protocol"
        except HttpParserError as error:
            if not self.is_complete:
                self.broken = f"{type(error).__name__}: {error}"
            self.can_reuse = False
        return self._is_over()

    def _is_over(self) -> bool:
        return self.is_complete or bool(self.broken)

    @property
    def ends_with_connection(self) -> bool:
        """Whether the response names no end of its own (rule 2)."""
        return self.has_head and not self.is_complete and not self.is_delimited and not self.broken

    # --- called by the parser -----------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Another response begins; after the end that is a surplus (rule 3)."""
        self.can_reuse = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header or, behind the body, a trailer."""
        lowered = name.lower()
        if not self.has_head and (
            lowered == b"content-length"
            or (lowered == b"transfer-encoding" and value.rstrip().lower().endswith(b"chunked"))
        ):
            self.is_delimited = True

    def on_headers_complete(self) -> None:
        """The head of a response is whole."""
        if self.is_complete or self._parser.get_status_code() < 200:
            return
        self.has_head = True
        self.status = self._parser.get_status_code()

    def on_body(self, span: bytes) -> None:  # noqa: ARG002
        """A run of the body's bytes."""
        self.has_body = True

    def on_message_complete(self) -> None:
        """A response has ended."""
        if self.has_head and not self.is_complete:
            self.is_complete = True
            self.can_reuse = self._parser.should_keep_alive()


class Frames(Framing):
    """Reads a response: `headers`, `body`, and for each read how much of the body had come by then.

    `is_exact` says of each read whether it ends with the last byte of the body so far, or with the end of
    that byte's chunk: whether the read's stamp is that of the body's byte.
    """

    def __init__(self) -> None:
        super().__init__()
        self.headers: dict[str, str] = {}
        self.body = bytearray()
        self.ends: list[int] = []
        self.is_exact: list[bool] = []
        self.head_read: int | None = None
        self.last_read: int | None = None
        self._span = b""
        self._is_followed = False

    def feed(self, piece: bytes) -> bool:
        """Take one read, and say whether there is nothing more to wait for."""
        self._span = b""
        had_head, was_complete = self.has_head, self.is_complete
        ended = super().feed(piece)
        if self.has_head and not had_head:
            self.head_read = len(self.ends)
        if self.is_complete and not was_complete:
            self.last_read = len(self.ends)
        span = self._span
        self.is_exact.append(bool(span) and not self._is_followed and piece.endswith((span, span + _CR_LF)))
        self.ends.append(len(self.body))
        return ended

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; of a final response it is kept."""
        super().on_header(name, value)
        if not self.has_head:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        """The head is whole; what an interim response said is forgotten."""
        super().on_headers_complete()
        if not self.has_head:
            self.headers.clear()
            self.is_delimited = False

    def on_body(self, span: bytes) -> None:
        """A run of the body's bytes, as they stood in the read."""
        if not self.is_complete:
            self.has_body = True
            self.body += span
            self._span, self._is_followed = span, False

    def on_chunk_header(self) -> None:
        """Another chunk begins, or the last, which is empty: what comes is no longer the end of a body's byte."""
        self._is_followed = True
