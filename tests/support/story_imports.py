"""The part of the story that an imported file tells: one event of each of these types, made up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anvil.ledger.events import (
    CheckImported,
    ImportRecorded,
    LoadImported,
    StatementImported,
    StreamClosed,
    StreamOpened,
    SuiteImported,
)
from anvil.ledger.events.checks import Parameter
from anvil.ledger.events.imports import StatedValue
from anvil.ledger.events.results import ImportedItem, ImportFinding, Quantity, SourceStatistic
from anvil.ledger.header import ArtifactEntry, Subject
from anvil.ledger.rowtable import MEDIA_TYPE
from anvil.ledger.signing import PrivateKey

if TYPE_CHECKING:
    from support.story import Story

IMPORT_STREAM = "20261130T072616Z-0000000000000006"
RESULTS_STREAM = "20261130T072616Z-0000000000000009"
CAMPAIGN = Subject(campaign="imported")
FILE = "sha256:" + "f7" * 32


def tell_imports(teller: Story, operator: PrivateKey) -> None:
    """Tell how a file was taken in, and one thing that it says; signed by `operator`."""
    teller.tell(
        IMPORT_STREAM,
        StreamOpened(purpose="import", synthetic=True, software="0.1.0.dev0"),
        operator,
        subject=CAMPAIGN,
    )
    teller.tell(
        IMPORT_STREAM,
        ImportRecorded(
            kind="document",
            nature="published-document",
            format="example.summary/v1",
            digest=FILE,
            size_bytes=2700,
            statements=1,
            not_said=("image", "recipe"),
            withheld=("model",),
        ),
        operator,
        subject=CAMPAIGN,
        artifacts=(ArtifactEntry("source", "application/json", digest=FILE, size=2700),),
    )
    teller.tell(IMPORT_STREAM, STATEMENT, operator, subject=Subject("imported", "official_fp8", "a1"))
    teller.tell(IMPORT_STREAM, StreamClosed(outcome="completed", reason=None), operator, subject=CAMPAIGN)


def tell_results(teller: Story, operator: PrivateKey) -> None:
    """Tell what a measuring tool's file held, in a stream of its own, after all else; signed by `operator`."""
    opened = StreamOpened(purpose="import", synthetic=True, software="0.1.0.dev0")
    teller.tell(RESULTS_STREAM, opened, operator, subject=CAMPAIGN)
    for event in (CHECK, SUITE, LOAD):
        rows = ArtifactEntry("rows", MEDIA_TYPE, digest="sha256:" + "f8" * 32, size=1800)
        teller.tell(RESULTS_STREAM, event, operator, subject=CAMPAIGN, artifacts=(rows,))
    teller.tell(RESULTS_STREAM, StreamClosed(outcome="completed", reason=None), operator, subject=CAMPAIGN)


def _value(name: str, **kind: object) -> StatedValue:
    fields = {"text": None, "number": None, "truth": None, "texts": None, **kind}
    return StatedValue(name=name, **fields)  # type: ignore[arg-type]


STATEMENT = StatementImported(
    source=FILE,
    nature="published-document",
    position="$.attempts[0]",
    topic="attempt",
    name="first",
    within="baseline",
    claimed_status="retained-bounded-log",
    values=(
        _value("engine", text="vllm 0.23.1 “built here”"),
        _value("decode_tok_s_p50", number="48.0"),
        _value("prefix_cache", truth=False),
        _value("checks", texts=("coding", "tools-20-of-20")),
        _value("health"),
    ),
)

_SLOW = SourceStatistic(
    called="ttft_p95_ms",
    of=None,
    column="ttft",
    statistic="nearest_rank_p95",
    own=None,
    definition="ttft.visible/1",
    unit="ms",
    number="531.2477999978",
    remade="same",
)
_FEW = ImportFinding(finding="percentile_unsupported", about=("ttft_p95_ms",), found=10, out_of=59)

CHECK = CheckImported(
    source=FILE,
    position="$.observations[2]",
    tool="example",
    called="needle",
    check="retrieval",
    outcome="failed",
    failure="wrong_value",
    expected=2,
    passed=1,
    observed=2,
    parameters=(Parameter(name="target_tokens", value=240_000),),
    statistics=(),
    findings=(ImportFinding(finding="partly_failed", about=(), found=1, out_of=2),),
)
SUITE = SuiteImported(
    source=FILE,
    position="$.suites",
    tool="example",
    called="arithmetic-5",
    suite=None,
    digest="sha256:" + "f9" * 32,
    required_rate="0.66",
    began="2026-11-30T07:26:16.000000Z",
    ended=None,
    wall=Quantity(number="384738.64674568176", unit="ms"),
    expected=6,
    passed=5,
    items=(
        ImportedItem(item="sum", group="easy", passed=3, repetitions=3, required_rate="0.66", is_stable=True),
        ImportedItem(item="root", group="hard", passed=2, repetitions=3, required_rate=None, is_stable=None),
    ),
    parameters=(),
    statistics=(),
    findings=(),
)
LOAD = LoadImported(
    source=FILE,
    position="$",
    tool="example",
    called="capacity-v3",
    concurrency=1,
    request_rate=None,
    target_tokens=8192,
    run="benchmark-1",
    began="2026-11-30T07:26:16.000000Z",
    ended="2026-11-30T07:26:22.000000Z",
    wall=Quantity(number="6003.768500002479", unit="ms"),
    expected=10,
    completed=10,
    failed=0,
    parameters=(Parameter(name="max_tokens", value=64),),
    statistics=(_SLOW,),
    findings=(_FEW,),
)
