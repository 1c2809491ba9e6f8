"""What llama.cpp's server says of itself: its start-up log at level 4, and `/props`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from anvil.collectors.reports.interface import Found, Rule, fixed, gib_of_mib, number, word


def _gib(name: str) -> Any:
    return lambda match: [Found(name, number=gib_of_mib(match.group(1)))]


def _slots(match: re.Match[str]) -> Iterable[Found]:
    yield Found("max_sequences", number=match.group(1))
    yield Found("context_tokens", number=match.group(2))


class LlamacppReader:
    """The reader."""

    name = "llamacpp"
    version = 1
    rules = (
        Rule(re.compile(r"model buffer size = +([0-9.]+) MiB"), _gib("weight_memory_gib")),
        Rule(re.compile(r"llama_kv_cache: size = +([0-9.]+) MiB"), _gib("kv_memory_gib")),
        Rule(re.compile(r"llama_kv_cache: size = .*\bK \(([a-z0-9_]+)\)"), word("kv_cache_dtype")),
        # All slots together; each has its share of it unless the cache is unified.
        Rule(re.compile(r"llama_context: n_ctx += (\d+)"), number("kv_capacity_tokens")),
        Rule(re.compile(r"n_slots = (\d+), n_ctx_slot = (\d+)"), _slots),
        Rule(re.compile(r"print_info: file type += ([A-Za-z][A-Za-z0-9_]*)"), word("quantization")),
        Rule(re.compile(r"Flash Attention enabled"), fixed("attention_backend", "flash_attn")),
        Rule(re.compile(r"^[0-9.]+ W (?:srv|slot|cmn)? *([A-Za-z_]+)"), word("other_warning")),
    )

    def exposed(self, metrics: str, props: Mapping[str, Any]) -> Iterator[tuple[str, Found]]:
        """Yield what `/props` says of slots and weights."""
        del metrics
        slots, settings = props.get("total_slots"), props.get("default_generation_settings")
        if isinstance(slots, int):
            yield "props", Found("max_sequences", number=str(slots))
        if isinstance(settings, Mapping) and isinstance(settings.get("n_ctx"), int):
            yield "props", Found("context_tokens", number=str(settings["n_ctx"]))
        if isinstance(props.get("model_ftype"), str):
            yield "props", Found("quantization", word=props["model_ftype"])
