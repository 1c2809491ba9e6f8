"""Events of a campaign as projections see them, without a ledger: `Scene().run("a1").seen`."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from anvil.ledger.drafts import Draft
from anvil.ledger.events import (
    AnyEvent,
    CheckCompleted,
    EngineExited,
    HealthObserved,
    LaunchStarted,
    LaunchStopped,
    RecipeDeclared,
    StreamAbandoned,
    StreamClosed,
    StreamOpened,
)
from anvil.ledger.events.checks import FailureClass, Outcome
from anvil.ledger.events.recipes import DeclaredAttempt, DeclaredCandidate
from anvil.ledger.header import NO_SUBJECT, Header, Subject
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import Stream
from anvil.projections.seen import Seen

ATTEMPT = Subject("mine", "tiny", "a1")
CAMPAIGN = Subject("mine")
CHECKS = ("identity", "finish")


@dataclass
class Scene:
    """Events in the order in which they are added."""

    seen: list[Seen] = field(default_factory=list)

    def add(self, event: AnyEvent, subject: Subject = ATTEMPT, stream: int = 1) -> str:
        """Add an event and return its entry hash."""
        index = len(self.seen)
        named = hashlib.sha256(str(index).encode()).hexdigest()
        header = Header(
            ledger="scene.test.invalid/log",
            stream=f"20261130T072613Z-{stream:016x}",
            stream_seq=index,
            stream_prev=None if index == 0 else named,
            at="2026-11-30T07:26:13.000000Z",
            event=event.type,
            key="0" * 64,
            facts={},
            subject=subject,
        )
        self.seen.append(Seen(index, named, header, event))
        return named

    def opened(self, stream: int = 1, purpose: str = "run") -> None:
        self.add(StreamOpened(purpose=purpose, synthetic=True, software="0.1"), NO_SUBJECT, stream)

    def declared(
        self, stream: int = 1, checks: tuple[str, ...] = CHECKS, continues: str | None = None
    ) -> None:
        self.add(
            RecipeDeclared(
                recipe="mine",
                digest="sha256:" + "0" * 64,
                base_revision=None,
                candidates=(
                    DeclaredCandidate(key="tiny", model="org/tiny", revision=None, quantization=None),
                ),
                attempts=(
                    DeclaredAttempt(
                        key="a1",
                        candidate="tiny",
                        placement=None,
                        launcher="process",
                        engine="tiny",
                        image=None,
                        image_id=None,
                        recipe_revision=None,
                        settings=(),
                        checks=checks,
                        suites=(),
                        protocols=(),
                    ),
                ),
                experiments=(),
                continues=continues,
                deadline_ready_ns=1,
                argv=None,
            ),
            CAMPAIGN,
            stream,
        )

    def launched(self, stream: int = 1) -> None:
        self.add(
            LaunchStarted(
                launcher="process",
                placement=None,
                image=None,
                image_id=None,
                gpus=0,
                withheld_env=0,
                withheld_argv=0,
                has_launch_evidence=True,
                argv=None,
                env=None,
                identity=None,
            ),
            stream=stream,
        )

    def health(self, *, is_ready: bool) -> None:
        self.add(
            HealthObserved(
                health="reached",
                http_status=200,
                is_ready=is_ready,
                ready_after_ns=1 if is_ready else None,
                cap_field=None,
                detail=None,
            )
        )

    def checked(
        self,
        name: str,
        outcome: Outcome = "passed",
        failure: FailureClass | None = None,
        stream: int = 1,
    ) -> str:
        return self.add(
            CheckCompleted(
                check=name,
                selected_as=name,
                version=1,
                outcome=outcome,
                failure=failure,
                expected=1,
                passed=int(outcome == "passed"),
                requests=(),
                parameters=(),
                findings=(),
                visible_budget_tokens=1,
                reasoning_budget_tokens=0,
                prompts=(),
                messages=None,
            ),
            stream=stream,
        )

    def exited(self) -> None:
        self.add(EngineExited(exit_code=7, signal=None, oom_killed=None, before_ready=False, last_lines=None))

    def stopped(self, stream: int = 1, *, is_recovered: bool = False) -> None:
        event = LaunchStopped(
            how="asked", exit_code=0, oom_killed=None, is_removed=True, is_recovered=is_recovered
        )
        self.add(event, stream=stream)

    def closed(self, reason: str | None = None, stream: int = 1) -> None:
        self.add(
            StreamClosed(outcome="aborted" if reason else "completed", reason=reason), NO_SUBJECT, stream
        )

    def abandoned(self, ended: int = 1, stream: int = 2) -> None:
        event = StreamAbandoned(
            abandoned=f"20261130T072613Z-{ended:016x}", last_seq=1, last_header="0" * 64, reason="crashed"
        )
        self.add(event, NO_SUBJECT, stream)


def record(play: Scene, *, close: str | None = None, purpose: str = "run") -> str:
    """Record the events of a scene as one stream of the ledger here, and return its name.

    `close` is the reason of an aborted one; `open` leaves it open.
    """
    with Ledger.open(Path("anvil-ledger")) as ledger:
        stream = Stream.start(ledger, ledger.signer("collector"), purpose=purpose)
        for seen in play.seen:
            if not isinstance(seen.event, StreamOpened | StreamClosed):
                stream.append([Draft(seen.event, seen.header.subject)])
        if close != "open":
            stream.close(close)
        return stream.id


def abandon(stream: str, *more: AnyEvent) -> None:
    """Record a recovery of a stream that is open, with `more` about its attempt."""
    with Ledger.open(Path("anvil-ledger")) as ledger:
        head = ledger.head(stream)
        assert head is not None
        event = StreamAbandoned(
            abandoned=stream, last_seq=head.seq, last_header=head.header_hash, reason="crashed"
        )
        recovery = Stream.start(ledger, ledger.signer("collector"), purpose="recovery")
        recovery.append([Draft(event), *(Draft(each, ATTEMPT) for each in more)])
        recovery.close()
