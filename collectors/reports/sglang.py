"""What SGLang says of itself: its start-up log and `sglang:max_total_num_tokens`.

SGLang writes GB and divides by 2^30: the figures are GiB, and are named so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from anvil.collectors.reports.interface import Found, Rule, exact, fixed, metric, number, word


def _allocated(match: re.Match[str]) -> Iterable[Found]:
    if match.group("dtype"):
        yield Found("kv_cache_dtype", word=match.group("dtype"))
    yield Found("kv_capacity_tokens", number=match.group("tokens"))
    if match.group("keys"):
        both = Decimal(match.group("keys")) + Decimal(match.group("values"))
        yield Found("kv_memory_gib", number=exact(both))


def _loaded(match: re.Match[str]) -> Iterable[Found]:
    yield Found("weight_memory_gib", number=match.group(1))
    for name, pattern in _OF_WEIGHTS.items():
        if found := pattern.search(match.string):
            yield Found(name, word=found.group(1))


_OF_WEIGHTS = {
    "model_dtype": re.compile(r"\bdtype=torch\.([a-z0-9_]+)"),
    "quantization": re.compile(r"\bquant=([A-Za-z0-9_.-]+)"),
}

_KV_ALLOCATED = re.compile(
    r"KV Cache is allocated\.(?: dtype: torch\.(?P<dtype>[a-z0-9_]+),)? #tokens: (?P<tokens>\d+)"
    r"(?:, K size: (?P<keys>[0-9.]+) GB, V size: (?P<values>[0-9.]+) GB)?"
)


class SglangReader:
    """The reader."""

    name = "sglang"
    version = 1
    rules = (
        Rule(re.compile(r"Load weight end\..*\bmem usage=([0-9.]+) GB"), _loaded),
        Rule(_KV_ALLOCATED, _allocated),
        Rule(re.compile(r"\bmax_total_num_tokens=(\d+)"), number("kv_capacity_tokens")),
        Rule(re.compile(r"\bmax_running_requests=(\d+)"), number("max_sequences")),
        Rule(re.compile(r"\bcontext_len=(\d+)"), number("context_tokens")),
        Rule(re.compile(r"[( ]attention_backend='([a-z0-9_]+)'"), word("attention_backend")),
        Rule(
            re.compile(r"\b[Uu]se ([a-z0-9_]+) (?:attention )?backend by default"), word("attention_backend")
        ),
        Rule(
            re.compile(r"no scaling factors provided\. Defaulting to scaling factors of 1\.0"),
            fixed("kv_scaling_factors_missing", "k_v_scale"),
        ),
        Rule(re.compile(r"\] WARNING:? |\bWARNING:sglang"), fixed("other_warning", "sglang")),
    )

    def exposed(self, metrics: str, props: Mapping[str, Any]) -> Iterator[tuple[str, Found]]:
        """Yield what `/metrics` says of the cache."""
        del props
        sample = metric(metrics, "sglang:max_total_num_tokens")
        if sample is not None:
            yield "metrics", Found("kv_capacity_tokens", number=sample[1].removesuffix(".0"))
