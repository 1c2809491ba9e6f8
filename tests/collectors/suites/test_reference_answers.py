"""Each built-in item is shown a right answer, which must pass, and near misses, which must fail by their class.

A validator that is wrong looks like a model that is: so the reference answers are made by other means than the
validators where there are any (difflib and diff(1), the rules of the question).
"""

from __future__ import annotations

import difflib
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.checking import check
from support.endpoint import Call, Chat
from support.repeating import suite

from anvil.collectors.suites import SUITES
from anvil.collectors.suites.intelligence import _TRIAGE_QUESTION, AFTER, BEFORE, DIFF, FILE, TRIAGE
from anvil.collectors.suites.session import FACT, TURNS
from anvil.collectors.suites.tool import ARGUMENTS, TITLE, TOOL, TOOLS

RIGHT_TRIAGE = json.dumps(TRIAGE)


def intelligence(diff: str, triage: str) -> Any:
    def answer(payload: dict[str, Any]) -> str:
        return diff if FILE in payload["messages"][0]["content"] else triage

    return suite("intelligence", answer)


# --- intelligence ----------------------------------------------------------------------------------------


def test_the_reference_diff_is_what_difflib_makes() -> None:
    made = difflib.unified_diff(
        BEFORE.splitlines(keepends=True), AFTER.splitlines(keepends=True), f"a/{FILE}", f"b/{FILE}"
    )
    assert "".join(made) == DIFF


