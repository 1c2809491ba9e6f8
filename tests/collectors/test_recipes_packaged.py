"""The recipes that come with anvil: all can be run, and they say what the documents behind them say.

The documents are read when present (`needs("seeds")`) and never committed; each comparison names the
place in the document and the place in the recipe.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support import tools

from anvil.collectors.recipes import Attempt, Recipe, load_recipe, packaged_recipes
from anvil.collectors.recipes.argv import HOST_PLACEHOLDERS, placeholders
from anvil.collectors.recipes.blocks import EngineBlock
from anvil.collectors.running.judges import JUDGES
from anvil.collectors.running.suites import chosen_suites

NAMES = ("laguna-xs-2.1-nvfp4-sm120", "quickstart", "qwen38-27b-sglang-393k", "qwen38-27b-vllm-262k")
PREFLIGHT = {"coding", "structured-json", "retrieval", "tools-batch"}

CHECKS_NAMED = {
    "coding": "coding",
    "structured-json": "structured-json",
    "128k-retrieval": "retrieval",
    "tools-20-of-20": "tools-batch",
    "streaming-tools": "tools-streaming",
    "tool-result-continuation": "tool-result",
    "responses": "responses",
}
"""What the documents call a check, and its id."""


def test_these_come_with_anvil() -> None:
    assert packaged_recipes() == NAMES


def test_the_list_for_people_names_each() -> None:
    listed = re.findall(r"^\| `([^`]+)` \|", (tools.ROOT / "recipes/README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_is_good_and_fully_resolved(name: str) -> None:
    recipe = load_recipe(name, JUDGES)
    assert recipe.name == name
    assert re.fullmatch("sha256:[0-9a-f]{64}", recipe.digest)
    for attempt in recipe.attempts:
        assert set(placeholders(attempt.argv)) <= set(HOST_PLACEHOLDERS)
        assert "{port}" in attempt.argv
        assert attempt.served_model in attempt.argv


def test_a_recipe_by_path_is_the_same_as_by_name() -> None:
    by_path = load_recipe(tools.ROOT / "recipes" / "quickstart.toml")
    assert by_path == load_recipe("quickstart")


def test_the_default_deadlines() -> None:
    deadlines = load_recipe("qwen38-27b-vllm-262k").deadlines
    assert (deadlines.ready_s, deadlines.first_byte_s, deadlines.idle_gap_s, deadlines.stop_s) == (
        1800,
        3600,
        120,
        60,
    )
    assert deadlines.ready_ns == 1_800_000_000_000


def test_quickstart_fits_its_engine() -> None:
    (attempt,) = load_recipe("quickstart", JUDGES).attempts
    checks = {check.name: check.parameters for check in attempt.checks}
    assert attempt.settings == {"slots": 2, "context_tokens": 8192}
    assert [checks[f"retrieval-{n}k"]["target_tokens"] for n in (1, 2)] == [1000, 2000]
    assert checks["retrieval-1k"]["depths"] == (50,)
    assert checks["tools-batch"]["requests"] == 4
    assert attempt.launcher == "process"
    assert attempt.argv[:3] == ("{python}", "-m", "anvil.collectors.engines.llamacpp")


def test_lanes_and_their_swap_are_attempts_of_their_own() -> None:
    attempts = load_recipe("qwen38-27b-sglang-393k").attempts
    lanes = {(a.side_by_side, a.placement): a.candidate for a in attempts}
    assert lanes == {
        ("original", "first"): "official_fp8",
        ("original", "second"): "inferact_nvfp4",
        ("swapped", "second"): "official_fp8",
        ("swapped", "first"): "inferact_nvfp4",
    }


# --- against the documents ---------------------------------------------------------------------------


def seed(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((tools.SEEDS / name).read_text())
    return loaded


def attempt(recipe: Recipe, key: str) -> Attempt:
    found = recipe.attempt(key)
    assert found is not None
    return found


def same(found: object, stated: object) -> bool:
    """Whether a setting says what a document says: numbers by value, words by case-folded text."""
    if isinstance(stated, float) and isinstance(found, str):
        return Fraction(found) == Fraction(str(stated))
    return str(found).casefold() == str(stated).casefold()


def assert_settings(found: Mapping[str, object], stated: Mapping[str, Any]) -> None:
    differing = {
        name: (found.get(name), value) for name, value in stated.items() if not same(found.get(name), value)
    }
    assert not differing


@pytest.mark.needs("seeds")
def test_laguna_says_what_its_document_says() -> None:
    document = seed("candidate-failure.v1.json")
    recipe = load_recipe("laguna-xs-2.1-nvfp4-sm120")
    (candidate,) = recipe.candidates.values()
    assert (candidate.model, candidate.revision) == (document["candidate"], document["revision"])
    assert document["hardware"] == (
        f"{recipe.hardware.gpu} {recipe.hardware.gpu_memory_gib} GB ({recipe.hardware.compute_capability})"
    )
    assert len(recipe.attempts) == len(document["attempts"]) == 6
    for found, stated in zip(recipe.attempts, document["attempts"], strict=True):
        engine, build = stated["engine"].split(" ")
        assert found.engine == engine
        assert build in (found.version, published_as(recipe, found))
        for words, holds in CONFIGURATION.items():
            if words in stated["configuration"]:
                assert holds(found), (found.key, words)
        assert any(words in stated["configuration"] for words in CONFIGURATION)
    ids = {check.id for check in recipe.attempts[0].checks}
    assert ids >= PREFLIGHT
    assert {
        check.parameters.get("requests") for check in recipe.attempts[0].checks if check.id == "tools-batch"
    } == {20}


def published_as(recipe: Recipe, found: Attempt) -> str | None:
    """The tag that a block gives for people; an attempt does not carry it, since nothing runs by it."""
    assert "published_as" in EngineBlock.model_fields
    text = re.search(
        rf'image = "{re.escape(found.image or "")}"\npublished_as = "([^"]+)"', recipe.content.decode()
    )
    return text.group(1) if text else None


def setting(name: str, value: object) -> Callable[[Attempt], bool]:
    return lambda found: same(found.settings.get(name), value)


def skips(found: Attempt) -> bool:
    at = found.argv.index("--kv-cache-dtype-skip-layers")
    layers = found.argv[at + 1 : at + 41]
    bounds = (found.settings["kv_skip_first_layer"], found.settings["kv_skip_last_layer"])
    return layers == tuple(str(n) for n in range(40)) and bounds == (0, 39)


CONFIGURATION: dict[str, Callable[[Attempt], bool]] = {
    "262144 context": setting("context_tokens", 262144),
    "; 262144": setting("context_tokens", 262144),
    "; 131072": setting("context_tokens", 131072),
    "five sequences": setting("max_num_seqs", 5),
    "five running requests": setting("max_running_requests", 5),
    "FP8 KV": setting("kv_cache_dtype", "fp8"),
    "FP8 KV skipped on layers 0-39": skips,
    "FlashInfer attention": setting("attention_backend", "flashinfer"),
    "explicit checkpoint chat template": lambda a: any(e.endswith("/chat_template.jinja") for e in a.argv),
    "SWARadixCache": setting("prefix_cache_kind", "SWARadixCache"),
    "forced trtllm_mha attention": setting("attention_backend", "trtllm_mha"),
    "forced flashinfer_trtllm MoE runner": setting("moe_runner_backend", "flashinfer_trtllm"),
}
"""Words of the document, and what a recipe that follows them holds."""


@pytest.mark.needs("seeds")
def test_sglang_says_what_its_document_says() -> None:
    document = seed("sanitized-qualification-summary.v1.json")
    recipe = load_recipe("qwen38-27b-sglang-393k")
    runtime = document["runtime"]
    assert recipe.base_revision == document["source_base_revision"]
    for found in recipe.attempts:
        assert_settings(found.settings, document["common_recipe"])
        assert found.image == runtime["image"]
        assert found.revision == runtime["image_label_engine_revision"]
        assert found.recipe_revision == runtime["source_recipe_revision"]
        assert found.env["SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"] == "1"
        ids = {check.id for check in found.checks}
        assert {CHECKS_NAMED[name] for name in document["functional"][found.candidate]["checks"]} <= ids
        repeated = {suite.id: suite.repetitions for suite in found.suites}
        assert repeated == {"intelligence": 3, "session": 3, "tool": 3}
    for key, stated in document["candidates"].items():
        candidate = recipe.candidates[key]
        assert (candidate.model, candidate.revision) == (stated["model"], stated["revision"])
        assert candidate.weights is not None
        assert candidate.weights.snapshot_bytes == stated["cached_snapshot_bytes"]
        placements = {a.placement for a in recipe.attempts if a.candidate == key}
        assert len(placements) == document["functional"][key]["placements_passed"]


@pytest.mark.needs("seeds")
def test_sglang_measures_and_restores_what_its_document_says() -> None:
    document = seed("sanitized-qualification-summary.v1.json")
    recipe = load_recipe("qwen38-27b-sglang-393k")
    safety, weights = document["artifact_safety"], recipe.candidates["inferact_nvfp4"].weights
    assert weights is not None
    assert list(weights.sha256) == safety["shard_sha256"]
    assert weights.safetensors_files == safety["safetensors_files_verified"]
    assert weights.safetensors_tensors == safety["safetensors_tensors_verified"]
    hardware = document["hardware"]
    found = (recipe.hardware.gpu, recipe.hardware.gpus, recipe.hardware.gpu_memory_gib)
    assert found == (hardware["gpu"], hardware["gpu_count"], hardware["vram_gib_per_gpu"])
    protocols = {p.name: dict(p.parameters) for p in recipe.attempts[0].protocols}
    assert protocols["capacity-4k"] == {
        "input_tokens": 4096, "output_tokens": 256, "concurrency": (1,), "requests": 10, "runs": 5,
    }  # fmt: skip
    assert "five 10-request runs" in document["capacity_4k_c1"]["protocol"]
    assert protocols["near-limit"]["input_tokens"] == document["near_limit_context"]["actual_prompt_tokens"]
    assert len(recipe.restoration) == len(document["restoration"])


@pytest.mark.needs("seeds")
def test_vllm_says_what_its_document_says() -> None:
    document = seed("qwen38-27b-qualification-summary.v1.json")
    recipe = load_recipe("qwen38-27b-vllm-262k")
    lanes = {
        "bf16_multimodal": attempt(recipe, "bf16-multimodal"),
        "official_fp8_text": attempt(recipe, "fp8-text"),
    }
    shared = {
        n: v
        for n, v in document["baseline"]["shared"].items()
        if n not in ("thinking_disabled_control", "adaptive_reasoning_efforts_passed")
    }
    for key, found in lanes.items():
        stated = document["baseline"][key]
        own = {name: stated[name] for name in ("max_num_seqs", "gpu_memory_utilization")}
        assert_settings(found.settings, {**shared, **own})
        runtime = document["runtime"]
        assert (found.image, found.revision, found.cuda) == (
            runtime["image"],
            runtime["engine_revision"],
            runtime["cuda"],
        )
        efforts = next(check for check in found.checks if check.id == "thinking-control").parameters[
            "efforts"
        ]
        assert list(efforts) == document["baseline"]["shared"]["adaptive_reasoning_efforts_passed"]  # type: ignore[arg-type]
        ladder = next(p for p in found.protocols if p.id == "context-ladder").parameters["input_tokens"]
        assert list(ladder) == [rung["actual_prompt_tokens"] for rung in stated["context"]]  # type: ignore[arg-type]
        levels = {
            f"c{n}" for n in next(p for p in found.protocols if p.id == "capacity").parameters["concurrency"]
        }  # type: ignore[union-attr]
        assert levels == {name.partition("_")[0] for name in stated["capacity_4k"]}
    for key, stated in document["checkpoints"].items():
        if key == "artifact_gate":
            continue
        candidate = recipe.candidates[key]
        assert candidate.weights is not None
        assert (candidate.model, candidate.revision) == (stated["repo"], stated["revision"])
        assert candidate.weights.safetensors_files == stated["safetensors_files"]
        assert candidate.weights.safetensors_bytes == stated["safetensors_bytes"]


@pytest.mark.needs("seeds")
def test_vllm_changes_what_its_document_says() -> None:
    document = seed("qwen38-27b-qualification-summary.v1.json")
    recipe = load_recipe("qwen38-27b-vllm-262k")
    assert {item.key for item in recipe.experiments} == set(document["setting_experiments"])
    for item in recipe.experiments:
        assert item.control == "fp8-text"
        control, changed = (attempt(recipe, key).settings for key in (item.control, item.attempt))
        assert {name for name, _ in control.items() ^ changed.items()} == set(item.only_change)
    mtp = attempt(recipe, "fp8-text-mtp3").argv
    assert json.loads(mtp[mtp.index("--speculative-config") + 1]) == {
        "method": "mtp",
        "num_speculative_tokens": 3,
    }
    assert attempt(recipe, "fp8-text-prefix-cache").settings["prefix_cache"] is True
    unquantized = attempt(recipe, "fp8-text-unquantized-kv")
    assert unquantized.settings["kv_cache_dtype"] == "auto"
    assert unquantized.settings["model_dtype"] == "bfloat16"
    stated = document["setting_experiments"]["unquantized_kv"]["actual_prompt_tokens_passed"]
    assert next(p for p in unquantized.protocols if p.id == "near-limit").parameters["input_tokens"] == stated
    shared = next(p for p in attempt(recipe, "fp8-text").protocols if p.id == "prefix-cache").parameters
    assert (shared["concurrency"], shared["shared_prefix_tokens"]) == (5, 30000)


@pytest.mark.needs("seeds")
def test_vllm_looks_at_the_pictures_that_its_document_names() -> None:
    document = seed("qwen38-27b-qualification-summary.v1.json")
    stated = document["baseline"]["bf16_multimodal"]["multimodal"]
    recipe = load_recipe("qwen38-27b-vllm-262k")
    found = attempt(recipe, "bf16-multimodal")
    suite = next(suite for suite in found.suites if suite.id == "multimodal")
    chosen = chosen_suites(recipe, [suite])[0]
    modalities = [item.modality for item in chosen.items()]
    counts = {kind: chosen.repetitions * modalities.count(kind) for kind in ("image", "video", "mixed")}
    assert counts == {kind: int(stated[kind].partition("/")[2]) for kind in counts}
    # The document's corpus is not public; ours is another one, and the recipe claims no other.
    assert chosen.suite.source is not None
    assert suite.digest == chosen.suite.source.digest != f"sha256:{stated['corpus_sha256']}"
    assert {"image", "ocr", "video"} <= {check.id for check in found.checks}


@pytest.mark.needs("seeds")
@pytest.mark.parametrize("name", NAMES)
def test_no_sentence_of_a_document_is_copied(name: str) -> None:
    recipe = load_recipe(name)
    text = recipe.content.decode().replace(str(recipe.hardware.gpu), "")  # a product's name is no sentence
    for path in sorted(Path(tools.SEEDS).glob("*.json")):
        for sentence in re.findall(r'"([^"]{40,})"', path.read_text()):
            words = sentence.split()
            runs = {" ".join(words[at : at + 7]) for at in range(len(words) - 6)}
            assert not [run for run in runs if run in text]
