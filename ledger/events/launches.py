"""The life of one engine: started, its log kept, exited or stopped."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from anvil.ledger.events.base import Event, Facts, NamedTexts, Sealed
from anvil.ledger.public import Count, Digest, ImageReference, Label, Role

_COLLECTOR: frozenset[Role] = frozenset({"collector"})

Launcher = Literal["docker", "process", "attach"]

LaunchProblem = Literal["occupied", "not_found", "refused", "no_container_engine", "disk_full"]
"""Why an engine was not started: its port or GPU is taken; its image, command, container or process is not on
this host; whoever was to start it would not; there is nobody to ask; there is no room left."""


class LaunchStarted(Event):
    """An engine was started, or somebody else's was found running. Artifact `inspect` where there is one."""

    signed_by: ClassVar[frozenset[Role]] = _COLLECTOR
    type: Literal["launch.started/1"] = "launch.started/1"
    launcher: Launcher
    """How it was started; `attach` starts nothing."""
    placement: Label | None
    """The placement it runs on; null for none."""
    image: ImageReference | None
    """The image by repository digest, as the container engine resolved it; null for none."""
    image_id: Digest | None
    """The image's local id; null without a container."""
    gpus: Count
    """How many GPUs it was given."""
    withheld_env: Count
    """How many environment values were withheld."""
    withheld_argv: Count
    """How many arguments were withheld, wholly or in part."""
    has_launch_evidence: bool
    """False for an endpoint that names no container and no process: nothing is known of its launch."""
    argv: Sealed[list[str] | None]
    """The argv exactly as passed, one element each, with withheld values marked."""
    env: Sealed[NamedTexts | None]
    """The environment names that were passed, with values where the allow-list lets them be kept."""
    identity: Sealed[str | None]
    """The container's id or the process id and start time."""


class LaunchFailed(Event):
    """An engine was to be started, or to be found running, and was not. Its checks are incomplete."""

    signed_by: ClassVar[frozenset[Role]] = _COLLECTOR
    type: Literal["launch.failed/1"] = "launch.failed/1"
    launcher: Launcher
    """How it was to be started."""
    placement: Label | None
    """The placement it was to run on; null for none."""
    failure: LaunchProblem
    """Why it was not."""
    detail: Sealed[str | None]
    """The message, whole, without secrets."""


class LogRetained(Event):
    """The engine's log was kept, before anything was stopped, and again when it had ended.

    Artifacts `log`, bounded, and `inspect`: what the system said of the engine, where there was any.
    """

    signed_by: ClassVar[frozenset[Role]] = _COLLECTOR
    type: Literal["log.retained/1"] = "log.retained/1"
    seen_bytes: Count
    """How many bytes the engine wrote."""
    kept_bytes: Count
    """How many of them are in the artifact."""
    head_bytes: Count
    """How many of the kept bytes are from the beginning; the rest are from the end."""
    is_whole: bool
    """Whether nothing was cut."""
    lines: Count
    """How many line ends the engine wrote."""


class ExcerptedPattern(Facts):
    """One pattern, and how many lines of the log it found."""

    name: Label
    """What it is called: `error`, `out-of-memory`, …, or what the recipe calls it."""
    lines: Count
    """How many of the kept lines it found, and no pattern before it."""
    quoted: Count
    """How many of them are quoted: the first and the last."""


class LogExcerpted(Event):
    """Lines that patterns found in the log of the `log.retained` before it, by number; before anything was stopped.

    What was found when it had ended counts only lines that were written since.
    """

    signed_by: ClassVar[frozenset[Role]] = _COLLECTOR
    type: Literal["log.excerpted/1"] = "log.excerpted/1"
    patterns: Annotated[tuple[ExcerptedPattern, ...], Field(strict=False)]
    """Each pattern that was looked for, in the order in which a line is given to the first that finds it."""
    lines: Sealed[NamedTexts | None]
    """The quoted lines: number in the whole log from 1, pattern, text without secrets; null for none."""


class EngineExited(Event):
    """The engine ended by itself. Its last lines are the sealed field; the whole log is in `log.retained`."""

    signed_by: ClassVar[frozenset[Role]] = _COLLECTOR
    type: Literal["engine.exited/1"] = "engine.exited/1"
    exit_code: Count | None
    """The exit code; null when a signal ended it, or nobody knows."""
    signal: Count | None
    """The signal that ended it; null when it exited."""
    oom_killed: bool | None
    """Whether the kernel killed it for memory; null where that cannot be known."""
    before_ready: bool
    """Whether it had not answered yet."""
    last_lines: Sealed[list[str] | None]
    """The last lines it wrote."""


class LaunchStopped(Event):
    """The engine was stopped by the run, after everything of it was kept."""

    signed_by: ClassVar[frozenset[Role]] = _COLLECTOR
    type: Literal["launch.stopped/1"] = "launch.stopped/1"
    how: Literal["asked", "killed", "exited_before", "left_running"]
    """It ended when asked, had to be killed, had ended already, or was not ours to stop."""
    exit_code: Count | None
    """The exit code; null when there is none."""
    oom_killed: bool | None
    """Whether the kernel killed it for memory; null where that cannot be known."""
    is_removed: bool
    """Whether nothing of it is left: no container, no process."""
    is_recovered: bool
    """Whether a later run found it after a crash and collected it."""
