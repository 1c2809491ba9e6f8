"""A run quotes what is telling in an engine's log before it stops it, and what the recipe asks for."""

from __future__ import annotations

from support import killed
from support.endpoint import Server
from support.running import Bench

from anvil.ledger.events import LogExcerpted, LogRetained

LOGS = "env_names = []\nlog_patterns = { port = 'listening on \\d+', goodbye = '^goodbye$' }\n"


def found(event: LogExcerpted) -> dict[str, int]:
    return {pattern.name: pattern.lines for pattern in event.patterns}


def test_a_start_that_fails_is_quoted_with_its_lines(bench: Bench) -> None:
    assert bench.run(bench.recipe(behave="traceback")).code == 0
    (event,) = bench.events(LogExcerpted)
    assert found(event)["error"] == 2
    log = bench.body("log").decode().splitlines()
    for number, pattern, text in event.lines:
        assert (pattern, text) == ("error", log[int(number) - 1])
    assert event.lines[-1][2] == "RuntimeError: the weights do not fit"


def test_the_recipes_own_patterns_before_anything_is_stopped_and_what_it_wrote_since(bench: Bench) -> None:
    assert bench.run(bench.recipe(behave="last-words", checks=[], lines=LOGS)).code == 0
    (kinds,) = bench.types()
    first = kinds.index("log.excerpted")
    assert first < kinds.index("launch.stopped")
    assert kinds[first - 1 : first + 3] == ["log.retained", "log.excerpted", "log.retained", "log.excerpted"]
    before, after = bench.events(LogExcerpted)
    assert [text for _, _, text in before.lines] == [f"listening on {bench.ports['a1']}"]
    assert list(found(before))[:2] == ["port", "goodbye"]
    lines = bench.events(LogRetained)[-1].lines
    assert after.lines == [[str(lines), "goodbye", "goodbye"]]


def test_what_is_only_reached_has_no_log_to_quote(bench: Bench) -> None:
    with Server(model="org/tiny") as server:
        assert bench.run(bench.recipe(checks=[]), "--base-url", server.base_url).code == 0
    assert bench.events(LogExcerpted) == []


def test_a_crashed_runs_log_is_quoted_by_whoever_collects_it(bench: Bench) -> None:
    recipe = bench.recipe(checks=["structured-json"], engine="llamacpp")
    steps = killed.run(bench.directory, ["run", recipe]).steps
    at = max(number for number, step in enumerate(steps, 1) if step == "after Client.exchange")
    before = len(bench.events(LogExcerpted))
    killed.run(bench.directory, ["run", recipe], at)
    assert bench.run("--recover").code == 0
    events = bench.events(LogExcerpted)
    assert len(events) == before + 1
    assert "context-shift" in found(events[-1])  # the dead run had said which engine it was


def test_an_expression_that_is_none_is_refused_with_its_line(bench: Bench) -> None:
    path = bench.recipe(lines="log_patterns = { odd = '(' }\n")
    ran = bench.run(path)
    assert ran.code == 1
    number = next(n for n, line in enumerate(path.read_text().splitlines(), 1) if "log_patterns" in line)
    assert f"mine.toml:{number}: '(' is no regular expression" in ran.err
