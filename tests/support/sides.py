"""Two attempts to compare: what was planned of each, what they ran on, and the rows of their runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anvil.ledger.events import HostObserved, RecipeDeclared
from anvil.ledger.events.load import EngineCounter
from anvil.ledger.events.recipes import DeclaredAttempt, DeclaredCandidate, DeclaredExperiment, Setting
from anvil.ledger.public import SettingValue
from anvil.ledger.rows import Row
from support.fine.loads import load, row
from support.fine.stage import Stage

MS = 10**6
PLAIN: Mapping[str, SettingValue] = {"slots": 2, "kv_cache_dtype": "fp8"}


def recipe(*attempts: tuple[str, str, Mapping[str, SettingValue]], **more: Any) -> RecipeDeclared:
    """Return a recipe of attempts: key, candidate, settings."""
    return RecipeDeclared(
        recipe="mine",
        digest="sha256:" + "1a" * 32,
        base_revision=None,
        candidates=tuple(
            DeclaredCandidate(key=key, model=f"org/{key}", revision=None, quantization="Q4_1")
            for key in dict.fromkeys(candidate for _, candidate, _ in attempts)
        ),
        attempts=tuple(_attempt(*attempt) for attempt in attempts),
        experiments=tuple(more.pop("experiments", ())),
        continues=None,
        deadline_ready_ns=10**9,
        argv=None,
        **more,
    )


def _attempt(key: str, candidate: str, settings: Mapping[str, SettingValue]) -> DeclaredAttempt:
    return DeclaredAttempt(
        key=key,
        candidate=candidate,
        placement=None,
        launcher="process",
        engine="llamacpp",
        image=None,
        image_id=None,
        recipe_revision=None,
        settings=tuple(Setting(name=name, value=value) for name, value in settings.items()),
        checks=(),
        suites=(),
        protocols=(),
    )


def experiment(
    key: str, *, only_change: Sequence[str], protocols: Sequence[str] = (), **sides: str
) -> DeclaredExperiment:
    """Return an experiment of two attempts (`control`, `attempt`) or two protocols (`control_protocol`, `protocol`)."""
    nothing = dict.fromkeys(("control", "attempt", "control_protocol", "protocol"))
    members: dict[str, Any] = {**nothing, **sides}
    return DeclaredExperiment(key=key, only_change=tuple(only_change), protocols=tuple(protocols), **members)


def counters(draft_tokens: int, accepted: int, before: int = 17) -> tuple[EngineCounter, ...]:
    """Return what an engine counted of drafts in one run."""
    counted = {"draft_tokens": draft_tokens, "accepted_draft_tokens": accepted}
    return tuple(
        EngineCounter(name=name, before=str(before), after=str(before + number))
        for name, number in counted.items()
    )


def host(cores: int = 2) -> HostObserved:
    """Return a host without a GPU."""
    nothing = dict.fromkeys(
        ("memory_bytes", "available_memory_bytes", "kernel", "driver", "cuda", "container_engine", "names")
    )
    return HostObserved(
        moment="before", cpu_product=None, cpu_cores=cores, is_wsl=False, gpus=(), absent=(), **nothing
    )


def requests(ttft_ms: int, count: int = 10, tokens: int = 11, **more: Any) -> list[Row]:
    """Return requests one after another: the first token after so long, ten more in a second."""
    spaced = ttft_ms * MS + 10**9
    plain = (row(index, ttft_ms * MS, spaced, tokens, started_ns=index * spaced) for index in range(count))
    return [Row(**{**one.model_dump(), **more}) for one in plain]


def play(
    stage: Stage, attempt: str, ttfts_ms: Sequence[int], candidate: str = "tiny", cores: int = 2, **more: Any
) -> None:
    """Tell a host and a run for each time to first token. `rows` are for the rows, others the plan's."""
    rows = more.pop("rows", {})
    stage.tell(host(cores), candidate, attempt)
    for number, ms in enumerate(ttfts_ms, 1):
        load(stage, candidate, attempt, requests(ms, **rows), number, **more)