@pytest.mark.needs("diff")
def test_the_reference_diff_is_what_diff_prints(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(BEFORE)
    (tmp_path / "b").write_text(AFTER)
    command = ["diff", "-U3", "--label", f"a/{FILE}", "--label", f"b/{FILE}", "a", "b"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout == DIFF


def test_the_reference_triage_follows_from_the_log_by_the_rules() -> None:
    question = _TRIAGE_QUESTION
    limit = int(re.search(r"limit of (\d+) seconds", question).group(1))  # type: ignore[union-attr]
    now = int(re.search(r"Now it is second (\d+)", question).group(1))  # type: ignore[union-attr]
    log = [(int(at), words) for at, words in re.findall(r"^(\d+) (.+)$", question, re.MULTILINE)]
    waits = [words for _, words in log if "waiting for" in words or "got the lock" in words]
    silent = now - log[-1][0]
    is_blocked = "waiting for" in waits[-1]
    state, action = (
        ("blocked", "release") if is_blocked else ("slow", "extend") if silent <= 60 else ("stuck", "stop")
    )
    assert {
        "state": state, "action": action, "over_limit_s": now - limit, "silent_s": silent,
    } == TRIAGE  # fmt: skip


def test_right_answers_pass_in_every_repetition() -> None:
    done = intelligence(DIFF, RIGHT_TRIAGE)
    assert done.verdict == ("passed", None, 6, 6)
    assert all(item.is_stable for item in done.event.items)
    assert (done.event.required_rate, done.event.purpose) == ("1.0", "diagnostic")


@pytest.mark.parametrize(
    "diff", [DIFF.rstrip("\n"), f"\n{DIFF}\n", DIFF.replace("\n", "\r\n")], ids=["bare", "blanks", "crlf"]
)
def test_a_diff_is_right_whatever_its_line_ends_and_blanks_around(diff: str) -> None:
    assert intelligence(diff, RIGHT_TRIAGE).items["unified-diff"].passed == 3


@pytest.mark.parametrize(
    "triage",
    [json.dumps(TRIAGE, indent=2), json.dumps(dict(reversed(TRIAGE.items()))), f"\n{RIGHT_TRIAGE} "],
    ids=["indented", "other order", "blanks"],
)
def test_a_triage_is_right_in_any_layout_of_json(triage: str) -> None:
    assert intelligence(DIFF, triage).items["triage"].passed == 3


@pytest.mark.parametrize(
    ("diff", "failure", "is_lenient"),
    [
        (f"```diff\n{DIFF}```", "fenced", True),
        (f"Here it is:\n{DIFF}", "prose_around", True),
        (f"Sure!\n```\n{DIFF}```\nDone.", "fenced", True),
        (DIFF.replace("+retry_limit = 5", "+retry_limit = 6"), "wrong_value", False),
        (DIFF.replace("-retry_limit = 3\n", ""), "wrong_value", False),
        (DIFF.replace("-1,7 +1,7", "-4 +4"), "wrong_value", False),
        (DIFF.replace("a/", ""), "wrong_value", False),
        (DIFF.replace(" owner = quay\n", ""), "wrong_value", False),
        (DIFF.replace("\n name", "\nname"), "wrong_value", False),
        (AFTER, "wrong_value", False),
    ],
)
def test_a_near_miss_of_the_diff(diff: str, failure: str, is_lenient: bool) -> None:
    done = intelligence(diff, RIGHT_TRIAGE)
    assert done.verdict == ("failed", failure, 3, 6)
    assert (done.items["unified-diff"].passed, done.items["unified-diff"].is_stable) == (0, False)
    assert done.items["triage"].is_stable is True
    assert done.requests["unified-diff.1"].lenient_passed is is_lenient


@pytest.mark.parametrize(
    ("triage", "failure"),
    [
        (f"```json\n{RIGHT_TRIAGE}\n```", "fenced"),
        (f"The answer: {RIGHT_TRIAGE}", "prose_around"),
        (json.dumps({**TRIAGE, "reason": "silent"}), "extra_keys"),
        (json.dumps({**TRIAGE, "state": "blocked", "action": "release"}), "wrong_value"),
        (json.dumps({**TRIAGE, "silent_s": "75"}), "wrong_value"),
        (json.dumps({k: v for k, v in TRIAGE.items() if k != "silent_s"}), "wrong_value"),
        ("stuck, stop", "deterministic_check_failed"),
    ],
)
def test_a_near_miss_of_the_triage(triage: str, failure: str) -> None:
    done = intelligence(DIFF, triage)
    assert done.verdict == ("failed", failure, 3, 6)
    assert done.items["triage"].failure == failure


# --- session ---------------------------------------------------------------------------------------------


def session(last: Any, first: Any = "Noted.") -> Any:
    def answer(payload: dict[str, Any]) -> Any:
        turn = len(payload["messages"])
        return {1: first, 3: "They weigh the same."}.get(turn, last)

    return suite("session", answer)


@pytest.mark.parametrize("last", [FACT, f"{FACT}.", f"Your locker is **{FACT}**.", "4,715", f"#{FACT}\n"])
def test_a_fact_is_recalled_however_it_is_put(last: str) -> None:
    done = session(last)
    assert done.verdict == ("passed", None, 3, 3)


@pytest.mark.parametrize(
    ("last", "failure"),
    [
        ("4716", "wrong_value"),
        ("47150", "wrong_value"),
        ("47 15", "wrong_value"),
        ("4715 or 4716", "wrong_value"),
        ("You never told me.", "wrong_value"),
        ("  ", "visible_answer_missing"),
    ],
)
def test_a_fact_that_is_not_recalled(last: str, failure: str) -> None:
    assert session(last).verdict == ("failed", failure, 0, 3)


def test_each_turn_carries_what_was_said_before() -> None:
    done = session(FACT, first="Noted, and remembered.")
    sent = [json.loads(done.kept[f"recall.2.{turn}.request"])["messages"] for turn in (1, 2, 3)]
    assert [len(messages) for messages in sent] == [1, 3, 5]
    assert [message["content"] for message in sent[2]] == [
        TURNS[0], "Noted, and remembered.", TURNS[1], "They weigh the same.", TURNS[2],
    ]  # fmt: skip
    assert [message["role"] for message in sent[2]] == ["user", "assistant"] * 2 + ["user"]
    assert FACT not in TURNS[1] + TURNS[2]


def test_an_earlier_turn_may_be_cut_but_must_be_an_answer() -> None:
    cut = session(FACT, first=Chat(content="Noted and", finish_reason="length", completion_tokens=64))
    assert cut.verdict == ("passed", None, 3, 3)
    silent = session(FACT, first="")
    assert silent.verdict == ("failed", "visible_answer_missing", 0, 3)
    assert set(silent.requests) == {"recall.1.1", "recall.2.1", "recall.3.1"}


# --- tool ------------------------------------------------------------------------------------------------


def tool(*calls: Call, content: str | None = None) -> Any:
    return suite("tool", lambda payload: Chat(content=content, calls=calls))


def call(name: str = TOOL, **arguments: Any) -> Call:
    return Call(name, json.dumps({**ARGUMENTS, **arguments}, ensure_ascii=False))


def test_an_exact_argument_passes_however_json_spells_it() -> None:
    assert tool(call()).verdict == ("passed", None, 3, 3)
    assert tool(Call(TOOL, json.dumps(ARGUMENTS))).verdict == ("passed", None, 3, 3)


def test_what_is_asked_for_is_in_the_question_to_the_character() -> None:
    body = json.loads(tool(call()).kept["exact-argument.1.request"])
    assert body["messages"][-1]["content"].endswith(f"\n{TITLE}")
    assert "urgent" in body["messages"][-1]["content"]
    assert [offered["function"]["name"] for offered in body["tools"]] == [TOOL, "close_ticket"]
    properties = TOOLS[0]["function"]["parameters"]["properties"]
    assert set(properties) == set(ARGUMENTS)


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (lambda: tool(content="done"), "no_call"),
        (lambda: tool(call(), call()), "several_calls"),
        (lambda: tool(Call("close_ticket", '{"number": 7}')), "wrong_tool"),
        (lambda: tool(Call(TOOL, "{")), "invalid_arguments"),
        (lambda: tool(Call(TOOL, json.dumps({"title": TITLE}))), "invalid_arguments"),
        (lambda: tool(call(urgent="yes")), "invalid_arguments"),
        (lambda: tool(call(note="x")), "invalid_arguments"),
        (lambda: tool(call(title=TITLE.replace("  ", " "))), "wrong_arguments"),
        (lambda: tool(call(title=TITLE.replace("Ż", "Z"))), "wrong_arguments"),
        (lambda: tool(call(title=TITLE.replace("\\", "\\\\"))), "wrong_arguments"),
        (lambda: tool(call(title=TITLE.lower())), "wrong_arguments"),
        (lambda: tool(call(urgent=False)), "wrong_arguments"),
        (lambda: tool(call(), content="<tool_call>"), "protocol_debris"),
    ],
)
def test_a_near_miss_of_the_argument(answer: Any, failure: str) -> None:
    assert answer().verdict == ("failed", failure, 0, 3)


