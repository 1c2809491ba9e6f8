"""One name for each module: `anvil.X`, from links in a checkout and from folders in a wheel."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.resources
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.tools import ROOT

PACKAGES = ("ledger", "collectors", "projections")
FOLDERS = (*PACKAGES, "templates", "recipes")


def project() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_bare_import_from_the_top_of_the_repository_is_refused(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {name}"], cwd=ROOT, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: this package is 'anvil.{name}'"), done.stderr
    assert f"import 'anvil.{name}'" in last


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_has_its_full_name(name: str) -> None:
    package = importlib.import_module(f"anvil.{name}")
    assert package.__name__ == f"anvil.{name}"
    assert Path(str(package.__file__)).resolve().parent == ROOT / name


def test_anvil_is_a_namespace_package() -> None:
    assert importlib.import_module("anvil").__file__ is None
    assert not (ROOT / ".src/anvil/__init__.py").exists()


@pytest.mark.parametrize("name", FOLDERS)
def test_a_development_link_leads_to_its_folder(name: str) -> None:
    link = ROOT / ".src" / "anvil" / name
    assert str(link.readlink()) == f"../../{name}"
    assert link.is_dir()


def test_there_is_a_link_for_each_packaged_folder_and_no_other() -> None:
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    links = {link.name for link in (ROOT / ".src/anvil").iterdir() if link.is_symlink()}
    assert links == set(FOLDERS) == set(tables["wheel"]["only-include"])
    assert set(FOLDERS) <= set(tables["sdist"]["only-include"])


@pytest.mark.parametrize("name", ["templates", "recipes"])
def test_data_is_found_through_the_package(name: str) -> None:
    assert importlib.resources.files(f"anvil.{name}").joinpath("README.md").is_file()


def test_the_lock_pins_each_dependency_with_digests() -> None:
    text = (ROOT / "constraints.txt").read_text()
    blocks = re.findall(r"^([a-z0-9-]+)==\S+.*((?:\n    --hash=sha256:[0-9a-f]{64}.*)+)", text, re.MULTILINE)
    pinned = {name for name, _ in blocks}
    assert len(blocks) == len(re.findall(r"^[a-z0-9]", text, re.MULTILINE)), "a pin without a digest"
    table = project()
    wanted = [*table["dependencies"], *table["optional-dependencies"]["dev"]]
    assert {re.split(r"[^a-z0-9-]", name)[0] for name in wanted} <= pinned


def test_the_distribution_and_its_command() -> None:
    assert importlib.metadata.metadata("anvil-ledger")["License-Expression"] == "Apache-2.0"
    (script,) = importlib.metadata.distribution("anvil-ledger").entry_points
    assert (script.group, script.name, script.value) == ("console_scripts", "anvil", "anvil.ledger.cli:main")


def test_no_module_is_over_400_lines() -> None:
    sizes = {
        path.relative_to(ROOT): len(path.read_text().splitlines())
        for name in PACKAGES
        for path in (ROOT / name).rglob("*.py")
    }
    assert {str(path): size for path, size in sizes.items() if size > 400} == {}
