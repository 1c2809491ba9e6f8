"""The part of the story that an imported file tells: one event of each of these types, made up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anvil.ledger.events import ImportRecorded, StatementImported, StreamClosed, StreamOpened
from anvil.ledger.events.imports import StatedValue
from anvil.ledger.header import ArtifactEntry, Subject
from anvil.ledger.signing import PrivateKey

if TYPE_CHECKING:
    from support.story import Story

IMPORT_STREAM = "20261130T072616Z-0000000000000006"
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
        ),
        operator,
        subject=CAMPAIGN,
        artifacts=(ArtifactEntry("source", "application/json", digest=FILE, size=2700),),
    )
    teller.tell(IMPORT_STREAM, STATEMENT, operator, subject=Subject("imported", "official_fp8", "a1"))
    teller.tell(IMPORT_STREAM, StreamClosed(outcome="completed", reason=None), operator, subject=CAMPAIGN)


def _value(name: str, **kind: object) -> StatedValue:
    fields = {"text": None, "number": None, "truth": None, "texts": None, **kind}
    return StatedValue(name=name, **fields)  # type: ignore[arg-type]


STATEMENT = StatementImported(
    source=FILE,
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
