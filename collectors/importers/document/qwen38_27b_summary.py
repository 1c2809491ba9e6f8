"""`anvil-serving.qwen38-27b-qualification-summary/v1`: lanes of several checkpoints, and experiments on their settings.

The names of checkpoints, lanes, settings, load figures, experiments and digests are the document's own. All else
has the names in the tables below; where ours differs from the document's, the table says so.
"""

from __future__ import annotations

from dataclasses import replace

from anvil.collectors.importers.document.sayings import COUNT, DATE, DIGEST, FRACTION, MEASURE, Sayings
from anvil.collectors.importers.interface import ImportRefused
from anvil.collectors.importers.reading import SCALAR, TEXTS, Member, Part, label
from anvil.ledger.events.imports import IdentityField

SCHEMA = "anvil-serving.qwen38-27b-qualification-summary/v1"
NOT_SAID: tuple[IdentityField, ...] = ("engine", "recipe")

_HARDWARE = {
    "product": Member(),
    "cards": replace(COUNT, named="gpus"),
    "vram_gb_each": replace(MEASURE, named="memory_gb"),
    "topology": Member(),
}
_RUNTIME = {"image": Member(), "engine_revision": Member(), "cuda": Member(named="cuda_version")}
_CHECKPOINT = {
    "repo": Member(named="model"),
    "revision": Member(),
    "safetensors_files": COUNT,
    "safetensors_bytes": COUNT,
}
_THINKING = {
    "thinking_disabled_control": Member(named="control"),
    "adaptive_reasoning_efforts_passed": Member(TEXTS, "efforts_passed"),
}
_CHECKS = {"functional_checks": Member(named="outcome", is_optional=True)}
_QUALITY = {"repeated_quality": Member(named="outcome", is_optional=True)}
_RUNG = {"actual_prompt_tokens": COUNT, "ttft_s": MEASURE, "status": Member()}
_MULTIMODAL = {
    "corpus_sha256": DIGEST,
    "attempts": COUNT,
    "passed": COUNT,
}
_KV = {
    "engine_kv_tokens": replace(COUNT, is_optional=True),
    "reported_full_window_concurrency": replace(MEASURE, is_optional=True),
}
_EXPERIMENT = {"only_change": Member(), "workload": Member(is_optional=True)}
_CAVEATS = ("caveat", "warning", "retained_failure")


def take_apart(part: Part, sayings: Sayings) -> None:
    """Add what a document of this schema says.

    Raises:
        ImportRefused: something in it is not what it must be.
    """
    sayings.add("document", part, part.values({"observed_date": DATE}))
    sayings.add("decision", part, part.values({"decision": Member(named="verdicts")}))
    hardware, runtime = part.part("hardware"), part.part("runtime")
    sayings.add("hardware", hardware, hardware.values(_HARDWARE))
    hardware.done()
    sayings.add("runtime", runtime, runtime.values(_RUNTIME))
    runtime.done()
    checkpoints = part.part("checkpoints")
    gate = checkpoints.values({"artifact_gate": Member(named="outcome")})
    sayings.add("weights", checkpoints.below("artifact_gate"), gate)
    for key, checkpoint in checkpoints.parts():
        sayings.add("candidate", checkpoint, checkpoint.values(_CHECKPOINT), candidate=key)
        checkpoint.done()
    baseline = part.part("baseline")
    _shared(baseline.part("shared"), sayings)
    for key, lane in baseline.parts():
        _lane(key, lane, sayings)
    for key, experiment in part.part("setting_experiments").parts():
        _experiment(key, experiment, sayings)
    sayings.each("gap", part, "gaps", Member(named="text"))
    digests = part.part("private_artifact_digests")
    for name in digests.left():
        value = digests.values({name: replace(DIGEST, named="sha256")})
        sayings.add("digest", digests.below(name), value, name=label(name, digests.place))
    part.done()


def _shared(part: Part, sayings: Sayings) -> None:
    thinking = part.values(_THINKING)
    sayings.add("setting", part, part.rest(Member(SCALAR)), name="shared")
    sayings.add("check", part, thinking, name="thinking-control")


def _lane(key: str, part: Part, sayings: Sayings) -> None:
    """Add what is said of one lane of the baseline. Its settings are whatever has no meaning of its own."""
    before = len(sayings.said)
    sayings.add("check", part, part.values(_CHECKS), name="functional", attempt=key)
    sayings.add("suite", part, part.values(_QUALITY), name="quality", attempt=key)
    for cell in [name for name in part.left() if name.startswith("capacity_")]:
        measured = part.part(cell)
        values = measured.some(MEASURE)
        sayings.add("measurement", measured, values, name=label(cell, part.place), attempt=key)
    for place, item in part.items("context"):
        rung = Part.of(item, place)
        sayings.add("measurement", rung, rung.values(_RUNG), name="context", attempt=key)
        rung.done()
    if part.has("multimodal"):
        corpus = part.part("multimodal")
        sayings.add("suite", corpus, corpus.values(_MULTIMODAL), name="multimodal", attempt=key)
        results = corpus.rest(FRACTION)
        sayings.add("suite", corpus, results, name="modality", within="multimodal", attempt=key)
    sayings.add("report", part, part.values(_KV), attempt=key)
    _caveats(key, part, sayings)
    sayings.add("setting", part, part.rest(Member(SCALAR)), name="lane", attempt=key)
    if len(sayings.said) == before:
        raise ImportRefused(f"{part.place}: nothing is said of this lane")
    part.done()


def _experiment(key: str, part: Part, sayings: Sayings) -> None:
    """Add what is said of one experiment. Its figures are whatever has no meaning of its own."""
    sayings.add("experiment", part, part.values(_EXPERIMENT), name=key, attempt=key)
    sayings.add("check", part, part.values(_CHECKS), name="functional", attempt=key)
    sayings.add("suite", part, part.values(_QUALITY), name="quality", attempt=key)
    _caveats(key, part, sayings)
    decision = part.values({"decision": Member(named="sentence", is_optional=True)})
    sayings.add("decision", part, decision, attempt=key)
    for cell in [name for name in part.left() if isinstance(part.members[name], dict)]:
        measured = part.part(cell)
        name = label(cell, part.place)
        sayings.add("measurement", measured, measured.some(MEASURE), name=name, attempt=key)
    sayings.add("measurement", part, part.rest(MEASURE), attempt=key)


def _caveats(key: str, part: Part, sayings: Sayings) -> None:
    for name in _CAVEATS:
        value = part.values({name: Member(named="text", is_optional=True)})
        if value:
            sayings.add("caveat", part.below(name), value, name=name, attempt=key)
