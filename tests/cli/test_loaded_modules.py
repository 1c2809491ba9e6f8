"""What `anvil verify` loads: nothing that reaches a network or a container, or renders a document."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.command import Anvil
from support.published import failure, spelled
from support.published_folders import Folder, made_once

VERIFY = """
import json, sys
from anvil.ledger.cli import main
try:
    main(["--ledger", sys.argv[1], "verify"])
except SystemExit as stop:
    print(json.dumps([stop.code, sorted(sys.modules)]), file=sys.stderr)
"""


@pytest.fixture
def loaded(ledger: Anvil) -> set[str]:
    """The modules that a process has loaded after `anvil verify`."""
    ran = subprocess.run(
        [sys.executable, "-c", VERIFY, str(Path("anvil-ledger").absolute())],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ,
    )
    code, modules = json.loads(ran.stderr.splitlines()[-1])
    assert code == 0, ran.stdout
    return set(modules)


def test_verify_loads_no_network_no_container_and_no_templates(loaded: set[str]) -> None:
    assert not loaded & {"docker", "httpx", "jinja2", "asyncio", "subprocess", "ssl"}


def test_verify_of_a_short_log_does_without_what_is_slow_to_load(loaded: set[str]) -> None:
    """Only a long log, a private key, a terminal or a writer needs these; each takes tens of milliseconds."""
    pem = "cryptography.hazmat.primitives.serialization"
    assert not loaded & {"multiprocessing", pem, "rich", "anvil.ledger.recording"}


BUILT = """
import anvil.ledger.commands.verify
from pydantic import BaseModel

def below(kind):
    for one in kind.__subclasses__():
        yield one
        yield from below(one)

every = list(below(BaseModel))
assert len(every) > 70, every
print([one.__name__ for one in every if one.__pydantic_complete__])
"""


def test_loading_verify_builds_no_validator_of_an_event() -> None:
    """Each takes about a millisecond or more, and a log has a few types of them all."""
    ran = subprocess.run([sys.executable, "-c", BUILT], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "[]"


PUBLICATION = """
import json, sys
from anvil.ledger.cli import main
try:
    main(["verify", "--publication", sys.argv[1], "--key", sys.argv[2], *sys.argv[3:]])
except SystemExit as stop:
    print(json.dumps([stop.code, sorted(sys.modules)]), file=sys.stderr)
"""


def modules_of(folder: Folder, *options: str) -> set[str]:
    argv = [sys.executable, "-c", PUBLICATION, str(folder.path), str(folder.key), *options]
    ran = subprocess.run(argv, check=True, capture_output=True, text=True)
    code, modules = json.loads(ran.stderr.splitlines()[-1])
    assert code == 0, ran.stdout
    return set(modules)


def test_verifying_a_publication_loads_templates_only_to_make_it_again(tmp_path: Path) -> None:
    folder = made_once(tmp_path)
    never = {"docker", "httpx", "asyncio", "subprocess", "ssl", "requests", "detect_secrets"}
    loaded = modules_of(folder, "--no-recompute")
    assert not loaded & {*never, "jinja2", "anvil.projections", "anvil.ledger.recording"}
    again = modules_of(folder)
    assert "jinja2" in again
    assert not again & {"docker", "httpx", "requests", "detect_secrets"}


RENDER = """
import json, sys
from anvil.ledger.cli import main
try:
    main(["--ledger", sys.argv[1], "render", "candidate-failure.v1", "--format", sys.argv[2]])
except SystemExit as stop:
    print(json.dumps([stop.code, sorted(sys.modules)]), file=sys.stderr)
"""


@pytest.mark.parametrize(("form", "draws"), [("json", False), ("md", False), ("html", True)])
def test_only_an_html_page_loads_what_draws(ledger: Anvil, form: str, draws: bool) -> None:
    Path("a.json").write_bytes(spelled(failure()))
    assert ledger("import", "a.json").code == 0
    argv = [sys.executable, "-c", RENDER, str(Path("anvil-ledger").absolute()), form]
    ran = subprocess.run(argv, check=True, capture_output=True, text=True, env=os.environ)
    code, modules = json.loads(ran.stderr.splitlines()[-1])
    assert (code, "drawsvg" in modules) == (0, draws)
    assert not set(modules) & {"docker", "httpx", "requests", "numpy", "cairosvg", "imageio"}
