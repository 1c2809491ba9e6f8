"""What a launcher is: it starts one engine, and lets it be seen, kept, stopped and removed, in that order.

1. Before anything starts, `occupied` says by what the port or a GPU is taken.
2. `start` gives a running engine that carries the ledger, stream and attempt it belongs to, so that
   whoever finds it later knows whose it is.
3. Nothing is torn down before it is kept: `stop` and `remove` refuse until the log was read, and
   `remove` until it was read after the end.
4. Stopping and removing are two steps; neither happens by itself. What somebody else started is
   never stopped.
5. An engine that runs although the run that started it is gone is an orphan. `orphans` finds them by
   what 2 left, and takes them over.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from anvil.collectors.launchers.logs import DEFAULT_LIMITS, BoundedLog, LogLimits
from anvil.collectors.withholding import NO_SECRETS, Secrets, clean_argv, clean_env
from anvil.ledger.errors import CollectorError
from anvil.ledger.events.launches import LaunchProblem, LaunchStarted

LauncherName = Literal["docker", "process", "attach"]

LOOPBACK = "127.0.0.1"
"""The only address on which an engine of ours is reached."""

MARK = "ANVIL_LAUNCH"
"""The environment variable in which an engine carries the name of its launch."""


class NotKept(CollectorError):
    """An engine was to be stopped or removed before everything of it was kept."""


class LaunchFailed(CollectorError):
    """An engine could not be started; `problem` says of what kind the reason is."""

    def __init__(self, message: str, *, advice: str = "", problem: LaunchProblem = "refused") -> None:
        super().__init__(message, advice=advice)
        self.problem = problem


@dataclass(frozen=True)
class Provenance:
    """Whose an engine is."""

    ledger: str
    """The origin of the ledger."""
    stream: str
    attempt: str

    def labels(self) -> dict[str, str]:
        """Return the labels of a container."""
        return {"anvil.ledger": self.ledger, "anvil.stream": self.stream, "anvil.attempt": self.attempt}

    def launch_name(self) -> str:
        """Return a new name for one launch; an attempt may be launched more than once."""
        return f"anvil-{self.stream}-{self.attempt}-{secrets.token_hex(4)}"


@dataclass(frozen=True)
class ContainerPlan:
    """How a container is made. `image` is ``name@sha256:…`` or an image id ``sha256:…``."""

    image: str
    port: int
    """Where the engine listens inside."""
    entrypoint: tuple[str, ...] | None = None
    shm_size: str | None = None
    ipc: str | None = None
    ulimits: Mapping[str, int] = field(default_factory=dict)
    mounts: Mapping[str, str] = field(default_factory=dict)
    """Path on this host to path inside; read and written, since they are caches."""
    network: str | None = None
    memory_bytes: int | None = None
    log_bytes: int = 512 << 20
    """How much of the log the container engine keeps by itself."""


@dataclass(frozen=True)
class AttachTarget:
    """What of somebody else's can be read: a container, a process, or neither."""

    base_url: str
    container: str | None = None
    pid: int | None = None


def nothing_held() -> None:
    """Let go of nothing: the port is not held."""


@dataclass(frozen=True)
class LaunchPlan:
    """One engine to be started or attached to, with everything of the recipe and this host resolved."""

    provenance: Provenance
    port: int
    """The loopback port on this host; 0 where nothing is launched."""
    argv: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What the engine is given of the environment, secrets among it."""
    secrets: Secrets = NO_SECRETS
    placement: str | None = None
    gpus: tuple[str, ...] = ()
    cpus: str | None = None
    container: ContainerPlan | None = None
    target: AttachTarget | None = None
    log_limits: LogLimits = DEFAULT_LIMITS
    let_go: Callable[[], None] = field(default=nothing_held, repr=False, compare=False)
    """Lets go of the port, where it is held for the engine; called immediately before the engine starts."""


@dataclass(frozen=True)
class Exit:
    """How an engine ended.

    `code` is null when a signal ended it or nobody knows; a container engine reports a signal n as
    code 128 + n. `oom_killed` is null where it cannot be known.
    """

    code: int | None = None
    signal: int | None = None
    oom_killed: bool | None = None
    health: str | None = None
    """The last word of the container's own health check, if it had one."""
    message: str = ""
    """What the container engine said of it, without secrets."""


