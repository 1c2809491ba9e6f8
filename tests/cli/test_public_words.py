"""Public words are looked at before they are appended: what is in the log stays there."""

from __future__ import annotations

import os

import pytest
from support.command import Anvil
from support.planted import CLEAN, PLANTED

from anvil.ledger import elsewhere

OBSERVE = ("observe", "--status", "declared", "--public")


def entries(ledger: Anvil) -> int:
    return len(ledger("log", "--json").json["events"])


@pytest.mark.parametrize("name", ["hf", "bearer", "home", "gpu", "endpoint", "option", "user-at"])
def test_planted_words_are_refused_before_anything_is_recorded(ledger: Anvil, name: str) -> None:
    before = entries(ledger)
    ran = ledger(*OBSERVE, f"It said {PLANTED[name]} then.")
    assert ran.code == 1
    assert "TEXT" in ran.err
    assert "Nothing was written" in ran.err
    assert PLANTED[name] not in ran.err
    assert entries(ledger) == before


def test_the_same_words_can_be_sealed(ledger: Anvil) -> None:
    assert ledger("observe", "--status", "declared", PLANTED["hf"]).code == 0


def test_clean_words_are_recorded(ledger: Anvil) -> None:
    assert ledger(*OBSERVE, CLEAN[30]).code == 0


def test_this_machine_is_a_canary(ledger: Anvil, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SETTING", "a-value-of-mine")
    monkeypatch.setenv("HF_TOKEN", "q123456789")
    for words in ("It is a-value-of-mine.", "It is q123456789a.", f"on {os.uname().nodename}:8000"):
        ran = ledger(*OBSERVE, words)
        assert ran.code == 1, words
    monkeypatch.setenv("VLLM_ATTENTION_BACKEND", "FLASHINFER_MLA")
    assert ledger(*OBSERVE, "It ran with FLASHINFER_MLA.").code == 0


def test_what_is_sealed_in_the_ledger_is_a_canary(ledger: Anvil) -> None:
    assert ledger("observe", "--status", "declared", "the customer is Umbrella").code == 0
    assert ledger(*OBSERVE, "We know that the customer is Umbrella.").code == 1


def test_the_reason_of_a_redaction_is_looked_at(ledger: Anvil) -> None:
    assert ledger("observe", "--status", "declared", "sealed words").code == 0
    ran = ledger("redact", 3, "--reason", f"It named {PLANTED['gpu']}")
    assert ran.code == 1
    assert "--reason" in ran.err


def test_without_the_tripwire_nothing_public_is_recorded(
    ledger: Anvil, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(elsewhere.ELSEWHERE, "public words", "anvil.projections.tripwire.gone:nothing")
    before = entries(ledger)
    ran = ledger(*OBSERVE, "clean words")
    assert ran.code == 1
    assert "cannot be loaded" in ran.err
    assert entries(ledger) == before
