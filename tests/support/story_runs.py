"""The part of the story that a run and a person's conclusions tell: one event of each of these types.

What is told is made up, and fits together: a recipe with one attempt whose engine answered, passed one check
of two, and then ended by itself.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from anvil.ledger import canonical
from anvil.ledger.commitments import Opening
from anvil.ledger.events import (
    AnyEvent,
    CaveatNoted,
    CheckCompleted,
    DecisionRecorded,
    EngineExited,
    EngineIdentified,
    EngineReported,
    GapNoted,
    HealthObserved,
    LaunchFailed,
    LaunchStarted,
    LaunchStopped,
    LoadMeasured,
    LogExcerpted,
    LogRetained,
    StreamClosed,
    StreamOpened,
    SuiteCompleted,
    WaiverGranted,
)
from anvil.ledger.events.checks import GeneratedPrompt, Parameter, RequestOutcome
from anvil.ledger.events.engines import IdentityClaim, ReportedFigure
from anvil.ledger.events.launches import ExcerptedPattern
from anvil.ledger.events.load import EngineCounter
from anvil.ledger.events.suites import SuiteItem
from anvil.ledger.header import ArtifactEntry, Subject
from anvil.ledger.signing import PrivateKey
from support.story_surroundings import IMAGE, gate, host, recipe, weights

if TYPE_CHECKING:
    from support.story import Story, Told

RUN_STREAM, DECISION_STREAM = "20261130T072613Z-0000000000000003", "20261130T072614Z-0000000000000004"
LATER_STREAM = "20261130T072615Z-0000000000000010"
CAMPAIGN = Subject(campaign="qwen38-27b")
ATTEMPT = Subject(campaign="qwen38-27b", candidate="official_fp8", attempt="a1")
IMAGE_ID = "sha256:" + "d3" * 32


def tell_runs(teller: Story, collector: PrivateKey, operator: PrivateKey) -> None:
    """Tell the run, signed by `collector`, and what a person made of it, signed by `operator`."""
    results = _tell_run(teller, collector)
    _tell_conclusions(teller, operator, tuple(told.leaf for told in results))
    _tell_later(teller, collector)


def openings_of(event: AnyEvent) -> dict[str, Opening]:
    """Return the openings of an event's sealed values, under salts that are made from its type."""
    values = {name: getattr(event, name) for name in event.sealed_fields}
    return {
        name: Opening(hashlib.sha256(f"{event.type} {name}".encode()).digest(), canonical.encode(value))
        for name, value in values.items()
        if value is not None
    }


def private(name: str, media_type: str) -> tuple[ArtifactEntry, Opening]:
    """Return a private artifact and what opens it."""
    digest = "sha256:" + hashlib.sha256(name.encode()).hexdigest()
    salt = hashlib.sha256(f"salt of {name}".encode()).digest()
    opening = Opening(salt, canonical.encode({"digest": digest, "size": 4096}))
    return ArtifactEntry(name, media_type, commitment=opening.commitment()), opening


def _tell_run(teller: Story, collector: PrivateKey) -> list[Told]:
    def tell(event: AnyEvent, subject: Subject = ATTEMPT, **artifacts: str) -> Told:
        named = {name.replace("__", "."): private(name, kind) for name, kind in artifacts.items()}
        entries = tuple(
            ArtifactEntry(name, entry.media_type, commitment=entry.commitment)
            for name, (entry, _) in named.items()
        )
        opened = {f"artifact:{name}": opening for name, (_, opening) in named.items()}
        return teller.tell(
            RUN_STREAM,
            event,
            collector,
            subject=subject,
            artifacts=entries,
            openings={**openings_of(event), **opened},
        )

    tell(StreamOpened(purpose="run", synthetic=True, software="0.1.0.dev0"), CAMPAIGN)
    tell(recipe(), CAMPAIGN, recipe="application/toml")
    tell(host(), CAMPAIGN, host="application/json")
    tell(weights(), CAMPAIGN, inventory="application/json")
    tell(_launch(), inspect="application/json")
    tell(_health(), ready_response="application/json")
    tell(_identity(), models="application/json")
    tell(_report())
    told = tell(_check(), r1__request="application/json", r1__response="application/json")
    suite = tell(_suite())
    load = tell(_load())
    tell(
        EngineExited(
            exit_code=None,
            signal=9,
            oom_killed=True,
            before_ready=False,
            last_lines=["torch.OutOfMemoryError: “CUDA out of memory” 😀"],
        )
    )
    tell(
        LogRetained(
            seen_bytes=9_000_000, kept_bytes=4_194_304, head_bytes=1_048_576, is_whole=False, lines=71_204
        ),
        log="text/plain",
    )
    tell(
        LaunchStopped(
            how="exited_before", exit_code=None, oom_killed=True, is_removed=True, is_recovered=False
        )
    )
    recorded = tell(gate("recorded", ()), CAMPAIGN, state="application/json")
    tell(gate("failed", ("fingerprint",), before=recorded.leaf), CAMPAIGN, state="application/json")
    tell(StreamClosed(outcome="completed", reason=None), CAMPAIGN)
    return [told, suite, load]


