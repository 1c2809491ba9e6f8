"""What a document reads of a ledger: its campaign and what bears on it, and nothing unknown in silence."""

from __future__ import annotations

import pytest
from support.laguna import CAMPAIGN as OTHER
from support.laguna import CANDIDATE as OTHER_CANDIDATE
from support.laguna import about, observation, recipe
from support.published_folders import at_home
from support.saturated import CAMPAIGN, CANDIDATE, SUBJECT, noon, saturated

from anvil.ledger import entry as reading
from anvil.ledger.drafts import Draft
from anvil.ledger.errors import PublicationRefused, UnknownEventType
from anvil.ledger.events import CATALOGUE, EventRetracted, known_types
from anvil.ledger.header import Subject
from anvil.ledger.places import LedgerPlace
from anvil.ledger.recording import Ledger
from anvil.ledger.store import Row, Store
from anvil.ledger.streams import record
from anvil.projections.document import DOCUMENTS, find
from anvil.projections.opened import opened
from anvil.projections.record import fold
from anvil.projections.rendering import draft
from anvil.projections.seen import Reading, Seen, read_events


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> LedgerPlace:
    """A ledger with two campaigns; an event of each was taken back in a stream about nothing."""
    directory = tmp_path_factory.mktemp("two")
    with at_home(directory):
        made = saturated(directory / "ledger", lambda where: f"withheld {where}")
        with Ledger.open(made.place.directory, clock=noon) as ledger:
            record(ledger, ledger.signer("collector"), [Draft(recipe(), Subject(OTHER))], purpose="run")
            operator = ledger.signer("operator")
            words = [
                Draft(observation(n, "operator-observed-incomplete", f"It was the try {n}."), about(n))
                for n in range(4)
            ]
            said = record(ledger, operator, words, purpose="observation")
            more = observation(1, "operator-observed-incomplete", "It was said in error.")
            own = record(ledger, operator, [Draft(more, SUBJECT)], purpose="observation")
            taken_back = [
                EventRetracted(target=one.entry_hash, reason="It was another run.")
                for one in (said[2], own[0])
            ]
            record(ledger, operator, [Draft(event) for event in taken_back], purpose="observation")
    return made.place


@pytest.mark.parametrize(("campaign", "candidate"), [(CAMPAIGN, CANDIDATE), (OTHER, OTHER_CANDIDATE)])
def test_a_document_of_one_campaign_is_that_of_the_whole_record(
    place: LedgerPlace, campaign: str, candidate: str
) -> None:
    store = Store.open_readonly(place.database)
    size = store.size()
    for as_of in (size - 1, size - 3, size - 12):
        whole = fold(read_events(store), as_of=as_of)
        for name in DOCUMENTS if campaign == CAMPAIGN else ("candidate-failure.v1",):
            document = find(name)
            of = candidate if document.is_of_one_candidate else None
            with opened(place, as_of, campaign) as ledger:
                part = draft(ledger.record, ledger.artifacts, document, campaign=campaign, candidate=of)
                expected = draft(whole, ledger.artifacts, document, campaign=campaign, candidate=of)
                assert ledger.record.size == whole.size
                assert ledger.record.gone == whole.gone
                assert ledger.record.corrections == whole.corrections
            assert part.rendered == expected.rendered
            assert part.limit == expected.limit
    store.close()


def test_events_of_other_campaigns_are_not_decoded(
    place: LedgerPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[str | None] = []
    original = Reading._seen  # what is decoded is what the rule is about

    def counting(self: Reading, row: Row) -> Seen:
        decoded.append(row.campaign)
        return original(self, row)

    monkeypatch.setattr(Reading, "_seen", counting)
    with opened(place, None, OTHER) as ledger:
        assert OTHER in ledger.record.campaigns
    others = [campaign for campaign in decoded if campaign == CAMPAIGN]
    assert len(decoded) < 60
    assert len(others) < 20  # what declares it, and what takes something back


def test_an_unknown_type_in_another_campaign_is_not_skipped_in_silence(
    place: LedgerPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "is_known", lambda name: name != "suite.completed/1")
    with pytest.raises(UnknownEventType, match=r"suite\.completed/1"), opened(place, None, OTHER):
        raise AssertionError("it was opened")


def test_what_an_earlier_state_did_not_have_refuses_nothing(
    place: LedgerPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "is_known", lambda name: name != "suite.completed/1")
    with opened(place, 5, OTHER) as ledger:
        assert ledger.record.size == 6


def test_every_version_in_the_catalogue_is_known() -> None:
    assert set(CATALOGUE) < set(known_types())


def test_which_campaigns_there_are_is_said_all_the_same(place: LedgerPlace) -> None:
    with opened(place, None, None) as ledger, pytest.raises(PublicationRefused) as refused:
        draft(ledger.record, ledger.artifacts, find("candidate-failure.v1"))
    assert refused.value.advice is not None
    assert CAMPAIGN in refused.value.advice
    assert OTHER in refused.value.advice
    with opened(place, None, "no-such") as ledger, pytest.raises(PublicationRefused, match="no campaign"):
        draft(ledger.record, ledger.artifacts, find("candidate-failure.v1"), campaign="no-such")
