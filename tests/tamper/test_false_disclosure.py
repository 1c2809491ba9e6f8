"""A private artifact is said to be some bytes that it never was."""

from __future__ import annotations

import pytest
from support.disclosing import disclosed
from support.ledgers import (
    LOG,
    SEALED,
    SIZE,
    STREAM,
    Small,
    attack,
    forge,
    found,
    header_in,
    push,
    refused,
    session,
)

from anvil.ledger.artifacts import disclosures
from anvil.ledger.events import ArtifactDisclosed, StreamClosed, StreamOpened
from anvil.ledger.store import Store


def record_it(small: Small, event: ArtifactDisclosed) -> None:
    with attack(small) as db:
        push(db, *session(small.origin, small.key("operator"), event))


def test_the_truth(small: Small) -> None:
    record_it(small, disclosed(small))
    assert small.verify().exit_code == 0


@pytest.mark.parametrize(
    "change",
    [{"digest": "sha256:" + "0" * 64}, {"size": len(LOG) + 1}, {"salt": "0" * 64}, {"artifact": "samples"}],
)
def test_a_lie(small: Small, change: dict[str, object]) -> None:
    record_it(small, disclosed(small, **change))
    finding = refused(small.verify(), "sealed-altered", SIZE + 1)
    assert finding.expected != finding.found


@pytest.mark.parametrize("change", [{"artifact": "other"}, {"target": "0" * 64}])
def test_of_something_that_is_not_there(small: Small, change: dict[str, object]) -> None:
    record_it(small, disclosed(small, **change))
    assert found(small.verify(), "dangling-reference", SIZE + 1)


def test_one_by_a_collector_s_key(small: Small) -> None:
    with attack(small) as db:
        push(db, *session(small.origin, small.key("collector"), disclosed(small)))
    refused(small.verify(), "not-permitted", SIZE + 1)


def as_it_was(small: Small, **changes: object) -> list[bytes]:
    """Return a stream with a disclosure of the first version, which knew no extent."""
    facts = {**disclosed(small).facts(), **changes}
    facts = {name: facts[name] for name in ("target", "artifact", "digest", "size", "salt")}
    operator = small.key("operator")
    opened = StreamOpened(purpose="observation", synthetic=True, software="0.1.0")
    entries = [forge(small.origin, opened, operator, stream=STREAM)]
    entries.append(
        forge(small.origin, "artifact.disclosed/1", operator, after=header_in(entries[0]), facts=facts)
    )
    closed = StreamClosed(outcome="completed", reason=None)
    return [*entries, forge(small.origin, closed, operator, after=header_in(entries[1]))]


def test_one_of_the_first_version_is_read_as_one_of_a_digest(small: Small) -> None:
    with attack(small) as db:
        push(db, *as_it_was(small))
    report = small.verify()
    assert report.exit_code == 0
    assert {finding.code for finding in report.findings} <= {"uncovered"}, "it is no unknown type"
    store = Store.open_readonly(small.place.database)
    try:
        (one,) = disclosures(store).values()
    finally:
        store.close()
    assert (one.event.extent, one.index, one.target) == ("digest", SIZE + 1, SEALED)


@pytest.mark.parametrize("change", [{"digest": "sha256:" + "0" * 64}, {"size": 0}, {"salt": "0" * 64}])
def test_a_lie_of_the_first_version(small: Small, change: dict[str, object]) -> None:
    with attack(small) as db:
        push(db, *as_it_was(small, **change))
    refused(small.verify(), "sealed-altered", SIZE + 1)
