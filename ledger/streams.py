"""A stream being recorded: one session, one signer, event chained to event.

Used as a context manager, a stream always ends with an event that says how: completed, or aborted
with the reason. Only a killed process leaves one open, and another stream then says so.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from types import TracebackType
from typing import Self

from anvil.ledger.clock import timestamp
from anvil.ledger.drafts import Draft, Prepared, Unsigned, seal, sign_all
from anvil.ledger.events import Event, StreamClosed, StreamOpened
from anvil.ledger.header import Header, header_hash, spell
from anvil.ledger.recording import Ledger, Recorded, Require, nothing
from anvil.ledger.signing import Signer

DISTRIBUTION = "anvil-ledger"


@lru_cache(maxsize=1)  # it is read from a file of many lines
def software_version() -> str:
    """Return the version of anvil that runs."""
    return version(DISTRIBUTION)


class Stream:
    """A stream of `ledger`, signed by `signer`. Events are chained in the order they are given."""

    def __init__(self, ledger: Ledger, signer: Signer) -> None:
        self._ledger = ledger
        self._signer = signer
        self._seq = 0
        self._prev: str | None = None
        self._is_certain = True
        self.id = _new_id(ledger)
        self.is_open = False

    @classmethod
    def start(cls, ledger: Ledger, signer: Signer, *, purpose: str) -> Stream:
        """Return a new stream that is open."""
        stream = cls(ledger, signer)
        stream.open(purpose)
        return stream

    def open(self, purpose: str) -> None:
        """Record the event that opens the stream."""
        self.append([Draft(_opening(self._ledger.origin, purpose))])

    def append(self, drafts: Sequence[Draft], require: Require = nothing) -> list[Recorded]:
        """Record events, all or none, in one transaction.

        Raises:
            LedgerError: the stream has ended, or what `Ledger.append` raises; the stream can go on.
        """
        self._look_again()
        self._is_certain = False
        recorded = self._ledger.append(self._prepare(drafts), require)
        self._is_certain = True
        last = drafts[-1].event
        self.is_open = not isinstance(last, StreamClosed)
        return recorded

    def close(self, reason: str | None = None) -> None:
        """End the stream: completed, or aborted when a reason is given. Nothing happens if it has ended."""
        self._look_again()
        if self.is_open:
            self.append([Draft(closing(reason))])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.close("interrupted" if issubclass(kind, KeyboardInterrupt | SystemExit) else "failed")

    def _look_again(self) -> None:
        """After an append that did not return, go on from what is in the log.

        A failed flush or an interrupt does not tell whether the events were committed.
        """
        if not self._is_certain:
            head = self._ledger.head(self.id)
            self._seq, self._prev = (0, None) if head is None else (head.seq + 1, head.header_hash)
            self.is_open = head is not None and head.state == "open"
            self._is_certain = True

    def _prepare(self, drafts: Sequence[Draft]) -> list[Prepared]:
        at = timestamp(self._ledger.clock())
        return sign_all([self._place(draft, at) for draft in drafts], self._signer)

    def _place(self, draft: Draft, at: str) -> Unsigned:
        sealed, artifacts, openings = seal(draft)
        event, origin, key_id = draft.event, self._ledger.origin, self._signer.public_key.key_id
        place = (origin, self.id, self._seq, self._prev, at)
        members = (*place, event.type, key_id, event.facts(), draft.subject, artifacts, sealed)
        raw = spell(*members)
        self._seq, self._prev = self._seq + 1, header_hash(raw)
        return Unsigned(draft, Header(*members, raw), self._prev, openings)


def record(
    ledger: Ledger, signer: Signer, drafts: Sequence[Draft], *, purpose: str, require: Require = nothing
) -> list[Recorded]:
    """Record a whole stream at once: opened, `drafts`, closed, in one transaction. Return where the drafts lie.

    `require` is asked inside the transaction, as `Ledger.append` says.
    """
    stream = Stream(ledger, signer)
    whole = [Draft(_opening(ledger.origin, purpose)), *drafts, Draft(closing())]
    return stream.append(whole, require)[1:-1]


def closing(reason: str | None = None) -> Event:
    """Return the event that ends a stream: completed, or aborted when a reason is given."""
    return StreamClosed(outcome="aborted" if reason else "completed", reason=reason)


def is_synthetic(origin: str) -> bool:
    """Say whether a ledger is for tests and demonstrations: its host is, or lies under, ``test.invalid``.

    Streams recorded in it are marked and can never be released.
    """
    host = origin.partition("/")[0]
    return host == "test.invalid" or host.endswith(".test.invalid")


def _opening(origin: str, purpose: str) -> Event:
    return StreamOpened(purpose=purpose, synthetic=is_synthetic(origin), software=software_version())


def _new_id(ledger: Ledger) -> str:
    return f"{ledger.clock():%Y%m%dT%H%M%SZ}-{secrets.token_hex(8)}"
