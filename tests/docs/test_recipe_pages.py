"""docs/recipes.md and docs/checks.md say what the code does: keys, examples, checks, failure classes."""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
from pathlib import Path
from typing import get_args

import pytest

from anvil.collectors.checks import CHECKS
from anvil.collectors.checks.judging import INCOMPLETE
from anvil.collectors.recipes import load_recipe
from anvil.collectors.recipes.loader import packaged_recipes
from anvil.collectors.recipes.recipe import RecipeFile
from anvil.collectors.running.judges import JUDGES
from anvil.collectors.site import Site, load_site
from anvil.collectors.suites import SUITES
from anvil.ledger.events.checks import FailureClass

DOCS = Path(__file__).parents[2] / "docs"
RECIPES = (DOCS / "recipes.md").read_text(encoding="utf-8")
CHECKS_PAGE = (DOCS / "checks.md").read_text(encoding="utf-8")
CLASSES = get_args(FailureClass)
_TOML = re.findall(r"^```toml\n(.*?)^```$", RECIPES, re.MULTILINE | re.DOTALL)


def section(name: str) -> str:
    return CHECKS_PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def classes_in(text: str) -> list[str]:
    return [name for name in re.findall(r"`([a-z_]+)`", text) if name in CLASSES]


# --- recipes.md ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [RecipeFile, Site])
def test_every_key_at_the_top_is_documented(model: type[RecipeFile | Site]) -> None:
    for name in model.model_fields:
        assert f"| `{name}` |" in RECIPES


def test_the_example_recipe_is_one_that_the_example_site_can_place(tmp_path: Path) -> None:
    recipe_file, site_file = tmp_path / "example.toml", tmp_path / "anvil-site.toml"
    recipe_file.write_text(_TOML[0])
    site_file.write_text(_TOML[1])
    recipe, site = load_recipe(str(recipe_file), JUDGES), load_site(site_file)
    placed = site.place(recipe.attempts[0])
    assert placed.host_port == 8100
    assert site.mounts(placed)


def test_the_recipes_that_come_with_anvil_are_listed() -> None:
    listed = re.findall(r"^\| `([a-z0-9.-]+)` \|", RECIPES.partition("## A first recipe")[0], re.MULTILINE)
    assert sorted(listed) == sorted(packaged_recipes())


def test_the_example_suite_is_one_that_can_be_run(tmp_path: Path) -> None:
    selected, file = (text for text in _TOML if "[[suites]]" in text or "anvil.suite/1" in text)
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "house.toml").write_text(file)
    digest = f"sha256:{hashlib.sha256(file.encode()).hexdigest()}"
    recipe = tmp_path / "example.toml"
    recipe.write_text(f"{_TOML[0]}\n{selected.replace('sha256:…', digest)}")
    found = load_recipe(recipe, JUDGES)
    (suite,) = found.attempts[0].suites
    assert (suite.repetitions, suite.required_rate) == (5, "0.8")


# --- checks.md ----------------------------------------------------------------------------------------


def test_every_check_has_a_section_in_the_order_of_the_registry() -> None:
    headings = [h for h in re.findall(r"^## (\S+)$", CHECKS_PAGE, re.MULTILINE) if h.islower()]
    assert headings == list(CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_a_section_says_version_request_rule_and_classes(name: str) -> None:
    text = section(name)
    assert f"Version {CHECKS[name].version}." in text
    for word in ("Sent", "Passes", "Classes"):
        assert f"- **{word}**" in text


@pytest.mark.parametrize("name", CHECKS)
def test_the_classes_of_a_check_are_in_their_order_and_all_that_its_code_names(name: str) -> None:
    listed = classes_in(section(name).partition("- **Classes**")[2])
    assert listed == sorted(listed, key=CLASSES.index)
    source = inspect.getsource(sys.modules[type(CHECKS[name]).__module__])
    named = {word for word in re.findall(r'"([a-z_]+)"', source) if word in CLASSES}
    assert named <= set(listed)


def test_the_failure_classes_are_listed_in_their_order_with_the_outcome_they_give() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \| (incomplete|failed) \|", section("Failure classes"), re.MULTILINE)
    assert [name for name, _ in rows] == list(CLASSES)
    assert {name for name, outcome in rows if outcome == "incomplete"} == INCOMPLETE


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_and_each_of_its_items_is_listed(name: str) -> None:
    suite = SUITES[name]()
    text = section("Suites")
    assert f"| `{name}` |" in text
    assert (suite.version, suite.purpose) == (1, "diagnostic")
    if name in ("intelligence", "session", "tool"):
        for item in suite.make(suite.parameters()):
            assert f"| `{item.id}` |" in text
