"""The registry, parameters, and what a request holds besides its question."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.checking import check

from anvil.collectors.checks import CHECKS, complaints_of, context
from anvil.collectors.checks.control import ThinkingControl
from anvil.collectors.checks.parameters import parse
from anvil.ledger.errors import CollectorError
from anvil.ledger.header import Subject

NAMES = {
    "identity", "coding", "structured-json", "structured-json-schema", "retrieval", "tools-rendered",
    "tools-batch", "tools-long", "tools-streaming", "tool-result", "responses", "thinking-control",
    "reasoning-leak", "finish", "image", "ocr", "video", "canary",
}  # fmt: skip


def test_every_check_is_there_under_its_id() -> None:
    assert set(CHECKS) == NAMES
    assert all(check.id == name and check.version >= 1 for name, check in CHECKS.items())
    assert all(Subject.is_label(name) for name in CHECKS)


def test_a_check_comes_after_what_it_looks_back_at() -> None:
    order = list(CHECKS)
    assert all(order.index("tools-rendered") < order.index(name) for name in order if name.startswith("tools-")
               and name != "tools-rendered")  # fmt: skip
    assert order[-2:] == ["reasoning-leak", "finish"]


def test_defaults_are_recorded_and_lists_spelled_out() -> None:
    parameters = parse(CHECKS["retrieval"].parameters, "retrieval", {"depths": [5, 95]})
    recorded = {parameter.name: parameter.value for parameter in parameters.recorded()}
    assert recorded == {
        "visible_tokens": 64, "reasoning_tokens": 0, "thinking": "disabled", "target_tokens": 128_000,
        "depths.1": 5, "depths.2": 95,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "parameters", "where"),
    [
        ("retrieval", {"depth": 5}, "depth"),
        ("retrieval", {"depths": [101]}, "depths"),
        ("retrieval", {"depths": []}, "depths"),
        ("retrieval", {"target_tokens": "128k"}, "target_tokens"),
        ("tools-batch", {"requests": 0}, "requests"),
        ("tools-batch", {"requests": 1000}, "requests"),
        ("coding", {"tasks": ["quine"]}, "tasks"),
        ("coding", {"thinking": "maybe"}, "thinking"),
        ("finish", {"allowed": ["not a word"]}, "allowed"),
        ("identity", {"visible_tokens": True}, "visible_tokens"),
    ],
)
def test_a_wrong_parameter_is_refused_by_name(name: str, parameters: Any, where: str) -> None:
    found = list(complaints_of(name, parameters))
    assert [item[0] for item in found] == [where]
    assert where in found[0][2] or where == "depth"
    with pytest.raises(CollectorError, match=where):
        parse(CHECKS[name].parameters, name, parameters)


def test_a_check_that_is_not_there_is_told_with_those_that_are() -> None:
    ((where, what, write),) = complaints_of("tools-20-of-20", {})
    assert where is None
    assert "tools-20-of-20" in what
    assert "tools-batch" in write
    assert list(complaints_of("tools-batch", {"requests": 4})) == []
    with pytest.raises(KeyError):
        context(None, "tools-20-of-20", {})  # type: ignore[arg-type]


def sent(name: str = "structured-json", **more: Any) -> dict[str, Any]:
    done = check(name, lambda payload: "x", **more)
    request = next(item.name for item in done.attachments if item.name.endswith(".request"))
    return json.loads(done.kept[request])  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("field", "member"),
    [
        ("max_tokens", "max_tokens"),
        ("max_completion_tokens", "max_completion_tokens"),
        ("neither", "max_tokens"),
        (None, "max_tokens"),
    ],
)
def test_both_budgets_are_sent_as_one_cap_in_the_field_that_is_honoured(field: Any, member: str) -> None:
    budgets = {"visible_tokens": 100, "reasoning_tokens": 900}
    body = sent(cap_field=field, parameters=budgets)
    assert body[member] == 1000
    assert sum(name.startswith("max_") for name in body) == 1
    done = check("structured-json", lambda payload: "x", parameters=budgets)
    assert (done.event.visible_budget_tokens, done.event.reasoning_budget_tokens) == (100, 900)
    assert body["temperature"] == 0


@pytest.mark.parametrize(
    ("family", "thinking", "members"),
    [
        ("none", "disabled", {}),
        ("enable_thinking", "disabled", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("enable_thinking", "enabled", {"chat_template_kwargs": {"enable_thinking": True}}),
        ("enable_thinking", "default", {}),
        ("reasoning_effort", "disabled", {"reasoning_effort": "none"}),
        ("reasoning_effort", "enabled", {"reasoning_effort": "medium"}),
    ],
)
def test_thinking_is_asked_for_in_the_familys_own_way(family: Any, thinking: str, members: Any) -> None:
    body = sent(thinking=ThinkingControl(family), parameters={"thinking": thinking})
    assert {k: v for k, v in body.items() if k in ("chat_template_kwargs", "reasoning_effort")} == members


def test_the_responses_api_has_its_own_members() -> None:
    body = sent("responses", thinking=ThinkingControl("reasoning_effort"))
    assert body["reasoning"] == {"effort": "none"}
    assert body["max_output_tokens"] == 256
    body = sent("responses", thinking=ThinkingControl("enable_thinking"))
    assert body["chat_template_kwargs"] == {"enable_thinking": False}


def test_a_name_is_used_once_and_is_a_label() -> None:
    import asyncio

    from support.checking import MemoryRecorder

    from anvil.collectors.checks import UnderTest
    from anvil.collectors.interface import Endpoint

    shared = UnderTest(MemoryRecorder(), None, Endpoint("http://127.0.0.1:1", "m"), ThinkingControl(), 1)  # type: ignore[arg-type]
    made = context(shared, "coding", {})
    made.keep("again.request", b"", "text/plain")
    for name in ("again", "Not A Label", "x" * 60):
        with pytest.raises(ValueError, match=r"used before|no label"):
            asyncio.run(made.fetch(name, "GET", "/"))
