"""The end of an engine: first everything of it is kept, then it is stopped, then it is removed.

1. Before the engine is asked to end, its log and what the system says of it are named by an event, and
   the lines that patterns find in it are quoted by another.
2. So they are once more when it has ended: what it wrote meanwhile, and how it ended.
3. Only then is it removed. An engine that is not ours is kept once, and left running.
4. Where the ledger's folder was deleted nothing can be kept, now or by a later run, which would not find the
   engine either. Then it is stopped all the same, and it is said what is lost.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from anvil.collectors.launchers.excerpts import Patterns, excerpts
from anvil.collectors.launchers.interface import Exit, Running
from anvil.collectors.launchers.logs import BoundedLog
from anvil.collectors.recorder import LedgerRecorder
from anvil.collectors.withholding import Secrets
from anvil.ledger.drafts import Attachment
from anvil.ledger.errors import AnvilError, LedgerGone
from anvil.ledger.events import EngineExited, LaunchStopped
from anvil.ledger.header import Subject

_IN_WORDS = {
    "asked": "stopped",
    "killed": "killed",
    "exited_before": "had ended",
    "left_running": "left running",
}


@dataclass
class EngineEnd:
    """The end of one engine, of this run or of one that is gone.

    `stop_s` is how many seconds it has to end when asked; `before_ready` says that it never answered;
    `patterns` are looked for in its log.
    """

    recorder: LedgerRecorder
    subject: Subject
    secrets: Secrets
    stop_s: float
    before_ready: bool
    patterns: Patterns
    is_recovered: bool = False
    _excerpted_to: int = field(default=0, init=False)
    """The number of the last whole line of the log that was looked through."""
    _is_excerpted: bool = field(default=False, init=False)
    last_words: str = field(default="", init=False)
    """The last line of the log of an engine that ended by itself, without secrets; private."""

    async def of(self, running: Running) -> str:
        """Keep, stop and remove an engine; return what became of it, for people.

        Raises:
            LedgerGone: the ledger's folder is; the engine was given up (rule 4).
            AnvilError: something of it could not be kept, or it could not be stopped.
        """
        try:
            return await self._end(running)
        except (AnvilError, OSError) as error:
            if not self.recorder.is_ledger_gone:
                raise
            became = await running.give_up(self.stop_s)
            await running.aclose()
            raise LedgerGone(
                "the ledger's folder is gone: the engine's log, and what had arrived and was not recorded yet, "
                f"could not be kept; {became}"
            ) from error

    async def _end(self, running: Running) -> str:
        ended = await running.state()
        await self._keep(running)
        if ended is not None and running.is_ours:
            await self._exited(running, ended)
        stopped = await running.stop(self.stop_s)
        if ended is None and running.is_ours:
            await self._keep(running)
            if stopped.how == "exited_before":  # by itself, between the first look and now
                await self._exited(running, stopped.exit)
        is_removed = await running.remove() if running.is_ours else False
        await running.aclose()
        event = LaunchStopped(
            how=stopped.how,
            exit_code=stopped.exit.code,
            oom_killed=stopped.exit.oom_killed,
            is_removed=is_removed,
            is_recovered=self.is_recovered,
        )
        self.recorder.append(event, subject=self.subject)
        return _IN_WORDS[stopped.how]

    async def _keep(self, running: Running) -> None:
        log, inspect = await running.log(), await running.inspect()
        attachments = [Attachment("log", "text/plain", self.recorder.keep(log.content(), name="log"))]
        if inspect is not None:
            blob = self.recorder.keep(inspect, name="inspect")
            attachments.append(Attachment("inspect", "application/json", blob))
        self.recorder.append(log.event(), subject=self.subject, attachments=attachments)
        await self._excerpt(log)

    async def _excerpt(self, log: BoundedLog) -> None:
        """Quote what patterns find in what was not looked through yet.

        The first time it is said that nothing was found; of what was written since, only what was.
        """
        if not log.kept_bytes:
            return
        found = await asyncio.to_thread(
            excerpts, log, self.patterns, secrets=self.secrets, after=self._excerpted_to
        )
        if found.quoted or not self._is_excerpted:
            self.recorder.append(found.event(), subject=self.subject)
        self._excerpted_to, self._is_excerpted = log.lines, True

    async def _exited(self, running: Running, ended: Exit) -> None:
        lines = (await running.log()).last_lines(secrets=self.secrets)
        self.last_words = next((line for line in reversed(lines) if line.strip()), "")
        event = EngineExited(
            exit_code=ended.code,
            signal=ended.signal,
            oom_killed=ended.oom_killed,
            before_ready=self.before_ready,
            last_lines=lines or None,
        )
        self.recorder.append(event, subject=self.subject)
