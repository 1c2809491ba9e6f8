"""What a load protocol is, what it is given, and what it yields.

1. A protocol says which cells it has from its parameters alone, before anything is launched (`cells`), and
   makes the requests of one run when its turn comes (`plan`). It sends nothing itself, but for counting
   tokens, and appends nothing.
2. Whoever runs it does all that is the same for every protocol: the semantic canary, warm-up,
   self-calibration, the load client's process, what is read beside (engine counters, GPUs), the attempt
   record, the rows, `load.measured`. See `anvil.collectors.running.measuring`.
3. What only this protocol knows of a run that has ended it says in `conclude`: findings for the run's event,
   and events of its own (a retrieval verdict at each rung of a ladder). It is asked after all bytes are kept.
4. A cell is done run by run; its runs are numbered from 1 in each phase. Cells are carried out in order.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from anvil.collectors.checks import UnderTest
from anvil.collectors.checks.parameters import Thinking
from anvil.collectors.filler import Draws, seed_for
from anvil.collectors.load.prompts import Messages, Prompt, TokenSource, write_prompts
from anvil.collectors.load.record import RequestRecord, RunRecord
from anvil.collectors.load.requests import PlannedRequest
from anvil.ledger.drafts import Attachment
from anvil.ledger.events import Event
from anvil.ledger.events.checks import Parameter
from anvil.ledger.events.load import CacheState, ProtocolKind
from anvil.ledger.rows import Row

Phase = Literal["warm-up", "measured"]

_CAP = 1_000_000


def _several(value: Any) -> Any:
    return (value,) if isinstance(value, int) and not isinstance(value, bool) else value


Tokens = Annotated[int, Field(ge=1, le=10_000_000)]
"""A number of tokens."""

Streams = Annotated[int, Field(ge=1, le=1024)]
"""How many requests at once."""

SeveralStreams = Annotated[tuple[Streams, ...], BeforeValidator(_several), Field(min_length=1, max_length=16)]
"""How many requests at once: one number, or several, each of which is a cell."""

SeveralTokens = Annotated[tuple[Tokens, ...], BeforeValidator(_several), Field(min_length=1, max_length=32)]
"""Numbers of tokens: one, or several, each of which is a cell."""


class ProtocolParameters(BaseModel):
    """What every protocol can be told."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    output_tokens: Annotated[int, Field(ge=1, le=_CAP)]
    """The completion cap of each request."""
    thinking: Thinking = "disabled"
    """Whether its requests ask for thinking."""
    seed: Annotated[int, Field(ge=0, le=2**53 - 1)] = 1
    """From what prompts are drawn, together with the campaign's attempt and the run."""

    @property
    @abstractmethod
    def most_tokens(self) -> int:
        """The most tokens that prompt and answer of one request may have together."""


ParametersT = TypeVar("ParametersT", bound=ProtocolParameters)


@dataclass(frozen=True)
class Cell:
    """One protocol at one concurrency and size: what is the same in all its runs.

    `parameters` are facts for the event besides those that it has fields for. An open loop has a `rate_per_s` and
    no `concurrency`: as many requests are in flight as have not ended.
    """

    name: str
    concurrency: int | None
    requests: int
    runs: int
    output_cap_tokens: int
    warmup_requests: int = 0
    input_target_tokens: int | None = None
    ignores_eos: bool = False
    shared_prefix_tokens: int = 0
    cache_wanted: CacheState = "cold"
    rate_per_s: str | None = None
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True)
class RunPlan:
    """The requests of one run of a cell, whole, in the order in which they are sent.

    `prompts` makes them again; `seed` is what they were drawn from. `observed` are facts for the event of this
    run alone, which need not be the same in the next: how prompt lengths were found, for instance. `notes` are for the protocol
    itself, which gets them back in `conclude`.
    """

    requests: tuple[PlannedRequest, ...]
    seed: int
    prompts: tuple[Prompt, ...] = ()
    observed: tuple[Parameter, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)
    schedule: tuple[int, ...] | None = None

    @property
    def prompt_lines(self) -> bytes | None:
        """The artifact `prompts`; null when none was generated."""
        return write_prompts(self.prompts) if self.prompts else None


