"""The words that a page uses and a newcomer does not know, each with what it means: those that stand on it, and no others.

They are words of this kind of work and of anvil's documents. What a campaign names itself is not explained here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

WORDS: dict[str, tuple[str, str]] = {
    "attempt": (r"attempts?", "one way to serve a candidate: its settings, and each launch with them"),
    "c1, c2, …": (r"c[1-9][0-9]*", "a load of so many requests at once"),
    "candidate": (r"candidates?", "a checkpoint of a model that is looked at"),
    "canary": (r"canary|canaries", "a question of known answer, asked while a load goes on"),
    "cell": (r"cells?", "one load or size of a protocol"),
    "decode": (r"decode", "tokens a second from the first output on"),
    "effort": (r"efforts?", "how much a model is asked to think, by a name that it knows"),
    "effective prefill": (r"effective[ _]prefill\w*", "prompt tokens by the time to the first output"),
    "full window": (r"full[ _]windows?\w*", "a request as long as the context allows"),
    "gate": (r"gates?", "what must be as it was, or as it is stated to be"),
    "KV cache": (r"kv", "what an engine keeps of the tokens that it has read"),
    "lane": (r"lanes?", "one attempt on a placement of its own, beside others"),
    "p50": (r"p50", "half of the values are no higher"),
    "placement": (r"placements?", "a named set of GPUs on one host"),
    "prefix cache": (r"prefix[ _-]cache\w*", "what requests begin with alike is read once"),
    "router alias": (r"router alias\w*|\balias", "the name under which clients are led to an engine"),
    "rung": (r"rungs?|ladders?", "one size of a ladder of ever longer prompts"),
    "stale": (r"is stale", "what it rests on was taken back, replaced or lost since it was decided"),
    "suite": (r"suites?", "items that are asked again and again"),
    "suite intelligence": (r"intelligence", "a small change written as a diff, and a decision by rules that are given"),
    "suite session": (r"session", "what was said in the first turn, asked for in the third"),
    "suite tool": (r"suite tool|session, tool|bounded_quality/[^/\n]+/tool", "one call of the right tool, its arguments to the character"),
    "retrieval": (r"retrieval", "a secret in a long prompt, asked for at its end"),
    "warning": (r"[0-9]+ warnings?", "a line of the engine's log that calls itself one; such lines are counted, not judged"),
}  # fmt: skip
"""Each word: by what it is found in a text, and what it means."""


def used(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return the words that stand in texts, in alphabetical order, with what they mean."""
    every = "\n".join(texts)
    return [
        (word, meaning)
        for word, (pattern, meaning) in sorted(WORDS.items(), key=lambda one: one[0].lower())
        if re.search(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])", every, re.IGNORECASE)
    ]
