"""`coding`: right values pass, wrong ones fail, and without isolation nothing is run."""

from __future__ import annotations

from typing import Any

import pytest
from support.checking import check

from anvil.collectors import sandbox
from anvil.collectors.checks.coding import TASKS, code_of
from anvil.collectors.sandbox import refusal

SOLUTIONS = {
    "count_vowels": "count_vowels = lambda text: sum(c in 'aeiou' for c in text.lower())",
    "run_lengths": (
        "def run_lengths(text):\n    runs = []\n    for c in text:\n        if runs and runs[-1][0] == c:\n"
        "            runs[-1][1] += 1\n        else:\n            runs.append([c, 1])\n    return runs"
    ),
    "second_largest": (
        "def second_largest(numbers: list[int]) -> int | None:\n    found = sorted(set(numbers))\n"
        "    return found[-2] if len(found) > 1 else None"
    ),
}


def solve(payload: dict[str, Any]) -> str:
    text = payload["messages"][0]["content"]
    name = next(name for name in TASKS if f"{name}(" in text)
    return f"```python\n{SOLUTIONS[name]}\n```"


@pytest.mark.needs("bwrap")
def test_right_code_passes_in_a_fence_or_without() -> None:
    done = check("coding", solve, parameters={"tasks": list(TASKS)})
    assert done.verdict == ("passed", None)
    assert (done.event.passed, done.event.expected) == (3, 3)
    done = check("coding", lambda payload: code_of(solve(payload)))
    assert done.verdict == ("passed", None)


@pytest.mark.needs("bwrap")
def test_wrong_values_fail_with_the_case_that_shows_it() -> None:
    done = check(
        "coding", lambda payload: "def count_vowels(text): return 2", parameters={"tasks": ["count_vowels"]}
    )
    assert done.verdict == ("failed", "deterministic_check_failed")
    assert 'for [""] expected 0, found 2' in done.messages["count_vowels"]


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize(
    "answer",
    ["I would rather not.", "import os\ndef count_vowels(text): return 1", "def other(text): return 1"],
)
def test_what_is_no_such_function_fails(answer: str) -> None:
    done = check("coding", lambda payload: answer, parameters={"tasks": ["count_vowels"]})
    assert done.verdict == ("failed", "deterministic_check_failed")


def test_without_isolation_the_check_is_incomplete_and_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox._HOST, "is_proved", False)
    monkeypatch.setenv("PATH", "/nonexistent")
    done = check("coding", solve)
    assert done.verdict == ("incomplete", "sandbox_unavailable")
    assert "bubblewrap" in done.messages["count_vowels"]
    assert b"def second_largest" in done.kept["second_largest.response"]


def test_every_solution_is_one_that_the_allow_list_lets_pass() -> None:
    assert set(SOLUTIONS) == set(TASKS)
    assert all(refusal(source, name) == "" for name, source in SOLUTIONS.items())


def test_blocks_of_code_are_joined() -> None:
    assert code_of("Here:\n```python\na\n```\nand\n```\nb\n```\n") == "a\n\nb\n"
