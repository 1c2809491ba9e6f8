"""What vLLM says of itself: its start-up log (V1 engine, 0.9 to 0.32) and `vllm:cache_config_info`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from anvil.collectors.reports.interface import Found, Rule, fixed, metric, number, word


def _window(match: re.Match[str]) -> Iterable[Found]:
    yield Found("context_tokens", number=match.group(1).replace(",", ""))
    yield Found("full_window_concurrency", number=match.group(2))


def _kv_memory(match: re.Match[str]) -> Iterable[Found]:
    yield Found("kv_memory_gib", number=match.group(1) or match.group(2))  # the second on the processor


def _sequences(match: re.Match[str]) -> Iterable[Found]:
    yield Found("max_sequences", number=match.group(1) or match.group(2))


def _configuration(match: re.Match[str]) -> Iterable[Found]:
    """Read the one line on which the engine prints its whole resolved configuration."""
    text = match.string
    for name, pattern in _RESOLVED.items():
        found = pattern.search(text)
        if found and found.group(1) != "None":
            yield Found(name, word=found.group(1))


_RESOLVED = {
    "model_dtype": re.compile(r"[ ,]dtype=torch\.([a-z0-9_]+)"),
    "quantization": re.compile(r"[ ,]quantization=([A-Za-z0-9_.-]+)"),
    "kv_cache_dtype": re.compile(r"[ ,]kv_cache_dtype=([A-Za-z0-9_.-]+)"),
}


class VllmReader:
    """The reader."""

    name = "vllm"
    version = 1
    rules = (
        Rule(re.compile(r"Model loading took ([0-9.]+) GiB"), number("weight_memory_gib")),
        Rule(
            re.compile(
                r"Available KV cache memory: ([0-9.]+) GiB|Explicitly set \(([0-9.]+)/[0-9.]+\) GiB for KV"
            ),
            _kv_memory,
        ),
        Rule(re.compile(r"KV cache size: ([0-9,]+) tokens"), number("kv_capacity_tokens")),
        Rule(re.compile(r"Maximum concurrency for ([0-9,]+) tokens per request: ([0-9.]+)x"), _window),
        Rule(re.compile(r"Initializing a V\d LLM engine .* with config: "), _configuration),
        Rule(
            re.compile(r"resolved query dtypes:.*kv_cache_dtype=torch\.([a-z0-9_]+)"), word("kv_cache_dtype")
        ),
        Rule(re.compile(r"Using ([A-Z][A-Z0-9_]*) attention backend"), word("attention_backend")),
        Rule(re.compile(r"'max_num_seqs': (\d+)|\bmax_num_seqs=(\d+)"), _sequences),
        Rule(
            re.compile(r"Using KV cache scaling factor 1\.0 for"),
            fixed("kv_scaling_factors_missing", "k_v_scale"),
        ),
        Rule(
            re.compile(r"Using uncalibrated q_scale 1\.0|does not provide a q scaling factor"),
            fixed("kv_scaling_factors_missing", "q_prob_scale"),
        ),
        Rule(re.compile(r"\bWARNING [0-9: -]+\[([A-Za-z_][A-Za-z0-9_]*)\.py:\d+\]"), word("other_warning")),
    )

    def exposed(self, metrics: str, props: Mapping[str, Any]) -> Iterator[tuple[str, Found]]:
        """Yield what `/metrics` says of the cache."""
        del props
        sample = metric(metrics, "vllm:cache_config_info")
        if sample is not None and sample[0].get("cache_dtype"):
            yield "metrics", Found("kv_cache_dtype", word=sample[0]["cache_dtype"])
