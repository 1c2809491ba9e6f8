"""A synthetic campaign in a real ledger: six attempts to serve one candidate, as a person watched them by hand.

The facts and figures are those of a published document; the words are ours, and the logs are made up.
Attempts 2 and 6 have their log attached; of 1 and 4 the operator says what was not kept; of 3 and 5
nothing was.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from anvil.ledger.creation import create_ledger
from anvil.ledger.drafts import Attachment, Draft
from anvil.ledger.events import DecisionRecorded, Event, ObservationNoted, RecipeDeclared
from anvil.ledger.events.checks import FailureClass
from anvil.ledger.events.observations import Claims, NotKept, ObservedCheck, ObservedHardware
from anvil.ledger.events.recipes import DeclaredAttempt, DeclaredCandidate, Setting
from anvil.ledger.header import Subject
from anvil.ledger.places import LedgerPlace
from anvil.ledger.public import EvidenceStatus, SettingValue
from anvil.ledger.recording import Ledger, Recorded
from anvil.ledger.streams import record

ORIGIN = "laguna.test.invalid"
CAMPAIGN, CANDIDATE = "laguna-xs-2.1-nvfp4", "laguna-nvfp4"
KEYS = ("vllm-fp8-kv", "vllm-kv-skip-131k", "vllm-kv-skip-262k", "sglang-radix", "sglang-mha", "sglang-moe")
VLLM, SGLANG = ("vllm", "0.23.1rc1.dev531+ga65f93fb2"), ("sglang", "dev-cu13-laguna-xs-2-1")
CARD = ObservedHardware(gpus=1, product="NVIDIA RTX PRO 6000 Blackwell", memory_gib=96, architecture="sm_120")
SKIPPED: dict[str, SettingValue] = {
    "kv_cache_dtype": "fp8",
    "kv_skip_first_layer": 0,
    "kv_skip_last_layer": 39,
}
SETTINGS: tuple[dict[str, SettingValue], ...] = (
    {
        "context_tokens": 262_144,
        "max_num_seqs": 5,
        "kv_cache_dtype": "fp8",
        "attention_backend": "flashinfer",
    },
    {"context_tokens": 131_072, **SKIPPED},
    {"context_tokens": 262_144, **SKIPPED},
    {
        "context_tokens": 262_144,
        "max_running_requests": 5,
        "chat_template": "checkpoint",
        "attention_backend": "flashinfer",
        "prefix_cache_kind": "SWARadixCache",
    },
    {"attention_backend": "trtllm_mha"},
    {"moe_runner_backend": "flashinfer_trtllm", "attention_backend": "flashinfer"},
)
LOGS = {
    1: b"INFO capturing CUDA graphs\nINFO profiling the cache\n" * 3,
    5: b"Traceback\nAssertionError: layer.routing_method_type is not None\n",
}
LOST = tuple(
    NotKept(what=what, reason="container-recreated") for what in ("response-bodies", "check-results")
)


def noon() -> datetime:
    """The day on which all of this is recorded."""
    return datetime(2026, 7, 12, 12, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Laguna:
    """The ledger, and where the observation of each attempt lies."""

    place: LedgerPlace
    observed: tuple[Recorded, ...]

    def add(self, *drafts: Draft, role: Any = "operator") -> list[Recorded]:
        """Record more."""
        with Ledger.open(self.place.directory, clock=noon) as ledger:
            return record(ledger, ledger.signer(role), drafts, purpose="observation")


def about(attempt: int | None = None) -> Subject:
    """Return the subject of an attempt, from 0, or of the candidate."""
    return Subject(CAMPAIGN, CANDIDATE, None if attempt is None else KEYS[attempt])


def seen(thinking: Any, **checks: FailureClass | bool) -> tuple[ObservedCheck, ...]:
    """Return checks by name: whether each passed, or why it did not. The batch of tool calls has twenty requests."""
    return tuple(
        ObservedCheck(
            check=name.replace("_", "-"),
            thinking=thinking,
            outcome="passed" if how is True else "failed",
            failure=None if isinstance(how, bool) else how,
            expected=20 if name == "tools_batch" else 1,
            passed=1 if how is True else 0,
        )
        for name, how in checks.items()
    )


def has_log(attempt: int) -> bool:
    """Say whether a log of the attempt is attached; it shows how far the start went, and nothing else."""
    return attempt in LOGS


def observation(attempt: int, status: EvidenceStatus, words: str, **claims: Any) -> ObservationNoted:
    """Return what the operator says of an attempt."""
    engine, version = (VLLM, SGLANG)[attempt >= 3]
    nothing: dict[str, Any] = {"health": "not_recorded", "http_status": None, "checks": (), "not_kept": ()}
    nothing["supported"] = ("words",) if has_log(attempt) else ()
    said = {"engine": engine, "version": version, "hardware": CARD, "settings": (), **nothing, **claims}
    return ObservationNoted(status=status, public_text=words, claims=Claims(**said), text=None)


def observations() -> list[ObservationNoted]:
    """Return what is said of each of the six."""
    reported, logged = "operator-observed-incomplete", "retained-bounded-log"
    answered = {"health": "reached", "http_status": 200, "not_kept": LOST}
    return [
        observation(
            0,
            reported,
            "What it wrote was corrupted, and not one of twenty tool calls came.",
            checks=(
                *seen("default", coding=False, structured_json=False, retrieval=False, tools_batch=False),
                *seen("disabled", coding=True, structured_json=False, retrieval=True, tools_batch=False),
            ),
            **answered,
        ),
        observation(1, logged, "The start went as far as profiling CUDA graphs and cache, and no further."),
        observation(2, reported, "The start is said to have gone no further than profiling, too."),
        observation(
            3,
            reported,
            "It repeated itself or wrote of something else, while its health was good.",
            checks=seen(
                "disabled",
                coding=True,
                structured_json=True,
                retrieval="visible_answer_missing",
                tools_batch=False,
            ),
            **answered,
        ),
        observation(4, reported, "A ValueError: the TRTLLM MHA prefill of this build is for SM100 only."),
        observation(5, logged, "An AssertionError while warming up: routing_method_type was None."),
    ]


def recipe() -> RecipeDeclared:
    """Return what was planned."""
    return RecipeDeclared(
        recipe="laguna-xs-2.1-nvfp4-sm120",
        digest="sha256:" + "1a" * 32,
        base_revision=None,
        candidates=(
            DeclaredCandidate(
                key=CANDIDATE,
                model="poolside/Laguna-XS-2.1-NVFP4",
                revision="07133fb3df1cc3111478e24ee71a823a598c8c2f",
                quantization="NVFP4",
            ),
        ),
        attempts=tuple(
            DeclaredAttempt(
                key=key,
                candidate=CANDIDATE,
                placement="primary",
                launcher="docker",
                engine=(VLLM, SGLANG)[number >= 3][0],
                image=None,
                image_id=None,
                recipe_revision=None,
                settings=tuple(Setting(name=name, value=value) for name, value in SETTINGS[number].items()),
                checks=(),
                suites=(),
                protocols=(),
            )
            for number, key in enumerate(KEYS)
        ),
        experiments=(),
        continues=None,
        deadline_ready_ns=1_800_000_000_000,
        argv=None,
    )


def decided(*rests_on: str) -> Event:
    """Return the decision."""
    return DecisionRecorded(
        verdicts=("rejected_tested_recipes",),
        sentence="Neither ranked nor promoted from these recipes on this card.",
        rests_on=rests_on,
        supersedes=None,
    )


def laguna(directory: Path, origin: str = ORIGIN) -> Laguna:
    """Make the ledger. One of another origin than those of tests can be released from."""
    place = create_ledger(directory, origin, clock=noon).place
    with Ledger.open(directory, clock=noon) as ledger:
        collector, operator = ledger.signer("collector"), ledger.signer("operator")
        record(ledger, collector, [Draft(recipe(), Subject(CAMPAIGN))], purpose="run")
        drafts = [
            Draft(event, about(number), _attached(ledger, number))
            for number, event in enumerate(observations())
        ]
        observed = record(ledger, operator, drafts, purpose="observation")
        decision = Draft(decided(*(one.entry_hash for one in observed)), about())
        record(ledger, operator, [decision], purpose="decision")
    return Laguna(place, tuple(observed))


def _attached(ledger: Ledger, number: int) -> tuple[Attachment, ...]:
    if number not in LOGS:
        return ()
    return (Attachment("log", "text/plain", ledger.blobs.put(LOGS[number])),)
