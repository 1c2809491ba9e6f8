"""A run of the command line, as tests see it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from anvil.ledger.cli import main


@dataclass(frozen=True)
class Ran:
    """One run of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What ``--json`` printed."""
        return json.loads(self.out)


Anvil = Callable[..., Ran]


def run_here(capture: pytest.CaptureFixture[bytes], *arguments: object) -> Ran:
    """Run `anvil` with arguments in this process."""
    capture.readouterr()
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    out, err = capture.readouterr()
    assert b"Traceback" not in err
    code = stop.value.code
    assert isinstance(code, int)
    return Ran(code, out.decode(), err.decode())
