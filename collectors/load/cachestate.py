"""What was in the prefix cache when a run's requests came: proved by what was reported, never assumed.

1. A request found the cache cold when its cached tokens are no more than the chat template's own prefix,
   measured once for each model (`template_tokens`), and one block of the cache.
2. A run whose prompts share nothing is `cold` when all its requests were; else it was `primed`.
3. A run whose prompts share a prefix is never called cold. It is `shared_within_run` when one of the requests
   that were sent before any had answered was cold: nobody had read the prefix for it before. Else it was
   `primed`. Of a burst it is not the first one sent that need be the first one served.
4. Where requests do not report cached tokens the engine's own counters stand in, if they counted this run's
   requests and no others. They are a sum: of a shared prefix they can show that nobody hit the cache, not when.
5. What neither proves is `unknown`. What contradicts the state that was wanted is a finding, and so is a
   disagreement of requests and counters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from anvil.ledger.events.load import CacheState
from anvil.ledger.rows import Row

BLOCK_TOKENS = 16
"""A block of the cache where nobody says otherwise: vLLM's default. Where blocks are larger, more than this is
cached than was proved to be the template's, and the state is not called cold."""

Basis = Literal["cached_tokens", "engine_counters", "nothing"]
"""By what a state is proved."""

NOT_AS_WANTED = "cache_not_as_wanted"
UNPROVED = "cache_state_unproved"
DISAGREE = "cached_tokens_disagree"
OTHERS = "other_requests_counted"


@dataclass(frozen=True)
class EngineCounts:
    """What the engine counted during the run; null where it does not say.

    `prompt_tokens` are all of them, `computed_tokens` those that the cache did not have.
    """

    cached_tokens: int | None = None
    prompt_tokens: int | None = None
    computed_tokens: int | None = None

    @property
    def all_prompt_tokens(self) -> int | None:
        """All prompt tokens, by whichever counters there are."""
        if self.prompt_tokens is not None:
            return self.prompt_tokens
        if self.computed_tokens is None or self.cached_tokens is None:
            return None
        return self.computed_tokens + self.cached_tokens


@dataclass(frozen=True)
class CacheProof:
    """The state of a run, by what it is proved, and what is odd about it.

    `cached_tokens` of `prompt_tokens` were found in the cache; null when that is not known.
    """

    state: CacheState
    basis: Basis
    cached_tokens: int | None
    prompt_tokens: int | None
    findings: tuple[str, ...]


def template_tokens(rows: Sequence[Row]) -> int | None:
    """Return how many tokens the chat template puts before every message, as far as the cache tells.

    The rows are of requests that were sent one after another and share nothing else. Null when they do
    not report cached tokens, or are fewer than two.
    """
    found = [row.cached_tokens for row in _in_order(rows) if row.outcome == "completed"][1:]
    known = [count for count in found if count is not None]
    return min((count for count in known if count), default=0) if known else None


def prove_state(
    rows: Sequence[Row],
    wanted: CacheState,
    *,
    shares_prefix: bool,
    template: int | None,
    block: int = BLOCK_TOKENS,
    counted: EngineCounts | None = None,
) -> CacheProof:
    """Return the cache state of a run; `template` is what `template_tokens` found, null when nothing did."""
    allowed = (template or 0) + block
    done = [row for row in _in_order(rows) if row.outcome == "completed"]
    cached = _total([row.cached_tokens for row in done])
    prompts = _total([row.prompt_tokens for row in done])
    are_all = len(done) == len(rows)
    counts = counted or EngineCounts()
    findings = list(_disagreements(cached, prompts, counts)) if are_all else []
    basis: Basis = "nothing"
    state: CacheState = "unknown"
    if cached is not None:
        basis, state = "cached_tokens", _by_requests(done, allowed, shares_prefix=shares_prefix)
        if state == "primed" and template is None and not shares_prefix and _may_be_template(done, prompts):
            state = "unknown"  # as much as a long template may have
    elif are_all and _counted_alone(counts, prompts) and counts.cached_tokens is not None:
        basis, cached = "engine_counters", counts.cached_tokens
        state = _by_sum(cached, allowed * len(done), shares_prefix=shares_prefix)
    if state == "unknown":
        basis = "nothing"
        findings += [] if wanted == "unknown" else [UNPROVED]
    elif wanted not in ("unknown", state):
        findings.append(NOT_AS_WANTED)
    return CacheProof(state, basis, cached, prompts, tuple(findings))


# --- 1. to 3. by each request --------------------------------------------------------------------------------


def _in_order(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row.started_ns is None, row.started_ns or 0, row.index))


def _by_requests(done: Sequence[Row], allowed: int, *, shares_prefix: bool) -> CacheState:
    def is_cold(row: Row) -> bool:
        return (row.cached_tokens or 0) <= allowed

    if not shares_prefix:
        return "cold" if all(map(is_cold, done)) else "primed"
    answered = min((row.started_ns or 0) + (row.ttfo_ns or row.end_ns or 0) for row in done)
    early = [row for row in done if (row.started_ns or 0) <= answered]
    return "shared_within_run" if any(map(is_cold, early)) else "primed"


def _may_be_template(done: Sequence[Row], prompts: int | None) -> bool:
    """Say whether what was cached is the same small part of every prompt."""
    cached = {row.cached_tokens or 0 for row in done}
    most = max(cached)
    return (
        max(cached) - min(cached) <= BLOCK_TOKENS and prompts is not None and most * len(done) * 2 < prompts
    )


# --- 4. by sums -------------------------------------------------------------------------------------------------


def _by_sum(cached: int, allowed: int, *, shares_prefix: bool) -> CacheState:
    if cached <= allowed:
        return "shared_within_run" if shares_prefix else "cold"
    return "unknown" if shares_prefix else "primed"


def _counted_alone(counts: EngineCounts, prompts: int | None) -> bool:
    return prompts is not None and counts.all_prompt_tokens == prompts


def _disagreements(cached: int | None, prompts: int | None, counts: EngineCounts) -> list[str]:
    found = []
    if prompts is not None and counts.all_prompt_tokens not in (None, prompts):
        found.append(OTHERS)
    elif cached is not None and counts.cached_tokens not in (None, cached):
        found.append(DISAGREE)
    return found


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None
