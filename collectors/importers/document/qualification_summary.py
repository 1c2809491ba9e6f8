"""`anvil-serving.sanitized-qualification-summary/v1`: candidates side by side under one common recipe.

The names of candidates, settings, suites, load cells and restoration gates are the document's own. All else has
the names in the tables below; where ours differs from the document's, the table says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from anvil.collectors.importers.document.sayings import COUNT, DATE, DIGEST, FRACTION, MEASURE, Sayings
from anvil.collectors.importers.reading import NUMBER, SCALAR, TEXT, TEXTS, TRUTH, Member, Part, label
from anvil.ledger.events.imports import IdentityField, Topic

SCHEMA = "anvil-serving.sanitized-qualification-summary/v1"
NOT_SAID: tuple[IdentityField, ...] = ("engine",)
CELL = "capacity_"
"""What the names of load cells begin with."""

_RESULT = replace(FRACTION, named="result")
_DOCUMENT = {"observed_date": DATE, "source_base_revision": Member(named="source_revision")}
_HARDWARE = {
    "host_label": Member(),
    "gpu": Member(named="product"),
    "gpu_count": replace(COUNT, named="gpus"),
    "vram_gib_per_gpu": replace(MEASURE, named="memory_gib"),
    "topology": Member(),
}
_RUNTIME = {
    "image": Member(),
    "image_label_engine_revision": Member(named="image_label_revision"),
    "internal_build_version_revision": Member(named="build_revision"),
    "source_recipe_revision": Member(named="recipe_revision"),
}
_CANDIDATE = {
    "model": Member(),
    "revision": Member(),
    "cached_snapshot_bytes": replace(COUNT, named="snapshot_bytes"),
    "startup_weight_memory_gib": replace(MEASURE, named="weight_memory_gib"),
    "startup_kv_capacity_tokens": replace(COUNT, named="kv_capacity_tokens"),
}
_WEIGHTS = {
    "files": Member(),
    "tracked_executable_code": Member(TRUTH),
    "auto_map_or_remote_code_hook": Member(TRUTH),
    "pickle_or_pytorch_binary": Member(TRUTH),
    "safetensors_files_verified": COUNT,
    "safetensors_tensors_verified": COUNT,
    "headers_ranges_and_file_lengths_valid": Member(TRUTH),
    "local_sha256_matches_hugging_face_lfs": Member(TRUTH),
}
_FUNCTIONAL = {"placements_passed": COUNT, "reasoning_chars_with_thinking_disabled": COUNT}
_MEASURED = {
    "runs": COUNT,
    "ttft_p50_ms": MEASURE,
    "e2e_p50_ms": MEASURE,
    "effective_prefill_tok_s_p50": MEASURE,
    "decode_tok_s_p50": MEASURE,
    "aggregate_output_tok_s": MEASURE,
}
_DELTAS = {
    "ttft": Member(NUMBER),
    "e2e": Member(NUMBER),
    "effective_prefill": Member(NUMBER),
    "decode": Member(NUMBER),
    "aggregate_output_throughput": Member(NUMBER),
}
_NEAR_LIMIT = {
    "status": Member(),
    "ttft_s": MEASURE,
    "effective_prefill_tok_s": MEASURE,
    "decode_tok_s": MEASURE,
}


def take_apart(part: Part, sayings: Sayings) -> None:
    """Add what a document of this schema says.

    Raises:
        ImportRefused: something in it is not what it must be.
    """
    sayings.add("document", part, part.values(_DOCUMENT))
    _table("hardware", part.part("hardware"), _HARDWARE, sayings)
    _table("runtime", part.part("runtime"), _RUNTIME, sayings)
    recipe = part.part("common_recipe")
    sayings.add("setting", recipe, recipe.rest(Member(SCALAR)), name="common_recipe")
    for key, candidate in part.part("candidates").parts():
        sayings.add("candidate", candidate, candidate.values(_CANDIDATE), candidate=key)
        decision = candidate.values({"decision": Member(TEXTS, "verdicts")})
        sayings.add("decision", candidate.below("decision"), decision, candidate=key)
        candidate.done()
    _weights(part.part("artifact_safety"), sayings)
    for key, functional in part.part("functional").parts():
        sayings.add("check", functional, functional.values(_FUNCTIONAL), name="functional", candidate=key)
        sayings.each("check", functional, "checks", Member(named="check"), candidate=key)
        functional.done()
    for key, quality in part.part("bounded_quality").parts():
        failures = quality.values({"failures": COUNT})
        for suite in quality.left():
            result = quality.values({suite: _RESULT})
            sayings.add(
                "suite", quality.below(suite), result, name=label(suite, quality.place), candidate=key
            )
        sayings.add("suite", quality, failures, candidate=key)
    for name in [name for name in part.left() if name.startswith(CELL)]:
        _cell(label(name, part.place), part.part(name), sayings)
    limit = part.part("near_limit_context")
    name = "near_limit_context"
    sayings.add("measurement", limit, limit.values({"actual_prompt_tokens": COUNT}), name=name)
    for key, measured in limit.parts():
        _table("measurement", measured, _NEAR_LIMIT, sayings, name=name, candidate=key)
    sayings.each("caveat", part, "retained_failures_and_caveats", Member(named="text"))
    gates = part.part("restoration")
    for gate in gates.left():
        outcome = gates.values({gate: Member(TEXT | TRUTH | NUMBER, "outcome")})
        sayings.add("gate", gates.below(gate), outcome, name=label(gate, gates.place))
    part.done()


def _table(topic: Topic, part: Part, table: Mapping[str, Member], sayings: Sayings, **more: str) -> None:
    """Add a statement of the members in `table`, which are all that the object has."""
    sayings.add(topic, part, part.values(table), **more)
    part.done()


def _weights(part: Part, sayings: Sayings) -> None:
    sayings.add("weights", part, part.values(_WEIGHTS))
    sayings.each("digest", part, "shard_sha256", replace(DIGEST, named="sha256"), name="shard")
    part.done()


def _cell(name: str, part: Part, sayings: Sayings) -> None:
    """Add a load cell: its protocol, each candidate's figures, and the differences between two of them."""
    sayings.add("measurement", part, part.values({"protocol": Member()}), name=name)
    for key, measured in part.parts():
        if key.endswith("_delta_percent"):
            _table("difference", measured, _DELTAS, sayings, name=key, within=name)
        else:
            _table("measurement", measured, _MEASURED, sayings, name=name, candidate=key)
