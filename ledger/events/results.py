"""What files of measuring tools hold: checks, suites and loads of others, with the source's own statistics.

1. The file is the artifact `source` of `import.recorded`; these events follow it in the same stream.
2. Rows are the public artifact `rows` (`anvil.ledger.rowtable`): a number in them is the text of the file.
3. A figure that the source gives is kept as its text, under the source's name for it. Beside it stand the
   statistic of ours that it is, the definition of ours that is meant, and whether the rows give it again.
   Names alone decide nothing: other tools use the same words for other things. Where none of ours is meant
   it is null.
4. A word of the source (a model, a host, an answer) is in none of these: only what our types can hold.
5. What is wrong with it is found from the rows, by us, and said as findings of a closed list.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from anvil.ledger.events.base import Event, Facts
from anvil.ledger.events.checks import FailureClass, Outcome, Parameter
from anvil.ledger.public import (
    Count,
    Digest,
    Label,
    MemberName,
    MetricId,
    NumberText,
    Place,
    Role,
    StatisticName,
    Timestamp,
)

_IMPORTER: frozenset[Role] = frozenset({"operator", "collector"})

Unit = Literal[
    "ns",
    "us",
    "ms",
    "s",
    "tokens",
    "tokens_per_s",
    "requests_per_s",
    "requests",
    "chars",
    "chunks",
    "bytes",
    "gib",
    "ratio",
]
"""What a number counts. A ratio is without unit."""

Remade = Literal["same", "differs", "no_rows"]
"""Whether the rows give a figure of the source again: to one part in 10^9, since the source computes with floats."""

FindingName = Literal[
    "check_without_observation",
    "partly_failed",
    "reasoning_counted_not_seen",
    "reasoning_seen_not_counted",
    "reasoning_despite_disabled",
    "shared_prefix",
    "percentile_unsupported",
    "statistic_differs",
    "count_differs",
    "zero_without_samples",
    "message_missing",
    "target_missed",
    "rows_missing",
    "verdict_differs",
]
"""What is wrong with, or missing from, what was imported."""


class ImportFinding(Facts):
    """Something that a reader of the figures must know."""

    finding: FindingName
    """What."""
    about: Annotated[tuple[MemberName, ...], Field(strict=False)]
    """Of which members, checks, items or hints; empty for all of it."""
    found: Count | None
    """How many: samples of a percentile, failed requests, …; null where there is nothing to count."""
    out_of: Count | None
    """Out of how many, or of a percentile how many samples it needs; null where there is no such number."""


class Quantity(Facts):
    """A number of the source and what it counts."""

    number: NumberText
    """As the file spells it."""
    unit: Unit
    """What it counts."""


class SourceStatistic(Facts):
    """One figure that the source gives."""

    called: MemberName
    """What the file calls it."""
    of: Label | None
    """Of which item or group of the rows; null for all of them."""
    column: Label | None
    """Of which column of the rows; null when it is of none."""
    statistic: StatisticName | None
    """Which statistic of ours it is; null when it is none of them, or nobody says."""
    own: MemberName | None
    """What the source calls its statistic, where it is none of ours; null where it is, or nobody says."""
    definition: MetricId | None
    """Which metric of ours is meant; null when it is none of them, or nobody says."""
    unit: Unit
    """What it counts."""
    number: NumberText | None
    """As the file spells it; null where the file says null."""
    remade: Remade
    """Whether the rows give it again."""


class ImportedItem(Facts):
    """One item of a suite over its repetitions."""

    item: Label
    """Which item."""
    group: Label | None
    """In which group of the suite it is: a modality; null for none."""
    passed: Count
    """In how many repetitions it passed."""
    repetitions: Count
    """How many there were."""
    required_rate: NumberText | None
    """The pass rate by which the source calls this item passed; null when it does not say."""
    is_stable: bool | None
    """Whether the source calls it passed over all repetitions; null when it does not say."""


class CheckImported(Event):
    """A check that another tool carried out, or was told to and did not. Artifact: `rows` (public), a row an observation."""

    signed_by: ClassVar[frozenset[Role]] = _IMPORTER
    type: Literal["check.imported/1"] = "check.imported/1"
    source: Digest
    """The file."""
    position: Place
    """Where in the file: a JSON path (RFC 9535)."""
    tool: Label
    """Which tool made it, by our name: `anvil-serving`."""
    called: Label
    """What the tool calls the check."""
    check: Label | None
    """Which check of ours asks the same; null for none."""
    outcome: Outcome
    """The source's verdict; incomplete when there is none."""
    failure: FailureClass | None
    """Why it did not pass, where one of our classes is meant; null otherwise."""
    expected: Count
    """How many answers were to pass."""
    passed: Count
    """How many passed."""
    observed: Count
    """How many answers the file holds something of."""
    parameters: Annotated[tuple[Parameter, ...], Field(strict=False)]
    """With what it was carried out, as far as the file says."""
    statistics: Annotated[tuple[SourceStatistic, ...], Field(strict=False)]
    """The figures that the source gives of it."""
    findings: Annotated[tuple[ImportFinding, ...], Field(strict=False)]
    """What a reader must know."""

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.passed > self.expected:
            raise ValueError("more passed than were expected")
        return self


