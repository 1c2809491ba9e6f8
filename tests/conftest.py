"""What holds for every test: tools that may be absent, Hypothesis, and a home that is not the user's.

1. `@pytest.mark.needs("go", ...)`: see `support.tools`. For what is found out only while a test runs,
   call the `need` fixture.
2. Hypothesis draws the same examples on every machine; `--hypothesis-profile soak` draws many new ones.
3. Signals that whoever started the tests ignores (`nohup`, a job in the background) are not ignored here: tests
   send them.
4. No test reads or writes the home of the person who runs it, nor their ANVIL_ variables, nor minds how wide their
   terminal is.
5. Tests that are marked as long are begun first: workers that run out of others do not wait for one at the end.
"""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from support import tools

TEST_ALL = os.environ.get("ANVIL_TEST_ALL", "") not in ("", "0")
NEEDS = "needs "
USERS = {"XDG_CACHE_HOME": ".cache", "XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share"}
USERS |= {"XDG_STATE_HOME": ".local/state", "XDG_RUNTIME_DIR": ".run"}

for _number in (signal.SIGHUP, signal.SIGINT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)

# --- 1. tools ------------------------------------------------------------------------------------


def _require(tool: str) -> None:
    if why := tools.missing(tool):
        reason = f"{NEEDS}{tool}: {why}"
        if TEST_ALL and tool not in tools.NOT_TO_BE_INSTALLED:
            pytest.fail(f"{reason}, and ANVIL_TEST_ALL allows no such skip", pytrace=False)
        pytest.skip(reason)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("needs"):
        for tool in marker.args:
            _require(tool)


@pytest.fixture
def need() -> Callable[[str], None]:
    """A function that skips the running test, by name, when a tool is absent."""
    return _require


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped: dict[str, list[str]] = defaultdict(list)
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        reason = reason.removeprefix("Skipped: ")
        if reason.startswith(NEEDS):
            skipped[reason].append(report.nodeid)
    if skipped:
        terminalreporter.section("not tested here, for want of a tool")
        for reason, tests in sorted(skipped.items()):
            terminalreporter.write_line(f"{reason} ({len(tests)})")
            for test in sorted(tests):
                terminalreporter.write_line(f"    {test}")


# --- 2. Hypothesis ---------------------------------------------------------------------------------

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "anvil", max_examples=50, derandomize=True, deadline=None, print_blob=True, suppress_health_check=_SLOW
)
settings.register_profile(
    "soak", max_examples=20_000, deadline=None, print_blob=True, suppress_health_check=_SLOW
)
settings.load_profile("anvil")

# --- 4. a home of its own ----------------------------------------------------------------------------


@pytest.fixture(scope="session", autouse=True)
def _go_cache() -> Iterator[None]:
    """Keep Go's build cache in the checkout, since HOME changes with every test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOCACHE", str(tools.ROOT / ".cache" / "go-build"))
        yield


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new, empty home; the user's directories, ANVIL_STATE and ANVIL_KEYS lie below it."""
    path = tmp_path_factory.mktemp("home")
    for name in os.environ:
        if name.startswith("ANVIL_"):
            monkeypatch.delenv(name)
    for name, below in USERS.items():
        monkeypatch.setenv(name, str(path / below))
    monkeypatch.setenv("HOME", str(path))
    monkeypatch.setenv("ANVIL_STATE", str(path / "state"))
    monkeypatch.setenv("ANVIL_KEYS", str(path / "keys"))
    for name in ("SSH_AUTH_SOCK", "SSH_AGENT_PID", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    for name in ("COLUMNS", "LINES"):
        os.unsetenv(name)  # readline, which pytest loads, sets them past `os.environ`
    return path


# --- 5. long tests first -----------------------------------------------------------------------------


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
