"""What real tools wrote, imported: which file is whose, and what of it is said in the clear."""

from __future__ import annotations

import re

import pytest
from support.toolfiles import KINDS, taken, whole

from anvil.collectors.importers import KINDS as IMPORTERS
from anvil.collectors.importers import importer_of
from anvil.projections.tripwire.scanning import Tripwire


@pytest.mark.parametrize("name", KINDS)
def test_a_file_is_recognised_without_being_told_and_by_one_importer_only(name: str) -> None:
    content = whole(name)
    assert importer_of(content, None).kind == KINDS[name]
    assert [kind for kind, importer in IMPORTERS.items() if importer.recognises(content)] == [KINDS[name]]


@pytest.mark.parametrize("name", KINDS)
def test_what_is_said_holds_no_word_of_the_file_that_is_not_public(name: str) -> None:
    """No prompt, answer, address or path of the file stands in an event or in rows."""
    made = taken(whole(name))
    clear = "".join(str(said.event.facts()) for said in made.said)
    clear += "".join(said.rows.encode().decode() for said in made.said if said.rows is not None)
    for word in ("127.0.0.1", "http:", "sentence", "word", "/run", "/peers", "Traceback", "Answer"):
        assert word not in clear
    assert made.nature == "raw-evidence"


@pytest.mark.parametrize("name", KINDS)
def test_what_was_tested_is_listed_as_missing_where_the_file_does_not_say(name: str) -> None:
    made = taken(whole(name))
    assert {"hardware", "engine", "image", "model", "revision", "recipe"} <= set(made.not_said)
    assert ("date" in made.not_said) == (name.startswith("sglang") or name == "lm-eval.jsonl")
    assert made.withheld == (
        ("date",) if name in ("aiperf.json", "vllm-detailed.json", "vllm-plain.json") else ()
    )


@pytest.mark.parametrize("name", KINDS)
def test_the_files_hold_nothing_of_the_machine_that_made_them(name: str) -> None:
    text = whole(name).decode()
    assert not re.search(r"/(?:root|home|tmp|work|usr|mnt|var|opt)/", text)
    assert not re.search(r"Linux-[0-9]", text)


@pytest.mark.parametrize("name", KINDS)
def test_rows_have_no_name_that_the_tripwire_takes_for_a_secret(name: str) -> None:
    """Rows go along with a publication: a column that is called like a secret could never be published."""
    tripwire = Tripwire()
    held = [said.rows.encode().decode() for said in taken(whole(name)).said if said.rows is not None]
    for line in (line for rows in held for line in rows.splitlines()):
        assert tripwire.look(name, line) == []
