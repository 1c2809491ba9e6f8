"""Programs of other people that check what anvil wrote."""

from __future__ import annotations

import pytest
from support.go import TlogVerify


@pytest.fixture(scope="session")
def tlogverify(tmp_path_factory: pytest.TempPathFactory) -> TlogVerify:
    """The independent verifier in Go, built once; mark the test `needs("go")`."""
    return TlogVerify.build(tmp_path_factory.mktemp("go"))
