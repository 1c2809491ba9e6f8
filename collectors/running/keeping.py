"""The end of an engine: first everything of it is kept, then it is stopped, then it is removed."""

from __future__ import annotations

from anvil.collectors.launchers.interface import Exit, Running
from anvil.collectors.recorder import LedgerRecorder
from anvil.collectors.running.planning import Planned
from anvil.collectors.withholding import Secrets
from anvil.ledger.drafts import Attachment
from anvil.ledger.events import EngineExited, LaunchStopped
from anvil.ledger.header import Subject


async def keep_and_end(
    planned: Planned, running: Running, recorder: LedgerRecorder, *, before_ready: bool
) -> str:
    """Keep the log and the exit of an engine, stop it and remove it; return what became of it, for people."""
    stop_s = planned.attempt.deadlines.stop_s
    return await end_engine(
        running,
        recorder,
        planned.subject,
        planned.secrets,
        stop_s=stop_s,
        before_ready=before_ready,
        is_recovered=False,
    )


async def end_engine(
    running: Running,
    recorder: LedgerRecorder,
    subject: Subject,
    secrets: Secrets,
    *,
    stop_s: float,
    before_ready: bool,
    is_recovered: bool,
) -> str:
    """Keep, stop and remove an engine of this run or of one that is gone.

    The log is kept twice: before the engine is asked to end, in case ending it loses anything, and
    after, when it is whole. The event names the later one.
    """
    ended = await running.state()
    recorder.keep((await running.log()).content(), name="log-before-stop")
    if ended is not None and running.is_ours:
        await _keep_log(running, recorder, subject)
        lines = (await running.log()).last_lines(secrets=secrets)
        recorder.append(_exited(ended, before_ready, lines), subject=subject)
    stopped = await running.stop(stop_s)
    if ended is None or not running.is_ours:
        await _keep_log(running, recorder, subject)
    inspect = await running.inspect()
    attachments: tuple[Attachment, ...] = ()
    if inspect is not None:
        attachments = (Attachment("inspect", "application/json", recorder.keep(inspect, name="inspect")),)
    is_removed = await running.remove() if running.is_ours else False
    await running.aclose()
    event = LaunchStopped(
        how=stopped.how,
        exit_code=stopped.exit.code,
        oom_killed=stopped.exit.oom_killed,
        is_removed=is_removed,
        is_recovered=is_recovered,
    )
    recorder.append(event, subject=subject, attachments=attachments)
    return {
        "asked": "stopped",
        "killed": "killed",
        "exited_before": "had ended",
        "left_running": "left running",
    }[stopped.how]


async def _keep_log(running: Running, recorder: LedgerRecorder, subject: Subject) -> None:
    log = await running.log()
    blob = recorder.keep(log.content(), name="log")
    recorder.append(log.event(), subject=subject, attachments=(Attachment("log", "text/plain", blob),))


def _exited(ended: Exit, before_ready: bool, lines: list[str]) -> EngineExited:
    return EngineExited(
        exit_code=ended.code,
        signal=ended.signal,
        oom_killed=ended.oom_killed,
        before_ready=before_ready,
        last_lines=lines or None,
    )
