"""The fold over campaigns: its three properties, and each reason why a check has no verdict."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
from support.campaigns import ATTEMPT, CAMPAIGN, CHECKS, Scene
from support.story import story

from anvil.ledger.events import CaveatNoted, EventRetracted, GapNoted, LaunchFailed, ObservationNoted
from anvil.projections.attempts import AttemptState, numbers
from anvil.projections.campaigns import Campaigns, fold, step
from anvil.projections.seen import Seen


def told() -> list[Seen]:
    """Every event type there is, and then a run whose newest launch follows a retracted result."""
    scene = Scene([Seen(t.index, t.leaf, t.header, t.event) for t in story()])
    scene.opened()
    scene.declared()
    scene.launched()
    scene.health(is_ready=True)
    wrong = scene.checked("identity")
    scene.checked("finish", "failed", "wrong_value")
    retract(scene, wrong)
    scene.exited()
    scene.stopped()
    scene.closed()
    scene.launched(2)
    return scene.seen


def retract(scene: Scene, target: str) -> None:
    scene.add(EventRetracted(target=target, reason="it was another engine"), CAMPAIGN)


# --- the properties ------------------------------------------------------------------------------------


def test_replaying_twice_equals_once() -> None:
    events = told()
    assert fold(events) == fold(events)


def test_a_prefix_and_then_the_rest_equals_the_whole() -> None:
    events = told()
    whole = fold(events)
    for cut in range(len(events) + 1):
        assert fold(events[cut:], fold(events[:cut])) == whole


def test_a_step_never_changes_what_it_was_given() -> None:
    state = Campaigns()
    for seen in told():
        before = copy.deepcopy(state)
        after = step(state, seen)
        assert state == before
        state = after


# --- what it says ----------------------------------------------------------------------------------------


def reasons(scene: Scene) -> dict[str, str]:
    state = fold(scene.seen)
    return state.campaigns["mine"].attempts["a1"][-1].incomplete(state.streams)


def runs(scene: Scene) -> tuple[AttemptState, ...]:
    return fold(scene.seen).campaigns["mine"].attempts["a1"]


def launched(scene: Scene) -> None:
    scene.opened()
    scene.declared()
    scene.launched()
    scene.checked("identity")


def not_launched(scene: Scene) -> None:
    scene.opened()
    scene.declared()


def exited(scene: Scene) -> None:
    launched(scene)
    scene.exited()


def never_ready(scene: Scene) -> None:
    launched(scene)
    scene.health(is_ready=False)


def aborted(scene: Scene) -> None:
    launched(scene)
    scene.stopped()
    scene.closed("interrupted")


def lost(scene: Scene) -> None:
    launched(scene)
    scene.abandoned()


def without_result(scene: Scene) -> None:
    launched(scene)
    scene.stopped()
    scene.closed()


def broken_off(scene: Scene) -> None:
    launched(scene)
    scene.checked("finish", "incomplete", "engine_exited")


def broken(scene: Scene) -> None:
    launched(scene)
    scene.checked("finish", "incomplete")


@pytest.mark.parametrize(
    ("play", "why"),
    [
        (not_launched, "not_launched"),
        (launched, "still_running"),
        (exited, "engine_exited"),
        (never_ready, "not_ready"),
        (aborted, "aborted"),
        (lost, "recording_lost"),
        (without_result, "no_result"),
        (broken_off, "engine_exited"),
        (broken, "incomplete"),
    ],
)
def test_why_a_check_is_incomplete(play: Callable[[Scene], None], why: str) -> None:
    scene = Scene()
    play(scene)
    assert reasons(scene)["finish"] == why


def test_a_verdict_is_not_incomplete_whatever_it_is() -> None:
    scene = Scene()
    launched(scene)
    scene.checked("finish", "failed", "wrong_value")
    scene.exited()
    assert reasons(scene) == {}


def test_a_retracted_result_is_none() -> None:
    scene = Scene()
    launched(scene)
    retract(scene, scene.checked("finish"))
    assert reasons(scene) == {"finish": "still_running"}


def test_a_new_launch_begins_anew() -> None:
    scene = Scene()
    exited(scene)
    scene.closed()
    scene.opened(2)
    scene.declared(2)
    scene.launched(2)
    first, second = runs(scene)
    assert (first.launches, first.has_exited, set(first.checks)) == (1, True, {"identity"})
    assert (second.launches, second.has_exited, second.checks) == (1, False, {})
    assert numbers((first, second)) == (1, 2)
    assert set(reasons(scene).values()) == {"still_running"}


def test_a_launch_once_more_in_one_stream_goes_on() -> None:
    scene = Scene()
    exited(scene)
    scene.stopped()
    scene.launched()
    scene.checked("finish")
    (attempt,) = runs(scene)
    assert (attempt.launches, attempt.has_exited, set(attempt.checks)) == (2, False, {"identity", "finish"})


def test_an_engine_that_could_not_be_launched_and_then_was() -> None:
    scene = Scene()
    scene.opened()
    scene.declared()
    scene.add(LaunchFailed(launcher="docker", placement=None, failure="not_found", detail=None))
    scene.checked("finish", "incomplete", "prerequisite_failed")
    (attempt,) = runs(scene)
    assert (attempt.launches, attempt.launch_failure) == (0, "not_found")
    assert reasons(scene) == {"identity": "not_launched", "finish": "prerequisite_failed"}
    scene.launched(2)
    assert [run.launch_failure for run in runs(scene)] == ["not_found", None]
    assert numbers(runs(scene)) == (None, 1)


def test_runs_side_by_side_are_kept_apart() -> None:
    scene = Scene()
    for stream in (1, 2):
        scene.opened(stream)
        scene.declared(stream)
    for stream in (1, 2):
        scene.launched(stream)
    scene.checked("finish", stream=2)
    scene.checked("finish", "failed", "wrong_value")
    scene.stopped(2)
    scene.closed(stream=2)
    first, second = runs(scene)
    assert (first.checks["finish"].outcome, second.checks["finish"].outcome) == ("failed", "passed")
    assert (first.is_stopped, second.is_stopped) == (False, True)


def test_a_recovery_belongs_to_the_run_that_it_collects() -> None:
    """Also to the end of a second one, after the first was itself interrupted."""
    scene = Scene()
    scene.opened()
    scene.declared()
    scene.launched()
    for stream in (2, 3):
        scene.opened(stream)
        scene.declared(stream)
        scene.launched(stream)
    scene.opened(4, "recovery")
    scene.abandoned(1, 4)
    scene.checked("identity", "incomplete", stream=4)
    scene.opened(5, "recovery")
    scene.abandoned(4, 5)
    scene.stopped(5, is_recovered=True)
    first, second, third = runs(scene)
    assert (set(first.checks), first.is_stopped) == ({"identity"}, True)
    assert first.incomplete(fold(scene.seen).streams) == dict.fromkeys(CHECKS, "recording_lost")
    assert not second.checks
    assert not third.checks


def test_a_check_that_was_broken_off_says_by_what() -> None:
    scene = Scene()
    launched(scene)
    scene.checked("coding", "incomplete")  # an error in its own code
    scene.checked("finish", "incomplete")
    scene.closed("interrupted")
    assert reasons(scene) == {"coding": "incomplete", "finish": "aborted"}


def test_what_people_said_and_took_back() -> None:
    scene = Scene()
    said = [
        scene.add(CaveatNoted(text="the host was warm", about=()), CAMPAIGN),
        scene.add(GapNoted(text="no long context"), CAMPAIGN),
        scene.add(ObservationNoted(status="declared", claims=None, public_text="x", text=None), ATTEMPT),
    ]
    campaign = fold(scene.seen).campaigns["mine"]
    assert [note.text for note in campaign.caveats.values()] == ["the host was warm"]
    assert [note.text for note in campaign.gaps.values()] == ["no long context"]
    assert len(campaign.observations) == 1
    for target in said:
        retract(scene, target)
    campaign = fold(scene.seen).campaigns["mine"]
    assert (campaign.caveats, campaign.gaps, campaign.observations) == ({}, {}, {})
