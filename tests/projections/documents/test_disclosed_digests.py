"""The section of disclosed digests, from a recorded ledger through the command line, and what does not belong into it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from support.command import Anvil, Ran, run_here
from support.fine import events as of
from support.fine.lanes import CAMPAIGN, DISCLOSED, carrier, lanes
from support.fine.stage import Stage

from anvil.ledger.envelope import Envelope
from anvil.ledger.events import ArtifactRedacted
from anvil.ledger.header import Header, family
from anvil.ledger.places import LedgerPlace
from anvil.ledger.store import Store

NAME = "qwen38-27b-qualification-summary.v1"
SECTION = "private_artifact_digests"


@pytest.fixture
def anvil(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Anvil:
    monkeypatch.setenv("ANVIL_KEYS", str(tmp_path / "keys"))
    monkeypatch.setenv("ANVIL_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Ran:
        return run_here(capfdbinary, *arguments)

    return run


def carriers(place: LedgerPlace) -> list[tuple[int, str]]:
    """Return where in the ledger the eventful artifacts lie, as `DISCLOSED` names them."""
    stage, found = lanes(is_disclosed=False), []
    store = Store.open_readonly(place.database)
    try:
        headers = [Header.parse(Envelope.parse(row.entry).header) for row in store.rows(0, store.size())]
    finally:
        store.close()
    told = [
        at
        for at, header in enumerate(headers)
        if family(header.event) not in ("stream.opened", "stream.closed")
    ]
    for attempt, what, artifact in DISCLOSED:
        index = told[1 + carrier(stage, attempt, what)]  # the first is that the ledger was made
        assert artifact in {one.name for one in headers[index].artifacts}
        found.append((index, artifact))
    return found


def test_the_section_is_there_after_the_command_and_every_digest_leads_to_bytes(
    anvil: Anvil, tmp_path: Path
) -> None:
    expected = json.loads(lanes().drawn(NAME).rendered.text)
    place = lanes(is_disclosed=False).recorded(tmp_path / "anvil-ledger")
    before = anvil("render", NAME, "--campaign", CAMPAIGN)
    assert before.code == 0, before.err
    assert json.loads(before.out)[SECTION] == {}
    for index, artifact in carriers(place):
        ran = anvil("disclose", index, artifact, "--digest-only", "--yes")
        assert ran.code == 0, ran.err
    Path("draft.json").write_text(anvil("render", NAME, "--campaign", CAMPAIGN).out)
    document = json.loads(Path("draft.json").read_text())
    assert list(document[SECTION]) == list(expected[SECTION])
    assert len(document[SECTION]) == len(DISCLOSED) == 11
    assert document == expected
    for name, digest in document[SECTION].items():
        path = place.blobs / "sha256" / digest[:2] / digest[2:]
        assert hashlib.sha256(path.read_bytes()).hexdigest() == digest, name
    first = next(iter(document[SECTION]))
    why = anvil("why", "draft.json", f"/{SECTION}/{first}", "--json").json
    assert [event["event"] for event in why["events"]][-1] == "artifact.disclosed/2"
    assert [one["disclosure"] for one in why["artifacts"]] == ["private, its digest disclosed"]
    assert anvil("verify").code == 0


def tiny() -> Stage:
    stage = Stage("mine")
    attempts = [of.attempt("lane", "tiny", settings={"context_tokens": 8192})]
    stage.tell(of.recipe("mine", [of.candidate("tiny", "org/tiny", None, None)], attempts))
    stage.tell(of.launched(None), "tiny", "lane")
    return stage


def checked(stage: Stage, name: str, content: bytes) -> int:
    return stage.tell(of.check(name), "tiny", "lane", artifacts={"r1.response": content})


def section(stage: Stage) -> dict[str, str]:
    found: dict[str, str] = stage.drawn(NAME).rendered.document[SECTION]
    return found


def test_artifacts_of_one_name_in_one_attempt_are_numbered() -> None:
    stage = tiny()
    for name, content in (("coding", b"once"), ("coding", b"again"), ("responses", b"once")):
        stage.disclose(checked(stage, name, content), "r1.response", "lane")
    assert section(stage) == {
        "lane_coding_r1_response": hashlib.sha256(b"once").hexdigest(),
        "lane_coding_r1_response_2": hashlib.sha256(b"again").hexdigest(),
        "lane_responses_r1_response": hashlib.sha256(b"once").hexdigest(),
    }


def test_a_number_is_not_taken_for_a_name() -> None:
    stage = tiny()
    for content in (b"once", b"again"):
        stage.disclose(checked(stage, "coding", content), "r1.response", "lane")
    at = stage.tell(of.check("coding"), "tiny", "lane", artifacts={"r1.response_2": b"a third"})
    stage.disclose(at, "r1.response_2", "lane")
    found = section(stage)
    assert list(found) == [
        "lane_coding_r1_response",
        "lane_coding_r1_response_2",
        "lane_coding_r1_response_2_2",
    ]
    assert found["lane_coding_r1_response_2_2"] == hashlib.sha256(b"a third").hexdigest()


def test_what_was_disclosed_twice_is_printed_once() -> None:
    stage = tiny()
    at = checked(stage, "coding", b"{}")
    stage.disclose(at, "r1.response", "lane")
    stage.disclose(at, "r1.response", "lane")
    assert list(section(stage)) == ["lane_coding_r1_response"]


def test_a_digest_of_bytes_that_are_gone_is_left_out() -> None:
    """Eleven published digests resolved to nothing."""
    stage = tiny()
    at = checked(stage, "coding", b"{}")
    stage.disclose(at, "r1.response", "lane")
    assert section(stage)
    stage.tell(
        lambda told: ArtifactRedacted(target=told[at], artifact="r1.response", reason="It named a customer."),
        role="operator",
    )
    assert section(stage) == {}


def test_each_leaf_rests_on_the_disclosure_and_on_what_it_discloses() -> None:
    stage = tiny()
    at = checked(stage, "coding", b"{}")
    stage.disclose(at, "r1.response", "lane")
    drawn = stage.drawn(NAME)
    leaves = [leaf for leaf in drawn.rendered.leaves if leaf.pointer.startswith(f"/{SECTION}/")]
    assert {leaf.kind for leaf in leaves} == {"leaf", "key"}
    for leaf in leaves:
        names = {artifact.name for artifact in leaf.support.artifacts}
        assert names == {"r1.response"}, leaf
        assert len(leaf.support.events) == 2, leaf
