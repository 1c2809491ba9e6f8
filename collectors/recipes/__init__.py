"""Recipes: what to launch and what to check, as TOML, read into models that cannot be wrong.

`load_recipe` is the way in. What belongs to a host is not here but in `anvil.collectors.site`.
"""

from anvil.collectors.recipes.blocks import Container
from anvil.collectors.recipes.gates import RestorationGate
from anvil.collectors.recipes.loader import Judges, load_recipe, packaged_recipes, parse_recipe
from anvil.collectors.recipes.parts import (
    Candidate,
    Deadlines,
    Experiment,
    Hardware,
    ModelPackage,
    SelectedCheck,
    SelectedProtocol,
    SelectedSuite,
    ThinkingControl,
)
from anvil.collectors.recipes.problems import FileRefused, Problem
from anvil.collectors.recipes.recipe import Attempt, Recipe

__all__ = [
    "Attempt",
    "Candidate",
    "Container",
    "Deadlines",
    "Experiment",
    "FileRefused",
    "Hardware",
    "Judges",
    "ModelPackage",
    "Problem",
    "Recipe",
    "RestorationGate",
    "SelectedCheck",
    "SelectedProtocol",
    "SelectedSuite",
    "ThinkingControl",
    "load_recipe",
    "packaged_recipes",
    "parse_recipe",
]
