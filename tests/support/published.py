"""Documents as somebody could have published them, one for each schema that is imported. All of it is made up."""

from __future__ import annotations

import hashlib
import json
from typing import Any

EVIDENCE = b"a file that somebody kept\n"
EVIDENCE_DIGEST = hashlib.sha256(EVIDENCE).hexdigest()
REVISION = "0123456789abcdef0123456789abcdef01234567"


def failure() -> dict[str, Any]:
    return {
        "schema": "anvil-serving.candidate-failure.v1",
        "date": "2026-03-04",
        "candidate": "example/Tiny-1B-FP8",
        "revision": REVISION,
        "hardware": "one made-up card",
        "status": "rejected",
        "evidence_limit": "Only the log of the second start was kept.",
        "attempts": [
            {
                "engine": "vllm 0.99.0",
                "configuration": "4096 context",
                "health": 200,
                "preflight_default": "1/4",
                "preflight_no_thinking": "3/4; coding failed",
                "evidence_status": "operator-observed-incomplete",
                "failure": "it wrote the same word over and over",
            },
            {
                "engine": "sglang 0.9",
                "configuration": None,
                "health": None,
                "evidence_status": "retained-bounded-log",
                "failure": "it stopped while it was warming up",
            },
        ],
        "decision": "Not on this card.",
    }


def summary() -> dict[str, Any]:
    measured = {
        "runs": 3,
        "ttft_p50_ms": 12.50,
        "e2e_p50_ms": 80,
        "effective_prefill_tok_s_p50": 900.0,
        "decode_tok_s_p50": 31.0,
        "aggregate_output_tok_s": 28.4,
    }
    longest = {"status": "passed", "ttft_s": 3.10, "effective_prefill_tok_s": 700, "decode_tok_s": 20.0}
    functional = {
        "placements_passed": 1,
        "checks": ["coding", "tools-5-of-5"],
        "reasoning_chars_with_thinking_disabled": 0,
    }
    return {
        "schema": "anvil-serving.sanitized-qualification-summary/v1",
        "observed_date": "2026-05-06",
        "source_base_revision": REVISION,
        "hardware": {
            "host_label": "Bench",
            "gpu": "a made-up card",
            "gpu_count": 1,
            "vram_gib_per_gpu": 24,
            "topology": "one card, one candidate after the other",
        },
        "runtime": {
            "image": "example/engine@sha256:" + "ab" * 32,
            "image_label_engine_revision": REVISION,
            "internal_build_version_revision": "0123456",
            "source_recipe_revision": REVISION,
        },
        "common_recipe": {
            "context_tokens": 8192,
            "memory_fraction": 0.80,
            "prefix_cache": False,
            "kv_cache_dtype": "fp8",
            "draft_model": None,
        },
        "candidates": {
            key: {
                "model": f"example/Tiny-{key}",
                "revision": REVISION,
                "cached_snapshot_bytes": 1_000_000,
                "startup_weight_memory_gib": 1.50,
                "startup_kv_capacity_tokens": 60_000,
                "decision": ["challenger"],
            }
            for key in ("tiny_a", "tiny_b")
        },
        "artifact_safety": {
            "files": "weights and a tokenizer",
            "tracked_executable_code": False,
            "auto_map_or_remote_code_hook": True,
            "pickle_or_pytorch_binary": False,
            "safetensors_files_verified": 2,
            "safetensors_tensors_verified": 30,
            "headers_ranges_and_file_lengths_valid": True,
            "local_sha256_matches_hugging_face_lfs": False,
            "shard_sha256": [EVIDENCE_DIGEST, "cd" * 32],
        },
        "functional": {"tiny_a": functional, "tiny_b": {**functional, "checks": []}},
        "bounded_quality": {
            "tiny_a": {"recall": "5/5", "failures": 0},
            "tiny_b": {"recall": "4/5", "triage": "2/2", "failures": 1},
        },
        "capacity_1k_c1": {
            "protocol": "three runs of five requests",
            "tiny_a": measured,
            "tiny_b": measured,
            "tiny_b_delta_percent": {
                "ttft": -1.0,
                "e2e": 0.0,
                "effective_prefill": 2,
                "decode": -0.5,
                "aggregate_output_throughput": 10.20,
            },
        },
        "capacity_1k_c4": {"protocol": "the same at four", "tiny_a": measured},
        "near_limit_context": {"actual_prompt_tokens": 8000, "tiny_a": longest, "tiny_b": longest},
        "retained_failures_and_caveats": ["The fan was loud.", "The first start timed out."],
        "restoration": {"as_it_was": True, "router": "passed", "shared_memory_bytes": 0, "promoted": False},
    }


def lanes() -> dict[str, Any]:
    return {
        "schema": "anvil-serving.qwen38-27b-qualification-summary/v1",
        "observed_date": "2026-05-07",
        "decision": "current",
        "hardware": {"product": "a made-up card", "cards": 1, "vram_gb_each": 24, "topology": "one lane"},
        "runtime": {
            "image": "example/engine@sha256:" + "ef" * 32,
            "engine_revision": REVISION,
            "cuda": "14.0",
        },
        "checkpoints": {
            "tiny": {
                "repo": "example/Tiny",
                "revision": REVISION,
                "safetensors_files": 1,
                "safetensors_bytes": 500,
            },
            "artifact_gate": "all digests are as they should be",
        },
        "baseline": {
            "shared": {
                "context_tokens": 8192,
                "prefix_cache": True,
                "thinking_disabled_control": "ineffective",
                "adaptive_reasoning_efforts_passed": ["low"],
            },
            "tiny_first": {"max_num_seqs": 4, "context": []},
            "tiny_text": {
                "max_num_seqs": 2,
                "gpu_memory_utilization": 0.50,
                "functional_checks": "one failed",
                "repeated_quality": "2/3",
                "capacity_1k": {"c1_decode_tok_s_p50": 30.0, "c2_aggregate_output_tok_s": 44},
                "context": [
                    {"actual_prompt_tokens": 1000, "ttft_s": 0.50, "status": "passed"},
                    {"actual_prompt_tokens": 8000, "ttft_s": 4, "status": "failed"},
                ],
                "multimodal": {"corpus_sha256": "12" * 32, "attempts": 3, "passed": 2, "image": "2/3"},
                "engine_kv_tokens": 70_000,
                "reported_full_window_concurrency": 8.50,
                "caveat": "the host was shared",
            },
            "tiny_bare": {"max_num_seqs": 1, "context": []},
        },
        "setting_experiments": {
            "speculation": {
                "only_change": "two draft tokens",
                "workload": "one short prompt",
                "functional_checks": "all passed",
                "repeated_quality": "all passed",
                "c1_decode_tok_s_p50": 55.0,
                "first": {"ttft_s_p50": 0.40, "aggregate_output_tok_s": 3},
                "caveat": "acceptance was not reported",
                "warning": "the engine warned about its batch size",
                "retained_failure": "the first start failed",
                "decision": "keep it off",
            },
            "nothing": {"only_change": "nothing at all"},
        },
        "gaps": ["Nobody asked for tools."],
        "private_artifact_digests": {"log": EVIDENCE_DIGEST, "rows": "34" * 32},
    }


DOCUMENTS = {
    "candidate-failure.v1": failure,
    "sanitized-qualification-summary.v1": summary,
    "qwen38-27b-qualification-summary.v1": lanes,
}


def spelled(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
