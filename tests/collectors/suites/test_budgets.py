"""A budget holds the right answer: one that does not would make every model look wrong.

How many tokens an answer has is the model's matter. None of a text has more than bytes, and few have more than half
as many; what is asked here is half, and a tenth more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from support.repeating import chosen_for

from anvil.collectors.recipes import load_recipe, packaged_recipes
from anvil.collectors.running.suites import chosen_suites
from anvil.collectors.suites import SUITES, Chosen
from anvil.collectors.suites.corpus import packaged_corpus, read_corpus
from anvil.collectors.suites.intelligence import DIFF, TRIAGE
from anvil.collectors.suites.session import FACT
from anvil.collectors.suites.tool import ARGUMENTS, TOOL


def longest() -> dict[str, int]:
    """The bytes of the longest right answer of each suite."""
    cases = read_corpus(packaged_corpus()).cases
    call = json.dumps({"name": TOOL, "arguments": ARGUMENTS}, ensure_ascii=False)
    return {
        "intelligence": max(len(DIFF.encode()), len(json.dumps(TRIAGE))),
        "session": len(FACT),
        "tool": len(call.encode()),
        "retrieval": len("saffron-thistle-9999"),
        "multimodal": max(len(" ".join(group[0] for group in case.stated)) for case in cases),
    }


def selections() -> Iterator[tuple[str, Chosen]]:
    for name in SUITES:
        yield f"default {name}", chosen_for(name)
    for recipe_name in packaged_recipes():
        recipe = load_recipe(recipe_name)
        for attempt in recipe.attempts:
            for one in chosen_suites(recipe, attempt.suites):
                yield f"{recipe_name} {attempt.key} {one.selected_as}", one


SELECTIONS = dict(selections())


@pytest.mark.parametrize("name", SELECTIONS)
def test_a_budget_holds_the_longest_right_answer(name: str) -> None:
    one = SELECTIONS[name]
    assert one.parameters.visible_tokens * 20 >= longest()[one.suite.id] * 11


def test_every_suite_is_looked_at() -> None:
    assert set(longest()) == set(SUITES)
