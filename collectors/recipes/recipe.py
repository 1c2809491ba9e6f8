"""A recipe: the file as it is written (`RecipeFile`), and as it is run (`Recipe`, `Attempt`).

In an `Attempt` nothing is inherited any more: argv, settings, environment, checks and deadlines are
its own. Only what belongs to the host is still open; see `anvil.collectors.site`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from anvil.collectors.endpoints import NO_BLOCK, EndpointBlock
from anvil.collectors.interface import LogPattern
from anvil.collectors.recipes.blocks import AttemptBlock, Container, EngineBlock, LauncherName
from anvil.collectors.recipes.gates import RestorationGate
from anvil.collectors.recipes.parts import (
    Candidate,
    Deadlines,
    Experiment,
    Hardware,
    Part,
    SelectedCheck,
    SelectedProtocol,
    SelectedSuite,
    Text,
    ThinkingControl,
)
from anvil.ledger.public import Label, Revision, SettingValue

OnExit = Literal["stop", "relaunch"]
"""What happens when an engine ends by itself: the attempt ends too, or it is launched once more and goes on."""


class RecipeFile(Part):
    """The whole of a recipe file."""

    format: Literal["anvil.recipe/1"]
    """Which language the file is in."""
    name: Label
    """What the recipe is called."""
    campaign: Label
    """The effort it belongs to, unless the command line names another."""
    about: Text
    """What it is for, for people."""
    base_revision: Revision | None = None
    """The revision of the sources that the recipe builds on, where it is kept in a repository. Nobody compares it."""
    hardware: Hardware
    """What it is for."""
    candidates: Annotated[Mapping[Label, Candidate], Field(min_length=1)]
    """Models under test, by key."""
    engines: Annotated[Mapping[Label, EngineBlock], Field(min_length=1)]
    """Engines, by key."""
    attempts: Annotated[tuple[AttemptBlock, ...], Field(min_length=1)]
    """What is launched, in order."""
    checks: tuple[SelectedCheck, ...] = ()
    """What is checked, in order."""
    suites: tuple[SelectedSuite, ...] = ()
    """What is repeated."""
    protocols: tuple[SelectedProtocol, ...] = ()
    """What is measured."""
    experiments: tuple[Experiment, ...] = ()
    """Which attempts are compared."""
    restoration: tuple[RestorationGate, ...] = ()
    """What must be as before at the end."""
    deadlines: Deadlines = Deadlines()
    """How long is waited."""
    on_exit: OnExit = "stop"
    """When an engine ends by itself: the attempt ends too, or it is launched once more and goes on."""


@dataclass(frozen=True)
class Attempt:
    """One launch, with everything it needs but the host's own."""

    key: str
    candidate: str
    model: Candidate
    engine: str
    """Which engine it is expected to be: `vllm`, `sglang`, `llamacpp`."""
    launcher: LauncherName
    argv: tuple[str, ...]
    """One element each, exactly as passed; `{port}`, `{python}`, `{weights}` until it is placed."""
    served_model: str
    port: int
    """Where the engine listens: inside a container, or on this host; 0 is a free one of this host."""
    placement: str | None = None
    side_by_side: str | None = None
    image: str | None = None
    image_id: str | None = None
    entrypoint: tuple[str, ...] | None = None
    version: str | None = None
    """The engine version that is expected."""
    revision: str | None = None
    """The engine's source revision that is expected."""
    cuda: str | None = None
    recipe_revision: str | None = None
    """The revision of the published recipe that the settings follow."""
    env: Mapping[str, str] = field(default_factory=dict)
    env_names: tuple[str, ...] = ()
    container: Container | None = None
    endpoint: EndpointBlock = NO_BLOCK
    settings: Mapping[str, SettingValue] = field(default_factory=dict)
    log_patterns: Mapping[str, LogPattern] = field(default_factory=dict)
    checks: tuple[SelectedCheck, ...] = ()
    suites: tuple[SelectedSuite, ...] = ()
    protocols: tuple[SelectedProtocol, ...] = ()
    deadlines: Deadlines = field(default_factory=Deadlines)
    on_exit: OnExit = "stop"
    host_port: int | None = None
    """The port on this host once it is placed; null before, and while it is to be chosen."""

    @property
    def thinking(self) -> ThinkingControl:
        """How the candidate's thinking is switched."""
        return self.model.thinking


@dataclass(frozen=True)
class Recipe:
    """A recipe that was read, found consistent and resolved."""

    name: str
    campaign: str
    about: str
    digest: str
    """The SHA-256 of the file's bytes."""
    content: bytes = field(repr=False)
    """The file's bytes."""
    hardware: Hardware
    candidates: Mapping[str, Candidate]
    attempts: tuple[Attempt, ...]
    experiments: tuple[Experiment, ...]
    restoration: tuple[RestorationGate, ...]
    deadlines: Deadlines
    base_revision: str | None = None
    """The revision of the sources that it builds on, as it says."""
    suite_files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """The bytes of external suites by the names that the recipe gives their files."""

    def attempt(self, key: str) -> Attempt | None:
        """Return the attempt with this key, or None."""
        return next((attempt for attempt in self.attempts if attempt.key == key), None)
