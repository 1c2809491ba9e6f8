"""Evidence status is computed from what is attached: it is kept or weakened, and never what somebody typed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest
from support.campaigns import Scene
from support.correcting import THIEF, corrected
from support.laguna import LOST, observation
from support.story import STORY_BY_TYPE

from anvil.ledger.events import (
    CATALOGUE,
    ArtifactRedacted,
    Event,
    EventRetracted,
    EvidenceAttached,
    ImportRecorded,
    LogRetained,
    ObservationNoted,
)
from anvil.ledger.header import ArtifactEntry, Header
from anvil.ledger.public import EvidenceStatus
from anvil.projections import strength
from anvil.projections.evidence import KEEPS_BYTES, PARTS, Evidence, status_of
from anvil.projections.figures import ArtifactName, Source, Support, is_stronger
from anvil.projections.record import Kept, Record, fold
from anvil.projections.seen import Seen
from anvil.projections.standing import Standing, step

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
    redacted = ArtifactRedacted(target=check.entry_hash, artifact=artifact, reason="It named a host.")
    record = corrected(Record(), redacted)
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
    retracted = EventRetracted(target=wrong, reason="Another engine.")
    assert Evidence(corrected(Record(), retracted)).sources(launch.events) == ()
    thiefs = replace(corrected(Record(), retracted), disowned={THIEF: 0})
    assert len(Evidence(thiefs).sources(launch.events)) == 1


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


# --- an observation in parts -----------------------------------------------------------------------------------


def observed(status: EvidenceStatus, *supported: str, with_log: bool = True) -> tuple[Scene, str]:
    """A person's statement in parts, with a log that supports some of them."""
    scene = Scene()
    words = observation(
        1, status, "It went as far as profiling.", health="reached", http_status=200, supported=supported
    )
    noted = scene.add(words)
    if with_log:
        attach(scene)
    return scene, noted


def attach(scene: Scene) -> None:
    last = scene.seen[-1]
    log = ArtifactEntry("log", "text/plain", commitment="0" * 64)
    header = Header(**{**last.header._asdict(), "artifacts": (log,)})
    scene.seen[-1] = replace(last, header=header)


def source_of(scene: Scene) -> Source:
    record = fold(scene.seen)
    (launch,) = record.campaigns["mine"].launches
    found = Evidence(record).source(launch.events[0])
    assert found is not None
    return found


WORDS, HEALTH, ENGINE = ("public_text",), ("claims", "http_status"), ("claims", "version")


@pytest.mark.parametrize(
    ("supported", "strong", "weak"),
    [
        (("words",), [WORDS], [HEALTH, ENGINE]),
        (("health",), [HEALTH, ("claims", "health")], [WORDS, ENGINE]),
        (("engine", "words"), [ENGINE, ("claims", "engine"), WORDS], [HEALTH]),
        ((), [], [WORDS, HEALTH, ENGINE]),
    ],
)
def test_one_log_raises_what_it_supports_and_nothing_else(
    supported: tuple[str, ...], strong: list[tuple[str, ...]], weak: list[tuple[str, ...]]
) -> None:
    scene, noted = observed("retained-bounded-log", *supported)
    source = source_of(scene)
    for path in strong:
        figure = source.stated(*path)
        assert figure.status == "retained-bounded-log"
        assert figure.support.artifacts == {ArtifactName(noted, "log")}
    for path in weak:
        figure = source.stated(*path)
        assert figure.status == "operator-observed-incomplete"
        assert figure.support == Support(frozenset({noted}))
    assert source.status == "operator-observed-incomplete"


@pytest.mark.parametrize("part", ["words", "health", "engine", "hardware", "checks"])
def test_a_file_found_later_raises_the_part_that_it_supports(part: str) -> None:
    scene, noted = observed("operator-observed-incomplete", with_log=False)
    found = scene.add(
        EvidenceAttached(
            target=noted,
            status="imported-artifact",
            restores=(),
            supports=(part,),
            public_text=None,
            text=None,
        )
    )
    attach(scene)
    for one in source_of(scene).parts:
        raised = one.name == part
        assert one.status == ("imported-artifact" if raised else "operator-observed-incomplete")
        assert (found in one.support.events) == raised


def test_a_log_that_is_gone_takes_away_what_it_supported_and_nothing_else() -> None:
    scene, noted = observed("retained-bounded-log", "words")
    scene.add(ArtifactRedacted(target=noted, artifact="log", reason="It named a host."))
    source = source_of(scene)
    assert source.stated(*WORDS).status == "artifact-missing"
    assert source.stated(*HEALTH).status == "operator-observed-incomplete"


def test_a_part_that_is_said_to_be_supported_by_nothing_is_a_person_s_word() -> None:
    scene, _ = observed("retained-complete", "words", "health", with_log=False)
    assert {part.status for part in source_of(scene).parts} == {"operator-observed-incomplete"}


def later(scene: Scene, target: str, status: EvidenceStatus, *parts: str) -> None:
    """Attach bytes to an event later, of which somebody says how strong they make it."""
    fields: dict[str, Any] = {"restores": (), "supports": parts, "public_text": None, "text": None}
    scene.add(EvidenceAttached(target=target, status=status, **fields))
    attach(scene)


def status_now(scene: Scene) -> EvidenceStatus:
    """Return the status of the first event, which documents and `anvil status` must tell alike."""
    record, standing = fold(scene.seen), Standing()
    for seen in scene.seen:
        if isinstance(seen.event, EvidenceAttached):
            standing = step(standing, seen.said, seen.event)
    of = next(kept for kept in record.every() if kept.entry_hash == scene.seen[0].entry_hash)
    source = Evidence(record).source(of)
    assert source is not None
    assert source.status == strength.status_of(scene.seen[0], standing)
    return source.status


@pytest.mark.parametrize(("lost", "status"), [((), "retained-complete"), (LOST, "retained-bounded-log")])
def test_what_says_that_something_was_not_kept_does_not_become_complete_later(
    lost: Any, status: EvidenceStatus
) -> None:
    scene = Scene()
    noted = scene.add(said("operator-observed-incomplete", not_kept=lost))
    later(scene, noted, "retained-complete", *PARTS)
    assert status_now(scene) == status


@pytest.mark.parametrize(
    "name", ["import.recorded/1", "check.imported/1", "suite.imported/1", "load.imported/1"]
)
def test_what_the_file_of_a_tool_holds_stays_an_imported_artifact(name: str) -> None:
    scene = Scene()
    event = STORY_BY_TYPE[name].event
    if isinstance(event, ImportRecorded):
        event = event.model_copy(update={"nature": "raw-evidence"})
    assert isinstance(event, Event)
    held = scene.add(event)
    attach(scene)
    later(scene, held, "retained-complete")
    assert status_now(scene) == "imported-artifact"


def test_bytes_that_are_said_to_be_a_choice_raise_nothing() -> None:
    scene = Scene()
    noted = scene.add(said("operator-observed-incomplete"))
    later(scene, noted, "declared", *PARTS)
    assert status_now(scene) == "operator-observed-incomplete"