def test_a_template_that_drops_tools_is_not_the_models_failure() -> None:
    with_tools = check("tools-rendered", lambda payload: Chat(content="x", prompt_tokens=10))
    done = suite("tool", lambda payload: Chat(calls=(call(),)), history=with_tools.history)
    assert done.verdict == ("incomplete", "tools_not_rendered", 0, 3)
    assert done.items["exact-argument"].is_stable is None
    assert done.attachments == ()


# --- retrieval -------------------------------------------------------------------------------------------


def hidden(payload: dict[str, Any]) -> str:
    found = re.search(r"The secret phrase is (\S+?)\.", payload["messages"][0]["content"])
    return found.group(1) if found else "none"


def test_a_secret_of_its_own_is_found_in_each_repetition() -> None:
    done = suite("retrieval", hidden, parameters={"target_tokens": 400, "depths": (20, 80)})
    assert done.verdict == ("passed", None, 6, 6)
    assert set(done.items) == {"depth-20", "depth-80"}
    bodies = [done.kept[f"depth-{depth}.{n}.request"] for depth in (20, 80) for n in (1, 2, 3)]
    secrets = {hidden(json.loads(body)) for body in bodies}
    assert len(secrets) == 6
    assert "control" in done.requests
    assert len(done.event.prompts) == 7  # six with a secret, and the filler


def test_whoever_knows_the_secret_without_having_read_it_has_not_retrieved_it() -> None:
    said: list[str] = []

    def clairvoyant(payload: dict[str, Any]) -> str:
        said.append(hidden(payload))
        return " ".join(said)

    done = suite("retrieval", clairvoyant, parameters={"target_tokens": 400})
    assert done.verdict == ("failed", "deterministic_check_failed", 2, 3)


def test_a_window_that_is_too_small_is_no_wrong_answer() -> None:
    done = suite("retrieval", hidden, parameters={"target_tokens": 400}, window_tokens=300)
    assert done.verdict == ("incomplete", "prerequisite_failed", 0, 3)
    assert done.attachments == ()


def test_a_prompt_shorter_than_its_label_fails() -> None:
    done = suite(
        "retrieval", lambda p: Chat(content=hidden(p), prompt_tokens=50), parameters={"target_tokens": 400}
    )
    assert done.verdict == ("failed", "prompt_floor_missed", 0, 3)


def test_every_built_in_suite_has_reference_answers_here_or_with_the_corpus() -> None:
    assert set(SUITES) == {"intelligence", "session", "tool", "retrieval", "multimodal"}
