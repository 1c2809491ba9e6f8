"""What an engine runs on and with: the host, the weights, and whether all was put back."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from anvil.ledger.events.base import Event, Facts, NamedTexts, Sealed
from anvil.ledger.public import (
    Count,
    DecimalText,
    Digest,
    EntryHash,
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
    """One GPU. What could not be read is null, and `absent` says why."""

    position: Count
    """Its number on this host, which may change; never an identity."""
    is_placed: bool
    """Whether the attempt was placed on it."""
    product: ProductName | None
    """The product, from the reviewed list; null when it is not on it."""
    compute_capability: Word | None
    """Its architecture: `sm_90`."""
    memory_bytes: Count | None
    """Its memory."""
    used_memory_bytes: Count | None
    """How much of its memory is in use."""
    pcie_generation: Count | None
    """The PCIe generation of its link now; an idle GPU lowers it."""
    pcie_width: Count | None
    """The lanes of its link now."""
    pcie_max_generation: Count | None
    """The PCIe generation that GPU and slot can have together."""
    pcie_max_width: Count | None
    """The lanes that GPU and slot can have together."""
    power_limit_milliwatts: Count | None
    """Its power limit."""
    sm_clock_mhz: Count | None
    """The clock of its processors now."""
    max_sm_clock_mhz: Count | None
    """The highest clock of its processors."""
    memory_clock_mhz: Count | None
    """The clock of its memory now."""
    is_mig: bool | None
    """Whether it is divided into instances (MIG)."""
    processes: Count | None
    """How many processes use it."""


class Absence(Facts):
    """A field that is null, and why."""

    field: Label
    """Which: `driver`, or of a GPU `gpu-0.power_limit_milliwatts`."""
    reason: Label
    """Why, in one word: `no-nvidia-driver`, `product-not-listed`, `not-supported`, …"""


class HostObserved(Event):
    """What the host is. Names, addresses and UUIDs are sealed. Artifact `host`: what was read, as it was."""

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
    available_memory_bytes: Count | None
    """How much of it a new process could have."""
    kernel: Version | None
    """The kernel's version, or the numbers that it begins with."""
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
    absent: Annotated[tuple[Absence, ...], Field(strict=False)]
    """Which fields are null, and why."""
    names: Sealed[NamedTexts | None]
    """Host name, GPU UUIDs, the processes that use each GPU, texts that are not on a list."""


class WeightFinding(Facts):
    """Something in a snapshot that should not be there, or is not as it should be."""

    kind: Label
    """What kind of finding; docs/weights.md lists them."""
    count: Count
    """How many files it concerns."""


class TensorType(Facts):
    """How many tensors have one data type."""

    name: Word
    """The data type as the file's format names it."""
    tensors: Count
    """How many tensors have it."""


class NamedDigest(Facts):
    """The digest of a file that every copy of the model has, by what the file is for."""

    name: Label
    """What it is for: `config`, `tokenizer`, `chat-template` (the digest of its text), …"""
    digest: Digest
    """Its digest."""


class WeightsInspected(Event):
    """A local snapshot was looked through. Artifact `inventory`: each file with size, kind and digest.

    Nothing of it was unpickled, imported or executed. What a file is was told by its bytes.
    """

    signed_by: ClassVar[frozenset[Role]] = _COLLECTOR
    type: Literal["weights.inspected/1"] = "weights.inspected/1"
    model: ModelId | None
    """Which model the folder says it is; null when it does not."""
    revision: Revision | None
    """The revision that the cache or the download states; null when they state none."""
    files: Count
    """How many files there are."""
    bytes: Count
    """How many bytes they have."""
    tensor_files: Count
    """How many hold tensors."""
    tensor_bytes: Count
    """How many bytes these have."""
    tensors: Count
    """How many tensors they hold."""
    tensor_types: Annotated[tuple[TensorType, ...], Field(strict=False)]
    """The tensors by data type: what the quantization is, whatever a folder is called."""
    tensor_digests: Annotated[tuple[Digest, ...], Field(strict=False)]
    """The digests of the tensor files, in order of their names; the first 400 of them."""
    documents: Annotated[tuple[NamedDigest, ...], Field(strict=False)]
    """Configuration, tokenizer and chat template."""
    stated_identities: Count
    """Of how many files the cache, the download or the recipe states a digest."""
    matched_identities: Count
    """How many of these have that digest."""
    findings: Annotated[tuple[WeightFinding, ...], Field(strict=False)]
    """What was found."""
    digested_bytes: Count
    """Bytes whose digests were computed now."""
    elapsed_ns: Count
    """How long the look took."""
    earlier: EntryHash | None
    """The inspection whose digests were taken over for files that had not changed since; null for none."""
    reused_files: Count
    """How many files' digests were taken over."""
    places: Sealed[NamedTexts | None]
    """Where the snapshot lies, and findings with the files that they were made in."""

    def digest_of(self, name: str) -> str | None:
        """Return the digest of a document by its name; null when there is none."""
        return next((item.digest for item in self.documents if item.name == name), None)


class RestorationChecked(Event):
    """One gate was looked at: recorded before a campaign, or compared with that after it.

    Artifact `state`: what was seen, and `response`, `inspect` or `output`: the bytes that it was seen in.
    """

    signed_by: ClassVar[frozenset[Role]] = _COLLECTOR
    type: Literal["restoration.checked/1"] = "restoration.checked/1"
    gate: Label
    """Which gate."""
    kind: Literal["http", "container", "file", "command", "memory"]
    """How it is looked at."""
    outcome: Literal["recorded", "passed", "failed", "incomplete"]
    """Recorded before the campaign, or what the comparison afterwards gave."""
    differences: Annotated[tuple[Label, ...], Field(strict=False)]
    """What is not as it was, not as the recipe expects, or not what the engine behind a router says."""
    before: EntryHash | None
    """The event that recorded the state before; null when this one does, or none did."""
    value: Count | DecimalText | Digest | Word | None
    """What was measured, when it is public by type."""
    detail: Sealed[NamedTexts | None]
    """What was expected and found, or why nothing was."""
