"""Where the public test vectors lie. They are read, never committed: `needs("vectors")` says when absent."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import tools
from support.go import TlogVerify


@pytest.fixture(scope="session")
def vectors() -> Path:
    """The folder of public test vectors; mark the test `needs("vectors")`."""
    return tools.VECTORS


@pytest.fixture(scope="session")
def tlogverify(tmp_path_factory: pytest.TempPathFactory) -> TlogVerify:
    """The independent verifier in Go, built once; mark the test `needs("go")`."""
    return TlogVerify.build(tmp_path_factory.mktemp("go"))
