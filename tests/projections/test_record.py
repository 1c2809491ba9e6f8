"""The fold that documents are made from: its three properties, launches, and what an earlier day knew."""

from __future__ import annotations

import copy

from support.campaigns import ATTEMPT, CAMPAIGN, Scene
from support.story import story

from anvil.ledger.events import (
    CaveatNoted,
    CheckCompleted,
    EventRetracted,
    KeyRevoked,
    LedgerCreated,
    ObservationNoted,
    TreeState,
)
from anvil.projections.record import Launch, Record, fold, step
from anvil.projections.seen import Seen


def told() -> list[Seen]:
    """Every event type there is, and then a run that was launched twice."""
    scene = Scene([Seen(t.index, t.leaf, t.header, t.event) for t in story()])
    scene.opened()
    scene.declared()
    scene.launched()
    scene.health(is_ready=True)
    wrong = scene.checked("finish", "failed", "wrong_value")
    scene.exited()
    scene.stopped()
    scene.closed()
    scene.launched(2)
    scene.checked("finish", stream=2)
    scene.add(EventRetracted(target=wrong, reason="it was another engine"), CAMPAIGN)
    return scene.seen


def test_replaying_twice_equals_once() -> None:
    assert fold(told()) == fold(told())


def test_a_prefix_and_then_the_rest_equals_the_whole() -> None:
    events = told()
    whole = fold(events)
    for cut in range(len(events) + 1):
        assert fold(events[cut:], fold(events[:cut])) == whole


def test_a_step_never_changes_what_it_was_given() -> None:
    state = Record()
    for seen in told():
        before = copy.deepcopy(state)
        after = step(state, seen)
        assert state == before
        state = after


def test_an_earlier_day_is_the_fold_of_what_was_there_then() -> None:
    events = told()
    for index in range(len(events)):
        assert fold(events, as_of=index) == fold(events[: index + 1])


def test_a_second_launch_covers_nothing_of_the_first() -> None:
    first, second = fold(told()).campaigns["mine"].attempts["a1"]
    assert (first.number, second.number) == (1, 2)
    outcomes = [
        [k.event.outcome for k in one.events if k.event.type == "check.completed/1"]
        for one in (first, second)
    ]  # type: ignore[union-attr]
    assert outcomes == [["failed"], ["passed"]]


def test_what_a_person_says_of_an_attempt_belongs_to_its_newest_launch() -> None:
    scene = Scene()
    said = ObservationNoted(status="declared", public_text="x", claims=None, text=None)
    scene.add(said)
    scene.launched()
    scene.launched()
    scene.add(said)
    launches = fold(scene.seen).campaigns["mine"].attempts["a1"]
    assert [(one.number, len(one.events)) for one in launches] == [(0, 1), (1, 1), (2, 2)]


def test_what_is_said_of_the_campaign_belongs_to_no_attempt() -> None:
    scene = Scene()
    scene.add(CaveatNoted(text="the host was warm", about=()), ATTEMPT)
    scene.add(ObservationNoted(status="declared", public_text="x", claims=None, text=None), CAMPAIGN)
    campaign = fold(scene.seen).campaigns["mine"]
    assert (len(campaign.general), campaign.launches) == (2, ())


def test_a_key_that_is_revoked_twice_is_disowned_from_the_earlier_state_on() -> None:
    scene = Scene()
    for size in (7, 3, 5):
        good = TreeState(origin="scene.test.invalid/log", size=size, root="0" * 64)
        scene.add(KeyRevoked(key="a" * 64, last_good=good, cause="lost"))
    assert fold(scene.seen).disowned == {"a" * 64: 3}


def test_the_last_good_state_is_counted_from_the_first_event_of_the_ledger_that_says_so() -> None:
    scene = Scene()
    scene.closed()
    home = scene.seen[0].header.ledger
    scene.add(LedgerCreated(origin=home, keys=(), predecessor=None, software="0.1"))
    good = TreeState(origin=home, size=3, root="0" * 64)
    scene.add(KeyRevoked(key="a" * 64, last_good=good, cause="lost"))
    assert fold(scene.seen).disowned == {"a" * 64: 1 + 3}


def test_runs_side_by_side_are_told_apart_by_their_streams() -> None:
    scene = Scene()
    for stream in (1, 2):
        scene.opened(stream)
        scene.launched(stream)
    scene.checked("finish", "failed", "wrong_value", stream=1)
    scene.checked("finish", stream=2)
    first, second = fold(scene.seen).campaigns["mine"].launches
    assert [_outcome(launch) for launch in (first, second)] == ["failed", "passed"]


def _outcome(launch: Launch) -> str:
    (check,) = (kept.event for kept in launch.events if isinstance(kept.event, CheckCompleted))
    return check.outcome
