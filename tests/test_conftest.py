"""The test frame itself: skips for want of a tool are named, and refused where everything must run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import tools

SAMPLE = """
import pytest

@pytest.mark.needs("go")
def test_marked():
    pass

def test_while_running(need):
    need("docker")

def test_plain():
    pass
"""


ORDER = """
import pytest

def test_short():
    pass

@pytest.mark.long
def test_long():
    pass
"""


def run_sample(tmp_path: Path, **env: str) -> str:
    """Run three tests, two of which need a tool, in a process where no tool is on the path."""
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    argv = [sys.executable, "-m", "pytest", "-p", "conftest", "-c", str(tools.ROOT / "pyproject.toml")]
    argv += [
        "--rootdir",
        str(tmp_path),
        "-p",
        "no:cacheprovider",
        "-n",
        "1",
        str(tmp_path / "test_sample.py"),
    ]
    environment = {"PATH": str(tmp_path), "PYTHONPATH": str(tools.ROOT / "tests"), **env}
    return subprocess.run(argv, capture_output=True, text=True, env=environment, cwd=tmp_path).stdout


def test_skips_are_named_at_the_end(tmp_path: Path) -> None:
    output = run_sample(tmp_path)
    assert "not tested here, for want of a tool" in output
    assert "needs go: go not on PATH (1)\n    test_sample.py::test_marked" in output
    assert (
        "needs docker: dockerd and ip not on PATH (docker.io, iproute2) (1)\n    test_sample.py::test_while_running"
        in output
    )
    assert "1 passed, 2 skipped" in output


def test_skips_are_failures_where_everything_must_run(tmp_path: Path) -> None:
    output = run_sample(tmp_path, ANVIL_TEST_ALL="1")
    assert "needs go: go not on PATH, and ANVIL_TEST_ALL allows no such skip" in output
    assert "1 failed, 1 passed, 1 error" in output


def test_an_unknown_tool_is_a_mistake() -> None:
    with pytest.raises(LookupError, match="no probe for 'gopher'"):
        tools.missing("gopher")


def test_the_home_of_a_test_is_its_own(home: Path) -> None:
    assert os.environ["HOME"] == str(home)
    for name in ("ANVIL_STATE", "ANVIL_KEYS", "XDG_STATE_HOME"):
        assert Path(os.environ[name]).is_relative_to(home)
    assert {name for name in os.environ if name.startswith("ANVIL_")} == {"ANVIL_STATE", "ANVIL_KEYS"}


@given(st.integers())
def test_a_home_is_no_hindrance_to_hypothesis(number: int) -> None:
    assert int(str(number)) == number


def test_long_tests_are_begun_first(tmp_path: Path) -> None:
    (tmp_path / "test_order.py").write_text(ORDER)
    argv = [sys.executable, "-m", "pytest", "-p", "conftest", "-c", str(tools.ROOT / "pyproject.toml"), "-v"]
    argv += ["--rootdir", str(tmp_path), "-p", "no:cacheprovider", str(tmp_path / "test_order.py")]
    environment = {**os.environ, "PYTHONPATH": str(tools.ROOT / "tests")}
    output = subprocess.run(argv, capture_output=True, text=True, env=environment, cwd=tmp_path).stdout
    assert output.index("::test_long PASSED") < output.index("::test_short PASSED")
    assert "2 passed" in output
