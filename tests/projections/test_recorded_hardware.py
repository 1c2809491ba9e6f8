"""Hardware in the summaries: what is counted, and hosts, GPUs and placements by pseudonyms."""

from __future__ import annotations

import json
from typing import Any

from support.fine import events as of
from support.fine.stage import Stage
from support.fine.summaries import NAME, started


def document(stage: Stage) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stage.drawn(NAME).rendered.text)
    return found


def test_cards_that_differ_are_all_named_and_their_memory_is_not_one_number() -> None:
    stage = started()
    stage.tell(of.host({0: "NVIDIA H200"}, (0,), 150_754_820_096), artifacts={"host": b"{}"})
    stage.tell(of.host({0: "NVIDIA H200", 1: "NVIDIA L4"}, (1,), 24 * 2**30), artifacts={"host": b"{}"})
    hardware = document(stage)["hardware"]
    assert (hardware["gpu"], hardware["gpu_count"]) == ("NVIDIA H200; NVIDIA L4", 2)
    assert hardware["vram_gib_per_gpu"] is None


def test_placements_are_named_by_their_order() -> None:
    attempts = [
        of.attempt(f"{key}-{place}", key, place)
        for key, place in (("a", "left"), ("b", "right"), ("b", "left"))
    ]
    stage = Stage("mine")
    candidates = [of.candidate(key, f"org/{key}", None, None) for key in ("a", "b")]
    stage.tell(of.recipe("mine", candidates, attempts))
    assert document(stage)["hardware"]["topology"] == (
        "2 placements: a on placement-1; b on placement-2 and placement-1"
    )
    assert "left" not in json.dumps(document(stage)["hardware"])


def placed_on(stage: Stage, attempt: str, candidate: str, position: int, **more: Any) -> None:
    """Tell that an attempt was placed on one of the two cards of its host."""
    cards = of.host({0: "NVIDIA L4", 1: "NVIDIA L4"}, (position,), 24 * 2**30)
    stage.tell(cards, candidate, attempt, artifacts={"host": b"{}"}, **more)


def test_cards_are_named_by_their_order_with_the_placement_that_they_are_of() -> None:
    attempts = [of.attempt(f"a{at}", "tiny", place) for at, place in enumerate(("left", "right", "left"))]
    stage = started(attempts=tuple(attempts))
    for attempt, position in zip(attempts, (1, 0, 1), strict=True):
        placed_on(stage, attempt.key, "tiny", position)
    hardware = document(stage)["hardware"]
    assert (hardware["host_label"], hardware["gpu_count"]) == ("host-1", 2)
    assert (
        hardware["topology"]
        == "2 placements: tiny on placement-1 (gpu-1) and placement-2 (gpu-2); each on every one"
    )


def test_cards_at_the_same_position_of_two_hosts_are_two() -> None:
    attempts = (of.attempt("here", "tiny", "left"), of.attempt("there", "tiny", "left"))
    stage = started(attempts=attempts)
    placed_on(stage, "here", "tiny", 0)
    placed_on(stage, "there", "tiny", 0, ledger="zurich.test.invalid/log")
    hardware = document(stage)["hardware"]
    assert (hardware["host_label"], hardware["gpu_count"]) == ("host-1; host-2", 2)
    assert hardware["topology"] == (
        "2 placements: tiny on placement-1 (gpu-1 of host-1) and placement-1 (gpu-2 of host-2); each on every one"
    )
    assert "zurich" not in stage.drawn(NAME).rendered.text


def test_a_host_without_a_card_has_none() -> None:
    stage = started()
    stage.tell(of.host({}, (), 0), artifacts={"host": b"{}"})
    assert document(stage)["hardware"] == {
        "host_label": "host-1",
        "gpu": None,
        "gpu_count": 0,
        "vram_gib_per_gpu": None,
        "topology": None,
    }
