"""What an imported document says, by the names of the figures that its template prints."""

from __future__ import annotations

from collections.abc import Iterator

from anvil.ledger.events import GapNoted
from anvil.projections.conclusions import Conclusions
from anvil.projections.figures import Figure, Group, Listing, compose
from anvil.projections.imported import Imported
from anvil.projections.recorded.observations import Observations

_HARDWARE = ("product", "gpus", "memory_gb", "topology")
_RUNTIME = ("image", "engine_revision", "cuda_version")
_CANDIDATE = ("model", "revision", "safetensors_files", "safetensors_bytes")
_RUNG = ("actual_prompt_tokens", "ttft_s", "status")
_MULTIMODAL = ("corpus_sha256", "attempts", "passed")
_LADDER = "context"


def figures(source: Imported, said: Conclusions, seen: Observations) -> Group:
    """Return everything that the document says, and after it what people here concluded and saw."""
    control = source.figure("check", "control", name="thinking-control")
    efforts = (
        effort
        for stated in source.about("check", name="thinking-control")
        for effort in stated.texts("efforts_passed")
    )
    own = said.verdicts(None)
    verdicts = source.figure("decision", "verdicts", attempt=None)
    if own:
        verdicts = compose("the verdicts", lambda *texts: "; ".join(texts), *own)
    return Group(
        {
            **source.group("document", "date"),
            "decision": Group({"verdicts": verdicts}),
            "hardware": Group(source.group("hardware", *_HARDWARE)),
            "runtime": Group(source.group("runtime", *_RUNTIME)),
            "candidates": source.listing(
                Group({"key": key, **source.group("candidate", *_CANDIDATE, candidate=name)})
                for name, key in source.keys("candidate", "candidate")
            ),
            "weights": Group(source.group("weights", "outcome")),
            "settings": source.listing(_settings(source, None)),
            "thinking": Group({"control": control, "efforts_passed": source.listing(efforts)}),
            "lanes": source.listing(_lanes(source)),
            "experiments": source.listing(_experiments(source)),
            "gaps": source.listing(
                (text for stated in source.about("gap") if (text := stated.figure("text")) is not None),
                said.texts(GapNoted),
            ),
            "observations": seen.listing(source.nothing("what people here observed")),
            "digests": source.listing(
                Group({"name": key, **source.group("digest", "sha256", name=name)})
                for name, key in source.keys("digest", "name")
            ),
        }
    )


def _settings(source: Imported, attempt: str | None) -> Iterator[Group]:
    for said in source.about("setting", attempt=attempt):
        yield from said.named()


def _lanes(source: Imported) -> Iterator[Group]:
    experiments = {name for name, _ in source.keys("experiment", "attempt")}
    lanes: dict[str, Figure] = {}
    for said in source.statements:
        attempt = said.subject.attempt
        if attempt is not None and attempt not in experiments and attempt not in lanes:
            lanes[attempt] = said.key("attempt")
    for name, key in lanes.items():
        yield Group(
            {
                **_tested(source, name, key),
                "settings": source.listing(_settings(source, name)),
                "context": source.listing(_ladder(source, name)),
                "multimodal": source.listing(_multimodal(source, name)),
                "reported": source.listing(
                    one for said in source.about("report", attempt=name) for one in said.named()
                ),
            }
        )


def _experiments(source: Imported) -> Iterator[Group]:
    for name, key in source.keys("experiment", "attempt"):
        loose = source.about("measurement", attempt=name, name=None)
        yield Group(
            {
                **_tested(source, name, key),
                "experiment": source.nothing("a key of the experiment"),
                "control": source.nothing("the experiment's control"),
                **source.group("experiment", "only_change", "workload", attempt=name),
                "figures": source.listing(one for said in loose for one in said.named()),
                "decision": source.figure("decision", "sentence", attempt=name),
            }
        )


def _tested(source: Imported, name: str, key: Figure) -> dict[str, Figure | Group | Listing]:
    """Return what lanes and experiments have alike."""
    return {
        "key": key,
        "functional_checks": source.figure("check", "outcome", attempt=name),
        "repeated_quality": source.figure("suite", "outcome", attempt=name),
        "cells": source.listing(_cells(source, name)),
        "caveats": source.listing(
            Group({"name": named, **source.group("caveat", "text", name=caveat, attempt=name)})
            for caveat, named in source.keys("caveat", "name", attempt=name)
        ),
    }


def _cells(source: Imported, attempt: str) -> Iterator[Group]:
    for name, key in source.keys("measurement", "name", attempt=attempt):
        if name != _LADDER:
            measured = source.about("measurement", name=name, attempt=attempt)
            figures = source.listing(one for said in measured for one in said.named())
            yield Group({"name": key, "figures": figures})


def _ladder(source: Imported, attempt: str) -> Iterator[Group]:
    for said in source.about("measurement", name=_LADDER, attempt=attempt):
        stated = {name: said.figure(name) for name in _RUNG}
        yield Group({n: source.nothing(n) if figure is None else figure for n, figure in stated.items()})


def _multimodal(source: Imported, attempt: str) -> Iterator[Group]:
    for said in source.about("suite", name="multimodal", attempt=attempt):
        stated = {name: said.figure(name) for name in _MULTIMODAL}
        figures = {n: source.nothing(n) if figure is None else figure for n, figure in stated.items()}
        parts = source.about("suite", within="multimodal", attempt=attempt)
        yield Group({**figures, "modalities": source.listing(one for part in parts for one in part.named())})
