"""Names of imported files become labels, and rows hold words: what they say of a machine or a person is found all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.command import Anvil
from support.evidence_files import benchmark, multimodal
from support.evidence_files import spelled as evidence_of
from support.toolfiles import spelled, values

HIDDEN = {
    "a home": "/home/alice/secret",
    "an address": "root@10.20.30.40:/x",
    "an internal host in a URL": "http://acme.corp.internal:8000/v1",
    "a token in capitals": "AKIAIOSFODNN7EXAMPLE",
}


def refused(ledger: Anvil, content: bytes) -> None:
    Path("file.jsonl").write_bytes(content)
    before = ledger("log", "--json").json["size"]
    for options in ((), ("--dry-run",)):
        ran = ledger("import", "file.jsonl", "--campaign", "one", *options)
        assert (ran.code, "the tripwire found" in ran.err) == (1, True), ran.err
    assert ledger("log", "--json").json["size"] == before


def tagged(tag: str) -> bytes:
    file = values("sglang-plain.jsonl")
    file[0]["tag"] = tag
    return spelled("sglang-plain.jsonl", file)


@pytest.mark.parametrize("name", HIDDEN)
def test_a_name_that_becomes_a_label(ledger: Anvil, name: str) -> None:
    refused(ledger, tagged(HIDDEN[name]))
    refused(ledger, evidence_of({**benchmark(), "run_id": HIDDEN[name]}))


def test_a_name_that_is_none_of_these(ledger: Anvil) -> None:
    Path("file.jsonl").write_bytes(tagged("Night run / 7"))
    assert ledger("import", "file.jsonl", "--campaign", "one").code == 0


@pytest.mark.parametrize("member", ["case_id", "finish_reason"])
def test_words_in_rows(ledger: Anvil, member: str) -> None:
    """Nothing but the rows has them, and rows are public."""
    file: dict[str, Any] = multimodal()
    file["attempts"][0][member] = "acme.corp.internal"
    refused(ledger, evidence_of(file))