NOBODY_KNOWS = Exit()
"""An end of which nothing is known."""


@dataclass(frozen=True)
class Stopped:
    """What stopping came to."""

    how: Literal["asked", "killed", "exited_before", "left_running"]
    exit: Exit


class Running(Protocol):
    """An engine that was started, or found."""

    name: str
    """The name of its launch."""
    identity: str
    """The container's id, or ``pid@start`` with the kernel's start time."""
    provenance: Provenance
    base_url: str
    is_ours: bool
    """Whether it may be stopped."""

    def started(self) -> LaunchStarted:
        """Return the event that says how it was launched."""

    async def inspect(self) -> bytes | None:
        """Return what the system says of it at this moment, as JSON without secrets; null for nothing."""

    async def state(self) -> Exit | None:
        """Return null while it runs, else how it ended."""

    async def log(self) -> BoundedLog:
        """Return what it has written so far; all of it once it has ended."""

    async def stop(self, deadline_s: float) -> Stopped:
        """Ask it to end, and kill it after `deadline_s` seconds.

        Raises:
            NotKept: its log was not read.
        """

    async def remove(self) -> bool:
        """Remove what is left of it, and say whether nothing is.

        Raises:
            NotKept: its log was not read since it ended.
        """

    async def give_up(self, deadline_s: float) -> str:
        """End it although nothing of it was kept, since nothing can be; return what became of it, for people."""

    async def aclose(self) -> None:
        """Stop watching it. It goes on running and can be found again."""


class Launcher(Protocol):
    """Starts engines of one kind."""

    name: LauncherName

    async def occupied(self, plan: LaunchPlan) -> str | None:
        """Say by what the port or a GPU of `plan` is taken; null when both are free."""

    async def start(self, plan: LaunchPlan) -> Running:
        """Start the engine, or attach to it.

        Raises:
            LaunchFailed: it could not be started; nothing is left of the attempt.
        """

    async def orphans(self, ledger: str, secrets: Secrets = NO_SECRETS) -> Sequence[Running]:
        """Take over the engines of `ledger` whose runs are gone."""


def started_event(
    launcher: LauncherName,
    plan: LaunchPlan,
    *,
    identity: str | None,
    image: str | None = None,
    image_id: str | None = None,
    has_launch_evidence: bool = True,
) -> LaunchStarted:
    """Return the event of a launch, with what must not leave withheld and counted."""
    env, withheld_env = clean_env(plan.env, plan.secrets)
    argv, withheld_argv = clean_argv(plan.argv, plan.secrets)
    return LaunchStarted(
        launcher=launcher,
        placement=plan.placement,
        image=image,
        image_id=image_id,
        gpus=len(plan.gpus),
        withheld_env=len(withheld_env),
        withheld_argv=withheld_argv,
        has_launch_evidence=has_launch_evidence,
        argv=argv if has_launch_evidence else None,
        env=[[name, value] for name, value in env.items()] if has_launch_evidence else None,
        identity=identity,
    )


class Keeping:
    """What was kept of one engine, so that rule 3 cannot be broken."""

    def __init__(self) -> None:
        self._is_read = False
        self._is_read_after_end = False

    def log_was_read(self, *, after_end: bool) -> None:
        """Note that the log was handed out."""
        self._is_read = True
        self._is_read_after_end = self._is_read_after_end or after_end

    def require_read(self, name: str) -> None:
        """Refuse to stop what nobody has read.

        Raises:
            NotKept: the log was not read.
        """
        if not self._is_read:
            raise NotKept(f"{name} is not stopped: its log was not kept")

    def require_read_after_end(self, name: str) -> None:
        """Refuse to remove what nobody has read to the end.

        Raises:
            NotKept: the log was not read since the engine ended.
        """
        if not self._is_read_after_end:
            raise NotKept(f"{name} is not removed: its log was not kept since it ended")
