"""Suites from files: what they ask, how they judge, and what is refused, with one clear message each."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.endpoint import Call, Chat
from support.repeating import suite
from support.suitefile import GOOD, as_json

from anvil.collectors.checks import complaints_of
from anvil.collectors.completion import read_chat
from anvil.collectors.interface import Exchange
from anvil.collectors.recipes import FileRefused, Judges, load_recipe
from anvil.collectors.suites import complaints_of_suite
from anvil.collectors.suites.external import read_suite
from anvil.collectors.suites.validators import Exact, JsonEquals, RegexFull

RIGHT = {"sum": "42", "code": "AB123", "object": '{"a": [1, 2]}'}


def answering(**answers: Any) -> Any:
    def answer(payload: dict[str, Any]) -> Any:
        asked = payload["messages"][-1]["content"]
        name = {"What": "sum", "Answer with a": "code", "Answer with the": "object", "Ring": "call"}
        key = next(key for start, key in name.items() if asked.startswith(start))
        return {"call": Chat(calls=(Call("ring", '{"times": 3}'),)), **RIGHT, **answers}[key]

    return answer


# --- what they do ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("file", "content"), [("house.toml", GOOD), ("house.json", as_json())])
def test_right_answers_pass_and_the_file_is_kept_with_its_digest(file: str, content: str) -> None:
    done = suite("house", answering(), content=content.encode(), file=file)
    assert done.verdict == ("passed", None, 12, 12)
    assert (done.event.suite, done.event.version, done.event.purpose) == ("house", 2, "ranking")
    assert done.kept["suite"] == content.encode()
    assert done.event.digest == "sha256:" + hashlib.sha256(content.encode()).hexdigest()
    sent = json.loads(done.kept["call.1.request"])
    assert sent["tools"][0]["function"]["name"] == "ring"
    assert [m["role"] for m in json.loads(done.kept["sum.1.request"])["messages"]] == ["system", "user"]


def test_toml_and_json_say_the_same() -> None:
    first, second = read_suite(GOOD.encode(), "a.toml"), read_suite(as_json().encode(), "a.json")
    assert first.make(None) == second.make(None)


@pytest.mark.parametrize(
    ("item", "answer", "failure"),
    [
        ("sum", "43", "wrong_value"),
        ("sum", "It is 42", "prose_around"),
        ("sum", "```\n42\n```", "fenced"),
        ("code", "AB1234", "wrong_value"),
        ("code", "code: AB123", "wrong_value"),
        ("code", "AB123\nAB123", "wrong_value"),
        ("code", "```\nAB123\n```", "fenced"),
        ("object", '{"a": [2, 1]}', "wrong_value"),
        ("object", '{"a": [1, 2], "b": 0}', "extra_keys"),
        ("object", '{"a": [true, 2]}', "wrong_value"),
        ("call", Chat(content="ding"), "no_call"),
        ("call", Chat(calls=(Call("ring", '{"times": 2}'),)), "wrong_arguments"),
        ("call", Chat(calls=(Call("ring", '{"times": "3"}'),)), "invalid_arguments"),
        ("call", Chat(calls=(Call("ring", '{"times": 2, "times": 3}'),)), "invalid_arguments"),
    ],
)
def test_a_wrong_answer_fails_its_item_alone(item: str, answer: Any, failure: str) -> None:
    done = suite("house", answering(**{item: answer}), content=GOOD.encode(), file="house.toml")
    assert done.verdict == ("failed", failure, 9, 12)
    assert {name for name, found in done.items.items() if not found.is_stable} == {item}


def test_reasoning_in_the_visible_text_is_no_wrong_answer() -> None:
    done = suite("house", answering(sum="<think>6*7</think>42"), content=GOOD.encode(), file="house.toml")
    assert done.items["sum"].failure == "reasoning_leaked"


@pytest.mark.parametrize("pattern", [r"(a+)+b", r"(a|a)*b", r"(.*)*b", r"(a*)*(a*)*(a*)*b", r"([a-z]+)*b"])
def test_a_pattern_that_would_backtrack_for_ever_is_matched_at_once(pattern: str) -> None:
    """With `re` the first takes longer than the universe has been there; one that hangs ends at the test's limit."""
    started = time.process_time()
    answer = said("a" * 50_000 + "c")
    assert RegexFull(pattern).faults(answer)[0].failure == "wrong_value"
    assert time.process_time() - started < 60


