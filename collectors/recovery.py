"""After a crash: what a dead run left is collected, and only then stopped.

1. The run's stream is ended by an event in another stream, so that silence is not taken for an end.
2. Its engines are found by what the launchers left, and their logs, states and exits are kept before
   they are stopped and removed.
3. Bytes that had arrived and that no event names yet are named now: those of a check by an incomplete
   result of that check, others by a caveat. Nothing is judged.
4. The journal goes last. Recovery that is itself interrupted begins again and names nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from anvil.collectors.checks import CHECKS
from anvil.collectors.journal import KeptLine, LeftBehind, left_behind
from anvil.collectors.launchers.containers import EngineUnreachable
from anvil.collectors.launchers.interface import Launcher, Running
from anvil.collectors.recorder import LedgerRecorder
from anvil.collectors.running.keeping import end_engine
from anvil.collectors.running.narration import Narrator
from anvil.collectors.withholding import Secrets
from anvil.ledger.blobs import BlobRef
from anvil.ledger.drafts import Attachment, Draft
from anvil.ledger.envelope import Envelope
from anvil.ledger.events import CaveatNoted, StreamAbandoned
from anvil.ledger.events.checks import CheckCompleted
from anvil.ledger.header import Header, Subject
from anvil.ledger.recording import Ledger
from anvil.ledger.redaction import blob_of
from anvil.ledger.streams import Stream

STOP_S = 30.0


async def recover(
    ledger: Ledger, launchers: Iterable[Launcher], journals: Path, secrets: Secrets, narrator: Narrator
) -> int:
    """Collect what dead runs of this ledger left; return how many engines and journals were found."""
    found = 0
    orphans = await _orphans(ledger.origin, launchers, secrets, narrator)
    for left in left_behind(journals):
        found += 1
        narrator.say(f"collecting what the run {left.stream} left")
        mine = [orphan for orphan in orphans if orphan.provenance.stream == left.stream]
        await _collect(ledger, left.stream, left, mine, secrets, narrator)
        left.finish()
        orphans = [orphan for orphan in orphans if orphan not in mine]
    for orphan in orphans:  # its journal is gone, it runs all the same
        found += 1
        await _collect(ledger, orphan.provenance.stream, None, [orphan], secrets, narrator)
    return found


async def _orphans(
    origin: str, launchers: Iterable[Launcher], secrets: Secrets, narrator: Narrator
) -> list[Running]:
    found: list[Running] = []
    for launcher in launchers:
        try:
            found += await launcher.orphans(origin, secrets)
        except EngineUnreachable as error:  # most hosts have no container engine, and that is fine
            narrator.say(f"no container of an earlier run was looked for: {str(error)[:120]}")
    return found


async def _collect(
    ledger: Ledger,
    dead: str,
    left: LeftBehind | None,
    orphans: Sequence[Running],
    secrets: Secrets,
    narrator: Narrator,
) -> None:
    lines = () if left is None else left.lines
    stream = Stream(ledger, ledger.signer("collector"))
    stream.open("recovery")
    with stream:
        head = ledger.head(dead)
        if head is not None and head.state == "open":
            ended = StreamAbandoned(
                abandoned=dead, last_seq=head.seq, last_header=head.header_hash, reason="crashed"
            )
            stream.append([Draft(ended)])
        recorder = LedgerRecorder(ledger, stream, None)
        for orphan in orphans:
            subject = _subject_of(orphan, lines)
            said = await end_engine(
                orphan, recorder, subject, secrets, stop_s=STOP_S, before_ready=False, is_recovered=True
            )
            narrator.say(f"{orphan.provenance.attempt}: log kept, {said}")
        named = _named_since(ledger, dead)
        _name(recorder, [line for line in lines if line.digest not in named])


def _subject_of(orphan: Running, lines: Sequence[KeptLine]) -> Subject:
    attempt = orphan.provenance.attempt
    known = next((line.subject for line in lines if line.subject.get("attempt") == attempt), {})
    return Subject(**{**known, "attempt": attempt})


def _named_since(ledger: Ledger, stream: str) -> set[str]:
    """Return the digests that events from the stream's first on name, in any stream."""
    start = ledger.store.first_of_stream(stream)
    if start is None:
        return set()
    named = set()
    for row in ledger.store.rows(start, ledger.store.size()):
        for artifact in Header.parse(Envelope.parse(row.entry).header).artifacts:
            blob = blob_of(ledger, artifact)
            if blob is not None:
                named.add(blob.digest)
    return named


def _name(recorder: LedgerRecorder, lines: Sequence[KeptLine]) -> None:
    """Name bytes by events (rule 3)."""
    for (subject, check), group in groupby(lines, key=lambda line: (tuple(line.subject.items()), line.check)):
        attachments = _attachments(group)
        event = _incomplete(check) if check in CHECKS else _caveat()
        recorder.append(event, subject=Subject(**dict(subject)), attachments=attachments)


def _attachments(lines: Iterable[KeptLine]) -> tuple[Attachment, ...]:
    found: dict[str, Attachment] = {}
    for line in lines:
        name = line.name if line.name not in found else f"{line.name}-{len(found)}"
        found[name] = Attachment(name, "application/octet-stream", BlobRef(line.digest, line.size))
    return tuple(found.values())


def _incomplete(check: str | None) -> CheckCompleted:
    name = str(check)
    return CheckCompleted(
        check=name,
        selected_as=name,
        version=CHECKS[name].version,
        outcome="incomplete",
        failure=None,
        expected=1,
        passed=0,
        requests=(),
        parameters=(),
        findings=(),
        visible_budget_tokens=0,
        reasoning_budget_tokens=0,
        prompts=(),
        messages=[["check", "the recording stopped before a verdict; these bytes had arrived"]],
    )


def _caveat() -> CaveatNoted:
    return CaveatNoted(text="The recording stopped here; these bytes had arrived before.", about=())