class SuiteImported(Event):
    """A suite of repeated checks that another tool carried out. Artifact: `rows` (public), a row a repetition of an item."""

    signed_by: ClassVar[frozenset[Role]] = _IMPORTER
    type: Literal["suite.imported/1"] = "suite.imported/1"
    source: Digest
    """The file."""
    position: Place
    """Where in the file: a JSON path (RFC 9535)."""
    tool: Label
    """Which tool made it, by our name."""
    called: Label
    """What the tool calls the suite."""
    suite: Label | None
    """Which suite of ours asks the same; null for none."""
    digest: Digest | None
    """The digest that the file gives of what was asked, and how it was judged; null when it gives none."""
    required_rate: NumberText | None
    """The pass rate that the source sets for all items; null when it does not say."""
    began: Timestamp | None
    """When it began, as the file says, to its precision; null when it does not."""
    ended: Timestamp | None
    """When it ended; null when the file does not say."""
    wall: Quantity | None
    """How long the run took of which it is a part; null when the file does not say."""
    expected: Count
    """How many attempts there are."""
    passed: Count | None
    """How many passed; null when nobody says when an attempt passes."""
    items: Annotated[tuple[ImportedItem, ...], Field(strict=False)]
    """Each item; empty when there are too many, and only the rows tell them."""
    parameters: Annotated[tuple[Parameter, ...], Field(strict=False)]
    """With what it was carried out, as far as the file says."""
    statistics: Annotated[tuple[SourceStatistic, ...], Field(strict=False)]
    """The figures that the source gives of it."""
    findings: Annotated[tuple[ImportFinding, ...], Field(strict=False)]
    """What a reader must know."""

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if (self.passed or 0) > self.expected or any(item.passed > item.repetitions for item in self.items):
            raise ValueError("more passed than there were")
        return self


class LoadImported(Event):
    """One run of a load that another tool made. Artifact: `rows` (public), a row a request; absent when it kept none."""

    signed_by: ClassVar[frozenset[Role]] = _IMPORTER
    type: Literal["load.imported/1"] = "load.imported/1"
    source: Digest
    """The file."""
    position: Place
    """Where in the file: a JSON path (RFC 9535)."""
    tool: Label
    """Which tool made it, by our name."""
    called: Label
    """What the tool calls its protocol, with its version."""
    concurrency: Count | None
    """How many requests were in flight at most; null when the file does not say, or the rate decided."""
    request_rate: NumberText | None
    """Requests a second, when they came by rate; null when they did not, or the file does not say."""
    target_tokens: Count | None
    """How many prompt tokens were aimed at; null when the file does not say, or there were several."""
    run: Label | None
    """Which repetition, by the file's own name for it; null when it has none."""
    began: Timestamp | None
    """When it began, as the file says, to its precision; null when it does not."""
    ended: Timestamp | None
    """When it ended; null when the file does not say."""
    wall: Quantity | None
    """How long all of it took; null when the file does not say."""
    expected: Count | None
    """How many requests were planned; null when the file does not say."""
    completed: Count
    """How many succeeded."""
    failed: Count | None
    """How many did not; null when the file does not say."""
    parameters: Annotated[tuple[Parameter, ...], Field(strict=False)]
    """With what it was carried out, as far as the file says."""
    statistics: Annotated[tuple[SourceStatistic, ...], Field(strict=False)]
    """The figures that the source gives of it."""
    findings: Annotated[tuple[ImportFinding, ...], Field(strict=False)]
    """What a reader must know."""

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.expected is not None and self.completed + (self.failed or 0) > self.expected:
            raise ValueError("more ended than were planned")
        return self