def said(text: str) -> Any:
    body = {"choices": [{"index": 0, "message": {"content": text}, "finish_reason": "stop"}]}
    return read_chat(
        Exchange(b"", 0, 1, 200, {"content-type": "application/json"}, json.dumps(body).encode())
    )


# --- round trips -----------------------------------------------------------------------------------------

texts = st.text(min_size=1).filter(lambda text: text.strip(" \t\r\n") and "\r" not in text)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(texts)
def test_every_text_is_exactly_itself_and_no_other(text: str) -> None:
    assert Exact(text).faults(said(text)) == []
    assert Exact(text).faults(said(f"\n {text}\n")) == []
    assert Exact(text).faults(said(text + "x")) != []


@given(plain)
def test_every_json_value_equals_itself_in_any_layout(value: Any) -> None:
    for layout in ({}, {"indent": 3}, {"ensure_ascii": False}):
        spelled = json.dumps(value, **layout)  # type: ignore[arg-type]
        assert JsonEquals(value).faults(said(spelled)) == []
    assert JsonEquals(value).faults(said(json.dumps([value]))) != []


@given(plain)
def test_a_json_file_says_what_was_written(value: Any) -> None:
    block = {"id": "a", "prompt": "p", "validator": "json_equals", "expected": value}
    file = {"format": "anvil.suite/1", "name": "x", "about": "y", "purpose": "diagnostic", "items": [block]}
    made = read_suite(json.dumps(file).encode(), "x.json")
    (item,) = made.make(None)
    assert item.validator.expected == value  # type: ignore[attr-defined]


@given(st.binary(max_size=300))
@pytest.mark.parametrize("name", ["x.toml", "x.json"])
def test_whatever_the_bytes_are_they_are_refused_in_words(name: str, content: bytes) -> None:
    with pytest.raises(FileRefused) as refused:
        read_suite(content, name)
    assert refused.value.problems


# --- what is refused -------------------------------------------------------------------------------------


def problems(content: str | bytes, name: str = "house.toml") -> list[tuple[int, str, str]]:
    raw = content.encode() if isinstance(content, str) else content
    with pytest.raises(FileRefused) as refused:
        read_suite(raw, name)
    return [(problem.line, problem.what, problem.write) for problem in refused.value.problems]


def line_of(text: str, words: str) -> int:
    return text[: text.index(words)].count("\n") + 1


