"""From the bytes of a run to its event: what was begun, what came, and what was read beside.

1. What is known before the first request stands in the run's folder (`Begun`), so that whoever finds the
   folder can tell of the run when its beginner is gone.
2. Counts are made from the rows, and the rows from the attempt record; nothing else is believed.
3. Whether the run went to its end is said by the record: void when the clock was set meanwhile, aborted when it was
   broken off.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anvil.collectors.load.record import RequestRecord, RunRecord
from anvil.collectors.load.resolution import lag
from anvil.collectors.load.rows import PARSER_VERSION, read_request, write_rows
from anvil.collectors.load.spool import RecordFile
from anvil.collectors.protocols.interface import Cell, Phase, RunPlan
from anvil.ledger.blobs import BlobRef
from anvil.ledger.drafts import Attachment
from anvil.ledger.events import LoadMeasured
from anvil.ledger.events.base import NamedTexts
from anvil.ledger.events.checks import GeneratedPrompt, Parameter
from anvil.ledger.events.load import CacheState, EngineCounter, ProtocolKind
from anvil.ledger.header import Subject
from anvil.ledger.rows import Outcome, Row

NDJSON = "application/x-ndjson"
LOST = "recording_lost"
"""Why what was read beside a run is not there when its beginner was killed."""

_TOLD = 20
_LONGEST = 1200


@dataclass(frozen=True)
class Begun:
    """A run as it was begun: what it is about, the facts that are known, and its prompts, which are kept."""

    subject: Subject
    facts: Mapping[str, Any]
    prompts: BlobRef | None = None

    @classmethod
    def of(
        cls,
        subject: Subject,
        protocol: str,
        kind: ProtocolKind,
        version: int,
        cell: Cell,
        phase: Phase,
        number: int,
        plan: RunPlan,
        prompts: BlobRef | None,
        *,
        canary: str,
        resolution_ns: int | None,
        observed: Sequence[Parameter],
        thinking: str,
    ) -> Begun:
        """Return what is known before anything is sent."""
        made: list[GeneratedPrompt] = []
        if prompts is not None:
            line = plan.prompts[0].line
            made = [
                GeneratedPrompt(
                    generator=line.generator, version=line.version, seed=line.seed, digest=prompts.digest
                )
            ]
        asked = (
            Parameter(name="cache_wanted", value=cell.cache_wanted),
            Parameter(name="thinking", value=thinking),
        )
        seen = [*plan.observed, *observed]
        facts = {
            "protocol": protocol,
            "kind": kind,
            "version": version,
            "parser_version": PARSER_VERSION,
            "cell": cell.name,
            "phase": phase,
            "run": number,
            "expected": len(plan.requests),
            "arrival": "closed-loop" if cell.rate_per_s is None else "open-loop",
            "concurrency": cell.concurrency,
            "rate_per_s": cell.rate_per_s,
            "input_target_tokens": cell.input_target_tokens,
            "output_cap_tokens": cell.output_cap_tokens,
            "ignores_eos": cell.ignores_eos,
            "shared_prefix_tokens": cell.shared_prefix_tokens,
            "seed": plan.seed,
            "prompts": [item.model_dump(mode="json") for item in made],
            "resolution_ns": resolution_ns,
            "canary": canary,
            "parameters": [item.model_dump(mode="json") for item in (*cell.parameters, *asked)],
            "observed": [item.model_dump(mode="json") for item in seen],
        }
        return cls(subject, facts, prompts)

    def spelled(self) -> dict[str, Any]:
        """Return it as it stands in the run's folder."""
        return {
            "subject": self.subject.members(),
            "facts": dict(self.facts),
            "prompts": None if self.prompts is None else [self.prompts.digest, self.prompts.size],
        }

    @classmethod
    def read(cls, spelled: Mapping[str, Any]) -> Begun:
        """Return what a run's folder says.

        Raises:
            KeyError: it is not what was written there.
        """
        prompts = None if spelled["prompts"] is None else BlobRef(*spelled["prompts"])
        return cls(Subject(**spelled["subject"]), spelled["facts"], prompts)


