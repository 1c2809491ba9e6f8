"""Evidence status is computed from what is attached: it is kept or weakened, and never what somebody typed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest
from support.campaigns import Scene
from support.laguna import LOST, observation
from support.story import STORY_BY_TYPE

from anvil.ledger.events import CATALOGUE, LogRetained, ObservationNoted
from anvil.ledger.public import EvidenceStatus
from anvil.projections.evidence import KEEPS_BYTES, Evidence, status_of
from anvil.projections.figures import ArtifactName, is_stronger
from anvil.projections.record import Kept, Record, fold
from anvil.projections.seen import Seen

STATUSES = get_args(EvidenceStatus)
OBSERVED = [status for status in STATUSES if status != "declared"]


def said(status: EvidenceStatus, **claims: Any) -> ObservationNoted:
    return observation(0, status, "x", **claims)


@pytest.mark.parametrize("status", OBSERVED)
@pytest.mark.parametrize("has_artifact", [True, False])
@pytest.mark.parametrize("lost", [(), LOST])
def test_a_person_s_status_is_never_strengthened(
    status: EvidenceStatus, has_artifact: bool, lost: Any
) -> None:
    found = status_of(said(status, not_kept=lost), has_artifact=has_artifact)
    assert not is_stronger(found, status)
    assert has_artifact or found not in KEEPS_BYTES


@pytest.mark.parametrize("status", sorted(KEEPS_BYTES))
def test_nothing_attached_means_a_person_s_word(status: EvidenceStatus) -> None:
    assert status_of(said(status), has_artifact=False) == "operator-observed-incomplete"


def test_evidence_that_misses_something_is_not_complete() -> None:
    assert status_of(said("retained-complete"), has_artifact=True) == "retained-complete"
    assert status_of(said("retained-complete", not_kept=LOST), has_artifact=True) == "retained-bounded-log"


@pytest.mark.parametrize("event_type", CATALOGUE)
def test_what_keeps_raw_bytes_and_names_none_is_nobody_s_complete_evidence(event_type: str) -> None:
    told = STORY_BY_TYPE[event_type]
    without = status_of(told.event, has_artifact=False)
    with_one = status_of(told.event, has_artifact=True)
    assert not is_stronger(without, with_one)
    raw = {
        "check.completed/1",
        "suite.completed/1",
        "load.measured/1",
        "health.observed/1",
        "engine.reported/1",
    }
    raw |= {"weights.inspected/1", "engine.identified/1", "log.retained/1"}
    if event_type in raw:
        assert without == "operator-observed-incomplete"
        assert with_one in ("retained-complete", "retained-bounded-log")


@pytest.mark.parametrize(
    ("is_whole", "status"), [(True, "retained-complete"), (False, "retained-bounded-log")]
)
def test_a_log_that_was_cut_is_a_bounded_one(is_whole: bool, status: EvidenceStatus) -> None:
    event = LogRetained(
        seen_bytes=9, kept_bytes=9 if is_whole else 4, head_bytes=2, is_whole=is_whole, lines=1
    )
    assert status_of(event, has_artifact=True) == status


# --- what later events take away ---------------------------------------------------------------------------


def kept(name: str) -> Kept:
    told = STORY_BY_TYPE[name]
    return Kept.of(Seen(told.index, told.leaf, told.header, told.event))


@pytest.mark.parametrize("artifact", ["r1.request", "r1.response"])
def test_an_event_of_which_an_artifact_is_gone_is_missing_it(artifact: str) -> None:
    check = kept("check.completed/1")
    assert Evidence(Record()).status(check) == "retained-complete"
    record = Record(redacted=frozenset({ArtifactName(check.entry_hash, artifact)}))
    assert Evidence(record).status(check) == "artifact-missing"
    assert Evidence(record).gone(check) == (artifact,)


def test_a_redaction_in_the_log_takes_the_status_away_and_bytes_found_later_raise_it() -> None:
    found = STORY_BY_TYPE["evidence.attached/1"]
    events = [Seen(t.index, t.leaf, t.header, t.event) for t in STORY]
    record = fold(events)
    noted = next(
        k
        for launch in record.campaigns["qwen38-27b"].launches
        for k in launch.events
        if k.event.type == "observation.noted/2"
    )
    assert Evidence(fold(events, as_of=found.index - 1)).status(noted) == "artifact-missing"
    assert Evidence(record).status(noted) == "retained-bounded-log"
    source = Evidence(record).source(noted)
    assert source is not None
    assert found.leaf in source.support.events, "what raises it is part of what it rests on"


STORY = sorted(STORY_BY_TYPE.values(), key=lambda told: told.index)


def test_a_retracted_event_is_no_source() -> None:
    scene = Scene()
    wrong = scene.checked("coding")
    (launch,) = fold(scene.seen).campaigns["mine"].launches
    assert len(Evidence(Record()).sources(launch.events)) == 1
    assert Evidence(Record(retracted=frozenset({wrong}))).sources(launch.events) == ()


@pytest.mark.parametrize(("first", "is_source"), [(0, False), (1, True)])
def test_what_a_disowned_key_signed_after_the_last_good_state_is_no_source(
    first: int, is_source: bool
) -> None:
    scene = Scene()
    scene.checked("coding")
    (launch,) = fold(scene.seen).campaigns["mine"].launches
    record = Record(disowned={"0" * 64: first})
    assert bool(Evidence(record).sources(launch.events)) == is_source
    other = replace(launch.events[0], key="1" * 64)
    assert Evidence(record).sources([other])
