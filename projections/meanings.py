"""What measuring tools mean by the names of their figures, where none of our metrics is meant.

1. What is said here was read in the source of each tool, in the version that its importer names
   (`docs/importing.md`). A name alone decides nothing: the tool decides first, then the part of its name.
2. A name that is not listed is said to be the tool's own, and nothing more.
"""

from __future__ import annotations

from collections.abc import Mapping

MEANINGS: Mapping[str, Mapping[str, str]] = {
    "vllm": {
        "ttft": "from before a connection to the first chunk with a choice, that of the role too",
        "e2el": "from before a connection to the last chunk with a choice",
        "itl": "between chunks with a choice, over all requests together",
        "tpot": "(last chunk with a choice - first) / (output tokens - 1)",
        "output_throughput": "output tokens / time until the last request was gathered, the client's own work included",
        "request_throughput": "requests / time until the last was gathered, the client's own work included",
        "total_token_throughput": "prompt and output tokens / time until the last request was gathered",
    },
    "sglang": {
        "ttft": "from before a connection, which each request opens, to the first text; no tool call is one",
        "e2e_latency": "from before a connection to the last line of the stream",
        "itl": "between texts, over all requests together",
        "tpot": "(last line of the stream - first text) / (output tokens - 1)",
        "output_throughput": "output tokens, or the cap where the endpoint counts none, / time until all was gathered",
        "request_throughput": "requests / time until the last was gathered, the client's own work included",
    },
    "guidellm": {
        "inter_token_latency_ms": "a request counts once for each of its tokens",
        "time_per_output_token_ms": "a request counts once for each of its tokens",
        "time_to_first_output_token_ms": "to the first output that is no reasoning; a tool was called, and counts too",
        "tokens_per_second": "a mean over slices of time",
        "requests_per_second": "a mean over slices of time",
    },
    "aiperf": {
        "time_to_first_token": "to the first reasoning, content or tool call, from before a connection is taken or opened",
        "time_to_first_output_token": "to the first that is no reasoning, from before a connection is taken or opened",
        "time_to_second_token": "from the first chunk with output to the second",
        "request_latency": "to the last chunk with output, from before a connection is taken or opened",
        "inter_token_latency": "(request latency - time to first token) / (output tokens - 1), not counted by the endpoint",
        "output_token_throughput_per_user": "1 / inter token latency, with tokens that the endpoint did not count",
        "inter_chunk_latency": "between chunks, over all requests together",
        "http_req_connecting": "the time in which a connection was opened",
        "output_token_throughput": "output tokens / time from the first start to the last output",
        "request_throughput": "requests / time from the first start to the last output",
    },
    "anvil-serving": {
        "mean_inter_token_latency": "time from the first visible content to the end of the stream / tokens",
        "generation": "from the first visible content to the end of the stream",
        "throughput_tok_s": "output tokens / wall time, in which the prompts were made too",
        "decode_tok_s": "from the first visible content, which may come after reasoning, to the end of the stream",
        "effective_prefill_tok_s": "prompt tokens / time to the first visible content, which may come after reasoning",
        "latency": "of the whole request; no stream was looked at",
        "seconds": "of the whole request; no stream was looked at",
        "prefix_cache_hit": "a share that the engine reports",
    },
}
"""Tool to a part of a name, and what it means; of several parts the longest counts."""


def meaning(tool: str, called: str, unit: str) -> str:
    """Return what a tool means by the name of one of its figures, in words (rules 1 and 2)."""
    known = MEANINGS.get(tool, {})
    parts = sorted((part for part in known if part in called), key=len)
    if parts:
        return known[parts[-1]]
    return (
        "tokens, by the tool's own count"
        if unit == "tokens"
        else "the tool's own; none of our metrics is meant"
    )
