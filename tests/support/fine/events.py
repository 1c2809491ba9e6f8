"""Events of runs with everything filled in that a story does not say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anvil.ledger.events import (
    CheckCompleted,
    EngineExited,
    EngineIdentified,
    EngineReported,
    HealthObserved,
    HostObserved,
    LaunchStarted,
    RecipeDeclared,
    RestorationChecked,
    SuiteCompleted,
    WeightsInspected,
)
from anvil.ledger.events.checks import Parameter, RequestOutcome
from anvil.ledger.events.engines import IdentityClaim, ReportedFigure
from anvil.ledger.events.recipes import DeclaredAttempt, DeclaredCandidate, DeclaredExperiment, Setting
from anvil.ledger.events.suites import SuiteItem, stability
from anvil.ledger.events.surroundings import Gpu, WeightFinding
from support.fine.stage import made


def recipe(
    name: str,
    candidates: Sequence[DeclaredCandidate],
    attempts: Sequence[DeclaredAttempt],
    base_revision: str | None = None,
    experiments: Sequence[DeclaredExperiment] = (),
) -> RecipeDeclared:
    return made(
        RecipeDeclared,
        recipe=name,
        digest="sha256:" + "1b" * 32,
        base_revision=base_revision,
        candidates=tuple(candidates),
        attempts=tuple(attempts),
        continues=None,
        experiments=tuple(experiments),
        deadline_ready_ns=1_800_000_000_000,
        argv=None,
    )


def candidate(key: str, model: str, revision: str | None, quantization: str | None) -> DeclaredCandidate:
    return DeclaredCandidate(key=key, model=model, revision=revision, quantization=quantization)


def attempt(key: str, of: str, placement: str | None = None, **more: Any) -> DeclaredAttempt:
    settings = more.pop("settings", {})
    members: dict[str, Any] = {
        "key": key,
        "candidate": of,
        "placement": placement,
        "launcher": "docker",
        "engine": "sglang",
        "image": None,
        "image_id": None,
        "recipe_revision": None,
        "settings": tuple(Setting(name=name, value=value) for name, value in settings.items()),
        "checks": (),
        "suites": (),
        "protocols": (),
    }
    return made(DeclaredAttempt, **members | more)


def host(products: dict[int, str], placed: Sequence[int], memory_bytes: int, **more: Any) -> HostObserved:
    read = dict.fromkeys(Gpu.model_fields)
    gpus = tuple(
        Gpu(
            **read
            | {"position": at, "is_placed": at in placed, "product": name, "memory_bytes": memory_bytes}
        )
        for at, name in products.items()
    )
    known = dict.fromkeys(HostObserved.model_fields) | {"type": "host.observed/1", "moment": "before"}
    return HostObserved(**known | {"is_wsl": False, "gpus": gpus, "absent": ()} | more)


def launched(image: str | None, placement: str | None = None) -> LaunchStarted:
    return LaunchStarted(
        launcher="docker",
        placement=placement,
        image=image,
        image_id=None,
        gpus=1,
        withheld_env=0,
        withheld_argv=0,
        has_launch_evidence=True,
        argv=None,
        env=None,
        identity=None,
    )


def ready() -> HealthObserved:
    return HealthObserved(
        health="reached",
        http_status=200,
        is_ready=True,
        ready_after_ns=90 * 10**9,
        cap_field="max_completion_tokens",
        detail=None,
    )


def exited(code: int, *, before_ready: bool = True) -> EngineExited:
    return EngineExited(
        exit_code=code, signal=None, oom_killed=False, before_ready=before_ready, last_lines=None
    )


def identified(
    engine: str, *claims: tuple[str, str, str], disagreements: Sequence[str] = ()
) -> EngineIdentified:
    return EngineIdentified(
        engine=engine,
        claims=tuple(
            IdentityClaim(source=source, what=what, value=value)  # type: ignore[arg-type]
            for source, what, value in claims
        ),
        disagreements=tuple(disagreements),
        served_name_matches=True,
        accepts_any_model=False,
        sealed_claims=None,
    )


def reported(reader: str, **figures: int | str) -> EngineReported:
    return EngineReported(
        reader=reader,
        reader_version=1,
        figures=tuple(
            ReportedFigure(name=name, number=number, word=None, source="log", line=at)  # type: ignore[arg-type]
            for at, (name, number) in enumerate(figures.items(), 40)
        ),
        lines=None,
    )


def request(name: str, outcome: Any = "passed", failure: Any = None, **more: Any) -> RequestOutcome:
    members: dict[str, Any] = {
        "name": name,
        "outcome": outcome,
        "failure": failure,
        "http_status": 200,
        "prompt_tokens": 412,
        "completion_tokens": 31,
        "reasoning_tokens": None,
        "cached_tokens": 0,
        "finish_reason": "stop",
        "reasoning_seen": (),
        "warnings": (),
        "latency_ns": 812_000_000,
        "lenient_passed": None,
    }
    return RequestOutcome(**members | more)


def check(
    name: str, *requests: RequestOutcome, selected_as: str | None = None, **more: Any
) -> CheckCompleted:
    every = requests or (request("r1"),)
    passed = sum(1 for each in every if each.outcome == "passed")
    failures = [each.failure for each in every if each.failure is not None]
    parameters = more.pop("parameters", {"thinking": "disabled"})
    findings = more.pop("findings", {})
    members: dict[str, Any] = {
        "check": name,
        "selected_as": selected_as or name,
        "version": 1,
        "outcome": "passed" if passed == len(every) else "failed",
        "failure": failures[0] if failures else None,
        "expected": len(every),
        "passed": passed,
        "requests": every,
        "parameters": tuple(Parameter(name=key, value=value) for key, value in parameters.items()),
        "findings": tuple(Parameter(name=key, value=value) for key, value in findings.items()),
        "visible_budget_tokens": 256,
        "reasoning_budget_tokens": 0,
        "prompts": (),
        "messages": None,
    }
    return CheckCompleted(**members | more)


def suite(name: str, items: dict[str, tuple[int, int] | tuple[int, int, int]], **more: Any) -> SuiteCompleted:
    """Return a suite by its items: how often each passed, was to be tried, and came to nothing."""
    modalities = more.pop("modalities", {})
    prompt_tokens = more.pop("prompt_tokens", 412)
    told = tuple(
        SuiteItem(
            item=item,
            modality=modalities.get(item, "text"),
            repetitions=counts[1],
            passed=counts[0],
            incomplete=sum(counts[2:]),
            failure=None if counts[0] == counts[1] else "wrong_value",
            is_stable=stability(counts[0], sum(counts[2:]), counts[1], "1.0"),
        )
        for item, counts in items.items()
    )
    found = {item.is_stable for item in told}
    verdict = "failed" if False in found else "incomplete" if None in found else "passed"
    members: dict[str, Any] = {
        "suite": name,
        "selected_as": name,
        "version": 1,
        "digest": None,
        "purpose": "diagnostic",
        "outcome": verdict,
        "failure": None if verdict == "passed" else "wrong_value",
        "required_rate": "1.0",
        "expected": sum(item.repetitions for item in told),
        "passed": sum(item.passed for item in told),
        "items": told,
        "requests": tuple(
            request(f"{item.item}.{at + 1}", "passed" if at < item.passed else "failed", None if at < item.passed else "wrong_value", prompt_tokens=prompt_tokens)
            for item in told
            for at in range(item.repetitions)
        ),
        "parameters": (),
        "visible_budget_tokens": 256,
        "reasoning_budget_tokens": 0,
        "prompts": (),
        "messages": None,
    }  # fmt: skip
    return SuiteCompleted(**members | more)


def inspected(**more: Any) -> WeightsInspected:
    findings = more.pop("findings", {})
    members: dict[str, Any] = {
        "model": "org/tiny",
        "revision": "c7" * 20,
        "files": 1,
        "bytes": 1,
        "tensor_files": 0,
        "tensor_bytes": 0,
        "tensors": 0,
        "tensor_types": (),
        "tensor_digests": (),
        "documents": (),
        "stated_identities": 0,
        "matched_identities": 0,
        "findings": tuple(WeightFinding(kind=kind, count=count) for kind, count in findings.items()),
        "digested_bytes": more.get("bytes", 1),
        "elapsed_ns": 10**9,
        "earlier": None,
        "reused_files": 0,
        "places": None,
    }
    return made(WeightsInspected, **members | more)


def gate(name: str, kind: Any = "http", outcome: Any = "passed", **more: Any) -> RestorationChecked:
    members: dict[str, Any] = {
        "gate": name,
        "kind": kind,
        "outcome": outcome,
        "differences": (),
        "before": None,
        "value": None,
        "detail": None,
    }
    return RestorationChecked(**members | more)
