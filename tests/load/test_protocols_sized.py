"""The protocols `context-ladder`, `near-limit` and `prefix-cache` against a model of ours that has a cache."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import pytest
from support.caching import TEMPLATE, Model
from support.endpoint import RESET, Chat, Reply, Server
from support.protocols import Measured, measured

from anvil.collectors.load.cachestate import prove_state
from anvil.collectors.load.framing import Frames
from anvil.collectors.load.prompts import PromptLine
from anvil.collectors.protocols import PROTOCOLS, complaints_of_protocol, parameters_of
from anvil.collectors.protocols.needles import Layout, NeedleLine
from anvil.ledger.errors import CollectorError
from anvil.ledger.events.checks import CheckCompleted

LADDER = {"input_tokens": (200, 400), "depths": (10, 90), "repetitions": 2, "output_tokens": 16}


def ran(kind: str, given: dict[str, Any], model: Model | None = None, **more: Any) -> list[Measured]:
    model = model or Model()
    with Server(chat=model) as server:
        model.count_at(server)
        return measured(kind, given, server, **more)


def runs_of(runs: list[Measured]) -> list[Measured]:
    return [run for run in runs if run.phase == "measured"]


def digest_of(raw: bytes) -> str:
    return "sha256:" + hashlib.sha256(raw).hexdigest()


def verdicts(runs: list[Measured]) -> list[CheckCompleted]:
    return [event for run in runs for event in run.events]


# --- context-ladder ----------------------------------------------------------------------------------------------


def test_each_rung_has_a_retrieval_verdict_of_its_own_repetitions() -> None:
    runs = ran("context-ladder", LADDER)
    assert [(run.cell.name, run.phase, len(run.rows)) for run in runs] == [
        ("rung-1", "warm-up", 1),
        ("rung-1", "measured", 5),
        ("rung-2", "measured", 5),
    ]
    events = verdicts(runs)
    assert [(event.check, event.selected_as) for event in events] == [
        ("retrieval", "context-ladder.rung-1"),
        ("retrieval", "context-ladder.rung-2"),
    ]
    for event, target in zip(events, (200, 400), strict=True):
        assert (event.outcome, event.passed, event.expected) == ("passed", 4, 4)
        assert [request.name for request in event.requests] == [
            "depth_10.r1",
            "depth_90.r1",
            "depth_10.r2",
            "depth_90.r2",
            "control",
        ]
        assert all(abs((request.prompt_tokens or 0) - target) <= 1 for request in event.requests)
        findings = {item.name: item.value for item in event.findings}
        assert findings["exact.depth_90.r2"] is True
        assert findings["repetitions"] == 2
        event.openings()  # what is sealed can be sealed


def test_a_rung_is_judged_from_the_bytes_that_its_rows_are_made_of() -> None:
    for run in runs_of(ran("context-ladder", LADDER)):
        ((_, attached),) = run.concluded.events
        kept = {item.name: item.blob.digest for item in attached}
        assert len(kept) == 2 * len(run.rows)
        for record in run.records:
            name, frames = Layout((10, 90), 2).name(record.index), Frames()
            frames.feed(record.response)
            assert kept[f"{name}.request"] == digest_of(record.request)
            assert kept[f"{name}.response"] == digest_of(bytes(frames.body))


def test_a_model_that_finds_nothing_deep_fails_the_rung_that_is_too_long_for_it() -> None:
    model = Model(knows=lambda text: len(text.split()) < 300)
    first, second = verdicts(ran("context-ladder", LADDER, model))
    assert (first.outcome, first.passed) == ("passed", 4)
    assert (second.outcome, second.passed, second.failure) == ("failed", 0, "wrong_value")


def test_a_rung_passes_by_no_mere_answer() -> None:
    """Lesson 20: a ladder passed when any text came back, yet was published as retrieval."""
    model = Model(knows=lambda text: False)
    assert {event.outcome for event in verdicts(ran("context-ladder", LADDER, model))} == {"failed"}


def test_a_model_that_answers_the_control_too_has_not_retrieved() -> None:
    said = [""]

    def parrot(asked: dict[str, Any]) -> Chat:
        text = asked["messages"][0]["content"]
        found = re.search(r"The secret phrase is ([a-z-]+[0-9]+)\.", text)
        said.append(found[1] if found else said[-1])
        return Chat(said[-1], prompt_tokens=len(text.split()))

    with Server(chat=parrot) as server:
        (event, _) = verdicts(measured("context-ladder", LADDER, server))
    assert (event.outcome, event.failure) == ("failed", "deterministic_check_failed")


def test_a_label_of_the_target_is_not_believed() -> None:
    """Lesson 19: "128k retrieval" was 105,600 tokens."""

    def shortened(asked: dict[str, Any]) -> Any:
        answer = model(asked)
        return (
            Chat(answer.content, prompt_tokens=150, completion_tokens=3)
            if isinstance(answer, Chat)
            else answer
        )

    model = Model()
    with Server(chat=shortened) as server:
        event = verdicts(measured("context-ladder", LADDER | {"input_tokens": 200}, server))[0]
    assert event.outcome == "failed"
    assert event.failure == "prompt_floor_missed"


def test_no_request_of_a_ladder_was_read_before() -> None:
    runs = runs_of(ran("context-ladder", LADDER))
    rows = [row for run in runs for row in run.rows]
    assert all((row.cached_tokens or 0) <= TEMPLATE for row in rows)
    for run in runs:
        assert prove_state(run.rows, "cold", shares_prefix=False, template=TEMPLATE).state == "cold"


def test_a_ladder_can_be_sent_again_byte_for_byte() -> None:
    (_, first, _) = ran("context-ladder", LADDER)
    lines = [NeedleLine.read(line) for line in (first.plan.prompt_lines or b"").splitlines()]
    layout = Layout((10, 90), 2)
    for line, prompt in zip(lines, first.plan.prompts, strict=True):
        assert layout.make(line.seed, line.number, line.words).text == prompt.text
        assert layout.depth(line.number) == line.depth_percent
    assert [prompt.digest for prompt in verdicts([first])[0].prompts] == [line.digest for line in lines]


def test_a_rung_that_broke_off_is_incomplete() -> None:
    with Server(chat=Model()) as server:
        (_, first, _) = measured("context-ladder", LADDER, server, stop_after=2)
    (event,) = first.events
    assert (event.outcome, event.failure, event.passed, event.expected) == ("incomplete", None, 0, 4)


def test_a_rung_that_the_endpoint_cannot_serve_says_why() -> None:
    model = Model(window=300)
    first, second = verdicts(ran("context-ladder", LADDER, model))
    assert first.outcome == "passed"
    assert (second.outcome, second.passed, second.failure) == ("failed", 0, "http_error")
    assert {request.http_status for request in second.requests} == {400}
    told = dict(second.messages)  # type: ignore[arg-type]
    assert "the prompt is too long" in told["depth_10.r1"]


def test_a_rung_whose_stream_is_cut_says_so() -> None:
    def cut(asked: dict[str, Any]) -> Any:
        if not asked.get("stream"):
            return Chat("x", prompt_tokens=len(asked["messages"][0]["content"].split()))
        return Reply([b'data: {"choices":[{"index":0,"delta":{"content":"fal"}}]}\n\n', RESET])

    with Server(chat=cut) as server:
        event = verdicts(measured("context-ladder", LADDER, server))[0]
    assert (event.outcome, event.failure) == ("failed", "connection_reset")


def test_depths_and_rungs_that_stand_twice_are_one() -> None:
    parameters = parameters_of("context-ladder", LADDER | {"input_tokens": (300, 300), "depths": (50, 50)})
    assert [cell.requests for cell in PROTOCOLS["context-ladder"].cells(parameters)] == [3]


# --- near-limit ------------------------------------------------------------------------------------------------------


def test_the_longest_prompt_that_fits_with_its_answer() -> None:
    runs = ran("near-limit", {"output_tokens": 16, "runs": 2}, Model(window=1000), window_tokens=1000)
    assert [[row.prompt_tokens for row in run.rows] for run in runs] == [[976], [976]]
    assert [row.outcome for run in runs for row in run.rows] == ["completed"] * 2
    told = {item.name: item.value for item in runs[0].plan.observed}
    assert (told["window_tokens"], told["aimed_tokens"]) == (1000, 976)
    assert [run.concluded.findings for run in runs] == [(), ()]
    assert runs[0].plan.prompts[0].text != runs[1].plan.prompts[0].text


def test_where_lengths_are_reckoned_it_still_fits() -> None:
    with Server(chat=Model(window=1000)) as server:
        (run,) = measured("near-limit", {"output_tokens": 16, "runs": 1}, server, window_tokens=1000)
    assert run.rows[0].outcome == "completed"
    assert 900 < (run.rows[0].prompt_tokens or 0) <= 976


def test_a_length_that_the_recipe_states() -> None:
    given = {"input_tokens": 600, "output_tokens": 16, "runs": 1}
    (run,) = ran("near-limit", given, Model(window=1000), window_tokens=1000)
    assert (run.rows[0].prompt_tokens, run.cell.input_target_tokens) == (600, 600)
    with pytest.raises(CollectorError, match="no room for a prompt of 990 tokens"):
        ran("near-limit", given | {"input_tokens": 990}, window_tokens=1000)


def test_a_window_that_is_smaller_than_was_said_is_a_failed_request() -> None:
    runs = ran("near-limit", {"runs": 1}, Model(window=900), window_tokens=1000)
    assert [(row.outcome, row.http_status) for row in runs[0].rows] == [("failed", 400)]
    assert runs[0].concluded.findings == ()


@pytest.mark.parametrize(("window", "told"), [(None, "window is not known"), (100, "no room")])
def test_without_a_window_or_room_nothing_is_sent(window: int | None, told: str) -> None:
    model = Model()
    with pytest.raises(CollectorError, match=told):
        ran("near-limit", {"output_tokens": 96}, model, window_tokens=window)
    assert all(len(tokens) < 300 for tokens in model.read)


def test_an_endpoint_that_counts_nothing_cannot_be_near_its_limit() -> None:
    with (
        Server(chat=lambda asked: Chat("x", usage={})) as server,
        pytest.raises(CollectorError, match="counts"),
    ):
        measured("near-limit", {}, server, window_tokens=1000)


# --- prefix-cache ------------------------------------------------------------------------------------------------------

BURSTS = {"shared_prefix_tokens": 600, "ending_tokens": 120, "concurrency": 3, "output_tokens": 8}


def test_a_repeat_reuses_the_prefix_and_nothing_else() -> None:
    runs = ran("prefix-cache", BURSTS)
    assert [(run.cell.name, run.phase) for run in runs] == [
        ("first-1", "warm-up"),
        ("first-1", "measured"),
        ("repeat-1", "measured"),
    ]
    _, first, repeat = runs
    assert all(row.prompt_tokens == 720 for run in (first, repeat) for row in run.rows)
    assert min(row.cached_tokens or 0 for row in first.rows) <= TEMPLATE
    shared = {item.name: item.value for item in repeat.plan.observed}["shared_tokens_counted"]
    assert shared == 600
    assert [row.cached_tokens for row in repeat.rows] == [TEMPLATE + 600] * 3
    assert repeat.concluded.findings == ()


def test_bursts_that_share_their_prefix_are_never_called_cold() -> None:
    for model in (Model(), Model(keeps=False), Model(reports=False)):
        for run in runs_of(ran("prefix-cache", BURSTS, model)):
            proof = prove_state(run.rows, run.cell.cache_wanted, shares_prefix=True, template=TEMPLATE)
            assert proof.state != "cold"


def test_the_repeat_is_primed_where_there_is_a_cache_and_not_where_there_is_none() -> None:
    states = []
    for model in (Model(), Model(keeps=False)):
        _, first, repeat = ran("prefix-cache", BURSTS, model)
        for run in (first, repeat):
            proof = prove_state(run.rows, run.cell.cache_wanted, shares_prefix=True, template=TEMPLATE)
            states.append((proof.state, proof.findings))
    assert states == [
        ("shared_within_run", ()),
        ("primed", ()),
        ("shared_within_run", ()),
        ("shared_within_run", ()),
    ]


def test_where_cached_tokens_are_not_reported_reuse_is_seen_by_timing_alone() -> None:
    _, first, repeat = ran("prefix-cache", BURSTS, Model(reports=False))
    assert first.concluded.findings == ()
    assert repeat.concluded.findings == ("reuse_by_timing_only",)


def test_each_pair_has_a_prefix_of_its_own() -> None:
    runs = runs_of(ran("prefix-cache", BURSTS | {"repetitions": 2}))
    begins = [run.plan.prompts[0].text.split()[:20] for run in runs]
    assert begins[0] == begins[1]
    assert begins[2] == begins[3]
    assert begins[0] != begins[2]
    lines = [PromptLine.read(line) for run in runs for line in (run.plan.prompt_lines or b"").splitlines()]
    assert [line.number for line in lines] == [0, 1, 2, 3, 4, 5] * 2


# --- what a recipe may say -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "given", "window", "told"),
    [
        ("context-ladder", {}, None, "needs input_tokens"),
        ("context-ladder", {"input_tokens": (8000,)}, 8000, "8064 tokens"),
        ("context-ladder", {"input_tokens": 100, "depths": (101,)}, None, "less than or equal to 100"),
        ("near-limit", {"output_tokens": 100}, 100, "109 tokens"),
        ("near-limit", {"output_tokens": 100, "input_tokens": 901}, 1000, "1001 tokens"),
        ("prefix-cache", {"ending_tokens": 20}, None, "ending_tokens must be 100"),
        ("prefix-cache", {}, 8192, "30264 tokens"),
        ("prefix-cache", {"bursts": 2}, None, "knows no 'bursts'"),
    ],
)
def test_what_is_wrong_with_a_recipe(kind: str, given: dict[str, Any], window: int | None, told: str) -> None:
    (complaint,) = complaints_of_protocol(kind, given, window)
    assert told in complaint[1]


@pytest.mark.parametrize("kind", ["near-limit", "prefix-cache"])
def test_defaults_are_enough(kind: str) -> None:
    assert list(complaints_of_protocol(kind, {}, None)) == []
