"""What an engine runs on and with: the host, the weights, and whether all was put back."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from anvil.ledger.events.base import Event, Facts, NamedTexts, Sealed
from anvil.ledger.public import (
    Count,
    DecimalText,
    Digest,
    Label,
    ModelId,
    ProductName,
    Revision,
    Role,
    Version,
    Word,
)

_COLLECTOR: frozenset[Role] = frozenset({"collector"})


class Gpu(Facts):
    """One GPU. What could not be read is null."""

    position: Count
    """Its number on this host, which may change; never an identity."""
    product: ProductName | None
    """The product, from the reviewed list; null when it is not on it."""
    memory_bytes: Count | None
    """Its memory."""
    pcie_generation: Count | None
    """The PCIe generation of its link now."""
    pcie_width: Count | None
    """The lanes of its link now."""
    power_limit_milliwatts: Count | None
    """Its power limit."""
    used_memory_bytes: Count | None
    """How much of its memory is in use."""
    processes: Count | None
    """How many processes use it."""


class HostObserved(Event):
    """What the host is. Names, addresses and UUIDs are sealed."""

    signed_by: ClassVar[frozenset[Role]] = _COLLECTOR
    type: Literal["host.observed/1"] = "host.observed/1"
    moment: Literal["before", "after"]
    """Before the first launch, or after the last stop."""
    cpu_product: ProductName | None
    """The processor, from the reviewed list; null when it is not on it."""
    cpu_cores: Count | None
    """How many cores this process may use."""
    memory_bytes: Count | None
    """The host's memory."""
    kernel: Version | None
    """The kernel's version."""
    driver: Version | None
    """The GPU driver's version; null without one."""
    cuda: Version | None
    """The CUDA version that the driver offers; null without one."""
    container_engine: Version | None
    """The container engine's version; null without one."""
    is_wsl: bool
    """Whether the kernel is WSL's."""
    gpus: Annotated[tuple[Gpu, ...], Field(strict=False)]
    """The GPUs."""
    absent: Annotated[tuple[Label, ...], Field(strict=False)]
    """Why fields are null, one word each: `no-nvidia-driver`, …"""
    names: Sealed[NamedTexts | None]
    """Host name, GPU UUIDs, products that are not on the list."""


class WeightFinding(Facts):
    """Something in a snapshot that should not be there, or is not as it should be."""

    kind: Label
    """What kind of finding."""
    count: Count
    """How many files it concerns."""


class WeightsInspected(Event):
    """A local snapshot was looked through. Artifact `inventory`: each file with size and digest."""

    signed_by: ClassVar[frozenset[Role]] = _COLLECTOR
    type: Literal["weights.inspected/1"] = "weights.inspected/1"
    model: ModelId | None
    """Which model it is said to be; null when nothing says so."""
    revision: Revision | None
    """The revision; null when nothing says so."""
    files: Count
    """How many files there are."""
    bytes: Count
    """How many bytes they have."""
    tensor_files: Count
    """How many hold tensors."""
    tensors: Count
    """How many tensors they hold."""
    tensor_digests: Annotated[tuple[Digest, ...], Field(strict=False)]
    """The digests of the tensor files, in order of their names."""
    matched_identities: Count
    """How many files match a digest that is known from elsewhere."""
    findings: Annotated[tuple[WeightFinding, ...], Field(strict=False)]
    """What was found."""
    reused_from_earlier: bool
    """Whether digests were taken from an earlier inspection because the files had not changed."""
    paths: Sealed[list[str] | None]
    """Where the snapshot lies, and the files with findings."""


class RestorationChecked(Event):
    """After a campaign, one gate was compared with what had been recorded before."""

    signed_by: ClassVar[frozenset[Role]] = _COLLECTOR
    type: Literal["restoration.checked/1"] = "restoration.checked/1"
    gate: Label
    """Which gate."""
    kind: Literal["http", "container", "file", "command", "memory"]
    """How it is checked."""
    outcome: Literal["recorded", "passed", "failed", "incomplete"]
    """Recorded before the campaign, or what the comparison afterwards gave."""
    value: Count | DecimalText | Digest | Word | None
    """What was measured, when it is public by type."""
    detail: Sealed[str | None]
    """What was expected and found."""
