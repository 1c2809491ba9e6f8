"""Documents as somebody could have published them, one for each schema that is imported. All of it is made up."""

from __future__ import annotations

import json
from typing import Any

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


DOCUMENTS = {"candidate-failure.v1": failure}


def spelled(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