class RunSeen(Protocol):
    """A run that has ended, its bytes kept: what came back."""

    @property
    def run(self) -> RunRecord:
        """The run."""

    @property
    def rows(self) -> Sequence[Row]:
        """What the parser made of each request."""

    def requests(self) -> Iterator[RequestRecord]:
        """Yield each request with all that came back, read from disk one at a time."""


@dataclass(frozen=True)
class Concluded:
    """What a protocol says of a run: `findings` for its event, and events of its own with what they attach."""

    findings: tuple[str, ...] = ()
    events: tuple[tuple[Event, tuple[Attachment, ...]], ...] = ()


NOTHING_MORE = Concluded()
"""What most protocols say."""


@dataclass(frozen=True)
class ProtocolContext(Generic[ParametersT]):
    """One selected protocol on a running engine.

    `name` is what the recipe calls it; `salt` tells this run of anvil from every other, so that an engine
    that lives on has never read its prompts. `tokens` is how the endpoint counts; null when it does not.
    `measured` are the rows of cells that were carried out before, by this run or by those that it goes on with; who
    compares cells adds its own.
    """

    name: str
    parameters: ParametersT
    under_test: UnderTest
    salt: str
    tokens: TokenSource | None = None
    measured: dict[str, Sequence[Row]] = field(default_factory=dict)

    def seed_for(self, *purpose: object) -> int:
        """Return a seed that belongs to the recipe's seed, this run of anvil and a purpose: cell, phase, run."""
        return seed_for(self.under_test.seed, self.parameters.seed, self.name, self.salt, *purpose)

    def steady_seed_for(self, *purpose: object) -> int:
        """Return a seed that every run of this attempt has, for what may be the same in all."""
        return seed_for(self.under_test.seed, self.parameters.seed, self.name, *purpose)

    def draws(self, *purpose: object) -> Draws:
        """Return reproducible choices of this run of anvil."""
        return Draws(self.under_test.seed, self.parameters.seed, self.name, self.salt, *purpose)

    @property
    def cap_member(self) -> str:
        """The field that caps completion tokens; the older one where none is known to be honoured."""
        honoured = self.under_test.cap_field
        return "max_tokens" if honoured in (None, "neither") else str(honoured)

    def request(
        self,
        index: int,
        messages: Messages,
        cap_tokens: int,
        *,
        ignore_eos: bool = False,
        **members: Any,
    ) -> PlannedRequest:
        """Return a streamed chat request with its cap in the field that the endpoint honours."""
        under_test = self.under_test
        body: dict[str, Any] = {
            "model": under_test.endpoint.served_model,
            "messages": list(messages),
            "temperature": 0,
            self.cap_member: cap_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            **under_test.thinking.members(self.parameters.thinking),
            **members,
        }
        if ignore_eos:
            body["ignore_eos"] = True
        spelled = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        return PlannedRequest(index, spelled, cap_tokens)


class LoadProtocol(Protocol[ParametersT]):
    """One kind of protocol. A change in what is sent or how it is judged is a new version."""

    id: ProtocolKind
    """Its name in recipes and events."""
    version: int
    parameters: type[ParametersT]
    """What a recipe may say about it."""

    def cells(self, parameters: ParametersT) -> tuple[Cell, ...]:
        """Return the cells, in order. Pure."""

    async def plan(self, ctx: ProtocolContext[ParametersT], cell: Cell, phase: Phase, number: int) -> RunPlan:
        """Make the requests of one run. A warm-up has `cell.warmup_requests`, in the shapes of the cell.

        Raises:
            CollectorError: they cannot be made; the cell is then not carried out, and says why.
        """

    def conclude(
        self, ctx: ProtocolContext[ParametersT], cell: Cell, plan: RunPlan, seen: RunSeen
    ) -> Concluded:
        """Say what only this protocol knows of a measured run that has ended."""
