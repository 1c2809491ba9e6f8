"""An engine's prefix cache and window, by words: what a server of ours needs to answer like one.

model = Model(window=2000)
with Server(chat=model) as server:
    model.count_at(server)      # `/tokenize`, as vLLM speaks it
    model.metrics()             # what vLLM's `/metrics` would say
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

    What it does not find it calls Paris, so that it passes as sane. `knows` says whether it finds a secret; `reports` whether usage has cached tokens; `keeps` whether
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
        self.others = 0
        """How many prompt tokens of somebody else are counted with each request."""
        self._prompt = self._cached = self._completion = 0
        self._lock = threading.Lock()

    def tokens(self, asked: Mapping[str, Any]) -> list[str]:
        said = " ".join(message["content"] for message in asked["messages"])
        return [*(f"<{number}>" for number in range(TEMPLATE)), *said.split()]

    def __call__(self, asked: dict[str, Any]) -> Chat | Reply:
        tokens = self.tokens(asked)
        cap = asked.get("max_completion_tokens", asked.get("max_tokens", 4))
        if len(tokens) + cap > self.window:
            return Reply.of_json({"error": {"message": "the prompt is too long"}}, 400)
        with self._lock:
            known = max((_common(tokens, before) for before in self.read), default=0) if self.keeps else 0
            known = min(known, len(tokens) - 1)
            self.read.append(tokens)
            self._prompt += len(tokens) + self.others
            self._cached += known
            self._completion += min(4, cap)
        text = " ".join(tokens)
        found = re.search(r"The secret phrase is ([a-z]+-[a-z]+-[0-9]+)\.", text)
        said = found[1] if found and self.knows(text) else "Paris"
        return Chat(
            said,
            prompt_tokens=len(tokens),
            completion_tokens=min(4, cap),
            cached_tokens=known if self.reports else None,
        )

    def metrics(self) -> bytes:
        """Return the counters of all requests so far."""
        counters = {
            "vllm:prompt_tokens_total": self._prompt,
            "vllm:prefix_cache_hits_total": self._cached,
            "vllm:generation_tokens_total": self._completion,
        }
        return "".join(f'{name}{{engine="0"}} {float(value)}\n' for name, value in counters.items()).encode()

    def count_at(self, server: Server) -> None:
        """Let a server count without reading."""

        def count(request: Request) -> dict[str, Any]:
            return {"count": len(self.tokens(request.json)) if "messages" in request.json else 0}

        server.on("/tokenize", count)


def _common(one: list[str], other: list[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
