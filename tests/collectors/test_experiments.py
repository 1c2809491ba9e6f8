"""Experiments of two attempts: whatever differs is named, and whatever is named differs."""

from __future__ import annotations

import pytest

from anvil.collectors.recipes import FileRefused, Problem, parse_recipe

DIGEST, OTHER = "a" * 64, "c" * 64
REVISION = "b" * 40

RECIPE = """format = "anvil.recipe/1"
name = "mine"
campaign = "mine"
about = "A recipe for tests"
[hardware]
gpus = 1

[candidates.one]
model = "org/Model"
revision = "REVISION"
thinking = "enable_thinking"
[candidates.other]
CANDIDATE

[engines.one]
engine = "vllm"
launcher = "docker"
image = "vllm/vllm-openai@sha256:DIGEST"
version = "0.9.1"
argv = ["{model}", "--revision", "{revision}", "--served-model-name", "{served_model}", "--max-num-seqs", "2"]
env = { VLLM_LOGGING_LEVEL = "INFO" }
settings = { max_num_seqs = 2 }
endpoint = { via = "direct" }
[engines.other]
ENGINE

[[attempts]]
key = "a"
candidate = "one"
engine = "one"
served_model = "a"
placement = "first"
[[attempts]]
key = "b"
candidate = "other"
engine = "other"
served_model = "b"
ATTEMPT

[[experiments]]
key = "it"
control = "a"
attempt = "b"
only_change = [NAMED]
"""

CANDIDATE = 'model = "org/Model"\nrevision = "REVISION"\nthinking = "enable_thinking"\n'
ENGINE = """engine = "vllm"
launcher = "docker"
image = "vllm/vllm-openai@sha256:DIGEST"
version = "0.9.1"
argv = ["{model}", "--revision", "{revision}", "--served-model-name", "{served_model}", "--max-num-seqs", "2"]
env = { VLLM_LOGGING_LEVEL = "INFO" }
settings = { max_num_seqs = 2 }
endpoint = { via = "direct" }
"""
ATTEMPT = 'placement = "first"\n'

CHANGES: dict[str, tuple[tuple[str, str], ...]] = {
    "candidate": (("org/Model", "org/Another"),),
    "thinking": (("enable_thinking", "reasoning_effort"),),
    "engine": (('"vllm"', '"sglang"'), ("--max-num-seqs", "--max-running-requests"), (DIGEST, OTHER)),
    "launcher": (('"docker"\n', '"process"\n'), (f'image = "vllm/vllm-openai@sha256:{DIGEST}"\n', "")),
    "image": ((DIGEST, OTHER), ("0.9.1", "0.9.2")),
    "entrypoint": (("argv =", 'entrypoint = ["/bin/serve"]\nargv ='),),
    "version": (("0.9.1", "0.9.2"),),
    "argv": (('"--revision", "{revision}"', '"--revision={revision}", "{revision}"'),),
    "env_names": (("env =", 'env_names = ["HF_TOKEN"]\nenv ='),),
    "container": (("env =", 'container = { ipc = "host" }\nenv ='),),
    "placement": (('"first"', '"second"'),),
    "env.VLLM_LOGGING_LEVEL": (("INFO", "DEBUG"),),
    "env.VLLM_USE_V1": (('"INFO"', '"INFO", VLLM_USE_V1 = "1"'),),
    "endpoint.via": (('"direct"', '"router"'),),
    "endpoint.media_part": (('via = "direct"', 'media_part = "input_image"'),),
    "max_num_seqs": (('"2"', '"4"'), ("= 2", "= 4")),
    "--max-num-seqs": (('"2"', '"4"'), ("max_num_seqs = 2", "max_num_seqs = 4")),
    "--enforce-eager": (('"2"]', '"2", "--enforce-eager"]'),),
}
"""By what `only_change` calls it: what is replaced in the second attempt, its engine or its candidate."""

ALSO = {"launcher": ("image",), "--max-num-seqs": ("max_num_seqs",)}
"""What the same change needs to have named besides."""


def recipe(*changes: str, named: tuple[str, ...] | None = None) -> str:
    """Return a recipe whose two attempts differ in these changes; all of them are named unless others are."""
    parts = {"CANDIDATE": CANDIDATE, "ENGINE": ENGINE, "ATTEMPT": ATTEMPT}
    parts = {
        name: text.replace("REVISION", REVISION).replace("DIGEST", DIGEST) for name, text in parts.items()
    }
    for change in changes:
        for old, new in CHANGES[change]:
            assert any(old in text for text in parts.values()), old
            parts = {name: text.replace(old, new, 1) for name, text in parts.items()}
    text = RECIPE.replace("REVISION", REVISION).replace("DIGEST", DIGEST)
    for name, part in parts.items():
        text = text.replace(f"\n{name}\n", f"\n{part}\n")
    also = (name for change in changes for name in (change, *ALSO.get(change, ())))
    return text.replace("NAMED", ", ".join(f'"{name}"' for name in named or also))


def told(text: str) -> tuple[Problem, ...]:
    try:
        parse_recipe(text.encode(), "mine.toml")
    except FileRefused as refused:
        return refused.problems
    return ()


@pytest.mark.parametrize("change", CHANGES)
def test_one_change_that_is_named(change: str) -> None:
    assert told(recipe(change)) == ()


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_is_not_named(change: str) -> None:
    other = "placement" if change != "placement" else "thinking"
    text = recipe(change, other, named=(other,))
    problems = told(text)
    assert problems
    called = change if not change.startswith("-") and change != "argv" else "argv"
    assert any(called in problem.what for problem in problems), [p.text("mine.toml") for p in problems]
    line = next(n for n, found in enumerate(text.splitlines(), 1) if found.startswith("only_change"))
    assert {problem.line for problem in problems} == {line}
    assert all("only_change" in p.write or "Name " in p.write for p in problems)


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_named_and_equal(change: str) -> None:
    other = "placement" if change != "placement" else "thinking"
    (problem,) = told(recipe(other, named=(other, change)))
    assert f"{change} does not differ between 'a' and 'b'" in problem.what
    assert "Leave it out" in problem.write


def test_two_changes_can_be_named_together() -> None:
    assert told(recipe("max_num_seqs", "endpoint.via")) == ()


def test_a_setting_that_is_called_like_a_field() -> None:
    text = recipe("thinking").replace("settings = { max", "settings = { image = true, max", 1)
    (problem,) = told(text)
    assert "settings.image differs as well: True and none" in problem.what
    assert told(text.replace('["thinking"]', '["thinking", "settings.image"]')) == ()


def test_candidates_under_two_keys_may_be_one() -> None:
    assert told(recipe("placement")) == ()  # a and b have two candidates that are the same


@pytest.mark.parametrize(
    ("instead", "found"),
    [
        ("", "here is neither"),
        ('control = "a"\n', "here is control"),
        ('control = "a"\nattempt = "b"\nprotocol = "load"\n', "here is control and attempt and protocol"),
        ('control = "a"\nprotocol = "load"\n', "here is control and protocol"),
    ],
)
def test_an_experiment_has_one_of_two_forms(instead: str, found: str) -> None:
    text = recipe("placement").replace('control = "a"\nattempt = "b"\n', instead)
    problems = [problem for problem in told(text) if "two attempts or two protocols" in problem.what]
    assert [found in problem.what for problem in problems] == [True]
    assert "Write either `control` and `attempt`" in problems[0].write
