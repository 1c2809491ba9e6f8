"""What an imported document says, by the names of the figures that its template prints."""

from __future__ import annotations

from collections.abc import Iterator

from anvil.ledger.events import CaveatNoted
from anvil.ledger.events.imports import Topic
from anvil.projections.conclusions import Conclusions
from anvil.projections.figures import Figure, Group
from anvil.projections.imported import Imported
from anvil.projections.recorded.observations import Observations

_HARDWARE = ("host_label", "product", "gpus", "memory_gib", "topology")
_RUNTIME = ("image", "image_label_revision", "build_revision", "recipe_revision")
_CANDIDATE = ("model", "revision", "snapshot_bytes", "weight_memory_gib", "kv_capacity_tokens")
_WEIGHTS = (
    "files",
    "tracked_executable_code",
    "auto_map_or_remote_code_hook",
    "pickle_or_pytorch_binary",
    "safetensors_files_verified",
    "safetensors_tensors_verified",
    "headers_ranges_and_file_lengths_valid",
    "local_sha256_matches_hugging_face_lfs",
)
_FUNCTIONAL = ("placements_passed", "reasoning_chars_with_thinking_disabled")
_MEASURED = (
    "runs",
    "ttft_p50_ms",
    "e2e_p50_ms",
    "effective_prefill_tok_s_p50",
    "decode_tok_s_p50",
    "aggregate_output_tok_s",
)
_DIFFERENCE = ("ttft", "e2e", "effective_prefill", "decode", "aggregate_output_throughput")
_NEAR_LIMIT = ("status", "ttft_s", "effective_prefill_tok_s", "decode_tok_s")
_LONGEST = "near_limit_context"


def figures(source: Imported, said: Conclusions, seen: Observations) -> Group:
    """Return everything that the document says, and after it what people here concluded and saw."""
    return Group(
        {
            **source.group("document", "date", "source_revision"),
            "hardware": Group(source.group("hardware", *_HARDWARE)),
            "runtime": Group(source.group("runtime", *_RUNTIME)),
            "settings": source.listing(one for stated in source.about("setting") for one in stated.named()),
            "candidates": source.listing(_candidates(source, said)),
            "weights": Group(
                {
                    **source.group("weights", *_WEIGHTS),
                    "shards": source.listing(_each(source, "digest", "sha256")),
                }
            ),
            "functional": source.listing(_functional(source)),
            "quality": source.listing(_quality(source)),
            "cells": source.listing(_cells(source)),
            "near_limit": Group(
                {
                    **source.group("measurement", "actual_prompt_tokens", name=_LONGEST, candidate=None),
                    "candidates": source.listing(_measured(source, _LONGEST, _NEAR_LIMIT)),
                }
            ),
            "caveats": source.listing(_each(source, "caveat", "text"), said.texts(CaveatNoted)),
            "observations": seen.listing(source.nothing("what people here observed")),
            "gates": source.listing(
                Group({"name": key, **source.group("gate", "outcome", name=name)})
                for name, key in source.keys("gate", "name")
            ),
        }
    )


def _each(source: Imported, topic: Topic, name: str, /, **wanted: str | None) -> Iterator[Figure]:
    """Yield one value of each statement about a topic that has it."""
    for statement in source.about(topic, **wanted):
        figure = statement.figure(name)
        if figure is not None:
            yield figure


def _candidates(source: Imported, said: Conclusions) -> Iterator[Group]:
    for name, key in source.keys("candidate", "candidate"):
        decisions = source.about("decision", candidate=name)
        own = said.verdicts(name)
        theirs = (v for statement in decisions for v in statement.texts("verdicts"))
        verdicts = source.listing(() if own else theirs, own)
        stated = source.group("candidate", *_CANDIDATE, candidate=name)
        yield Group({"key": key, **stated, "verdicts": verdicts})


def _functional(source: Imported) -> Iterator[Group]:
    for name, key in source.keys("check", "candidate"):
        checks = source.listing(_each(source, "check", "check", candidate=name))
        yield Group({"key": key, **source.group("check", *_FUNCTIONAL, candidate=name), "checks": checks})


def _quality(source: Imported) -> Iterator[Group]:
    for name, key in source.keys("suite", "candidate"):
        suites = [
            Group({"name": named, **source.group("suite", "result", name=suite, candidate=name)})
            for suite, named in source.keys("suite", "name", candidate=name)
        ]
        failures = source.figure("suite", "failures", candidate=name)
        yield Group({"key": key, "suites": source.listing(suites), "failures": failures})


def _cells(source: Imported) -> Iterator[Group]:
    for name, key in source.keys("measurement", "name"):
        if name == _LONGEST:
            continue
        differences = source.listing(
            Group({"name": named, **source.group("difference", *_DIFFERENCE, name=one, within=name)})
            for one, named in source.keys("difference", "name", within=name)
        )
        yield Group(
            {
                "name": key,
                "protocol": source.figure("measurement", "protocol", name=name, candidate=None),
                "candidates": source.listing(_measured(source, name, _MEASURED)),
                "differences": differences,
            }
        )


def _measured(source: Imported, cell: str, names: tuple[str, ...]) -> Iterator[Group]:
    for candidate, key in source.keys("measurement", "candidate", name=cell):
        yield Group({"key": key, **source.group("measurement", *names, name=cell, candidate=candidate)})
