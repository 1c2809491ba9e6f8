"""The first document, from a fine-grained stream: facts, statuses and the limit are derived, and equal the published ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from support.laguna import CANDIDATE, KEYS, Laguna, laguna
from support.tools import SEEDS

from anvil.projections.document import find
from anvil.projections.opened import opened
from anvil.projections.rendering import Draft, draft

SEED = SEEDS / "candidate-failure.v1.json"
WORDS = {"evidence_limit", "configuration", "failure", "decision", "hardware", "preflight_no_thinking"}
"""Leaves that are sentences: ours are our own, put together from the facts."""


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laguna]:
    home = tmp_path_factory.mktemp("laguna")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANVIL_KEYS", str(home / "keys"))
        patch.setenv("ANVIL_STATE", str(home / "state"))
        yield laguna(home / "ledger")


def drawn(campaign: Laguna, as_of: int | None = None, **options: Any) -> Draft:
    with opened(campaign.place, as_of) as ledger:
        return draft(ledger.record, ledger.artifacts, find("candidate-failure.v1"), **options)


@pytest.fixture(scope="module")
def made(campaign: Laguna) -> Draft:
    return drawn(campaign)


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from paths(item, (*path, number))
    else:
        yield path, value


# --- against the published document -------------------------------------------------------------------------


@pytest.mark.needs("seeds")
def test_the_keys_are_those_of_the_seed_in_their_order(made: Draft) -> None:
    seed = json.loads(SEED.read_text())
    ours = json.loads(made.rendered.text)
    assert [path for path, _ in paths(ours)] == [path for path, _ in paths(seed)]


@pytest.mark.needs("seeds")
def test_every_fact_of_the_seed_comes_out_equal(made: Draft) -> None:
    ours = dict(paths(json.loads(made.rendered.text)))
    compared = 0
    for path, value in paths(json.loads(SEED.read_text())):
        if path[-1] not in WORDS:
            assert ours[path] == value, path
            compared += 1
    assert compared == 24


@pytest.mark.needs("seeds")
def test_every_count_of_the_seed_stands_in_ours(made: Draft) -> None:
    ours = dict(paths(json.loads(made.rendered.text)))
    for path, value in paths(json.loads(SEED.read_text())):
        if path[-1] == "preflight_no_thinking":
            assert ours[path].partition(";")[0] == value.partition(";")[0]
            assert ("tools-batch 0/20" in ours[path]) == ("tool batch" in value)
            assert ("structured-json" in ours[path]) == ("structured JSON" in value)
            assert ("retrieval" in ours[path]) == ("needle" in value)
        elif path[-1] == "configuration":
            numbers = re.findall(r"\d{4,}", value)
            assert set(numbers) <= set(re.findall(r"\d+", ours[path])), path
        elif path[-1] == "hardware":
            assert ours[path] == value.replace(" GB ", " GiB ")  # one unit in all documents


@pytest.mark.needs("seeds")
def test_the_sentences_are_ours(made: Draft) -> None:
    seed = dict(paths(json.loads(SEED.read_text())))
    for path, value in paths(json.loads(made.rendered.text)):
        if path[-1] in WORDS - {"hardware"}:
            assert value != seed[path]


# --- what is derived ------------------------------------------------------------------------------------------


def test_the_statuses_of_the_six_attempts_follow_from_what_is_attached(made: Draft) -> None:
    reported, logged = "operator-observed-incomplete", "retained-bounded-log"
    statuses = [attempt["evidence_status"] for attempt in made.rendered.document["attempts"]]
    assert statuses == [reported, logged, reported, reported, reported, logged]


def test_the_evidence_limit_is_a_structure(made: Draft) -> None:
    assert made.limit.members()["rests_on"] == [
        {"status": "retained-bounded-log", "claims": [{"claim": "failure", "attempts": [2, 6]}]},
        {
            "status": "operator-observed-incomplete",
            "claims": [
                {"claim": "health", "attempts": [1, 4]},
                {"claim": "preflight_default", "attempts": [1]},
                {"claim": "preflight_no_thinking", "attempts": [1, 4]},
                {"claim": "failure", "attempts": [1, 3, 4, 5]},
            ],
        },
    ]
    assert made.limit.members()["missing"] == [
        {"what": "response-bodies", "why": "container-recreated", "attempts": [1, 4]},
        {"what": "check-results", "why": "container-recreated", "attempts": [1, 4]},
        {"what": "any raw evidence", "why": "nothing-is-attached", "attempts": [3, 5]},
    ]


def test_the_limit_in_words_is_made_from_it(made: Draft) -> None:
    text = made.rendered.document["evidence_limit"]
    assert text == made.limit.text()
    assert text.startswith("Synthetic: ")
    assert "Not kept for attempts 1 and 4 (container recreated): response bodies, check results." in text
    assert "is retained for what failed of attempts 2 and 6." in text


def test_every_leaf_is_traced_to_events(made: Draft, campaign: Laguna) -> None:
    leaves = {leaf.pointer: leaf for leaf in made.rendered.leaves}
    every = ["/" + "/".join(map(str, path)) for path, _ in paths(json.loads(made.rendered.text))]
    assert sorted(every) == sorted(leaves)
    assert all(leaf.support.events for pointer, leaf in leaves.items() if pointer != "/schema")
    health = leaves["/attempts/0/health"]
    assert health.support.events == {campaign.observed[0].entry_hash}
    unanswered = {leaves[f"/attempts/{n}/health"].rule for n in (1, 2, 4, 5)}
    assert unanswered == {"the health request was not recorded"}
    logged = leaves["/attempts/1/failure"]
    assert [artifact.name for artifact in logged.support.artifacts] == ["log"]
    assert leaves["/candidate"].status == "declared"


def test_the_template_holds_no_facts_of_a_campaign(made: Draft) -> None:
    source = made.template.source.lower()
    assert not re.search(r"laguna|poolside|vllm|sglang|blackwell|[0-9]{2}", source)


def test_the_document_of_an_earlier_day(campaign: Laguna) -> None:
    third = drawn(campaign, as_of=campaign.observed[2].index)
    assert len(third.rendered.document["attempts"]) == 3
    assert third.rendered.document["status"] is None
    assert "No decision is recorded." in third.rendered.document["evidence_limit"]
    absent = f"Planned, and nothing was seen of it: {', '.join(KEYS[3:])}."
    assert absent in third.rendered.document["evidence_limit"]
    assert third.candidate == CANDIDATE