def _tell_later(teller: Story, collector: PrivateKey) -> None:
    """A stream of its own: what is told above is in golden files, and nothing may be put between it."""
    opened = StreamOpened(purpose="run", synthetic=True, software="0.1.0.dev0")
    found = LogExcerpted(
        patterns=(
            ExcerptedPattern(name="out-of-memory", lines=1, quoted=1),
            ExcerptedPattern(name="warning", lines=57, quoted=0),
        ),
        lines=[["71203", "out-of-memory", "torch.OutOfMemoryError: “CUDA out of memory” 😀"]],
    )
    failed = LaunchFailed(
        launcher="docker", placement="left", failure="not_found", detail="the image is not on this host “é”"
    )
    closed = StreamClosed(outcome="aborted", reason="launch_failed")
    for event in (opened, found, failed, closed):
        teller.tell(LATER_STREAM, event, collector, subject=ATTEMPT, openings=openings_of(event))


def _tell_conclusions(teller: Story, operator: PrivateKey, results: tuple[str, ...]) -> None:
    def tell(event: AnyEvent) -> Told:
        return teller.tell(DECISION_STREAM, event, operator, subject=CAMPAIGN)

    tell(StreamOpened(purpose="decision", synthetic=True, software="0.1.0.dev0"))
    tell(CaveatNoted(text="The host was shared while the load ran.", about=results[2:]))
    tell(GapNoted(text="No prompt was longer than 100,000 tokens."))
    tell(
        WaiverGranted(
            gate="tools-streaming",
            granted_by="on-call",
            reason="No client of ours streams tool calls.",
            expires="2027-01-31T00:00:00.000000Z",
            about=results[:1],
        )
    )
    tell(
        DecisionRecorded(
            verdicts=("challenger", "no-promotion"),
            sentence="It stays a challenger until its memory holds.",
            rests_on=results,
            supersedes=None,
        )
    )
    tell(StreamClosed(outcome="completed", reason=None))


# --- the events, each with something in every field ------------------------------------------------------


def _launch() -> LaunchStarted:
    return LaunchStarted(
        launcher="docker",
        placement="gpu0",
        image=IMAGE,
        image_id=IMAGE_ID,
        gpus=1,
        withheld_env=1,
        withheld_argv=1,
        has_launch_evidence=True,
        argv=["--model", "/models/qwen", "--api-key", "[withheld]"],
        env=[["HF_TOKEN", "[withheld]"], ["VLLM_USE_V1", "1"]],
        identity="3f" * 32,
    )


def _health() -> HealthObserved:
    return HealthObserved(
        health="reached",
        http_status=200,
        is_ready=True,
        ready_after_ns=214_000_000_000,
        cap_field="max_completion_tokens",
        detail=None,
    )


def _identity() -> EngineIdentified:
    return EngineIdentified(
        engine="vllm",
        claims=(
            IdentityClaim(source="version_endpoint", what="engine_version", value="0.12.0"),
            IdentityClaim(source="models_endpoint", what="served_name", value=None),
        ),
        disagreements=("engine_version",),
        served_name_matches=True,
        accepts_any_model=False,
        sealed_claims=[["models_endpoint.served_name", "/models/qwen"]],
    )


