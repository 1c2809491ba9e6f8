"""Which judgements are stale, by name and reason, and how strong the evidence under them is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.campaigns import CAMPAIGN, Scene

from anvil.ledger.events import (
    ArtifactMissing,
    ArtifactRedacted,
    DecisionRecorded,
    EventRetracted,
    EvidenceAttached,
    LogRetained,
    ObservationNoted,
    SealedRedacted,
    WaiverGranted,
)
from anvil.ledger.header import ArtifactEntry
from anvil.ledger.public import EvidenceStatus
from anvil.projections.campaigns import Campaigns, fold
from anvil.projections.figures import weakest
from anvil.projections.judgements import reasons
from anvil.projections.seen import Seen
from anvil.projections.strength import claimed, status_of

FILE = ArtifactEntry("attachment-1", "text/plain", commitment="0" * 64)


class Play(Scene):
    """A scene in which a person judges."""

    def observed(self, status: EvidenceStatus, *, files: bool = False) -> str:
        said = self.add(ObservationNoted(status=status, public_text="x", claims=None, text=None))
        return self.with_file(said) if files else said

    def attached(self, target: str, status: EvidenceStatus, *restores: str) -> str:
        event = EvidenceAttached(
            target=target, status=status, restores=restores, supports=(), public_text=None, text=None
        )
        return self.with_file(self.add(event))

    def decided(self, *rests_on: str, supersedes: str | None = None) -> str:
        event = DecisionRecorded(
            verdicts=("current",), sentence="x", rests_on=rests_on, supersedes=supersedes
        )
        return self.add(event, CAMPAIGN)

    def retracted(self, target: str) -> str:
        return self.add(EventRetracted(target=target, reason="another engine"), CAMPAIGN)

    def redacted(self, target: str) -> str:
        return self.add(SealedRedacted(target=target, field="text", reason="a name"), CAMPAIGN)

    def lost(self, target: str) -> str:
        return self.add(ArtifactMissing(target=target, artifact=FILE.name, reason="the disk died"), CAMPAIGN)

    def disown(self, name: str) -> None:
        self.seen = [replace(each, is_disowned=each.entry_hash == name) for each in self.seen]

    def named(self, name: str) -> Seen | None:
        return next((each for each in self.seen if each.entry_hash == name), None)

    def state(self) -> Campaigns:
        return fold(self.seen)

    def stale(self, name: str) -> list[str]:
        state = self.state()
        decision = state.decisions()[name]
        return [
            str(reason)
            for reason in reasons(
                decision.index, decision.rests_on, state.standing, state.decisions(), self.named
            )
        ]

    def status(self, name: str) -> EvidenceStatus:
        seen = self.named(name)
        assert seen is not None
        return status_of(seen, self.state().standing)

    def with_file(self, name: str) -> str:
        last = self.seen[-1]
        self.seen[-1] = replace(last, header=last.header._replace(artifacts=(FILE,)))
        return name


@pytest.fixture
def play() -> Play:
    return Play()


# --- stale ---------------------------------------------------------------------------------------------


def test_a_decision_on_what_stands_is_not_stale(play: Play) -> None:
    assert play.stale(play.decided(play.checked("finish"))) == []


def test_it_is_when_a_result_is_retracted(play: Play) -> None:
    result, other = play.checked("finish"), play.checked("identity")
    first, second = play.decided(result, other), play.decided(other)
    play.retracted(result)
    assert play.stale(first) == ["0 was retracted at index 4: another engine"]
    assert play.stale(second) == []


def test_it_is_when_words_are_redacted_afterwards(play: Play) -> None:
    said = play.observed("operator-observed-incomplete")
    play.redacted(said)
    later = play.decided(said)
    assert play.stale(later) == [], "who decided knew that they are gone"
    play.add(ArtifactRedacted(target=said, artifact="log", reason="a name"), CAMPAIGN)
    assert play.stale(later) == ["0 had log redacted at index 3: a name"]


def test_it_is_when_bytes_are_lost_until_they_are_found(play: Play) -> None:
    result = play.observed("retained-complete", files=True)
    decision = play.decided(result)
    play.lost(result)
    assert play.stale(decision) == ["0 lost attachment-1, noted at index 2: the disk died"]
    assert play.status(result) == "artifact-missing"
    again = play.attached(result, "imported-artifact", "attachment-1")
    assert play.stale(decision) == []
    assert play.status(result) == "retained-complete"
    play.lost(result)
    assert play.stale(decision) == ["0 lost attachment-1, noted at index 4: the disk died"]
    assert play.status(result) == "imported-artifact", f"{again} is bytes of its own"


def test_it_is_when_a_decision_under_it_is_superseded(play: Play) -> None:
    result = play.checked("finish")
    old = play.decided(result)
    on_top = play.decided(old)
    new = play.decided(result, supersedes=old)
    assert play.stale(on_top) == ["1 was superseded at index 3"]
    play.retracted(new)
    assert play.stale(on_top) == []


def test_it_is_when_a_decision_under_it_is_stale(play: Play) -> None:
    result = play.checked("finish")
    on_top = play.decided(play.decided(play.decided(result)))
    play.retracted(result)
    (why,) = play.stale(on_top)
    assert why == ("2 is stale itself: 1 is stale itself: 0 was retracted at index 4: another engine")


def test_it_is_when_the_key_under_it_is_revoked_from_before_it_on(play: Play) -> None:
    result = play.checked("finish")
    decision = play.decided(result)
    play.disown(result)
    assert play.stale(decision) == ["0 was signed by a key that was revoked from before it on"]


def test_it_is_when_what_it_cites_is_not_here(play: Play) -> None:
    assert play.stale(play.decided("ab" * 32)) == ["event abababababababab is not in this ledger"]


def test_a_disowned_event_changes_nothing_and_is_counted(play: Play) -> None:
    result = play.checked("finish")
    decision = play.decided(result)
    stolen = [play.retracted(result), play.decided(result, supersedes=decision), play.observed("declared")]
    play.seen = [replace(each, is_disowned=each.entry_hash in stolen) for each in play.seen]
    state = play.state()
    assert state.disowned == 3
    assert list(state.decisions()) == [decision]
    assert list(state.standing.in_force(decision)) == []
    assert play.stale(decision) == []
    assert state.campaigns["mine"].observations == {}


def test_a_supersession_links_both_ways(play: Play) -> None:
    result = play.checked("finish")
    old = play.decided(result)
    new = play.decided(result, supersedes=old)
    state = play.state()
    assert state.decisions()[new].supersedes == old
    assert [(mark.how, mark.entry_hash) for mark in state.standing.in_force(old)] == [("superseded", new)]


def test_what_was_granted_and_decided_is_taken_back(play: Play) -> None:
    result = play.checked("finish", "failed", "wrong_value")
    waiver = WaiverGranted(
        gate="finish",
        granted_by="lead",
        reason="x",
        expires="2027-01-31T23:59:59.999999Z",
        about=(result,),
    )
    granted, decision = play.add(waiver, CAMPAIGN), play.decided(result)
    campaign = play.state().campaigns["mine"]
    (held,) = campaign.waivers.values()
    assert not held.has_ended("2027-01-31T23:59:59.999998Z")
    assert held.has_ended("2027-01-31T23:59:59.999999Z")
    play.retracted(granted)
    play.retracted(decision)
    campaign = play.state().campaigns["mine"]
    assert (campaign.waivers, campaign.decisions) == ({}, {})


# --- evidence status -----------------------------------------------------------------------------------


def test_a_claim_of_bytes_without_bytes_is_weakened(play: Play) -> None:
    assert play.status(play.observed("retained-complete")) == "operator-observed-incomplete"
    assert play.status(play.observed("retained-bounded-log", files=True)) == "retained-bounded-log"
    assert play.status(play.observed("external-prior")) == "external-prior"


def test_what_a_collector_saw_is_complete_and_a_cut_log_is_bounded(play: Play) -> None:
    assert play.status(play.checked("finish")) == "retained-complete"
    cut = LogRetained(seen_bytes=9, kept_bytes=5, head_bytes=1, is_whole=False, lines=1)
    assert play.status(play.with_file(play.add(cut))) == "retained-bounded-log"
    assert play.status(play.add(cut)) == "operator-observed-incomplete", "of the log nothing was kept"
    assert play.status(play.decided(play.seen[0].entry_hash)) == "declared"


def test_a_status_rises_by_what_is_attached_later_and_no_further(play: Play) -> None:
    said = play.observed("operator-observed-incomplete")
    found = play.attached(said, "retained-bounded-log")
    assert play.status(said) == "retained-bounded-log"
    weaker = play.attached(said, "imported-artifact")
    play.redacted(found)
    assert play.status(said) == "imported-artifact"
    play.retracted(weaker)
    assert play.status(said) == "operator-observed-incomplete"


@pytest.mark.parametrize("status", ["declared", "external-prior"])
def test_what_is_no_observation_of_ours_never_rises(play: Play, status: EvidenceStatus) -> None:
    said = play.observed(status)
    play.attached(said, "retained-complete")
    assert play.status(said) == status


def test_late_evidence_without_bytes_raises_nothing(play: Play) -> None:
    said = play.observed("operator-observed-incomplete")
    play.attached(said, "retained-complete")
    bare = replace(play.seen[-1], header=play.seen[-1].header._replace(artifacts=()))
    assert claimed(bare) == "operator-observed-incomplete"
    play.seen[-1] = bare
    assert play.status(said) == "operator-observed-incomplete"


def test_several_are_as_strong_as_the_weakest() -> None:
    assert weakest(["retained-complete", "imported-artifact", "declared"]) == "imported-artifact"
    assert weakest(["declared"]) == weakest([]) == "declared"
