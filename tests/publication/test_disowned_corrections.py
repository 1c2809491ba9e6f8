"""Corrections by a key that was revoked from before them on: they change nothing, wherever one looks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command import Anvil
from support.laguna import Laguna
from support.published_folders import DOCUMENT, size

VERIFY = ("verify", "--publication", "published", "--key", "anvil-ledger/log.vkey")
SAID = 7
"""The index of an observation that has a log attached."""


def disown(anvil: Anvil, good: int) -> None:
    """Give the operator another key, and revoke the old one from a state of so many entries on."""
    operator = next(k["key"] for k in anvil("key", "list", "--json").json["keys"] if k["role"] == "operator")
    assert anvil("key", "new", "operator").code == 0
    ran = anvil("key", "revoke", operator, "--cause", "compromised", "--last-good", good)
    assert ran.code == 0, ran.err


def retract(anvil: Anvil) -> None:
    assert anvil("retract", SAID, "--reason", "By the thief.").code == 0


def lose(anvil: Anvil) -> None:
    """Say that a log is lost, which lies elsewhere meanwhile."""
    (blob,) = (
        path
        for path in Path("anvil-ledger/blobs").rglob("*")
        if path.is_file() and path.stat().st_size == 156
    )
    blob.rename("elsewhere")
    assert anvil("note", "missing", SAID, "--reason", "By the thief.").code == 0
    Path("elsewhere").rename(blob)


def published(anvil: Anvil) -> Any:
    ran = anvil("render", DOCUMENT)
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


@pytest.mark.parametrize("correct", [retract, lose])
def test_documents_say_what_they_said_before(
    anvil: Anvil, made: Laguna, correct: Callable[[Anvil], None]
) -> None:
    before, observed = published(anvil), anvil("status", "--json").json["campaigns"][0]["observations"]
    good = size(made)
    correct(anvil)
    assert published(anvil) != before
    disown(anvil, good)
    assert anvil("status", "--json").json["campaigns"][0]["observations"] == observed
    assert published(anvil) == before
    assert anvil("release", DOCUMENT, "--out", "published").code == 0
    ran = anvil(*VERIFY)
    assert ran.code == 0, ran.out
    assert "Recomputed  yes" in ran.out


def test_an_earlier_state_is_released_although_a_thief_took_something_back_since(
    anvil: Anvil, made: Laguna
) -> None:
    good = size(made)
    retract(anvil)
    disown(anvil, good)
    ran = anvil("release", DOCUMENT, "--as-of", good - 1, "--out", "published")
    assert ran.code == 0, ran.err
    assert anvil(*VERIFY).code == 0


def test_what_a_thief_withdrew_is_not_withdrawn_and_can_be(anvil: Anvil, made: Laguna) -> None:
    index = json.loads(anvil("release", DOCUMENT, "--out", "published", "--json").out)["index"]
    good = size(made)
    assert anvil("withdraw", index, "--reason", "By the thief.").code == 0
    disown(anvil, good)
    again = anvil("release", DOCUMENT, "--out", "again", "--json")
    assert again.code == 0, again.err
    assert again.json["withdrawn_before"] == []
    assert "By the thief" not in again.err
    ran = anvil("withdraw", index, "--reason", "Measured on a shared host.")
    assert ran.code == 0, ran.err
    (first, _) = anvil("status", "--json").json["campaigns"][0]["publications"]
    assert first["withdrawn"]["reason"] == "Measured on a shared host."
