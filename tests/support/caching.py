"""An engine's prefix cache and window, by words: what a server of ours needs to answer like one.

model = Model(window=2000)
with Server(chat=model) as server:
    model.count_at(server)      # `/tokenize`, as vLLM speaks it
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any

from support.endpoint import Chat, Reply, Request, Server

TEMPLATE = 9
"""How many tokens stand before every message."""


class Model:
    """Answers chats. A word is a token; what was read before is cached, but for the last token.

    `knows` says whether it finds a secret; `reports` whether usage has cached tokens; `keeps` whether
    there is a cache at all.
    """

    def __init__(
        self,
        *,
        window: int = 100_000,
        knows: Callable[[str], bool] = lambda text: True,
        reports: bool = True,
        keeps: bool = True,
    ) -> None:
        self.window, self.knows, self.reports, self.keeps = window, knows, reports, keeps
        self.read: list[list[str]] = []
        self._lock = threading.Lock()

    def tokens(self, asked: Mapping[str, Any]) -> list[str]:
        said = " ".join(message["content"] for message in asked["messages"])
        return [*(f"<{number}>" for number in range(TEMPLATE)), *said.split()]

    def __call__(self, asked: dict[str, Any]) -> Chat | Reply:
        tokens = self.tokens(asked)
        if len(tokens) + asked["max_tokens"] > self.window:
            return Reply.of_json({"error": {"message": "the prompt is too long"}}, 400)
        with self._lock:
            known = max((_common(tokens, before) for before in self.read), default=0) if self.keeps else 0
            self.read.append(tokens)
        text = " ".join(tokens)
        found = re.search(r"The secret phrase is ([a-z]+-[a-z]+-[0-9]+)\.", text)
        said = found[1] if found and self.knows(text) else "none that I know"
        return Chat(
            said,
            prompt_tokens=len(tokens),
            completion_tokens=min(4, asked["max_tokens"]),
            cached_tokens=min(known, len(tokens) - 1) if self.reports else None,
        )

    def count_at(self, server: Server) -> None:
        """Let a server count without reading."""

        def count(request: Request) -> dict[str, Any]:
            return {"count": len(self.tokens(request.json)) if "messages" in request.json else 0}

        server.on("/tokenize", count)


def _common(one: list[str], other: list[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
