"""`retrieval`, the filler it hides a secret in, and the counting of tokens before anything is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from support.checking import Done, check
from support.endpoint import Chat, Reply, Request, Server, prompt_tokens

from anvil.collectors.checks.history import History
from anvil.collectors.filler import WORDS, Draws, filler

SMALL = {"target_tokens": 1000, "depths": [0, 50, 100]}
SECRET = re.compile(r"The secret phrase is ([a-z]+-[a-z]+-\d{4})\.")


def secret_in(payload: dict[str, Any]) -> str:
    found = SECRET.search(payload["messages"][0]["content"])
    return found.group(1) if found else "I do not know."


def text_of(payload: dict[str, Any]) -> str:
    return payload["messages"][0]["content"]  # type: ignore[no-any-return]


# --- the filler ---------------------------------------------------------------------------------------


def test_filler_is_the_same_on_every_machine() -> None:
    assert filler(7, 500).digest == "sha256:a127623429a3a6313a5820cfabca426decb5788315879777824d1f1649619a3d"
    assert filler(7, 500) == filler(7, 500) != filler(8, 500)


def test_a_longer_filler_begins_with_the_shorter_one() -> None:
    shorter, longer = filler(3, 200), filler(3, 400)
    assert longer.sentences[: len(shorter.sentences) - 1] == shorter.sentences[:-1]
    assert len(re.findall(r"\w+", longer.text)) == 400


@pytest.mark.parametrize("words", [0, 1, 7, 8])
def test_short_fillers_have_the_words_they_say(words: int) -> None:
    assert len(re.findall(r"\w+", filler(1, words).text)) == words


def test_a_sentence_is_put_where_it_is_asked_for() -> None:
    text = filler(1, 1000)
    assert text.around("HERE.", 0).startswith("HERE.")
    assert text.around("HERE.", 100).endswith("HERE.")
    middle = text.around("HERE.", 50)
    assert 0.45 < middle.index("HERE.") / len(middle) < 0.55
    assert middle.replace(" HERE.", "").replace("HERE. ", "").split() == text.text.split()


def test_no_secret_can_stand_in_a_filler() -> None:
    from anvil.collectors.checks.retrieval import _NAMES

    assert not set(WORDS) & set(_NAMES)
    assert not re.search(r"[\d-]", filler(5, 3000).text)


def test_draws_are_named_by_what_they_are_for() -> None:
    assert [Draws(1, "a").below(1000) for _ in range(2)] == [Draws(1, "a").below(1000)] * 2
    assert Draws(1, "a").sample(range(50), 5) != Draws(1, "b").sample(range(50), 5)
    with pytest.raises(ValueError, match="different"):
        Draws(1).sample([1], 2)


# --- retrieval ------------------------------------------------------------------------------------------


def test_the_secret_is_found_at_every_depth() -> None:
    done = check("retrieval", lambda payload: f"It is {secret_in(payload)}.", parameters=SMALL)
    assert done.verdict == ("passed", None)
    assert (done.event.passed, done.event.expected) == (3, 3)
    assert list(done.requests) == ["depth_0", "depth_50", "depth_100", "control"]
    assert all(980 <= (request.prompt_tokens or 0) <= 1060 for request in done.requests.values())
    assert done.findings["exact.50"] is False
    assert all(json.loads(done.kept[f"depth_{depth}.request"])["stream"] for depth in (0, 50, 100))


def test_strict_equality_is_recorded_beside() -> None:
    done = check("retrieval", secret_in, parameters=SMALL)
    assert [done.findings[f"exact.{depth}"] for depth in (0, 50, 100)] == [True] * 3


def test_the_request_can_be_made_again_byte_for_byte() -> None:
    first, second = (check("retrieval", secret_in, parameters=SMALL) for _ in range(2))
    assert first.kept["depth_50.request"] == second.kept["depth_50.request"]
    prompt = next(prompt for prompt in first.event.prompts if prompt.generator == "filler")
    words = first.findings["filler_words"]
    assert filler(prompt.seed, words).digest == prompt.digest
    assert filler(prompt.seed, words).text in text_of(json.loads(first.kept["control.request"]))


def test_a_depth_that_is_lost_fails_by_name() -> None:
    def answer(payload: dict[str, Any]) -> str:
        place = SECRET.search(text_of(payload))
        is_late = place is not None and place.start() > len(text_of(payload)) * 0.9
        return "No idea." if is_late else secret_in(payload)

    done = check("retrieval", answer, parameters=SMALL)
    assert done.verdict == ("failed", "wrong_value")
    assert (done.event.passed, done.event.expected) == (2, 3)
    assert done.requests["depth_100"].failure == "wrong_value"


def test_a_silently_cut_prompt_misses_the_floor_even_with_the_right_answer() -> None:
    def answer(payload: dict[str, Any]) -> Chat:
        counted = 825 if payload.get("stream") else prompt_tokens(payload)
        return Chat(content=secret_in(payload), prompt_tokens=counted)

    done = check("retrieval", answer, parameters=SMALL)
    assert done.verdict == ("failed", "prompt_floor_missed")
    assert "825 prompt tokens are reported, at least 980" in done.messages["depth_0"]


def test_without_usage_the_length_is_not_known() -> None:
    done = check("retrieval", lambda payload: Chat(content=secret_in(payload), usage={}), parameters=SMALL)
    assert done.verdict == ("inconclusive", "prompt_floor_missed")
    assert done.event.passed == 0


def test_a_control_that_is_answered_fails_the_check() -> None:
    secrets: list[str] = []

    def answer(payload: dict[str, Any]) -> str:
        secrets.append(secret_in(payload))
        return next((s for s in reversed(secrets) if SECRET_SHAPE.fullmatch(s)), "none")

    done = check("retrieval", answer, parameters=SMALL)
    assert done.verdict == ("failed", "deterministic_check_failed")
    assert (done.event.passed, done.event.expected) == (3, 3)
    assert done.requests["control"].outcome == "failed"


SECRET_SHAPE = re.compile(r"[a-z]+-[a-z]+-\d{4}")


def test_what_does_not_fit_the_window_is_not_sent() -> None:
    with Server() as server:
        done = check("retrieval", server=server, parameters=SMALL, window_tokens=1010)
        assert done.verdict == ("incomplete", "prerequisite_failed")
        assert not server.requests


def test_a_large_prompt_is_reckoned_from_its_beginning() -> None:
    with Server(chat=secret_in) as server:
        done = check("retrieval", server=server, parameters={"target_tokens": 20_000, "depths": [50]})
        assert done.verdict == ("passed", None)
        assert 20_000 <= (done.requests["depth_50"].prompt_tokens or 0) < 20_600
        probes = [r for r in server.requests if r.json and r.json.get("max_tokens") == 1]
        assert max(len(text_of(probe.json).split()) for probe in probes) < 3100


# --- dialects of token counting ------------------------------------------------------------------------------


def words_in(text: str) -> int:
    return len(re.findall(r"\w+|[^\w\s]", text))


def llama_tokenize(request: Request) -> dict[str, Any]:
    return {"tokens": list(range(words_in(request.json.get("content", ""))))}


def vllm_tokenize(request: Request) -> Any:
    if "messages" not in request.json:
        return Reply.of_json({"error": {"message": "bad"}}, 400)
    return {"count": prompt_tokens(request.json), "tokens": []}


def llama_input_tokens(request: Request) -> dict[str, Any]:
    return {"object": "response.input_tokens", "input_tokens": prompt_tokens(request.json)}


def counted(routes: dict[str, Callable[[Request], Any]], **more: Any) -> tuple[Done, Server]:
    server = Server(chat=secret_in)
    for path, handler in routes.items():
        server.on(path, handler)
    with server:
        return check(
            "retrieval", server=server, parameters={"target_tokens": 1000, "depths": [50]}, **more
        ), server


@pytest.mark.parametrize(
    ("routes", "dialect"),
    [
        (
            {"/v1/chat/completions/input_tokens": llama_input_tokens, "/tokenize": llama_tokenize},
            "input_tokens",
        ),
        ({"/tokenize": vllm_tokenize}, "tokenize_messages"),
        ({"/tokenize": llama_tokenize}, "tokenize_content"),
        ({}, None),
    ],
)
def test_the_dialect_that_is_spoken_is_found_and_confirmed_by_usage(routes: Any, dialect: str | None) -> None:
    history = History()
    done, server = counted(routes, history=history)
    assert done.verdict == ("passed", None)
    assert history.tokenizer == dialect
    assert done.findings.get("tokenizer_confirmed") is (True if dialect else None)
    chats = sum(request.path == "/v1/chat/completions" for request in server.requests)
    assert chats == (3 if dialect else chats)  # one usage, one depth, one control


def test_no_tokens_for_text_that_is_not_empty_is_no_support() -> None:
    history = History()
    done, _ = counted({"/tokenize": lambda request: {"tokens": [], "count": 0}}, history=history)
    assert history.tokenizer is None
    assert done.verdict == ("passed", None)


def test_a_dialect_that_usage_contradicts_is_not_used() -> None:
    history = History()
    counted({"/v1/chat/completions/input_tokens": lambda request: {"input_tokens": 3}}, history=history)
    assert history.tokenizer is None


def test_the_dialect_is_looked_for_once() -> None:
    history = History()
    _, first = counted({"/tokenize": vllm_tokenize}, history=history)
    _, second = counted({"/tokenize": vllm_tokenize}, history=history)
    assert len(second.requests) < len(first.requests)
    assert all(request.path != "/v1/chat/completions/input_tokens" for request in second.requests)
