"""The sandbox: what is refused before it runs, what running code cannot reach, and no run without it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from anvil.collectors import sandbox
from anvil.collectors.sandbox import Evaluation, SandboxUnavailable, evaluate, refusal

SIMPLE = "def f(x):\n    return x + 1\n"
COUNTING = """
def f(text: str) -> dict[str, int]:
    out = {}
    for letter in text.lower():
        out[letter] = out.get(letter, 0) + 1
    return out
"""
GENERATING = """
def helper(a):
    yield from a
def f(a):
    try:
        return list(helper(a))[0]
    except IndexError as error:
        raise ValueError(f"{error}") from error
"""


def run(source: str, *cases: list[Any]) -> Evaluation:
    return asyncio.run(evaluate(source, "f", cases or [[1]]))


# --- the allow-list ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        SIMPLE,
        "f = lambda x: sum(i for i in range(x) if i % 2)",
        COUNTING,
        GENERATING,
    ],
)
def test_ordinary_functions_pass(source: str) -> None:
    assert refusal(source, "f") == ""


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import os\n" + SIMPLE, "Import is not allowed"),
        ("from os import path\n" + SIMPLE, "ImportFrom is not allowed"),
        ("def f(x):\n    import os", "Import is not allowed"),
        ("class f: pass", "ClassDef is not allowed"),
        ("async def f(x): pass", "AsyncFunctionDef is not allowed"),
        ("def f(x):\n    global y", "Global is not allowed"),
        ("def f(x):\n    with x: pass", "With is not allowed"),
        ("def f(x):\n    return x.__class__", "'__class__'"),
        ("def f(x):\n    return x._private", "'_private'"),
        ("def f(x):\n    return '{0.__class__}'.format(x)", "'format'"),
        ("def f(x):\n    return '{x.__class__}'.format_map({'x': x})", "'format_map'"),
        ("def f(x):\n    return __builtins__", "'__builtins__'"),
        ("def f(x):\n    return open('/etc/passwd').read()", "'open'"),
        ("def f(x):\n    return eval(x)", "'eval'"),
        ("def f(x):\n    return getattr(x, 'y')", "'getattr'"),
        ("def f(x):\n    return type(x)", "'type'"),
        ("@staticmethod\ndef f(x): pass", "decorators"),
        ("def __f(x): pass", "such names"),
        ("def g(x): pass", "defines no 'f'"),
        ("if True:\n    def f(x): pass", "defines no 'f'"),
        ("def f(x:", "does not parse"),
        ("x = '\0'", "does not parse"),
        ("(" * 5000, "does not parse"),
        ("f = 1 #" + "x" * 20_000, "more than"),
    ],
)
def test_the_rest_is_refused_before_it_runs(source: str, why: str) -> None:
    assert why in refusal(source, "f")
    assert why in run(source).problem


# --- isolation ----------------------------------------------------------------------------------------


@pytest.mark.needs("bwrap")
def test_values_and_errors_come_back_case_by_case() -> None:
    found = run("def f(x):\n    return 10 // x", [5], [0], [-3])
    assert found.results == (
        {"value": 2},
        {"error": "ZeroDivisionError: integer division or modulo by zero"},
        {"value": -4},
    )


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("def f(x):\n    return f(x)", "RecursionError"),
        ("def f(x):\n    return 'a' * 10**10", "MemoryError"),
        ("def f(x):\n    return {1, 2}", "TypeError"),
        ("def f(x):\n    return float('nan')", "ValueError"),
        ("y = 1 // 0\ndef f(x): pass", "ZeroDivisionError"),
    ],
)
def test_an_error_is_told_and_no_more(source: str, error: str) -> None:
    assert run(source).results[0]["error"].startswith(error)


@pytest.mark.needs("bwrap")
def test_an_endless_loop_is_ended_by_the_limit_on_processor_time() -> None:
    assert "ended with" in run("def f(x):\n    while True: pass").problem


@pytest.mark.needs("bwrap")
def test_what_waits_for_ever_is_ended_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(evaluate(SIMPLE, "f", [[1]]))
    monkeypatch.setattr(sandbox, "WALL_SECONDS", 0.5)
    monkeypatch.setattr(sandbox, "_RUNNER", "import time; time.sleep(60)")
    assert "not done after 0.5 s" in run(SIMPLE).problem


@pytest.mark.needs("bwrap")
def test_output_past_the_limit_is_not_kept() -> None:
    found = run("def f(x):\n    return list(range(200000))")
    assert "printed something else" in found.problem
    assert len(found.problem) < 2000


@pytest.mark.needs("bwrap")
def test_even_code_that_slipped_through_finds_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The allow-list is switched off; the isolation must hold alone."""
    canary = tmp_path / "canary"
    canary.write_text("here")
    attempts = f"""
found = []
def attempt(name, action):
    try:
        action()
        found.append(name)
    except OSError:
        pass
attempt("read", lambda: open({str(canary)!r}))
attempt("passwd", lambda: open("/etc/passwd"))
attempt("write", lambda: open("/usr/bin/x", "w"))
attempt("write root", lambda: open("/x", "w"))
attempt("connect", lambda: socket.socket().connect(("1.1.1.1", 53)))
attempt("fork", os.fork)
print(json.dumps([{{"value": [found, os.getuid(), list(os.environ)]}}]))
"""
    asyncio.run(evaluate(SIMPLE, "f", [[1]]))
    limits = sandbox._LIMITS.replace("RLIMIT_NOFILE, 3", "RLIMIT_NOFILE, 30")
    monkeypatch.setattr(sandbox, "_RUNNER", limits + attempts)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    found, uid, environment = run(SIMPLE).results[0]["value"]
    assert found == []
    assert uid == 65534
    assert "HF_TOKEN" not in environment


def test_without_bubblewrap_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox._HOST, "is_proved", False)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(SandboxUnavailable, match="not installed"):
        run(SIMPLE)


@pytest.mark.parametrize(
    "bwrap",
    [
        # Refused by the kernel, and one that runs the program with no isolation at all.
        "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n",
        '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n',
    ],
)
def test_bubblewrap_that_does_not_isolate_is_no_isolation(
    bwrap: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bwrap").write_text(bwrap)
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setattr(sandbox._HOST, "is_proved", False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(SandboxUnavailable, match=r"Permission denied|visible: "):
        run(SIMPLE)
