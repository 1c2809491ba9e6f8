"""What was imported comes out again: equal to the file, token by token, and each leaf as somebody else's claim."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from support.importing import imported, rendered, tokens
from support.published import DOCUMENTS, failure, spelled
from support.tools import SEEDS

from anvil.collectors.importers.interface import ImportRefused
from anvil.ledger.errors import PublicationRefused
from anvil.ledger.events import EventRetracted, StatementImported
from anvil.projections.record import fold

LEAVES = {
    "candidate-failure.v1": 41,
    "sanitized-qualification-summary.v1": 122,
    "qwen38-27b-qualification-summary.v1": 113,
}
"""How many leaves each seed has, the schema among them."""


def leaves(value: Any) -> int:
    if isinstance(value, tuple) and value[0] == "object":
        return sum(leaves(item) for _, item in value[1])
    return sum(map(leaves, value)) if isinstance(value, list) else 1


# --- the seeds ------------------------------------------------------------------------------------------------


@pytest.mark.needs("seeds")
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_seed_comes_out_equal_with_every_leaf_somebody_else_s_claim(name: str) -> None:
    content = (SEEDS / f"{name}.json").read_bytes()
    made = rendered(name, imported(content))
    assert tokens(made.rendered.text.encode()) == tokens(content)
    assert leaves(tokens(content)) == LEAVES[name]
    shown = [leaf for leaf in made.rendered.leaves if leaf.kind != "key"]
    assert len(shown) == LEAVES[name]
    assert Counter(leaf.status for leaf in made.rendered.leaves if leaf.kind != "literal").keys() == {
        "external-prior"
    }
    assert [leaf.pointer for leaf in shown if leaf.kind == "literal"] == ["/schema"]


@pytest.mark.needs("seeds")
@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_leaf_of_a_seed_rests_on_its_file_and_on_one_statement_of_it(name: str) -> None:
    seen = imported((SEEDS / f"{name}.json").read_bytes())
    statements = {one.entry_hash for one in seen if isinstance(one.event, StatementImported)}
    cited = set()
    for leaf in rendered(name, seen).rendered.leaves:
        if leaf.kind == "leaf":
            assert seen[0].entry_hash in leaf.support.events
            assert {artifact.name for artifact in leaf.support.artifacts} == {"source"}
            own = leaf.figures[0].support.events & statements
            assert len(own) == 1
            cited |= own
    assert cited == statements, "a statement was recorded that no leaf shows"


# --- documents of other people ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DOCUMENTS)
def test_any_document_of_its_schema_comes_out_equal(name: str) -> None:
    content = spelled(DOCUMENTS[name]())
    assert tokens(rendered(name, imported(content)).rendered.text.encode()) == tokens(content)


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_layout_and_line_ends_of_the_file_make_no_difference(name: str, ending: bytes) -> None:
    content = json.dumps(DOCUMENTS[name](), indent=3).encode().replace(b"\n", ending)
    assert tokens(rendered(name, imported(content)).rendered.text.encode()) == tokens(content)


@pytest.mark.parametrize(
    "number", ["0", "-0", "7", "7.0", "7.00", "0.10", "123456789012345678.000000000000000001"]
)
def test_a_number_keeps_its_characters(number: str) -> None:
    content = spelled(DOCUMENTS["sanitized-qualification-summary.v1"]()).replace(
        b"0.8,", number.encode() + b","
    )
    made = rendered("sanitized-qualification-summary.v1", imported(content))
    assert f'"memory_fraction": {number},' in made.rendered.text


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path and path != ("schema",):
        yield path
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, key))


OTHER: tuple[Any, ...] = (
    None,
    True,
    0,
    -3,
    1.5,
    10**15,
    "passed",
    "4/5",
    "e" * 64,
    [],
    ["one", "two"],
    {},
    ...,
)
"""What a member is replaced by; `...` removes it."""


@pytest.mark.parametrize("name", DOCUMENTS)
def test_whatever_is_imported_comes_out_equal(name: str) -> None:
    """No document is accepted that could not be rendered: each member is made something else, one at a time, in turn."""
    accepted = refused = 0
    for at, path in enumerate(places(DOCUMENTS[name]())):
        for other in OTHER[at % 3 :: 3]:
            document: Any = copy.deepcopy(DOCUMENTS[name]())
            part = document
            for step in path[:-1]:
                part = part[step]
            if other is ...:
                del part[path[-1]]
            else:
                part[path[-1]] = other
            content = spelled(document)
            try:
                seen = imported(content)
            except ImportRefused:
                refused += 1
                continue
            made = rendered(name, seen)
            assert tokens(made.rendered.text.encode()) == tokens(content), (path, other)
            accepted += 1
    assert accepted > 15
    assert refused > accepted


# --- what is quoted, and what is ours ---------------------------------------------------------------------------


def test_what_the_source_says_of_its_own_evidence_is_quoted_and_not_believed() -> None:
    made = rendered("candidate-failure.v1", imported(spelled(failure())))
    leaf = made.rendered.leaf("/attempts/1/evidence_status")
    assert leaf is not None
    assert (leaf.value, leaf.status) == ("retained-bounded-log", "external-prior")
    assert made.limit.by_status()[0][0] == "external-prior"
    said = " ".join(made.limit.sentences())
    assert "Only the log of the second start was kept." in said
    assert "is not what anvil says of it" in said or "no finding of anvil" in said


def test_a_retracted_import_supports_nothing() -> None:
    seen = imported(spelled(failure()))
    last = seen[-1]
    header = replace_header(last, len(seen))
    event = EventRetracted(target=seen[0].entry_hash, reason="Not ours.")
    with pytest.raises(PublicationRefused):
        rendered("candidate-failure.v1", [*seen, replace(last, index=len(seen), header=header, event=event)])


def replace_header(seen: Any, seq: int) -> Any:
    return seen.header._replace(stream_seq=seq, subject=type(seen.header.subject)())


def test_folding_imported_events_in_two_parts_gives_the_same() -> None:
    seen = imported(spelled(failure()))
    assert fold(seen[4:], fold(seen[:4])) == fold(seen)
