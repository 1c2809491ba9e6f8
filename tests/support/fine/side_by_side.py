"""Two quantizations of one model side by side, then with their cards exchanged: a synthetic campaign.

Facts and figures are those of a published summary, the words are ours. Every figure of it is to be computed: rows
are made so that it comes out (`support.fine.solving`), and nothing of it is told as a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from anvil.ledger.events import CaveatNoted, DecisionRecorded
from anvil.ledger.public import SettingValue
from anvil.ledger.rows import Row
from support.fine import events as of
from support.fine.loads import load, row
from support.fine.solving import Wanted, one_by_one, spread
from support.fine.stage import Stage

CAMPAIGN = "qwen38-27b-sglang"
FP8, NVFP4 = "official_fp8", "inferact_nvfp4"
IMAGE = "lmsysorg/sglang@sha256:506525a5907ea22c9d445afb7c03603959b912de034d86915cf17da814f1a124"
LABEL_REVISION, BUILD_REVISION = "c4271c3fe1262fc2adbd162c33b25de5255251c5", "561c8f3"
BASE_REVISION = "6f3af00659441371b266b27bd910d932f428f277"
RECIPE_REVISION = "dd458f3212dd4ddf0e1a7907bbf539b660e70d21"
CARD = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"
CARD_BYTES = 97_887 * 2**20
SETTINGS: dict[str, SettingValue] = {
    "tensor_parallel_size": 1,
    "context_tokens": 393_216,
    "max_running_requests": 1,
    "language_only": True,
    "kv_cache_dtype": "fp8_e4m3",
    "attention_backend": "flashinfer",
    "chunked_prefill_tokens": 2048,
    "memory_fraction_static": "0.85",
    "prefix_cache": False,
    "max_mamba_cache_size": 1,
    "speculative_decoding": False,
    "thinking_default": "disabled",
}
CHECKS = (
    "identity",
    "coding",
    "structured-json",
    "128k-retrieval",
    "tools-batch",
    "tools-streaming",
    "tool-result",
    "responses",
    "reasoning-leak",
    "finish",
)
SHARDS = (
    "4b71c5d9d5027c88d1df9f53b93ad77b8d5e428d5d6f75ae42063704d94930b9",
    "d0ceb042ef003ec63e00203823eb70d4815c9fc0430ba04a5442b6b8bde19093",
    "b633a26c1d3b97bf061585363b99d4c01650b4e3f6d0cbb18e7c7e03ca2de1e4",
    "485ea312626e2d1f3a820d9f7545809cef1e2e77414e3977a61d32dacd370bd0",
    "2aa61bab1ed252fe3cdb479286b5b7add7e8ad567501add5f6eeef3987b03d31",
    "8214cd21a46832380c06be552c42d9514c6cc9f27d98e09e2a09e36a8bd6e6ce",
    "c2b7cb6987e40f13b1ab6e552958afe47a759f86cac0c3c4a1c29f606dc080ef",
)
RETRIEVED_TOKENS = 105_600
"""What the endpoint counted of the prompt that is called 128k."""
LONGEST_TOKENS = 388_979


@dataclass(frozen=True)
class Candidate:
    """One of the two, and what was found of it."""

    key: str
    model: str
    revision: str
    quantization: str
    snapshot_bytes: int
    weight_gib: str
    kv_tokens: int
    verdicts: tuple[Any, ...]
    loaded: Wanted
    longest: tuple[int, Fraction]
    """Time to first token in nanoseconds and decode rate of the longest prompt."""


CANDIDATES = (
    Candidate(
        FP8,
        "Qwen/Qwen3.8-27B-FP8",
        "017b9c7af6b5689d5dd426a76e0bc077eb5ca20a",
        "FP8",
        30_890_071_640,
        "28.47",
        1_665_740,
        ("qualified-control", "no-promotion"),
        Wanted(
            ttft=554_312_345,
            e2e=1_450_884_321,
            prefill=Fraction("6512.2"),
            decode=Fraction("48.01"),
            aggregate=Fraction("30.18"),
        ),
        (258_130_400_123, Fraction("33.2")),
    ),
    Candidate(
        NVFP4,
        "Inferact/Qwen3.8-27B-NVFP4",
        "6128240ebaf4eaa7bad2b3d1c72c37d677c5f462",
        "NVFP4",
        26_404_422_156,
        "24.21",
        1_805_068,
        ("challenger", "no-promotion"),
        Wanted(
            ttft=429_287_654,
            e2e=1_244_270_987,
            prefill=Fraction("8409.3"),
            decode=Fraction("57.89"),
            aggregate=Fraction("38.39"),
        ),
        (248_749_800_456, Fraction("37.0")),
    ),
)
CAVEATS = (
    "393,216 tokens are more than the checkpoint advertises; the first start was refused until that was allowed.",
    "On WSL2 the multimodal warm-up failed over CUDA IPC; only text was qualified, without pictures.",
    "In the first functional run the Responses adapter leaked reasoning, until the server itself disabled thinking.",
    "Both lanes fell back to FP8 KV scaling factors of 1.0; that this equals an unquantized KV cache is not shown.",
    "The image's label and the build's own version name different revisions of the engine.",
    "The supplier's crc32 list was stale and its md5 list empty; digests were compared with LFS identities instead.",
    "Of quality and context results only those fields are claimed that each of them was asked for.",
)
GATES: tuple[tuple[str, Any, Any], ...] = (
    ("exact_original_split_restored", "container", None),
    ("official_fp8_direct_gate", "http", 200),
    ("bf16_multimodal_direct_gate", "http", 200),
    ("router_primary_identity_and_gate", "http", 200),
    ("router_vision_general_gate", "http", 200),
    ("router_vision_ocr_gate", "http", 200),
    ("shared_memory_reclaimable_bytes", "memory", 0),
    ("promotion_changed", "file", None),
    ("client_configuration_changed", "file", None),
)


def capacity_rows() -> dict[str, list[list[Row]]]:
    """Return for each candidate the rows of its five runs."""
    return {
        one.key: [one_by_one(wanted, seed) for seed, wanted in enumerate(spread(one.loaded, 5))]
        for one in CANDIDATES
    }


def longest_row(one: Candidate) -> Row:
    """Return the one request with the longest prompt."""
    first, rate = one.longest
    return row(0, first, first + round(255 * 10**9 / rate), 256, prompt_tokens=LONGEST_TOKENS)


def side_by_side(rows: dict[str, list[list[Row]]] | None = None) -> Stage:
    """Return the whole campaign; `rows` takes the place of what was measured."""
    stage = Stage(CAMPAIGN)
    attempts = [
        of.attempt(
            f"{one.quantization.lower()}-on-{placement}",
            one.key,
            placement,
            image=IMAGE,
            recipe_revision=RECIPE_REVISION,
            settings=SETTINGS,
            checks=CHECKS,
            suites=("intelligence", "session", "tool") if placement == places[0] else (),
        )
        for one, places in zip(CANDIDATES, (("first", "second"), ("second", "first")), strict=True)
        for placement in places
    ]
    declared = [of.candidate(one.key, one.model, one.revision, one.quantization) for one in CANDIDATES]
    stage.tell(of.recipe("qwen38-27b-sglang-393k", declared, attempts, BASE_REVISION))
    _weights(stage)
    _failed_starts(stage)
    for attempt in attempts:
        _attempt(stage, attempt.candidate, attempt.key, attempt.placement)
    for candidate, runs in (rows or capacity_rows()).items():
        attempt = next(each.key for each in attempts if each.candidate == candidate)
        for number, made in enumerate(runs, 1):
            load(stage, candidate, attempt, made, number)
    for one in CANDIDATES:
        attempt = next(each.key for each in attempts if each.candidate == one.key)
        _quality(stage, one.key, attempt)
        load(
            stage,
            one.key,
            attempt,
            [longest_row(one)],
            protocol="near-limit",
            kind="near-limit",
            cell="longest",
            input_target_tokens=LONGEST_TOKENS,
        )
    for name, kind, value in GATES:
        before = stage.tell(of.gate(name, kind, "recorded", value=value), artifacts={"state": b"{}"})
        stage.tell(
            lambda told, n=name, k=kind, v=value, b=before: of.gate(n, k, value=v, before=told[b]),
            artifacts={"state": b"{}"},
        )
    _conclusions(stage)
    return stage


def _weights(stage: Stage) -> None:
    """Tell what the inspections found. The FP8 files were read in an earlier campaign; their digests are taken over."""
    earlier = stage.tell(
        of.inspected(files=78, bytes=30_890_071_640, tensor_files=66, tensors=1_200),
        FP8,
        campaign="qwen38-27b-vllm",
        artifacts={"inventory": b"[]"},
    )
    stage.tell(
        lambda told: of.inspected(
            files=78,
            bytes=30_890_071_640,
            tensor_files=66,
            tensors=1_200,
            digested_bytes=0,
            earlier=told[earlier],
            reused_files=78,
        ),
        FP8,
        artifacts={"inventory": b"[]"},
    )
    stage.tell(
        of.inspected(
            files=19,
            bytes=26_404_422_156,
            tensor_files=7,
            tensors=2_111,
            tensor_digests=tuple(f"sha256:{shard}" for shard in SHARDS),
            stated_identities=9,
            matched_identities=9,
            findings={"checksum-stale": 1, "checksum-empty": 1},
        ),
        NVFP4,
        artifacts={"inventory": b"[]"},
    )


def _failed_starts(stage: Stage) -> None:
    """Tell the launches that came before those that count: one refused, one leaked."""
    for attempt in ("fp8-on-first",):
        stage.tell(of.launched(IMAGE, "first"), FP8, attempt)
        stage.tell(of.exited(1), FP8, attempt)
        stage.tell(of.launched(IMAGE, "first"), FP8, attempt)
        leaked = of.request("r1", "failed", "reasoning_leaked", reasoning_seen=("responses_item",))
        stage.tell(of.check("responses", leaked), FP8, attempt, artifacts={"r1.response": b"{}"})


def _attempt(stage: Stage, candidate: str, attempt: str, placement: str | None) -> None:
    found = next(one for one in CANDIDATES if one.key == candidate)

    def tell(event: Any, **artifacts: bytes) -> None:
        named = {name.replace("_", "."): raw for name, raw in artifacts.items()}
        stage.tell(event, candidate, attempt, artifacts=named)

    cards = of.host({0: CARD, 1: CARD}, (("first", "second").index(str(placement)),), CARD_BYTES, is_wsl=True)
    tell(cards, host=b"{}")
    tell(of.launched(IMAGE, placement), inspect=b"{}")
    tell(of.ready(), ready_response=b"{}")
    claims = (
        ("image_label", "engine_revision", LABEL_REVISION),
        ("version_endpoint", "engine_revision", BUILD_REVISION),
    )
    tell(of.identified("sglang", *claims, disagreements=("engine_revision",)), models=b"{}")
    reported = {"weight_memory_gib": found.weight_gib, "kv_capacity_tokens": found.kv_tokens}
    stage.tell(of.reported("sglang", **reported), candidate, attempt, artifacts={"startup-log": b"log"})
    body = {"r1_response": b"{}"}
    for name in ("identity", "coding", "structured-json"):
        tell(of.check(name), **body)
    depths = [of.request(f"depth_{depth}", prompt_tokens=RETRIEVED_TOKENS) for depth in (10, 50, 90)]
    tell(
        of.check(
            "retrieval",
            *depths,
            selected_as="128k-retrieval",
            parameters={"thinking": "disabled", "target_tokens": RETRIEVED_TOKENS},
        ),
        **body,
    )
    tell(of.check("tools-batch", *(of.request(f"r{number}") for number in range(1, 21))), **body)
    for name in ("tools-streaming", "tool-result", "responses", "reasoning-leak", "finish"):
        tell(of.check(name), **body)


def _quality(stage: Stage, candidate: str, attempt: str) -> None:
    body = {"r1.response": b"{}"}
    suites = {
        "intelligence": {"exact-diff": (3, 3), "triage": (3, 3)},
        "session": {"recall": (3, 3)},
        "tool": {"argument": (3, 3)},
    }
    for name, items in suites.items():
        stage.tell(of.suite(name, items), candidate, attempt, artifacts=body)


def _conclusions(stage: Stage) -> None:
    for text in CAVEATS:
        stage.tell(CaveatNoted(text=text, about=()), role="operator")
    for one in CANDIDATES:
        stage.tell(
            lambda told, verdicts=one.verdicts: DecisionRecorded(
                verdicts=verdicts,
                sentence="Nothing is promoted by a benchmark.",
                rests_on=(told[0],),
                supersedes=None,
            ),
            one.key,
            role="operator",
        )
