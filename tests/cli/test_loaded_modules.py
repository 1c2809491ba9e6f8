"""What `anvil verify` loads: nothing that reaches a network or a container, or renders a document."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.command import Anvil

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
