"""Forgetting an event is a type error: a `match` over `AnyEvent` that ends in `assert_never` knows every type."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_args

from support.tools import ROOT

from anvil.ledger.events import AnyEvent

FOLD = """
from typing import assert_never
from anvil.ledger import events

def step(state: int, event: events.AnyEvent) -> int:
    match event:
{cases}
        case _:
            assert_never(event)
"""


def fold_without(*forgotten: str) -> str:
    names = [cls.__name__ for cls in get_args(AnyEvent) if cls.__name__ not in forgotten]
    return FOLD.format(
        cases="\n".join(f"        case events.{n}():\n            return state" for n in names)
    )


def test_a_fold_that_forgets_an_event_is_a_type_error(tmp_path: Path) -> None:
    (tmp_path / "complete.py").write_text(fold_without())
    (tmp_path / "forgetful.py").write_text(fold_without("StreamAbandoned"))
    argv = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary"]
    argv += ["--cache-dir", str(ROOT / ".cache" / "mypy-fold"), "--follow-imports=silent"]
    done = subprocess.run(
        [*argv, str(tmp_path / "complete.py"), str(tmp_path / "forgetful.py")],
        capture_output=True, text=True, cwd=ROOT, timeout=300,
    )  # fmt: skip
    complaints = done.stdout.strip().splitlines()
    assert len(complaints) == 1, done.stdout + done.stderr
    assert "forgetful.py" in complaints[0]
    assert 'incompatible type "StreamAbandoned"; expected "Never"' in complaints[0]
