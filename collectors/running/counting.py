"""How the endpoint under test counts the prompt tokens of load: a dialect of `/tokenize`, or `usage`.

1. A dialect is looked for with one short chat, and believed when the `usage` of the same chat agrees.
2. A dialect that counts no whole chat leaves out the template: what the two differ by, which must be the
   same for a chat three times as long.
3. Where there is none, `usage` counts, with a cap of one token; then the engine reads what is counted.
4. How much of every prompt is the template's own beginning is what the cache has of short prompts that share
   nothing else: of four, since an engine with several slots may begin in an empty one.
5. Members that change the prompt, such as thinking control, are sent with every count.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from anvil.collectors.checks.interface import CHAT, Sender
from anvil.collectors.checks.tokens import DIALECTS, Dialect
from anvil.collectors.completion import read_chat
from anvil.collectors.interface import Usage
from anvil.collectors.load.prompts import Messages, TokenSource, make_prompt

_SAMPLE_WORDS = 24
_TEMPLATE_SAMPLES = 4


class Counting:
    """Counts chats of one model. `members` stand beside the messages of every request."""

    def __init__(
        self, sender: Sender, served_model: str, cap_member: str, members: Mapping[str, Any] | None = None
    ) -> None:
        self._sender = sender
        self._served_model = served_model
        self._cap_member = cap_member
        self._members = dict(members or {})

    async def source(self, seed: int) -> TokenSource | None:
        """Return the best way to count; null when the endpoint tells no counts at all."""
        sample = make_prompt(seed, 0, _SAMPLE_WORDS).messages
        reported = await self.by_usage(sample)
        for name, dialect in DIALECTS.items():
            counted = await self._by_dialect(dialect, sample)
            if counted is None or (reported is not None and not dialect.agrees(counted, reported)):
                continue
            if dialect.is_whole_chat:
                return TokenSource(name, partial(self._by_dialect, dialect), is_reading=False)
            if reported is not None and await self._differs_by(dialect, reported - counted, seed):
                more = reported - counted
                return TokenSource(name, partial(self._by_dialect, dialect, template=more), is_reading=False)
        return None if reported is None else TokenSource("usage", self.by_usage, is_reading=True)

    async def template(self, seed: int) -> int | None:
        """Return how many tokens the chat template puts before every message, as far as the cache tells.

        Null when the endpoint does not report cached tokens.
        """
        found = []
        for number in range(_TEMPLATE_SAMPLES):
            usage = await self._usage(make_prompt(seed, number, _SAMPLE_WORDS).messages)
            found.append(usage.cached_tokens)
        known = [count for count in found[1:] if count is not None]
        return min((count for count in known if count), default=0) if known else None

    async def by_usage(self, chat: Messages) -> int | None:
        """Return how many prompt tokens the endpoint reports for a chat."""
        return (await self._usage(chat)).prompt_tokens or None

    async def _usage(self, chat: Messages) -> Usage:
        body = {"model": self._served_model, "messages": chat, "temperature": 0, self._cap_member: 1}
        exchange = await self._sender.exchange("POST", CHAT, _spelled(body | self._members))
        return read_chat(exchange).usage

    async def _differs_by(self, dialect: Dialect, template: int, seed: int) -> bool:
        longer = make_prompt(seed, 1, 3 * _SAMPLE_WORDS).messages
        reported, counted = await self.by_usage(longer), await self._by_dialect(dialect, longer)
        return reported is not None and counted is not None and reported - counted == template

    async def _by_dialect(self, dialect: Dialect, chat: Messages, template: int = 0) -> int | None:
        body = dialect.body(self._served_model, {"messages": list(chat)} | self._members)
        counted = dialect.counted(await self._sender.exchange("POST", dialect.path, _spelled(body)))
        return None if counted is None else counted + template


def _spelled(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
