"""The two blocks an attempt is made of: `[engines.NAME]`, and `[[attempts]]` that use it.

An attempt says explicitly what it changes of its engine's block: `argv_remove`, `argv_set` and
`argv_append` change single elements of argv, `argv` replaces it whole, `settings` and `env` are laid
over the block's. Nothing else is inherited from anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from anvil.collectors.endpoints import EndpointBlock, EnvironmentName
from anvil.collectors.recipes.parts import Part, Text, Value, refusal
from anvil.ledger.public import Label, Revision, Version, Word

Argument = Annotated[str, StringConstraints(max_length=10_000, pattern=r"^[^\x00]*$")]
"""One element of argv, exactly as it is passed."""

Port = Annotated[int, Field(ge=1, le=65_535)]
"""A TCP port."""

PortOrFree = Annotated[int, Field(ge=0, le=65_535)]
"""A TCP port; 0 is one that is free on this host, chosen when the run begins."""

Size = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,5}[kmg]$")]
"""An amount of memory as Docker writes it: ``32g``."""

ContainerPath = Annotated[str, StringConstraints(pattern=r"^/[A-Za-z0-9._/-]*$", max_length=300)]
"""A path inside a container."""


def _compiled(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise refusal(
            f"{text[:60]!r} is no regular expression: {error}",
            "Write one as Python's `re` reads it, in single quotes, so that a backslash is one",
        ) from error
    return text


Expression = Annotated[str, StringConstraints(min_length=1, max_length=500), AfterValidator(_compiled)]
"""A regular expression, as Python's `re` reads it, found anywhere in a line."""

LauncherName = Literal["docker", "process", "attach"]


class Container(Part):
    """How a container is made, besides its image and argv: `[engines.NAME.container]`."""

    gpus: Annotated[int, Field(ge=0, le=64)] = 1
    """How many GPUs of the placement it gets."""
    shm_size: Size | None = None
    """Its shared memory."""
    ipc: Literal["private", "host", "shareable"] | None = None
    """Its IPC mode."""
    ulimits: Mapping[Literal["memlock", "stack", "nofile"], int] = Field(default_factory=dict)
    """Limits, soft and hard alike; -1 is none."""
    mounts: Mapping[Label, ContainerPath] = Field(default_factory=dict)
    """Caches by the name that the site gives them (`huggingface`), and where they appear inside."""


class EngineBlock(Part):
    """One engine as it is launched: `[engines.NAME]`."""

    engine: Word
    """Which engine it is: `vllm`, `sglang`, `llamacpp`."""
    launcher: LauncherName
    """How it is started; `attach` starts nothing."""
    image: Text | None = None
    """The image by repository digest, `name@sha256:…`."""
    image_id: Text | None = None
    """The image by its local id, `sha256:…`, where it has no repository digest."""
    published_as: Text | None = None
    """The tag under which the image was published, for people: it is never used to find the image."""
    version: Version | None = None
    """The engine version that is expected; compared with what the engine says."""
    revision: Revision | None = None
    """The engine's source revision that is expected, likewise."""
    cuda: Version | None = None
    """The CUDA version that the image is expected to bring."""
    recipe_revision: Revision | None = None
    """The revision of the published recipe that the settings follow, where there is one."""
    entrypoint: tuple[Argument, ...] | None = None
    """Replaces the image's entrypoint."""
    argv: tuple[Argument, ...] = ()
    """The command; with an image, what follows its entrypoint."""
    env: Mapping[EnvironmentName, Argument] = Field(default_factory=dict)
    """Environment variables with their values; never secrets."""
    env_names: tuple[EnvironmentName, ...] = ()
    """Variables that are passed through from the environment of the run, secrets among them."""
    port: PortOrFree = 8000
    """Where it listens: inside a container, or on this host unless the site says otherwise; 0 is a free one of this host."""
    settings: Mapping[Label, Value] = Field(default_factory=dict)
    """What is set, as facts to publish."""
    log_patterns: Mapping[Label, Expression] = Field(default_factory=dict)
    """Lines of its log to count and quote besides what is always looked for, by names of your own."""
    container: Container | None = None
    """Of `docker` only."""
    endpoint: EndpointBlock | None = None
    """How it is reached, where that is not obvious."""


class AttemptBlock(Part):
    """One launch of a candidate: `[[attempts]]`."""

    key: Label
    """What it is called."""
    candidate: Label
    """Which candidate."""
    engine: Label
    """Which engine block."""
    served_model: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/:-]{0,127}$")]
    """The name that requests ask for."""
    placement: Label | None = None
    """On which of the site's placements."""
    side_by_side: Label | None = None
    """Attempts with the same word run at the same time, each on a placement of its own."""
    about: Text | None = None
    """What it is for, for people."""
    argv: tuple[Argument, ...] | None = None
    """Replaces the block's argv."""
    argv_remove: tuple[Argument, ...] = ()
    """Elements that stand together in the block's argv and are left out."""
    argv_set: Mapping[Argument, Argument] = Field(default_factory=dict)
    """For a flag that stands in argv, the value that follows it."""
    argv_append: tuple[Argument, ...] = ()
    """Elements after the block's."""
    settings: Mapping[Label, Value] = Field(default_factory=dict)
    """Laid over the block's settings."""
    env: Mapping[EnvironmentName, Argument] = Field(default_factory=dict)
    """Laid over the block's environment."""
    checks: tuple[Label, ...] | None = None
    """Which checks, by key; all of the recipe's when left out."""
    suites: tuple[Label, ...] | None = None
    """Which suites; all when left out."""
    protocols: tuple[Label, ...] | None = None
    """Which protocols; all when left out."""
