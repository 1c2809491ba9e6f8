"""Small files of evidence, made up, in the shapes of the tools that we import from. Numbers are chosen to be checked by head."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def spelled(value: Any) -> bytes:
    return json.dumps(value).encode()


def _timing(index: int, ttft: float, e2e: float, tokens: int = 11) -> dict[str, Any]:
    return {
        "request_index": index,
        "ttft_ms": ttft,
        "e2e_ms": e2e,
        "generation_ms": e2e - ttft,
        "decode_tok_s": (tokens - 1) / (e2e - ttft) * 1000,
        "effective_prefill_tok_s": 1000 / ttft * 1000,
        "mean_inter_token_latency_ms": (e2e - ttft) / (tokens - 1),
        "prompt_tokens": 1000,
        "output_tokens": tokens,
        "output_token_source": "usage",
    }


def benchmark() -> dict[str, Any]:
    """Three requests one after another, of 100, 120 and 110 ms to the first content, and 200 ms more to the end."""
    return {
        "schema": "anvil-serving.benchmark/v1",
        "measurement_protocol": "capacity-v3",
        "base_url": "http://10.1.2.3:8000/v1",
        "model": "/home/somebody/secret-model",
        "engine": "vllm-0.23",
        "gpu": "rtx-5090",
        "tier": None,
        "source_recipe": None,
        "run_id": "benchmark-20260304T050607Z",
        "started_at": "2026-03-04T05:06:07Z",
        "finished_at": "2026-03-04T06:06:08+01:00",
        "wall_clock_ms": 1000.5,
        "requests": 3,
        "completed": 3,
        "failed": 0,
        "failures": [],
        "concurrency": 1,
        "context_tokens": 1024,
        "max_tokens": 16,
        "serve_flags": {"thinking_mode": "disabled", "reasoning_effort": None, "shared_prefix_burst": False},
        "request_timings": [_timing(0, 100.0, 300.0), _timing(1, 120.0, 320.0), _timing(2, 110.0, 310.0)],
        "metrics": {
            "ttft_p50_ms": 110.0,
            "ttft_p95_ms": 120.0,
            "e2e_p50_ms": 310.0,
            "decode_tok_s_p50": 50.0,
            "prompt_tokens": 3000,
            "output_tokens": 33,
            "throughput_tok_s": 33 / 1.0005,
            "prefix_cache_hit_avg": None,
            "somebody_added_this": {"deep": [1]},
        },
    }


def preflight() -> dict[str, Any]:
    """Four checks: one passed, one missed its target, a batch of three with one wrong, one that left no answer."""

    def answer(test: str, *, passed: bool = True, tokens: int = 50, **more: Any) -> dict[str, Any]:
        usage = {"prompt_tokens": tokens, "completion_tokens": 4, "total_tokens": tokens + 4}
        return {
            "test": test,
            "passed": passed,
            "seconds": 0.25,
            "content": "the answer of a person's model",
            "content_chars": 12,
            "reasoning_chars": 0,
            "reasoning_tokens": None,
            "finish_reason": "stop",
            "usage": usage,
            **more,
        }

    return {
        "schema_version": "preflight/v2",
        "base_url": "http://10.1.2.3:8000/v1",
        "model": "small-model",
        "thinking": {"mode": "disabled", "reasoning_effort": None},
        "budget": {"visible_answer_tokens": 64, "reasoning_headroom_tokens": 0, "max_completion_tokens": 64},
        "checks": ["smoke", "needle", "tools", "video"],
        "results": [
            {"name": "smoke (short coding)", "passed": True, "detail": "fine"},
            {"name": "needle @ ~1000 ctx", "passed": True, "detail": "found"},
            {"name": "shared-prefix tool batch x3", "passed": False, "detail": "2/3 clean"},
            {"name": "bounded video understanding", "passed": False, "detail": "error: HTTP 400: no codec"},
        ],
        "observations": [
            answer("smoke"),
            answer("needle", tokens=900, reasoning_tokens=7),
            answer("tools"),
            answer("tools", passed=False),
            answer("tools", usage={"prompt_tokens": 50, "prompt_tokens_details": {"cached_tokens": 32}}),
        ],
        "passed": False,
    }


def bakeoff() -> dict[str, Any]:
    """A suite of two items: one passed twice of three, at a rate of 0.66, and one once; nothing else was run."""

    def attempt(number: int, status: str, latency: float, reasoning: int = 0) -> dict[str, Any]:
        return {
            "attempt": number,
            "status": status,
            "latency_ms": latency,
            "finish_reason": "stop" if status == "passed" else "length",
            "failure_class": None if status == "passed" else "reasoning_budget_exhausted",
            "reasoning_chars": reasoning,
            "reasoning_tokens": None,
            "content": "an answer",
            "usage": {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30},
        }

    def check(name: str, statuses: list[str], status: str) -> dict[str, Any]:
        passes = statuses.count("passed")
        return {
            "id": name,
            "attempts": [attempt(n, s, 1000.0 * n, 5) for n, s in enumerate(statuses, 1)],
            "attempt_count": len(statuses),
            "pass_count": passes,
            "pass_rate": passes / len(statuses),
            "required_pass_rate": 0.66,
            "status": status,
        }

    return {
        "schema": "anvil-serving.fast-tier-bakeoff/v1",
        "run_id": "fast-bakeoff-1",
        "identity": {
            "base_url": "http://10.1.2.3/v1",
            "candidate_id": "small",
            "config_id": "small-fp8",
            "model": "small-model",
            "started_at": "2026-03-04T05:06:07Z",
        },
        "evaluation_protocol": {"version": 2, "repetitions": 3, "minimum_pass_rate": 0.66},
        "thinking": {"mode": "disabled", "reasoning_effort": None},
        "suites": {
            "sums-2": {
                "status": "failed",
                "checks": [
                    check("add", ["passed", "passed", "failed"], "passed"),
                    check("root", ["passed", "failed", "failed"], "failed"),
                ],
            }
        },
        "intelligence": {"status": "not_run", "checks": []},
        "session": {"status": "not_run", "checks": []},
        "tool": {"status": "not_run", "checks": []},
        "selection": {"suites": ["session"], "context_targets": [1024]},
        "context": {"targets": []},
        "timing": {
            "wall_ms": 12345.5,
            "chat": {"ttft_p50_ms": 0.0, "ttft_p95_ms": 0.0, "e2e_p50_ms": 0.0, "output_tokens": 0},
        },
        "source_recipe": {"ref": None},
    }


def multimodal() -> dict[str, Any]:
    """Two cases twice: the picture passed both times, the clip once."""

    def attempt(case: str, modality: str, repetition: int, seconds: float, *, passed: bool) -> dict[str, Any]:
        error = {"type": "RuntimeError", "message": "HTTP 400: no codec"}
        return {
            "case_id": case,
            "modality": modality,
            "repetition": repetition,
            "passed": passed,
            "seconds": seconds,
            "failure": None if passed else error,
            "finish_reason": "stop" if passed else None,
            "reasoning": {"chars": 0, "field": None, "tokens": None},
            "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12} if passed else None,
        }

    return {
        "schema": "multimodal-benchmark-evidence/v1",
        "run_id": "multimodal-1",
        "started_at": "2026-03-04T05:06:07Z",
        "finished_at": "2026-03-04T05:07:07Z",
        "requests": 4,
        "passed": False,
        "passed_attempts": 3,
        "failed_attempts": 1,
        "configuration": {"concurrency": 1, "max_tokens": 64, "thinking_mode": "disabled"},
        "corpus": {"sha256": "ab" * 32, "path": "C:\\Users\\somebody\\corpus.json"},
        "identity": {
            "model": "small-model",
            "model_revision": "0123456789abcdef0123456789abcdef01234567",
            "runtime_image": "vllm/vllm-openai:nightly",
            "hardware": "rtx-5090",
        },
        "attempts": [
            attempt("chart", "image", 1, 0.5, passed=True),
            attempt("chart", "image", 2, 1.0, passed=True),
            attempt("clip", "video", 1, 2.0, passed=True),
            attempt("clip", "video", 2, 0.25, passed=False),
        ],
        "aggregates": {
            "case": {"chart": {"attempts": 2, "passed": 2, "latency_p50_seconds": 0.75}},
            "modality": {"video": {"attempts": 2, "passed": 1, "latency_p95_seconds": 2.0}},
        },
    }


def control() -> dict[str, Any]:
    return {
        "schema": "anvil-serving.control-evidence/v1",
        "status": "verified",
        "control_mechanism": "chat_template_kwargs",
        "source": "preflight of that day",
        "observed_at": "2026-03-04T05:06:07Z",
    }


def startup() -> dict[str, Any]:
    return {
        "schema": "anvil-serving.startup-observation/v1",
        "observed_at": "2026-03-04",
        "model": "example/small-model",
        "runtime": {
            "engine": "sglang",
            "image_digest": "sha256:" + "cd" * 32,
            "target_revision": "0123456789abcdef0123456789abcdef01234567",
        },
        "startup_allocations": {"target_weights_gb": 20.10, "target_kv_tokens": 70231, "exact_fold": True},
        "interpretation": "A sentence of somebody.",
    }


def load_failure() -> dict[str, Any]:
    return {
        "schema": "anvil-serving.bakeoff-load-failure/v1",
        "identity": {
            "candidate_id": "small",
            "config_id": "small-nvfp4",
            "model": "example/small-model",
            "served_model_name": "small-model",
            "attempted_at": "2026-03-04T05:06:07Z",
        },
        "engine": {"image": "example.com/vllm:26.04", "vllm_version": "0.19.0", "gpu": "A Card (sm_120)"},
        "outcome": "load_failure",
        "failure_class": "engine-unsupported-architecture",
        "error_excerpt": ["ValidationError: not supported for now"],
    }


FILES: dict[str, Callable[[], dict[str, Any]]] = {
    "benchmark": benchmark,
    "preflight": preflight,
    "bakeoff": bakeoff,
    "multimodal": multimodal,
    "control": control,
    "startup": startup,
    "load-failure": load_failure,
}
"""One file of each kind that is JSON."""

ENGINE_LOG = (
    b"INFO 07-29 10:19:36 [gpu_model_runner.py:5347] Model loading took 35.31 GiB memory and 27.6 seconds\n"
    b"INFO nothing to see\n"
    b"INFO 07-29 10:20:58 [kv_cache_utils.py:2181] GPU KV cache size: 5,277,426 tokens\n"
)
