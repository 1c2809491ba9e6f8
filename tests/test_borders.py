"""The borders between the packages bite: each contract is broken in a copy and seen to fail.

The contracts stand in pyproject.toml. A contract that no mutation breaks would be decoration, so a test
at the end asks that each of them is broken by at least one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.tools import ROOT

PACKAGES = ("ledger", "collectors", "projections")

MUTATIONS: list[tuple[str, str, dict[str, str]]] = [
    # contract, what is wrong, {file: line to append}
    ("ledger-is-the-base", "collectors", {"ledger/merkle.py": "import anvil.collectors"}),
    ("ledger-is-the-base", "projections", {"ledger/merkle.py": "from anvil import projections"}),
    (
        "ledger-is-the-base",
        "in a function",
        {"ledger/merkle.py": "def late() -> None:\n    import anvil.projections"},
    ),
    (
        "collectors-and-projections",
        "collectors fold",
        {"collectors/docker.py": "import anvil.projections"},
    ),
    (
        "collectors-and-projections",
        "projections look",
        {"projections/fold.py": "import anvil.collectors"},
    ),
    ("no-network", "httpx in ledger", {"ledger/merkle.py": "import httpx"}),
    ("no-network", "docker in ledger", {"ledger/merkle.py": "from docker import from_env"}),
    ("no-network", "subprocess in ledger", {"ledger/merkle.py": "import subprocess"}),
    ("no-network", "socket beside the agent", {"ledger/merkle.py": "import socket"}),
    ("no-network", "subprocess in the agent", {"ledger/agent.py": "import subprocess"}),
    ("no-network", "asyncio in projections", {"projections/fold.py": "import asyncio"}),
    (
        "no-network",
        "through a neighbour",
        {"projections/fold.py": "import anvil.ledger.far", "ledger/far.py": "import httpx"},
    ),
    ("templates-in-projections", "jinja2 in ledger", {"ledger/merkle.py": "import jinja2"}),
    ("templates-in-projections", "jinja2 in collectors", {"collectors/docker.py": "import jinja2.sandbox"}),
    ("no-database-in-collectors", "sqlite3", {"collectors/docker.py": "import sqlite3"}),
    ("no-database-in-collectors", "sqlite_utils", {"collectors/docker.py": "import sqlite_utils"}),
    ("one-place-opens-sqlite", "sqlite3", {"ledger/merkle.py": "import sqlite3"}),
    ("one-place-opens-sqlite", "pysqlite3", {"ledger/verify.py": "from pysqlite3 import dbapi2"}),
    ("ledger-layers", "upwards", {"ledger/merkle.py": "import anvil.ledger.cli", "ledger/cli.py": ""}),
    (
        "ledger-layers",
        "sideways",
        {"ledger/merkle.py": "import anvil.ledger.chain", "ledger/chain.py": ""},
    ),
    ("ledger-layers", "a module without a layer", {"ledger/somewhere.py": ""}),
    (
        "collectors-apart",
        "one knows another",
        {"collectors/docker.py": "import anvil.collectors.host", "collectors/host.py": ""},
    ),
    (
        "load-layers",
        "what measures also parses",
        {"collectors/load/closed_loop.py": "import anvil.collectors.load.rows"},
    ),
    (
        "documents-apart",
        "one knows another",
        {
            "projections/documents/__init__.py": "",
            "projections/documents/failure.py": "import anvil.projections.documents.summary",
            "projections/documents/summary.py": "",
        },
    ),
    ("projections-are-pure", "the clock", {"projections/record.py": "import anvil.ledger.clock"}),
    ("projections-are-pure", "the time", {"projections/pages/view.py": "from time import time"}),
    ("projections-are-pure", "random numbers", {"projections/figures.py": "import secrets"}),
    ("projections-layers", "upwards", {"projections/figures.py": "import anvil.projections.record"}),
    (
        "projections-layers",
        "a document that renders itself",
        {"projections/documents/candidate_failure/model.py": "import anvil.projections.rendering"},
    ),
]

ALLOWED: list[tuple[str, str, dict[str, str]]] = [
    ("no-network", "the agent's socket", {"ledger/agent.py": "import socket"}),
    ("no-network", "collectors look", {"collectors/docker.py": "import docker, httpx, subprocess, asyncio"}),
    ("templates-in-projections", "projections render", {"projections/render.py": "import jinja2"}),
    (
        "collectors-apart",
        "the command line and the interface",
        {
            "collectors/cli.py": "import anvil.collectors.health",
            "collectors/health.py": "import anvil.collectors.interface",
            "collectors/interface.py": "",
        },
    ),
]


def lint(tree: Path, contract: str, lines: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Append lines to files of a copy of the project and check one contract there."""
    for name in PACKAGES:
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / ".src", tree / ".src", symlinks=True)
    shutil.copy(ROOT / "pyproject.toml", tree)
    for file, line in lines.items():
        (tree / file).parent.mkdir(exist_ok=True)
        with (tree / file).open("a") as written:
            written.write(f"\n{line}\n")
    argv = [
        str(Path(sys.executable).with_name("lint-imports")),
        "--no-cache",
        "--no-logo",
        "--contract",
        contract,
    ]
    environment = os.environ | {"PYTHONPATH": str(tree / ".src")}
    return subprocess.run(argv, cwd=tree, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(("contract", "what", "lines"), MUTATIONS, ids=[f"{c}: {w}" for c, w, _ in MUTATIONS])
def test_a_crossed_border_is_caught(tmp_path: Path, contract: str, what: str, lines: dict[str, str]) -> None:
    done = lint(tmp_path, contract, lines)
    assert done.returncode == 1, f"{what}: {done.stdout}{done.stderr}"
    assert "1 broken" in done.stdout, f"{what}: {done.stdout}"


@pytest.mark.parametrize(("contract", "what", "lines"), ALLOWED, ids=[f"{c}: {w}" for c, w, _ in ALLOWED])
def test_what_is_allowed_passes(tmp_path: Path, contract: str, what: str, lines: dict[str, str]) -> None:
    done = lint(tmp_path, contract, lines)
    assert done.returncode == 0, f"{what}: {done.stdout}{done.stderr}"


def test_each_contract_is_broken_by_a_mutation() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    assert {contract["id"] for contract in table["contracts"]} == {contract for contract, _, _ in MUTATIONS}


@pytest.mark.parametrize(
    "code",
    [
        "import ledger",
        "from ledger.merkle import leaf_hash",
        "import collectors.docker",
        "from projections import fold",
        "import time\n\ntime.time()",
        "from datetime import UTC, datetime\n\ndatetime.now(UTC)",
    ],
)
def test_ruff_bans_bare_names_and_a_second_clock(code: str) -> None:
    argv = [str(Path(sys.executable).with_name("ruff")), "check", "--no-cache", "--select", "TID251"]
    argv += ["--stdin-filename", "ledger/merkle.py", "-"]
    done = subprocess.run(argv, input=f"{code}\n", cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "TID251" in done.stdout
