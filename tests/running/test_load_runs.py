"""Load protocols in a run: cells, canaries, what is kept, and what goes wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.authority import Authority
from support.endpoint import Chat, Server
from support.loads import SMALL, asked, content, loads, measured, sent, told
from support.running import Bench

from anvil.collectors.load.arrivals import poisson
from anvil.ledger.events import CaveatNoted, CheckCompleted, EngineExited, RecipeDeclared
from anvil.ledger.rows import read_rows

WHOLE = [
    ("c1", "warm-up", 1, "completed", 2),
    ("c1", "measured", 1, "completed", 3),
    ("c1", "measured", 2, "completed", 3),
    ("c2", "warm-up", 1, "completed", 2),
    ("c2", "measured", 1, "completed", 3),
    ("c2", "measured", 2, "completed", 3),
]


def run(bench: Bench, behave: str, more: str = SMALL) -> str:
    ran = bench.run(bench.recipe(behave=behave, checks=[], more=more))
    assert ran.code == 0, ran.err
    return ran.err


def test_every_run_of_every_cell_leaves_an_event_whose_rows_can_be_made_again(bench: Bench) -> None:
    said = run(bench, "talks")
    assert list(map(told, measured(bench))) == WHOLE
    assert "capacity c2, run 2 of 2: 3/3 completed" in said
    for seen in loads(bench):
        names = {item.name: item.commitment is None for item in seen.header.artifacts}
        assert names == {"rows": True, "record": False, "prompts": True}
        assert bench.anvil("--ledger", bench.ledger, "recompute", seen.index).code == 0
        _, rows = read_rows(content(bench, seen, "rows"))
        assert {row.prompt_tokens for row in rows} == {40}
        assert {row.completion_tokens for row in rows} == {8}
    for event in measured(bench):
        assert (event.output_events, event.canary) == (8 * event.expected, "passed")
        assert event.telemetry_missing == "no-gpu-placed"
        names = {item.name for item in event.observed}
        assert ("calibration_requests" in names) == (event.phase == "measured")
    assert asked(bench) == sent(bench)
    bench.require_whole()
    bench.require_nothing_running()


def test_the_recipe_event_says_what_was_planned(bench: Bench) -> None:
    run(bench, "talks")
    (declared,) = bench.events(RecipeDeclared)
    (protocol,) = declared.attempts[0].protocols
    assert [(cell.cell, cell.runs, cell.requests) for cell in protocol.cells] == [("c1", 2, 3), ("c2", 2, 3)]
    assert declared.continues is None


def test_no_two_prompts_begin_alike(bench: Bench) -> None:
    run(bench, "talks")
    texts = [
        json.loads(record)["messages"][0]["content"]
        for record in {bytes(item.request) for item in _records(bench)}
    ]
    assert len({tuple(text.split()[:3]) for text in texts}) == len(texts) == 16


def _records(bench: Bench) -> list:  # type: ignore[type-arg]
    from support.loads import records

    return records(bench)


def test_canaries_stand_before_between_and_after_cells(bench: Bench) -> None:
    run(bench, "talks")
    kinds = [
        seen.event.selected_as if isinstance(seen.event, CheckCompleted) else seen.event.cell
        for seen in bench.seen()
        if isinstance(seen.event, CheckCompleted) or seen in loads(bench)
    ]
    assert list(dict.fromkeys(kinds)) == [
        "capacity.canary-1", "c1", "capacity.canary-2", "c2", "capacity.canary-3"
    ]  # fmt: skip


def test_a_server_that_begins_to_talk_nonsense_invalidates_what_follows(bench: Bench) -> None:
    said = run(bench, "talks-nonsense")
    assert [(event.cell, event.canary) for event in measured(bench)] == [("c1", "passed")] * 3 + [
        ("c2", "failed")
    ] * 3
    assert [event.outcome for event in bench.events(CheckCompleted)] == ["passed", "failed", "failed"]
    assert said.count("what follows on this engine is in no figure") == 1


def test_failed_requests_are_counted_and_never_sent_again(bench: Bench) -> None:
    run(bench, "talks-and-fails")
    events = measured(bench)
    assert [event.completed + event.failed for event in events] == [2, 3, 3, 2, 3, 3]
    assert sum(event.failed for event in events) == 5  # every third of sixteen
    assert asked(bench) == sent(bench)
    rows = [row for seen in loads(bench) for row in read_rows(content(bench, seen, "rows"))[1]]
    failed = [row for row in rows if row.outcome == "failed"]
    assert {(row.failure, row.http_status, row.ttft_ns) for row in failed} == {("http_error", 500, None)}


def test_an_engine_that_ends_in_the_middle(bench: Bench) -> None:
    said = run(bench, "talks-and-dies")
    warm, broken = measured(bench)
    assert told(warm) == ("c1", "warm-up", 1, "completed", 2)
    assert (broken.completed, broken.expected) == (0, 3)
    assert broken.failed >= 1
    assert "engine_exited" in broken.findings
    assert "nothing more is measured" in said
    (ended,) = bench.events(EngineExited)
    assert ended.exit_code == 7
    bench.require_whole()
    bench.require_nothing_running()
    status = bench.anvil("--ledger", bench.ledger, "status").out
    assert "capacity c2              0/2 runs, 0/0 requests completed  engine_exited" in status


def test_a_cell_whose_requests_cannot_be_made_is_named(bench: Bench) -> None:
    said = run(bench, "talks", '[[protocols]]\nid = "near-limit"\nparameters = { runs = 1 }\n')
    assert measured(bench) == []
    assert "is left out" in said
    (caveat,) = bench.events(CaveatNoted)
    assert "could not be carried out" in caveat.text


def test_over_tls_with_a_key(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Authority(tmp_path)
    key = "sk-not-a-real-key-0123456789"
    monkeypatch.setenv("THE_KEY", key)
    (bench.directory / "anvil-site.toml").write_text(f'ca_file = "{authority.file}"\n')
    recipe = bench.recipe(
        checks=[],
        more=SMALL.replace("[1, 2]", "[1]"),
        lines='[engines.a1.endpoint]\napi_key_env = "THE_KEY"\n',
    )
    with Server(
        chat=lambda _: Chat(content="Paris is it", completion_tokens=3),
        model="org/tiny",
        tls=authority.server(),
    ) as server:
        ran = bench.run(recipe, "--base-url", server.base_url)
        assert ran.code == 0, ran.err
        assert all(
            request.headers["authorization"] == f"Bearer {key}" for request in server.requests if request.body
        )
    warm, *runs = measured(bench)
    assert [event.completed for event in (warm, *runs)] == [2, 3, 3]
    for event in runs:
        assert {item.name: item.value for item in event.observed}["calibration_transport"] == "tls"
        assert {item.name for item in event.observed} >= {"calibration_reached_per_s", "cache_basis"}
    assert not [
        path for path in bench.ledger.rglob("*") if path.is_file() and key.encode() in path.read_bytes()
    ]


def test_only_a_protocol(bench: Bench) -> None:
    recipe = bench.recipe(behave="talks", more=SMALL)
    assert bench.run(recipe, "--only", "capacity").code == 0
    assert len(measured(bench)) == len(WHOLE)
    assert not [name for name in bench.verdicts() if "canary" not in name]
    assert "no check, suite or protocol" in bench.run(recipe, "--only", "capasity").err


@pytest.mark.parametrize(
    ("parameters", "told_of"),
    [
        ("input_tokens = 40", "needs output_tokens"),
        ("input_tokens = 40, output_tokens = 16, concurrency = 0", "greater than or equal to 1"),
        ("input_tokens = 40, output_tokens = 16, rate_per_s = 3", "rate_per_s"),
        ("input_tokens = 40, output_tokens = 16, runs = [1, 2]", "valid integer"),
    ],
)
def test_a_wrong_protocol_is_refused_with_its_line(bench: Bench, parameters: str, told_of: str) -> None:
    path = bench.recipe(more=f'[[protocols]]\nid = "capacity"\nparameters = {{ {parameters} }}\n')
    for ran in (bench.run(path), bench.anvil("recipe", "check", path)):
        assert ran.code == 1
        assert told_of in ran.err
        assert "It takes output_tokens" in ran.err
        assert "mine.toml:" in ran.err
    assert bench.events(RecipeDeclared) == []


def test_an_unknown_protocol_is_refused_with_those_there_are(bench: Bench) -> None:
    ran = bench.anvil("recipe", "check", bench.recipe(more='[[protocols]]\nid = "closed-loop"\n'))
    assert "there is no protocol 'closed-loop'. One of capacity, shared-prefix" in ran.err


def test_prompt_and_cap_must_fit_the_window(bench: Bench, benches: Callable[[str], Bench]) -> None:
    del benches
    lines = "[engines.a1.settings]\ncontext_tokens = 50\n"
    ran = bench.anvil("recipe", "check", bench.recipe(more=SMALL, lines=lines))
    assert ran.code == 1
    assert "56 tokens together, and the window is 50" in ran.err


OPEN = """[[protocols]]
id = "open-loop"
parameters = { input_tokens = 40, output_tokens = 8, rate_per_s = "20", requests = 6, runs = 2, warmup_requests = 2 }
"""


def test_an_open_loop_is_sent_by_its_schedule(bench: Bench) -> None:
    run(bench, "talks", OPEN)
    events = measured(bench)
    assert [told(event) for event in events] == [
        ("r20", "warm-up", 1, "completed", 2),
        ("r20", "measured", 1, "completed", 6),
        ("r20", "measured", 2, "completed", 6),
    ]
    for seen, event in zip(loads(bench), events, strict=True):
        assert (event.arrival, event.rate_per_s, event.concurrency) == ("open-loop", "20", None)
        head, rows = read_rows(content(bench, seen, "rows"))
        assert head.concurrency is None
        schedule = poisson(event.seed, "20", event.expected)
        intended = sorted(row.intended_ns for row in rows)
        assert [moment - intended[0] for moment in intended] == [moment - schedule[0] for moment in schedule]
        assert bench.anvil("--ledger", bench.ledger, "recompute", seen.index).code == 0
    bench.require_whole()
