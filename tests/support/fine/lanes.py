"""Two lanes of one model and three experiments on the settings of one of them: a synthetic campaign.

Facts and figures are those of a published summary, the words are ours. Every figure of it is to be computed: rows
are made so that it comes out (`support.fine.solving`), and nothing of it is told as a number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from anvil.ledger.events import CaveatNoted, DecisionRecorded, GapNoted, LogExcerpted
from anvil.ledger.events.launches import ExcerptedPattern
from anvil.ledger.public import SettingValue
from anvil.ledger.rows import Row
from support.fine import events as of
from support.fine.loads import load, row
from support.fine.solving import SECOND, Wanted, one_by_one, side_by_side, spread
from support.fine.stage import Stage

CAMPAIGN = "qwen38-27b-vllm"
BF16, FP8 = "bf16", "official_fp8"
BF16_LANE, FP8_LANE = "bf16_multimodal", "official_fp8_text"
MTP3, PREFIX, UNQUANTIZED = "mtp3", "prefix_cache", "unquantized_kv"
IMAGE = "vllm/vllm-openai@sha256:4a2f33a884222f7049b983263ad9976f89452bb81affecf5b67d89ad35c1bc31"
REVISION = "3a0914114705fa38d4c3171d0746c1a6b6f10209"
CARD = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"
CARD_BYTES = 97_887 * 2**20
CORPUS = "ebff9dcc87a7fd13f801fc19eeea7271aec01a99fe560d721be99c1c9becad49"
RUNGS = (31_225, 139_428, 241_250)
QUALITY_TOKENS = 31_225
SHARED: dict[str, SettingValue] = {
    "context_tokens": 262_144,
    "tensor_parallel_size": 1,
    "kv_cache_dtype": "fp8",
    "prefix_cache": False,
    "speculative_decoding": False,
}
TEXT: dict[str, SettingValue] = {**SHARED, "max_num_seqs": 5, "gpu_memory_utilization": "0.92"}
SETTINGS: dict[str, dict[str, SettingValue]] = {
    BF16_LANE: {**SHARED, "max_num_seqs": 2, "gpu_memory_utilization": "0.9"},
    FP8_LANE: TEXT,
    MTP3: {**TEXT, "speculative_decoding": True, "speculative_method": "mtp", "speculative_tokens": 3},
    PREFIX: {**TEXT, "prefix_cache": True},
    UNQUANTIZED: {**TEXT, "kv_cache_dtype": "auto"},
}
CHECKS = (
    "identity",
    "coding",
    "structured-json",
    "tools-batch",
    "thinking-control",
    "reasoning-leak",
    "finish",
)
SUITES = ("intelligence", "session", "tool", "retrieval")
SELECTED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    BF16_LANE: (CHECKS, (*SUITES, "multimodal")),
    FP8_LANE: (CHECKS, SUITES),
    MTP3: (CHECKS, SUITES),
    PREFIX: ((), ()),
    UNQUANTIZED: (CHECKS, ()),
}
KV_TOKENS = {FP8_LANE: 1_825_809, UNQUANTIZED: 929_913}
LADDER_TTFT_S = {BF16_LANE: ("8.0512", "53.4399", "125.1376"), FP8_LANE: ("5.8803", "42.0419", "104.7081")}
GAPS = (
    "No router alias was made for a candidate, nothing was promoted, and no routed client was tried.",
    "The harness for long context, agents and software tasks was not run: it needs an alias that was not approved.",
    "That efforts can be told apart is shown; that one of them answers better is not.",
    "Whether FP8 KV equals an unquantized cache in quality needs a matched comparison of its own.",
)


@dataclass(frozen=True)
class Loaded:
    """One load cell of an attempt: what its runs are to give."""

    attempt: str
    protocol: str
    cell: str
    concurrency: int
    wanted: Wanted
    runs: int = 5
    requests: int = 10
    kind: Any = "capacity"
    shared_prefix_tokens: int = 0


def _capacity(
    attempt: str, concurrency: int, ttft_s: str, decode: str, aggregate: str, **more: Any
) -> Loaded:
    wanted = Wanted(_ns(ttft_s), Fraction(decode), Fraction(aggregate), **more)
    return Loaded(attempt, "capacity-4k", f"c{concurrency}", concurrency, wanted)


def _prefix(attempt: str, cell: str, ttft_s: str, aggregate: str) -> Loaded:
    cached = 30_000 if cell == "warm" else 0
    wanted = Wanted(
        _ns(ttft_s), Fraction(40), Fraction(aggregate), prompt_tokens=30_512, cached_tokens=cached
    )
    return Loaded(attempt, "prefix-cache", cell, 5, wanted, 1, 5, "prefix-cache", 30_000)


def _ns(seconds: str) -> int:
    return int(Fraction(seconds) * SECOND)


LOADS = (
    _capacity(BF16_LANE, 1, "0.9071", "26.88", "16.4", e2e=_ns("2.4612"), prefill=Fraction(4070)),
    _capacity(BF16_LANE, 2, "1.1", "17.83", "27.1"),
    _capacity(FP8_LANE, 1, "0.6203", "47.91", "29.1", e2e=_ns("1.6893"), prefill=Fraction(5900)),
    _capacity(FP8_LANE, 5, "1.2", "16.18", "51.2"),
    _capacity(MTP3, 1, "0.6", "94.83", "40.2"),
    _capacity(MTP3, 5, "1.3", "17.6", "54.1"),
    _prefix(PREFIX, "cold", "9.1812", "23.2"),
    _prefix(PREFIX, "warm", "0.4103", "142.3"),
    _prefix(FP8_LANE, "first", "16.5874", "9.1"),
    _prefix(FP8_LANE, "repeat", "16.3912", "8.9"),
    _capacity(UNQUANTIZED, 1, "0.62", "47.79", "28.9"),
    _capacity(UNQUANTIZED, 5, "1.2", "16.1", "50.8"),
)
Runs = dict[tuple[str, str, str], list[list[Row]]]
"""The rows of each run, by attempt, protocol and cell."""


def made_rows() -> Runs:
    """Return the rows of everything that was measured."""
    found: Runs = {}
    for cell in LOADS:
        every = spread(cell.wanted, cell.runs)
        found[cell.attempt, cell.protocol, cell.cell] = [
            one_by_one(wanted, seed)
            if wanted.e2e is not None
            else side_by_side(wanted, cell.concurrency, cell.requests)
            for seed, wanted in enumerate(every)
        ]
    for attempt, seconds in LADDER_TTFT_S.items():
        for tokens, ttft in zip(RUNGS, seconds, strict=True):
            found[attempt, "context-ladder", str(tokens)] = [[_long(tokens, _ns(ttft), Fraction(30))]]
    found[MTP3, "quality-context", str(QUALITY_TOKENS)] = [
        [_long(QUALITY_TOKENS, _ns("5.9"), Fraction("100.4"))]
    ]
    found[UNQUANTIZED, "near-limit", "longest"] = [[_long(244_573, _ns("106.2"), Fraction(31))]]
    return found


def lanes(rows: Runs | None = None, *, is_disclosed: bool = True) -> Stage:
    """Return the whole campaign; `rows` takes the place of what was measured. `DISCLOSED` is, by digest."""
    stage = Stage(CAMPAIGN, day="2026-08-14")
    candidates = (
        of.candidate(BF16, "Qwen/Qwen3.8-27B", "1d4bf0f2ff6012fd82039f2fa52739d0dd7c60c0", "BF16"),
        of.candidate(FP8, "Qwen/Qwen3.8-27B-FP8", "017b9c7af6b5689d5dd426a76e0bc077eb5ca20a", "FP8"),
    )
    attempts = [
        of.attempt(
            key,
            BF16 if key == BF16_LANE else FP8,
            "second" if key == BF16_LANE else "first",
            engine="vllm",
            image=IMAGE,
            settings=settings,
            checks=SELECTED[key][0],
            suites=SELECTED[key][1],
        )
        for key, settings in SETTINGS.items()
    ]
    stage.tell(of.recipe("qwen38-27b-vllm-262k", candidates, attempts))
    _weights(stage)
    every = rows or made_rows()
    for attempt in attempts:
        cards = of.host({0: CARD, 1: CARD}, (int(attempt.placement == "second"),), CARD_BYTES, cuda="13.0.1")
        stage.tell(cards, attempt.candidate, attempt.key, artifacts={"host": b"{}"})
        _attempt(stage, attempt.key, attempt.candidate, every)
    _conclusions(stage)
    if is_disclosed:
        _disclosures(stage)
    return stage


def _long(tokens: int, first: int, rate: Fraction) -> Row:
    return row(0, first, first + round(99 * SECOND / rate), 100, prompt_tokens=tokens)


def _weights(stage: Stage) -> None:
    inspections = {BF16: (18, 55_563_006_776), FP8: (66, 30_866_866_928)}
    for candidate, (files, size) in inspections.items():
        stage.tell(
            of.inspected(
                files=files + 12,
                bytes=size + 23_204_712,
                tensor_files=files,
                tensor_bytes=size,
                tensors=1_200,
                stated_identities=files,
                matched_identities=files,
            ),
            candidate,
            artifacts={"inventory": b"[]"},
        )


def _attempt(stage: Stage, key: str, candidate: str, rows: Runs) -> None:
    def tell(event: Any, **artifacts: bytes) -> int:
        named = {name.replace("__", "."): raw for name, raw in artifacts.items()}
        return stage.tell(event, candidate, key, artifacts=named)

    if key == MTP3:  # a registry took the quotation marks of an argument away
        tell(of.launched(IMAGE, "first"), inspect=b"{}")
        tell(of.exited(2))
    tell(of.launched(IMAGE, "first"), inspect=b"{}")
    tell(of.ready(), ready_response=b"{}")
    tell(of.identified("vllm", ("image_label", "engine_revision", REVISION)), models=b"{}")
    if key in KV_TOKENS:
        report = of.reported("vllm", kv_capacity_tokens=KV_TOKENS[key])
        stage.tell(report, candidate, key, artifacts={"startup-log": f"the log of {key}".encode()})
    if key == MTP3:
        found = ExcerptedPattern(name="warning", lines=1, quoted=1)
        tell(LogExcerpted(patterns=(found,), lines=None))
    _tested(stage, key, candidate)
    _loaded(stage, key, candidate, rows)


def _tested(stage: Stage, key: str, candidate: str) -> None:
    checks, suites = SELECTED[key]
    asked = [(name, _check(name)) for name in checks]
    for rung in RUNGS if key in LADDER_TTFT_S else ():
        retrieved = of.request("depth_50", prompt_tokens=rung)
        asked.append((f"{rung}", of.check("retrieval", retrieved, selected_as=f"retrieval-{rung}")))
    asked += [(name, _suite(name)) for name in suites]
    for name, event in asked:
        stage.tell(event, candidate, key, artifacts={"r1.response": f"{name} of {key}".encode()})


def _loaded(stage: Stage, key: str, candidate: str, rows: Runs) -> None:
    plans = dict(_plans())
    for (attempt, protocol, cell), runs in rows.items():
        if attempt != key:
            continue
        kind = "near-limit" if protocol == "near-limit" else "context-ladder"
        plan = {"kind": kind, "input_target_tokens": None, **plans.get((protocol, cell, attempt), {})}
        for number, made in enumerate(runs, 1):
            load(stage, candidate, key, made, number, **{**plan, "protocol": protocol, "cell": cell})


def _plans() -> Iterator[tuple[tuple[str, str, str], dict[str, Any]]]:
    for cell in LOADS:
        target = cell.wanted.prompt_tokens
        yield (
            (cell.protocol, cell.cell, cell.attempt),
            {
                "kind": cell.kind,
                "concurrency": cell.concurrency,
                "input_target_tokens": target,
                "shared_prefix_tokens": cell.shared_prefix_tokens,
                "cache_state": "unknown" if cell.shared_prefix_tokens else "cold",
            },
        )


def _check(name: str) -> Any:
    if name == "tools-batch":
        return of.check(name, *(of.request(f"r{number}") for number in range(1, 21)))
    if name == "thinking-control":
        efforts = ("low", "medium", "xhigh")
        asked = [of.request("disabled"), *(of.request(f"effort_{effort}") for effort in efforts)]
        found: dict[str, SettingValue] = {f"effort.{effort}": True for effort in efforts}
        return of.check(name, *asked, findings={"thinking_control": "verified", **found})
    return of.check(name)


def _suite(name: str) -> Any:
    if name == "multimodal":
        counts = {"image": 12, "video": 14, "mixed": 4}
        items = {f"{modality}-case": (count, count) for modality, count in counts.items()}
        modalities = {f"{modality}-case": modality for modality in counts}
        return of.suite(name, items, modalities=modalities, digest=f"sha256:{CORPUS}")
    if name == "intelligence":
        return of.suite(name, {"exact-diff": (3, 3), "triage": (3, 3)})
    tokens = QUALITY_TOKENS if name == "retrieval" else 412
    return of.suite(name, {"only": (3, 3)}, prompt_tokens=tokens)


def _conclusions(stage: Stage) -> None:
    def tell(event: Any, attempt: str | None = None) -> None:
        stage.tell(event, None if attempt is None else FP8, attempt, role="operator")

    defaulted = (
        "At start-up the engine set FP8 scaling factors that were absent to 1.0; quality was not compared."
    )
    tell(CaveatNoted(text=defaulted, about=()), FP8_LANE)
    silent = "The endpoint did not say what came from the cache: reuse is concluded from times."
    tell(CaveatNoted(text=silent, about=()), PREFIX)
    for text in GAPS:
        tell(GapNoted(text=text))
    sentence = "It can serve as a control: short prompts are no faster, and half as many windows fit."

    def decided(attempt: str | None, words: str, *verdicts: Any) -> None:
        tell(
            lambda told: DecisionRecorded(
                verdicts=verdicts, sentence=words, rests_on=(told[0],), supersedes=None
            ),
            attempt,
        )

    decided(UNQUANTIZED, sentence, "qualified-control")
    decided(None, "It challenges; nothing is promoted by a benchmark.", "challenger", "no-promotion")


DISCLOSED = (
    (BF16_LANE, "coding", "r1.response"),
    (FP8_LANE, "coding", "r1.response"),
    (BF16_LANE, "intelligence", "r1.response"),
    (FP8_LANE, "intelligence", "r1.response"),
    (BF16_LANE, "context-ladder 241250", "record"),
    (FP8_LANE, "context-ladder 241250", "record"),
    (BF16_LANE, "multimodal", "r1.response"),
    (MTP3, "intelligence", "r1.response"),
    (PREFIX, "prefix-cache warm", "record"),
    (PREFIX, "prefix-cache cold", "record"),
    (UNQUANTIZED, "near-limit longest", "record"),
)
"""What stands for the eleven files whose digests the published document states: attempt, what was done, artifact."""


def carrier(stage: Stage, attempt: str, what: str) -> int:
    """Return the first event of an attempt that is of this check, suite or cell."""
    for at, line in enumerate(stage.lines):
        event = line.event
        said = [str(getattr(event, name, "")) for name in ("check", "suite")]
        said.append(f"{getattr(event, 'protocol', '')} {getattr(event, 'cell', '')}")
        if line.subject.attempt == attempt and what in said:
            return at
    raise LookupError(f"{attempt} has no {what}")


def _disclosures(stage: Stage) -> None:
    for attempt, what, artifact in DISCLOSED:
        stage.disclose(carrier(stage, attempt, what), artifact, attempt)
