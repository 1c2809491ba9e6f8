"""The site file: what belongs to this host and to no recipe (`anvil-site.toml`).

1. It is private. It is never part of a recipe or of its digest, and no line of it is published.
2. A placement is a GPU by its UUID, since the numbers of GPUs change, and ports of its own.
3. Without a site file everything has a default: no GPU, the recipe's port, no proxy.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from anvil.collectors.endpoints import EndpointBlock, Url
from anvil.collectors.recipes.argv import fill
from anvil.collectors.recipes.blocks import PortOrFree
from anvil.collectors.recipes.gates import GatePlace
from anvil.collectors.recipes.parts import Part
from anvil.collectors.recipes.recipe import Attempt
from anvil.collectors.recipes.tomlfile import read_toml, validated
from anvil.ledger.errors import CollectorError
from anvil.ledger.public import Count, Label

DEFAULT_NAME = "anvil-site.toml"

GpuUuid = Annotated[str, StringConstraints(pattern=r"^(?:GPU|MIG)-[0-9a-fA-F-]{36}$")]
"""A GPU by its UUID, as ``nvidia-smi -L`` prints it."""

HostPath = Annotated[str, StringConstraints(pattern=r"^[/~][^\x00-\x1f]*$", max_length=1000)]
"""An absolute path on this host; ``~`` is the user's home."""

CPU_SET = r"^[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*$"


class Placement(Part):
    """Where a lane runs: `[placements.NAME]`."""

    gpus: tuple[GpuUuid, ...] = ()
    """Its GPUs, by UUID."""
    port: PortOrFree | None = None
    """The port on this host, instead of the recipe's; 0 is a free one, chosen when the run begins."""
    cpus: Annotated[str, StringConstraints(pattern=CPU_SET)] | None = None
    """The processors it may use, as ``0-7,16``."""


class DockerSite(Part):
    """How the container engine is reached: `[docker]`."""

    base_url: Annotated[str, StringConstraints(pattern=r"^(?:unix|tcp|ssh)://[^\x00-\x20]+$")] | None = None
    """Where it listens; the environment's `DOCKER_HOST` or the default when left out."""
    network: Label | None = None
    """The network of containers, instead of the default bridge."""


class Site(Part):
    """The whole of a site file; every part may be left out."""

    format: Literal["anvil.site/1"] = "anvil.site/1"
    """Which language the file is in."""
    placements: Mapping[Label, Placement] = Field(default_factory=dict)
    """Placements by the names that recipes use."""
    caches: Mapping[Label, HostPath] = Field(default_factory=dict)
    """Folders on this host by the names that recipes mount: `huggingface`, `compile`."""
    endpoints: Mapping[Label, EndpointBlock] = Field(default_factory=dict)
    """Where attempts with launcher `attach` find what is running, by the attempt's key."""
    restoration: Mapping[Label, GatePlace] = Field(default_factory=dict)
    """Where the gates of recipes are looked at, by their names."""
    docker: DockerSite = DockerSite()
    """The container engine."""
    proxy: Url | None = None
    """The proxy for downloads of models; requests to engines never use one."""
    ca_file: HostPath | None = None
    """Certificates (PEM) to trust besides the system's where an endpoint is reached by `https`."""
    min_free_bytes: Count = 2_000_000_000
    """A run ends when a disk that it writes to has less than this; 0 lets it go on to the last byte."""

    @property
    def trusted(self) -> Path | None:
        """The file of certificates to trust besides the system's; null for none."""
        return None if self.ca_file is None else Path(self.ca_file).expanduser()

    def placement(self, attempt: Attempt) -> Placement:
        """Return where an attempt runs; a placement without GPUs for one that names none.

        Raises:
            CollectorError: it names a placement that the site does not have.
        """
        if attempt.placement is None:
            return Placement()
        if attempt.placement not in self.placements:
            raise CollectorError(
                f"attempt {attempt.key!r} runs on placement {attempt.placement!r}, which the site does not name",
                advice=f"Add `[placements.{attempt.placement}]` with its GPU's UUID (`nvidia-smi -L`) to {DEFAULT_NAME}.",
            )
        return self.placements[attempt.placement]

    def mounts(self, attempt: Attempt) -> dict[str, str]:
        """Return the folders to mount: path on this host to path in the container.

        Raises:
            CollectorError: the recipe mounts a cache that the site does not have.
        """
        wanted = attempt.container.mounts if attempt.container else {}
        for name in wanted:
            if name not in self.caches:
                raise CollectorError(
                    f"attempt {attempt.key!r} mounts the cache {name!r}, which the site does not name",
                    advice=f'Add `{name} = "/FOLDER"` below `[caches]` to {DEFAULT_NAME}.',
                )
        return {str(Path(self.caches[name]).expanduser()): inside for name, inside in wanted.items()}

    def endpoint(self, attempt: Attempt) -> EndpointBlock:
        """Return how an attempt is reached: the site's block, or the recipe's."""
        return self.endpoints.get(attempt.key, attempt.endpoint)

    def port(self, attempt: Attempt) -> int:
        """Return the attempt's port on this host, 0 for one that is to be chosen; raises like `placement`."""
        own = self.placement(attempt).port
        return attempt.port if own is None else own

    def place(self, attempt: Attempt, *, weights: Path | None = None, chosen: int | None = None) -> Attempt:
        """Return an attempt with its port on this host and no placeholder left in its argv.

        `weights` is the model file of its candidate's package; `chosen` is the free port that was chosen for it,
        and while there is none `{port}` stays. Inside a container `{port}` is the container's own port;
        `host_port` is where it is published.

        Raises:
            CollectorError: the site lacks its placement, or its argv needs weights and there are none.
        """
        host_port = self.port(attempt) or chosen
        listens = attempt.port if attempt.launcher == "docker" else host_port
        values = {"python": sys.executable}
        if listens is not None:
            values["port"] = str(listens)
        if weights is not None:
            values["weights"] = str(weights)
        argv = fill(attempt.argv, values)
        if any("{weights}" in element for element in argv):
            raise CollectorError(f"attempt {attempt.key!r} needs a model file, and none was fetched")
        return replace(attempt, argv=argv, host_port=host_port)


def load_site(path: Path | None) -> Site:
    """Return the site of a file; of `anvil-site.toml` here when `path` is None and it exists; else defaults.

    Raises:
        FileRefused: it is no site file; each problem has its line and what to write instead.
        CollectorError: the file named cannot be read.
    """
    chosen = path or Path(DEFAULT_NAME)
    if path is None and not chosen.exists():
        return Site()
    try:
        content = chosen.read_bytes()
    except OSError as error:
        raise CollectorError(f"the site file {str(chosen)!r} cannot be read: {error.strerror}") from error
    return validated(read_toml(content, str(chosen), "site file"), Site)