def _report() -> EngineReported:
    return EngineReported(
        reader="vllm",
        reader_version=1,
        figures=(
            ReportedFigure(name="kv_capacity_tokens", number=1_104_304, word=None, source="log", line=88),
            ReportedFigure(name="weight_memory_gib", number="28.47", word=None, source="log", line=61),
            ReportedFigure(name="kv_cache_dtype", number=None, word="fp8_e4m3", source="metrics", line=None),
        ),
        lines=[["88", "GPU KV cache size: 1,104,304 tokens"]],
    )


def _request(name: str, passed: bool) -> RequestOutcome:
    return RequestOutcome(
        name=name,
        outcome="passed" if passed else "failed",
        failure=None if passed else "wrong_arguments",
        http_status=200,
        prompt_tokens=412,
        completion_tokens=31,
        reasoning_tokens=None,
        cached_tokens=0,
        finish_reason="tool_calls",
        reasoning_seen=() if passed else ("reasoning_content",),
        warnings=("done_missing",),
        latency_ns=812_000_000,
        lenient_passed=None if passed else True,
    )


def _check() -> CheckCompleted:
    return CheckCompleted(
        check="tools-batch",
        selected_as="tools-two",
        version=1,
        outcome="failed",
        failure="wrong_arguments",
        expected=2,
        passed=1,
        requests=(_request("r1", passed=True), _request("r2", passed=False)),
        parameters=(Parameter(name="requests", value=2), Parameter(name="thinking", value="disabled")),
        findings=(Parameter(name="filler_words", value=0),),
        visible_budget_tokens=256,
        reasoning_budget_tokens=0,
        prompts=(GeneratedPrompt(generator="filler", version=1, seed=7, digest="sha256:" + "a6" * 32),),
        messages=[["r2", "city 'Zurich' instead of 'Zürich'"]],
    )


def _suite() -> SuiteCompleted:
    return SuiteCompleted(
        suite="session",
        selected_as="session",
        version=1,
        digest=None,
        purpose="diagnostic",
        outcome="failed",
        failure="wrong_arguments",
        required_rate="1.0",
        expected=6,
        passed=3,
        items=(
            SuiteItem(
                item="recall",
                modality="text",
                repetitions=3,
                passed=3,
                incomplete=0,
                failure=None,
                is_stable=True,
            ),
            SuiteItem(
                item="clip",
                modality="video",
                repetitions=3,
                passed=0,
                incomplete=2,
                failure="wrong_arguments",
                is_stable=False,
            ),
        ),
        requests=(_request("recall.1", passed=True), _request("clip.1", passed=False)),
        parameters=(Parameter(name="thinking", value="disabled"),),
        visible_budget_tokens=64,
        reasoning_budget_tokens=0,
        prompts=(),
        messages=[["clip.1", "“red” is not in the answer"]],
    )


def _load() -> LoadMeasured:
    return LoadMeasured(
        protocol="steady",
        kind="capacity",
        version=1,
        parser_version=1,
        cell="c5",
        phase="measured",
        run=1,
        outcome="completed",
        expected=20,
        completed=19,
        failed=1,
        arrival="closed-loop",
        concurrency=5,
        rate_per_s=None,
        input_target_tokens=4096,
        output_cap_tokens=256,
        ignores_eos=False,
        shared_prefix_tokens=0,
        cache_state="cold",
        seed=7,
        prompts=(),
        resolution_ns=41_000,
        lag_p99_ns=95_000,
        output_events=4_800,
        output_reads=4_790,
        canary="passed",
        counters=(EngineCounter(name="prefix_cache_hit_tokens", before="0", after="12"),),
        counters_missing=None,
        telemetry_missing="no_gpu",
        parameters=(Parameter(name="salt_chars", value=16),),
        observed=(Parameter(name="calibration_rate_per_s", value=250),),
        findings=("rate-below-mean",),
        messages=[["r7", "connection reset"]],
    )
