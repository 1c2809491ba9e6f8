"""What is wrong with the files of five campaigns is found without being told, in each file where it is, and nowhere else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.tools import EVIDENCE

from evidence.campaigns import CAMPAIGNS
from evidence.taking import run_anvil, status_members, take_in

pytestmark = pytest.mark.needs("evidence")

NAME = "sanitized-qualification-summary.v1"
FEW, PREFIX, MISSED, FAILED = "percentile_unsupported", "shared_prefix", "target_missed", "partly_failed"
UNCOUNTED, DESPITE, ZERO = "reasoning_seen_not_counted", "reasoning_despite_disabled", "zero_without_samples"
NO_ROWS, NO_ANSWER = "rows_missing", "check_without_observation"

FOUND: dict[str, dict[str, set[str]]] = {
    "agents-a1-head-to-head": {
        "agents-a1-fp8-262k-capacity-240k-c1.json": {FEW},
        "agents-a1-fp8-262k-capacity-8k-c1.json": {FEW, PREFIX},
        "agents-a1-fp8-262k-multimodal-c1.json": {FEW, FAILED},
        "agents-a1-fp8-262k-preflight-240k.json": {MISSED, PREFIX},
        "qwen35-122b-video-262k-capacity-240k-c1.json": {FEW},
        "qwen35-122b-video-262k-capacity-8k-c1.json": {FEW, PREFIX},
        "qwen35-122b-video-262k-direct-video-preflight.json": {NO_ANSWER},
        "qwen35-122b-video-262k-multimodal-c1.json": {FEW, FAILED},
        "qwen35-122b-video-262k-preflight-240k.json": {MISSED, PREFIX},
    },
    "fp8-moe-kernel-ab": {
        **{f"fp8-moe-ab-{arm}-functional.json": {MISSED, PREFIX} for arm in ("default", "tuned")},
        **{
            f"fp8-moe-ab-default-{lane}-r{run}.json": {FEW, NO_ROWS}
            for lane in ("primary", "protected")
            for run in (1, 2, 3)
        },
        **{
            f"fp8-moe-ab-{arm}-v3-{lane}-r{run}.json": {FEW}
            for arm in ("default", "tuned")
            for lane in ("primary", "protected")
            for run in (1, 2, 3)
        },
    },
    "heavy-eval-v2": {
        "mistral-small4-effort-high-visible256-headroom1024.json": {FAILED, UNCOUNTED, ZERO},
        "mistral-small4-effort-high-visible256-headroom2048.json": {UNCOUNTED, ZERO},
        "mistral-small4-effort-none-visible256.json": {FAILED, ZERO},
        "mistral-small4-mmlu10-high-headroom2048.json": {FAILED, UNCOUNTED, ZERO},
        "nemotron3-super-mmlu10-thinking-headroom1024.json": {FAILED, UNCOUNTED, ZERO},
        "nemotron3-super-mmlu10-thinking-headroom2048.json": {FAILED, UNCOUNTED, ZERO},
        "nemotron3-super-no-thinking-visible256.json": {FAILED, UNCOUNTED, DESPITE, ZERO},
        "nemotron3-super-thinking-visible256-headroom1024.json": {UNCOUNTED, ZERO},
    },
    "qwen38-1m-context": {
        **{f"needle-{size}k-r1.json": {MISSED} for size in (384, 512, 768)},
        **{f"needle-1000k-r{run}.json": {MISSED} for run in (1, 2, 3)},
        "post-stress-preflight.json": {MISSED, PREFIX},
        "restored-fp8-preflight.json": {MISSED, PREFIX},
    },
    "rtx5090-mtp3-ab": {
        "baseline-capacity-4k.json": {FEW, PREFIX},
        "baseline-capacity-64k.json": {FEW},
        "baseline-restoration-after-mtp3.json": {MISSED, PREFIX},
        "mtp3-replayssm-capacity-4k.json": {FEW},
        "mtp3-replayssm-capacity-64k.json": {FEW},
        "mtp3-replayssm-functional-60k.json": {MISSED, PREFIX},
    },
}
"""Folder to file to what is found in it; a file that is not here has nothing but what it does not say."""

SAID: dict[str, set[str]] = {
    "agents-a1-fp8-262k-multimodal-c1.json": {"model", "recipe"},
    "qwen35-122b-video-262k-multimodal-c1.json": {"model", "recipe"},
    "laguna-xs-21-nvfp4-sm120.failure.json": {"image", "recipe"},
    "mtp3-replayssm-startup-proof.json": {"date", "hardware", "recipe"},
}
"""Files that say more of what was tested than others, and what they do not say."""


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("findings")


@pytest.fixture(scope="module")
def told(work: Path) -> dict[str, dict[str, Any]]:
    """Folder to file to what `anvil status` tells of it."""
    found = {}
    for name in CAMPAIGNS:
        take_in(EVIDENCE / name, work)
        names = {
            f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}": path.name
            for path in (EVIDENCE / name).iterdir()
        }
        (campaign,) = status_members(EVIDENCE / name, work)["campaigns"]
        found[name] = {names[file["digest"]]: file for file in campaign["imports"]}
    return found


@pytest.mark.parametrize("folder", CAMPAIGNS)
def test_a_document_of_the_files_alone_says_each_kind_of_it_in_its_limits(
    folder: str, told: dict[str, dict[str, Any]], work: Path
) -> None:
    home = work / folder
    run_anvil(home, "render", NAME, "--campaign", folder, "--provenance", "p.json")
    notes = " ".join(json.loads((home / "p.json").read_text())["evidence_limit"]["notes"])
    for kind in {one for file in told[folder].values() for one in findings(file)}:
        assert f"Imported evidence, {kind.replace('_', ' ')}: " in notes, kind
    assert "imported files what was tested is not wholly said: " in notes


def findings(file: Any) -> set[str]:
    return {one["finding"] for result in file["results"] for one in result["findings"]}


@pytest.mark.parametrize("folder", CAMPAIGNS)
def test_each_file_has_its_findings_and_no_other(folder: str, told: dict[str, dict[str, Any]]) -> None:
    assert {name: findings(file) for name, file in told[folder].items() if findings(file)} == FOUND[folder]


@pytest.mark.parametrize("folder", CAMPAIGNS)
def test_no_file_says_which_recipe_it_was_and_each_lists_what_it_lacks(
    folder: str, told: dict[str, dict[str, Any]]
) -> None:
    for name, file in told[folder].items():
        assert "recipe" in file["not_said"], name
        assert SAID.get(name, {"model", "revision"}) <= set(file["not_said"]), name
        if name.endswith("preflight.json") or name.startswith("needle"):
            assert {"date", "hardware", "engine", "image"} <= set(file["not_said"]), name


def members(value: Any) -> Iterator[tuple[str, Any]]:
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield str(key), item
        if isinstance(item, dict | list):
            yield from members(item)


def raw(folder: str, name: str) -> Any:
    return json.loads((EVIDENCE / folder / name).read_bytes())


def test_an_independent_reading_finds_the_same(told: dict[str, dict[str, Any]]) -> None:
    """Read in plain JSON and floats, file by file."""
    seen = set()
    for folder, files in told.items():
        for name, file in files.items():
            if not name.endswith(".json"):
                continue
            value, found = raw(folder, name), findings(file)
            counted = any(key == "reasoning_tokens" and item for key, item in members(value))
            assert counted == bool({"reasoning_counted_not_seen"} & found) is False, name
            if "request_timings" in value or value.get("measurement_protocol") == "capacity-v2":
                assert (not value.get("request_timings")) == (NO_ROWS in found), name
                assert (value["completed"] < 59) == (FEW in found), name
                assert (value["failed"] > 0) == (FAILED in found), name
                seen.add("load")
            if value.get("schema_version") == "preflight/v2":
                observed = " ".join(one["test"] for one in value["observations"])
                assert any(check not in observed for check in value["checks"]) == (NO_ANSWER in found), name
                seen.add("preflight")
            if "suites" in value and isinstance(value["suites"], dict):
                attempts = [
                    one
                    for suite in value["suites"].values()
                    for check in suite.get("checks", ())
                    for one in check.get("attempts", ())
                ]
                did = any(one.get("reasoning_chars") for one in attempts)
                assert did == (UNCOUNTED in found), name
                seen.add("suite")
    assert seen == {"load", "preflight", "suite"}


def test_figures_of_loads_have_their_number_and_their_event(told: dict[str, dict[str, Any]]) -> None:
    """`anvil status` shows main figures, each event by its index."""
    for folder, files in told.items():
        indices = [result["index"] for file in files.values() for result in file["results"]]
        assert len(set(indices)) == len(indices) > 0
        for name, file in files.items():
            for result in file["results"]:
                if result["what"] != "load" or not result["passed"]:
                    continue
                figures = {one["called"]: one for one in result["figures"]}
                printed = raw(folder, name)["metrics"]
                assert figures["ttft_p50_ms"]["number"] == str(printed["ttft_p50_ms"]), name
                assert float(figures["throughput_tok_s"]["number"]) == printed["throughput_tok_s"], name
