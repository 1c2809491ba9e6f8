"""`anvil render` and `anvil why`: the same bytes everywhere, and from a figure back to the rows behind it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.command import Anvil
from support.laguna import LOGS, Laguna, laguna
from support.ledgers import ATTACKER, push, session

from anvil.ledger.envelope import Envelope
from anvil.ledger.events import EventRetracted
from anvil.ledger.merkle import leaf_hash
from anvil.ledger.schema import TRIGGERS

RENDER = ("render", "candidate-failure.v1")


@pytest.fixture
def campaign(anvil: Anvil) -> Laguna:
    return laguna(Path("anvil-ledger"))


def leaves(value: Any, pointer: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        pairs = ((f"{pointer}/{key}", item) for key, item in value.items())
    elif isinstance(value, list):
        pairs = ((f"{pointer}/{number}", item) for number, item in enumerate(value))
    else:
        return {pointer: value}
    return {path: leaf for below, item in pairs for path, leaf in leaves(item, below).items()}


# --- the same bytes -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("campaign")
@pytest.mark.parametrize("form", ["json", "md", "html"])
def test_the_bytes_depend_on_nothing_but_the_ledger(form: str) -> None:
    def run(**settings: str) -> tuple[bytes, bytes]:
        argv = [
            str(Path(sys.executable).with_name("anvil")),
            *RENDER,
            "--format",
            form,
            "--provenance",
            "p.json",
        ]
        done = subprocess.run(argv, env=os.environ | settings, capture_output=True, check=True)
        return done.stdout, Path("p.json").read_bytes()

    first = run(LC_ALL="C", TZ="UTC", PYTHONHASHSEED="0")
    assert first[0]
    assert run(LC_ALL="C.UTF-8", TZ="Pacific/Kiritimati", PYTHONHASHSEED="1") == first
    assert run(LC_ALL="tr_TR.UTF-8", TZ="America/St_Johns", PYTHONHASHSEED="4242", COLUMNS="20") == first


def test_an_earlier_document_comes_out_again_after_more_was_recorded(anvil: Anvil, campaign: Laguna) -> None:
    before = anvil(*RENDER).out
    index = anvil("log", "--json").json["events"][-1]["index"]
    assert anvil("observe", "more", "--status", "external-prior", "--public", "--subject",
                 "campaign=laguna-xs-2.1-nvfp4", "--subject", "attempt=sglang-moe").code == 0  # fmt: skip
    assert anvil(*RENDER).out != before
    assert anvil(*RENDER, "--as-of", index).out == before


def test_a_redaction_weakens_what_rests_on_it_and_nothing_else(anvil: Anvil, campaign: Laguna) -> None:
    before = leaves(anvil(*RENDER).json)
    assert (
        anvil("redact", campaign.observed[1].index, "--artifact", "log", "--reason", "Not ours to keep.").code
        == 0
    )
    after = leaves(anvil(*RENDER, "--provenance", "p.json").json)
    changed = {pointer for pointer in before if before[pointer] != after[pointer]}
    assert changed == {"/attempts/1/evidence_status", "/evidence_limit"}
    assert after["/attempts/1/evidence_status"] == "artifact-missing"
    provenance = {leaf["pointer"]: leaf for leaf in json.loads(Path("p.json").read_text())["leaves"]}
    assert provenance["/attempts/1/failure"]["status"] == "artifact-missing"
    assert provenance["/attempts/2/failure"]["status"] == "operator-observed-incomplete"


def test_bytes_that_are_gone_without_an_event_refuse_the_document(anvil: Anvil, campaign: Laguna) -> None:
    blobs = [path for path in (campaign.place.blobs / "sha256").glob("??/*") if path.read_bytes() == LOGS[5]]
    blobs[0].unlink()
    ran = anvil(*RENDER)
    assert (ran.code, ran.out) == (1, "")
    assert "artifact log" in ran.err
    assert "no event says so" in ran.err


@contextmanager
def as_an_attacker(campaign: Laguna) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(campaign.place.database, isolation_level=None)) as db:
        for trigger in TRIGGERS:
            db.execute(f"DROP TRIGGER {trigger}")
        yield db


@pytest.mark.parametrize("keeps_hash", [True, False])
def test_an_event_that_somebody_altered_refuses_the_document(
    anvil: Anvil, campaign: Laguna, keeps_hash: bool
) -> None:
    index = campaign.observed[0].index
    with as_an_attacker(campaign) as db:
        entry = db.execute("SELECT entry FROM entries WHERE [index] = ?", [index]).fetchone()[0]
        envelope = Envelope.parse(entry)
        forged = Envelope(envelope.header.replace(b":200,", b":500,"), envelope.signatures).encode()
        assert forged != entry
        hashed = campaign.observed[0].entry_hash if keeps_hash else leaf_hash(forged).hex()
        db.execute(
            "UPDATE entries SET entry = ?, leaf_hash = ? WHERE [index] = ?",
            [forged, bytes.fromhex(hashed), index],
        )
    ran = anvil(*RENDER)
    assert (ran.code, ran.out) == (1, "")
    assert f"the event at index {index} is not as it was signed" in ran.err


@pytest.mark.parametrize("column", ["event.retracted/1", "gap.noted/1"])
def test_a_retraction_that_nobody_signed_takes_nothing_back(
    anvil: Anvil, campaign: Laguna, column: str
) -> None:
    before = anvil(*RENDER).json
    retracted = EventRetracted(target=campaign.observed[0].entry_hash, reason="Never mind.")
    with as_an_attacker(campaign) as db:
        home = db.execute("SELECT origin FROM ledger").fetchone()[0]
        for entry in session(home, ATTACKER, retracted):
            push(db, entry)
        db.execute("UPDATE entries SET event = ? WHERE event = 'event.retracted/1'", [column])
    ran = anvil(*RENDER)
    if column == "gap.noted/1":  # by its column it is no retraction, and is not read as one
        assert (ran.code, ran.json) == (0, before)
    else:
        assert (ran.code, ran.out) == (1, "")
        assert "is not as it was signed" in ran.err


# --- provenance -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("campaign")
def test_the_provenance_covers_every_leaf_and_shows_nothing_private(anvil: Anvil) -> None:
    document = anvil(*RENDER, "--provenance", "p.json").json
    text = Path("p.json").read_text()
    provenance = json.loads(text)
    assert {leaf["pointer"]: leaf["value"] for leaf in provenance["leaves"]} == leaves(document)
    assert all(leaf["events"] or leaf["kind"] == "literal" for leaf in provenance["leaves"])
    assert provenance["synthetic"] is True
    cited = [artifact for leaf in provenance["leaves"] for artifact in leaf["artifacts"]]
    assert cited
    assert all(artifact["disclosure"] == "private" and "digest" not in artifact for artifact in cited)


@pytest.mark.usefixtures("campaign")
def test_programs_get_text_and_provenance_in_one_answer(anvil: Anvil) -> None:
    answer = anvil(*RENDER, "--json", "--format", "md").json
    assert answer["schema"] == "anvil.render/1"
    assert answer["text"] == anvil(*RENDER, "--format", "md").out
    assert len(answer["provenance"]["leaves"]) == len(leaves(anvil(*RENDER).json))


# --- a layout of one's own -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("campaign")
def test_a_layout_of_ones_own(anvil: Anvil) -> None:
    Path("mine.json.j2").write_text(
        '{"schema": "mine/1", "tried": [{% for a in attempts %}{{ a.engine }},{% endfor %}]}',
        encoding="utf-8",
    )
    shown = anvil(*RENDER, "--template", "mine.json.j2").json
    assert shown["schema"] == "mine/1"
    assert len(shown["tried"]) == 6
    Path("draft.json").write_text(anvil(*RENDER, "--template", "mine.json.j2").out, encoding="utf-8")
    ran = anvil("why", "draft.json", "/tried/3", "--template", "mine.json.j2", "--json")
    assert ran.json["value"] == "sglang dev-cu13-laguna-xs-2-1"


@pytest.mark.usefixtures("campaign")
def test_a_layout_that_prints_what_is_no_figure_is_refused_with_its_line(anvil: Anvil) -> None:
    Path("mine.json.j2").write_text('{"schema": "mine/1",\n "passed": true}', encoding="utf-8")
    ran = anvil(*RENDER, "--template", "mine.json.j2", "--provenance", "p.json")
    assert (ran.code, ran.out) == (1, "")
    assert "mine.json.j2, line 2: a literal stands where a figure belongs: 'true'" in ran.err
    assert not Path("p.json").exists()


@pytest.mark.usefixtures("campaign")
@pytest.mark.parametrize("command", [RENDER, ("why", "draft.json", "/date")])
def test_a_layout_that_is_no_text_is_refused(anvil: Anvil, command: tuple[str, ...]) -> None:
    Path("mine.json.j2").write_bytes(b"\xff\xfe")
    Path("draft.json").write_text('{"schema": "mine/1"}', encoding="utf-8")
    ran = anvil(*command, "--template", "mine.json.j2")
    assert ran.code == 1
    assert "cannot be read as a template" in ran.err


# --- why -----------------------------------------------------------------------------------------------------


@pytest.fixture
def drawn(anvil: Anvil, campaign: Laguna) -> Laguna:
    Path("draft.json").write_text(anvil(*RENDER).out, encoding="utf-8")
    return campaign


def test_from_a_figure_down_to_the_rows_behind_it(anvil: Anvil, drawn: Laguna) -> None:
    out = anvil("why", "draft.json", "/attempts/1/failure").out
    index = drawn.observed[1].index
    assert out.startswith('/attempts/1/failure = "The start went as far as profiling')
    assert "Evidence  retained-bounded-log" in out
    assert "observation.noted/2 public_text = The start went" in out
    assert f"(event {index})" in out
    assert drawn.observed[1].entry_hash in out
    assert f"log of event {index}  text/plain, private: {len(LOGS[1])} bytes, as signed" in out
    assert "| INFO capturing CUDA graphs" in out


@pytest.mark.usefixtures("drawn")
def test_the_chain_counts_what_was_counted(anvil: Anvil) -> None:
    members = anvil("why", "draft.json", "/attempts/0/preflight_no_thinking", "--json").json
    passed = members["from"][0]["parts"][0]
    assert (passed["rule"], passed["value"], len(passed["parts"])) == ("checks that passed", 2, 4)
    fields = [part["parts"][0]["rule"] for part in passed["parts"]]
    assert fields == [f"observation.noted/2 claims.checks.{number}.outcome" for number in range(4, 8)]
    assert members["because"][0]["rule"] == "an attempt that an event speaks of"


@pytest.mark.usefixtures("drawn")
def test_every_leaf_has_a_why(anvil: Anvil) -> None:
    for pointer in leaves(json.loads(Path("draft.json").read_text())):
        if pointer != "/schema":
            ran = anvil("why", "draft.json", pointer, "--json", "--rows", 0)
            assert ran.json["events"], pointer


@pytest.mark.usefixtures("drawn")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("200", "500"), "is not what this ledger gives"),
        (lambda text: text.replace("rejected", "current"), "is not what this ledger gives"),
        (lambda text: text + "\n", "is not what this ledger gives"),
        (lambda text: "", "no JSON"),
        (lambda text: "[]", "schema"),
        (lambda text: text.replace("anvil-serving", "other"), "schema"),
    ],
)
def test_a_document_that_does_not_come_out_of_the_ledger_has_no_why(
    anvil: Anvil, change: Any, said: str
) -> None:
    Path("draft.json").write_text(change(Path("draft.json").read_text()), encoding="utf-8")
    ran = anvil("why", "draft.json", "/attempts/0/health")
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err


@pytest.mark.usefixtures("drawn")
def test_a_pointer_that_leads_nowhere_is_told_where_one_could(anvil: Anvil) -> None:
    ran = anvil("why", "draft.json", "/attempts/9/health")
    assert ran.code == 1
    assert "/attempts/5/health" in ran.err


# --- refused --------------------------------------------------------------------------------------------------


def test_a_ledger_without_a_recipe_says_what_is_missing(ledger: Anvil) -> None:
    ran = ledger(*RENDER)
    assert ran.code == 1
    assert "none is declared yet" in ran.err


@pytest.mark.usefixtures("campaign")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--campaign", "other"), "there is no campaign 'other'"),
        (("--candidate", "other"), "there is no candidate 'other'"),
        (("--as-of", 999), "there is no entry 999"),
        (("--template", "mine.json.j2", "--format", "html"), "the pages are anvil's"),
    ],
)
def test_what_cannot_be_is_refused(anvil: Anvil, options: tuple[Any, ...], said: str) -> None:
    Path("mine.json.j2").write_text("{}", encoding="utf-8")
    ran = anvil(*RENDER, *options)
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err