MISTAKES: dict[str, tuple[str, str, str, str]] = {
    "unknown validator": ('"exact"', '"fuzzy"', "`validator` cannot be this", "'exact', 'regex_full'"),
    "doubled id": ('id = "code"', 'id = "sum"', "item 'sum' stands twice", "another `id`"),
    "bad pattern": ("[A-Z]{2}", "[A-Z{2}", "no pattern that can be matched", "RE2"),
    "look-around": ("[A-Z]{2}", "(?=x)", "no pattern that can be matched", "without look-around"),
    "back reference": (r"\d{3}", r"(\d)\1", "no pattern that can be matched", "back references"),
    "pattern too large": ("[A-Z]{2}", "((a{100}){100}){100}", "no pattern that can be matched", "RE2"),
    "pattern of nothing": (r"'[A-Z]{2}\d{3}'", "'.*'", "matches an empty answer", "must fit"),
    "pattern elsewhere": ('expected = "42"', 'expected = "42"\npattern = "4"', "`exact` has no `pattern`", "`expected`"),
    "no pattern": (r"pattern = '[A-Z]{2}\d{3}'", "", "`regex_full` needs `pattern`", "Write `pattern"),
    "no text": ('expected = "42"', "expected = 42", "compares texts", "in quotes"),
    "blank text": ('expected = "42"', 'expected = " "', "compares texts", "in quotes"),
    "a date": ("{ a = [1, 2] }", "2026-11-30", "no value of JSON", "in quotes"),
    "no number": ("{ a = [1, 2] }", "{ a = nan }", "no number of JSON", "figures"),
    "no call": ("arguments = { times = 3 }", "times = 3", "no tool call", "arguments"),
    "tool not offered": ('expected = { name = "ring"', 'expected = { name = "sing"', "'sing' is not offered", "ring"),
    "no tool": ('type = "function"\nfunction', 'type = "thing"\nfunction', "no tool", "function"),
    "unknown key": ("version = 2", "verison = 2", "unknown key `verison`", "Write `version`"),
    "purpose": ('"ranking"', '"boasting"', "`purpose` cannot be this", "'diagnostic' or 'ranking'"),
    "no items": (GOOD[GOOD.index("[[items]]") :], "items = []\n", "`items` cannot be this", "at least 1"),
    "long id": ('id = "sum"', f'id = "{"s" * 41}"', "`id` cannot be this", "pattern"),
    "format": ("anvil.suite/1", "anvil.suite/9", "`format` cannot be this", "anvil.suite/1"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("kind", ["toml", "json"])
def test_a_mistake_has_one_message_with_its_line(mistake: str, kind: str) -> None:
    old, new, what, write = MISTAKES[mistake]
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    if kind == "json" and mistake in ("a date", "no number"):
        return  # JSON cannot hold them
    content = text if kind == "toml" else as_json(text)
    ((line, found, told),) = problems(content, f"house.{kind}")
    assert what in found
    assert write in told
    assert 1 <= line <= content.count("\n") + 1


def test_the_line_is_that_of_the_mistake_in_both_languages() -> None:
    text = GOOD.replace('"exact"', '"fuzzy"')
    assert problems(text)[0][0] == line_of(text, '"fuzzy"')
    assert problems(as_json(text), "x.json")[0][0] == line_of(as_json(text), '"fuzzy"')
    doubled = GOOD.replace('id = "object"', 'id = "code"')
    assert problems(doubled)[0][0] == doubled[: doubled.rindex('id = "code"')].count("\n") + 1


@pytest.mark.parametrize(
    ("content", "name", "what"),
    [
        (b"\xff\xfe", "x.toml", "not UTF-8"),
        (b"\xff\xfe", "x.json", "not UTF-8"),
        ("format =", "x.toml", "not TOML"),
        ('{"format": ', "x.json", "not JSON"),
        ("[1]", "x.json", "no JSON object"),
        ('{"a": 1, "a": 2}', "x.json", "the key 'a' twice"),
        ('{"a": NaN}', "x.json", "NaN is no number"),
        ("[" * 100_000, "x.json", "nested too deeply"),
        ("a = " + "[" * 100_000, "x.toml", "nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "x.json", "digits"),
    ],
)
def test_what_is_no_such_file_at_all(content: str | bytes, name: str, what: str) -> None:
    ((_, found, write),) = problems(content, name)
    assert what in found
    assert write


def test_a_value_that_is_nested_deeply_is_refused() -> None:
    deep = GOOD.replace("{ a = [1, 2] }", "[" * 40 + "]" * 40)
    ((_, found, _),) = problems(deep)
    assert "nested too deeply" in found


def test_more_items_than_an_event_can_name_are_refused() -> None:
    item = GOOD[GOOD.index("[[items]]") : GOOD.index('[[items]]\nid = "code"')]
    head = GOOD[: GOOD.index("[[items]]")]
    many = head + "".join(item.replace('"sum"', f'"sum{n}"') for n in range(46))
    ((_, found, write),) = problems(many)
    assert "46 items are more than 45" in found
    assert "Split" in write


# --- from a recipe ---------------------------------------------------------------------------------------

RECIPE = """format = "anvil.recipe/1"
name = "mine"
campaign = "mine"
about = "x"
[hardware]
gpus = 0
[candidates.tiny]
model = "org/tiny"
[engines.e]
engine = "tiny"
launcher = "process"
argv = ["x", "org/tiny"]
[[attempts]]
key = "a1"
candidate = "tiny"
engine = "e"
served_model = "tiny"
[[suites]]
"""


def load(folder: Path, block: str) -> Any:
    path = folder / "mine.toml"
    path.write_text(RECIPE + block)
    return load_recipe(path, Judges(check=complaints_of, suite=complaints_of_suite))


def refused(folder: Path, block: str) -> tuple[str, str]:
    with pytest.raises(FileRefused) as error:
        load(folder, block)
    (problem,) = error.value.problems
    text = RECIPE + block
    assert problem.line >= line_of(text, "[[suites]]")
    return problem.what, problem.write


def test_a_file_is_found_beside_the_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "house.toml").write_text(GOOD)
    monkeypatch.chdir("/")
    digest = hashlib.sha256(GOOD.encode()).hexdigest()
    block = f'id = "house"\nfile = "suites/house.toml"\ndigest = "sha256:{digest}"\n'
    recipe = load(tmp_path, block)
    assert recipe.suite_files == {"suites/house.toml": GOOD.encode()}


@pytest.mark.parametrize(
    ("block", "what", "write"),
    [
        ('id = "wisdom"', "there is no suite 'wisdom'", "intelligence, session"),
        (
            'id = "house"\nfile = "none.toml"',
            "none.toml cannot be read: No such file",
            "path from the recipe",
        ),
        ('id = "session"\nfile = "house.toml"', "comes with anvil", "another `id`"),
        ('id = "home"\nfile = "house.toml"', "names its suite 'house'", 'id = "house"'),
        ('id = "house"\nfile = "bad.toml"', "bad.toml:11: `validator` cannot be this", "'exact'"),
        ('id = "house"\nfile = "/etc/x.toml"', "`file` cannot be this", "pattern"),
        ('id = "house"\nfile = "house.yaml"', "`file` cannot be this", "pattern"),
        ('id = "house"\nfile = "pipe.toml"', "cannot be read", "path"),
        ('id = "house"\nfile = "huge.toml"', "more than 1,048,576 bytes", "path"),
        (f'id = "house"\nfile = "house.toml"\ndigest = "sha256:{"0" * 64}"', "another file than", "sha256:"),
        (f'id = "session"\ndigest = "sha256:{"0" * 64}"', "made of no file", "Leave it out"),
        (f'id = "multimodal"\ndigest = "sha256:{"0" * 64}"', "corpus that comes with this anvil", "sha256:"),
        ('id = "session"\nparameters = { depth = 3 }', "suite 'session': Extra inputs", "visible_tokens"),
        ('id = "session"\nparameters = { visible_tokens = 0 }', "greater than or equal to 1", "visible"),
        ('id = "retrieval"\nparameters = { depths = [101] }', "less than or equal to 100", "depths"),
        ('id = "session"\nrequired_rate = "0.0"', "no share of repetitions", "above 0"),
        ('id = "session"\nrequired_rate = "1.01"', "no share of repetitions", "at most 1"),
        ('id = "session"\nrequired_rate = 1.0', "`required_rate` cannot be this", 'quotes: "1.0"'),
        ('id = "session"\nrepetitions = 16', "sends 48 requests, and one event can name 45", "fewer"),
        ('id = "multimodal"\nrepetitions = 4', "sends 60 requests", "fewer"),
        ('id = "session"\ncorpus = "x"', "unknown key `corpus`", "Known here"),
    ],
)
def test_a_selection_that_cannot_stand(tmp_path: Path, block: str, what: str, write: str) -> None:
    (tmp_path / "house.toml").write_text(GOOD)
    (tmp_path / "bad.toml").write_text(GOOD.replace('"exact"', '"fuzzy"'))
    (tmp_path / "huge.toml").write_text(GOOD + "#" * (1 << 20))
    os.mkfifo(tmp_path / "pipe.toml")
    found = refused(tmp_path, block + "\n")
    assert what in found[0]
    assert write in found[1]


def test_long_names_of_many_items_are_refused(tmp_path: Path) -> None:
    item = '[[items]]\nid = "{}"\nprompt = "p"\nvalidator = "exact"\nexpected = "x"\n'
    head = GOOD[: GOOD.index("[[items]]")]
    (tmp_path / "house.toml").write_text(head + "".join(item.format(f"{n:040}") for n in range(10)))
    what, write = refused(tmp_path, 'id = "house"\nfile = "house.toml"\n')
    assert "have 1200 characters, and one event can hold 720" in what
    assert "shorter ids" in write
    assert load(tmp_path, 'id = "house"\nfile = "house.toml"\nrepetitions = 1\n')


def test_one_suite_is_selected_twice_under_two_keys(tmp_path: Path) -> None:
    block = 'id = "session"\n[[suites]]\nid = "session"\nkey = "again"\nrequired_rate = "0.66"\n'
    (attempt,) = load(tmp_path, block).attempts
    assert [one.name for one in attempt.suites] == ["session", "again"]
    what, _ = refused(tmp_path, 'id = "session"\n[[suites]]\nid = "session"\n')
    assert "stands twice in suites" in what
