"""One attempt is measured on one engine: who answers is asked again before anything goes on."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.endpoint import Chat, Server
from support.interrupting import begin, interrupt, until
from support.loads import SMALL, finished, last_run, measured, require_nothing_lost_or_doubled
from support.running import Bench

from anvil.collectors.running.sameness import of_one_engine, other_than
from anvil.ledger.events import EngineIdentified, LaunchStarted, StreamClosed
from anvil.ledger.events.engines import IdentityClaim, contradictions

ONE = SMALL.replace("[1, 2]", "[1]")
TWICE = {("c1", 1): 1, ("c1", 2): 1}


@pytest.fixture
def later(bench: Bench) -> Iterator[Path]:
    """The file from which on the engine is of another version."""
    return bench.directory / "later"


def argv(later: Path) -> tuple[str, ...]:
    return ("--into", str(later), "--later-version", "2.0.0")


def test_an_engine_that_is_another_when_a_run_goes_on(bench: Bench, later: Path) -> None:
    recipe = {"behave": "talks-slowly", "checks": ["coding"], "more": ONE, "argv": argv(later)}
    interrupt(bench, "c1, run 1 of 2", signal.SIGINT, **recipe)
    before = measured(bench)
    later.touch()
    ran = bench.run("--resume", last_run(bench))
    assert ran.code == 1
    assert (
        "another engine answers than the one that it was begun on (version endpoint: engine version)"
        in ran.err
    )
    assert f"anvil run --resume {last_run(bench)}" in ran.err
    assert measured(bench) == before
    assert bench.events(StreamClosed)[-1].reason == "another_engine"
    bench.require_whole()
    bench.require_nothing_running()
    # The one that it was begun on is back: what is left is gone on with, and still compared with the first.
    assert bench.run("--resume", last_run(bench)).code == 1
    later.unlink()
    ran = bench.run("--resume", last_run(bench))
    assert ran.code == 0, ran.err
    assert finished(bench) == TWICE
    require_nothing_lost_or_doubled(bench)
    bench.require_whole()


def slowly(_asked: object) -> Chat:
    time.sleep(0.2)
    return Chat(content="Paris is it", completion_tokens=3)


@pytest.mark.parametrize("path", ["/version", "/v1/models"])
def test_an_endpoint_that_serves_another_model_under_the_same_name(bench: Bench, path: str) -> None:
    """Where the model lies stands under seal, and tells it all the same."""
    with Server(chat=slowly, model="org/tiny") as first, Server(chat=slowly, model="org/tiny") as other:
        for server, version, root in ((first, "1.2.3", "/models/a"), (other, "1.2.4", "/models/b")):
            is_swapped = server is other
            server.on("/version", lambda _, v=version if path == "/version" else "1.2.3": {"version": v})
            where = root if path == "/v1/models" or not is_swapped else "/models/a"
            server.on("/v1/models", lambda _, r=where: {"data": [{"id": "org/tiny", "root": r}]})
        interrupt(
            bench,
            "c1, run 1 of 2",
            signal.SIGINT,
            checks=[],
            more=ONE,
            arguments=["--base-url", first.base_url],
        )
        count = len(measured(bench))
        ran = bench.run("--resume", last_run(bench), "--base-url", other.base_url)
        assert ran.code == 1
        assert "another engine answers" in ran.err
        assert "/models/b" not in ran.err
        assert len(measured(bench)) == count
        ran = bench.run("--resume", last_run(bench), "--base-url", first.base_url)
        assert ran.code == 0, ran.err
    assert finished(bench) == TWICE
    bench.require_whole()


def test_an_engine_that_is_another_when_it_is_relaunched(bench: Bench, later: Path) -> None:
    path = bench.recipe(
        behave="dies-once", checks=("structured-json", "coding", "finish"), more=ONE, argv=argv(later)
    )
    path.write_text(path.read_text().replace("about =", 'on_exit = "relaunch"\nabout =', 1))
    ran = bench.run(path)
    assert ran.code == 1
    assert "another engine answers" in ran.err
    assert len(bench.events(LaunchStarted)) == 2
    lost = ("incomplete", "prerequisite_failed")
    assert bench.verdicts() == {
        "structured-json": ("incomplete", "engine_exited"),
        "coding": lost,
        "finish": lost,
    }
    assert measured(bench) == []
    bench.require_whole()
    bench.require_nothing_running()


def identified(*claims: tuple[str, str, str | None], engine: str | None = None) -> EngineIdentified:
    return EngineIdentified(
        engine=engine,
        claims=tuple(
            IdentityClaim(source=source, what=what, value=value)  # type: ignore[arg-type]
            for source, what, value in claims
        ),
        disagreements=(),
        served_name_matches=None,
        accepts_any_model=None,
        sealed_claims=None,
    )


VERSION = ("version_endpoint", "engine_version")
NAME = ("models_endpoint", "served_name")


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        (identified((*VERSION, "1.0")), identified((*VERSION, "1.0"), (*NAME, "a")), ()),
        (identified((*VERSION, "1.0")), identified((*VERSION, "1.1")), ("version_endpoint engine_version",)),
        (identified((*NAME, "a"), (*NAME, "b")), identified((*NAME, "b"), (*NAME, "a")), ()),
        (identified((*NAME, "a"), (*NAME, "b")), identified((*NAME, "a")), ("models_endpoint served_name",)),
        (identified((*NAME, None)), identified((*NAME, "a")), ()),
        (identified(engine="vllm"), identified(engine="sglang"), ("engine",)),
        (identified(engine="vllm"), identified(), ()),
    ],
)
def test_what_contradicts(one: EngineIdentified, other: EngineIdentified, differ: tuple[str, ...]) -> None:
    assert contradictions(one, other) == contradictions(other, one) == differ
    assert (other_than((one,), other) is None) == (not differ)
    assert other_than((), other) is None


def test_what_nobody_said_at_first_is_compared_with_who_said_it_since() -> None:
    silent, first, other = identified(), identified((*VERSION, "1.0")), identified((*VERSION, "1.1"))
    known = of_one_engine((silent, first, other, first))
    assert known == (silent, first, first)
    assert other_than(known, other) is not None
    assert other_than(known, first) is None


def test_an_endpoint_that_says_nothing_at_first(bench: Bench) -> None:
    """Nobody can say that the second is another one; that the third is not the second everybody can."""
    with Server(chat=slowly, model="org/tiny") as server:
        at = ("--base-url", server.base_url)
        interrupt(bench, "c1, run 1 of 2", signal.SIGINT, checks=[], more=ONE, arguments=at)
        server.on("/version", lambda _: {"version": "1.2.3"})
        with begin(bench, "--resume", last_run(bench), *at) as child:
            until(child, "c1, run 1 of 2")
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=60)
        count = len(measured(bench))
        server.on("/version", lambda _: {"version": "1.2.4"})
        ran = bench.run("--resume", last_run(bench), *at)
        assert ran.code == 1
        assert "another engine answers" in ran.err
        assert len(measured(bench)) == count
        server.on("/version", lambda _: {"version": "1.2.3"})
        assert bench.run("--resume", last_run(bench), *at).code == 0
    assert finished(bench) == TWICE
    bench.require_whole()


def test_what_is_sealed_contradicts_when_it_is_at_hand() -> None:
    one = identified((*NAME, None)).model_copy(
        update={"sealed_claims": [["models_endpoint served_name", "/a"]]}
    )
    other = one.model_copy(update={"sealed_claims": [["models_endpoint served_name", "/b"]]})
    assert contradictions(one, other) == ("models_endpoint served_name",)
    assert contradictions(one, one.model_copy(update={"sealed_claims": "0" * 64})) == ()