@dataclass(frozen=True)
class Beside:
    """What was read beside a run; what is null has its reason."""

    counters: tuple[EngineCounter, ...] = ()
    counters_missing: str | None = LOST
    telemetry_missing: str | None = LOST
    cache_state: CacheState = "unknown"
    findings: tuple[str, ...] = ()
    observed: tuple[Parameter, ...] = ()


@dataclass
class KeptRun:
    """A run whose record is on disk, read once into rows (`anvil.collectors.protocols.RunSeen`)."""

    file: RecordFile
    run: RunRecord
    rows: tuple[Row, ...]
    rows_bytes: bytes
    lag_p99_ns: int | None
    messages: NamedTexts | None = field(default=None)

    @classmethod
    def read(cls, path: Path) -> KeptRun:
        """Read a record and make its rows.

        Raises:
            MalformedLine: it is no attempt record.
        """
        file = RecordFile(path)
        run = file.run
        rows: list[Row] = []
        messages: list[list[str]] = []
        for record in file.requests():
            read = read_request(run, record)
            rows.append(read.row)
            if read.message:
                messages.append([f"r{record.index}", _bounded(read.message)])
        left_out = len(messages) - _TOLD
        if left_out > 0:
            messages[_TOLD:] = [["more", f"{left_out} more; all are in the artifact record"]]
        waited = lag(run, file.requests())
        return cls(file, run, tuple(rows), write_rows(run, rows), waited.bound_ns, messages or None)

    def requests(self) -> Iterator[RequestRecord]:
        """Yield each request with all that came back."""
        return self.file.requests()

    def counted(self, outcome: Outcome) -> int:
        """Return how many requests came to this."""
        return Counter(row.outcome for row in self.rows)[outcome]

    @property
    def outcome(self) -> str:
        """Whether the run went to its end (rule 3)."""
        if self.run.stepped:
            return "void"
        return "aborted" if self.run.aborted else "completed"


def measured(begun: Begun, kept: KeptRun, beside: Beside) -> LoadMeasured:
    """Return the event of a run."""
    facts = dict(begun.facts)
    facts["observed"] = [
        *facts["observed"],
        *(item.model_dump(mode="json") for item in beside.observed),
    ]
    members = {
        **facts,
        "outcome": kept.outcome,
        "completed": kept.counted("completed"),
        "failed": kept.counted("failed"),
        "lag_p99_ns": None if kept.lag_p99_ns is None else max(0, kept.lag_p99_ns),
        "output_events": sum(len(row.delta_ns) for row in kept.rows),
        "output_reads": sum(row.delta_reads for row in kept.rows),
        "cache_state": beside.cache_state,
        "counters": [item.model_dump(mode="json") for item in beside.counters],
        "counters_missing": beside.counters_missing,
        "telemetry_missing": beside.telemetry_missing,
        "findings": list(beside.findings),
        "messages": kept.messages,
    }
    return LoadMeasured.model_validate(members)


def attachments(
    begun: Begun, record: BlobRef, rows: BlobRef, telemetry: BlobRef | None = None
) -> tuple[Attachment, ...]:
    """Return what the event of a run attaches."""
    found = [Attachment("rows", NDJSON, rows, is_public=True), Attachment("record", NDJSON, record)]
    if begun.prompts is not None:
        found.append(Attachment("prompts", NDJSON, begun.prompts, is_public=True))
    if telemetry is not None:
        found.append(Attachment("telemetry", NDJSON, telemetry, is_public=True))
    return tuple(found)


def _bounded(text: str) -> str:
    """Return a message that an event can hold; all of it is in the record."""
    raw = text.encode("utf-8", "backslashreplace").decode()
    while len(json.dumps(raw)) > _LONGEST:
        raw = raw[: len(raw) * 3 // 4]
    return raw
