"""Experiments of two attempts: whatever differs is named, and whatever is named differs."""

from __future__ import annotations

import pytest

from anvil.collectors.protocols import complaints_of_pair, complaints_of_protocol
from anvil.collectors.recipes import FileRefused, Judges, Problem, parse_recipe

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


PROTOCOLS = """
[[protocols]]
id = "capacity"
key = "plain"
parameters = { input_tokens = 100, output_tokens = 8, concurrency = 2 }
[[protocols]]
id = "capacity"
key = "other"
parameters = { PARAMETERS }
[[experiments]]
key = "two"
control_protocol = "plain"
protocol = "other"
only_change = [NAMED]
"""


def pair(parameters: str, *named: str) -> str:
    listed = ", ".join(f'"{name}"' for name in named)
    text = PROTOCOLS.replace("PARAMETERS", parameters).replace("NAMED", listed)
    return recipe("placement").partition("[[experiments]]")[0] + text


def refused(text: str) -> list[tuple[str, str]]:
    try:
        parse_recipe(
            text.encode(), "mine.toml", Judges(protocol=complaints_of_protocol, pair=complaints_of_pair)
        )
    except FileRefused as problems:
        lines = text.splitlines()
        return [(lines[one.line - 1].split(" ")[0], one.what) for one in problems.problems]
    return []


SAME = "input_tokens = 100, output_tokens = 8, concurrency = 2"


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        (f"{SAME}, thinking = 'enabled'", ("thinking",)),
        (f"{SAME}, ignore_eos = true", ("ignore_eos",)),
        ("input_tokens = 100, output_tokens = 16, concurrency = 2", ("output_tokens",)),
        (f"{SAME}, ignore_eos = true, thinking = 'default'", ("ignore_eos", "thinking")),
    ],
)
def test_two_protocols_that_differ_in_what_is_named(parameters: str, named: tuple[str, ...]) -> None:
    assert refused(pair(parameters, *named)) == []


@pytest.mark.parametrize(
    ("parameters", "named", "what"),
    [
        (SAME, ("thinking",), "parameter thinking does not differ"),
        (f"{SAME}, thinking = 'disabled'", ("thinking",), "parameter thinking does not differ"),
        (
            f"{SAME}, thinking = 'enabled', ignore_eos = true",
            ("thinking",),
            "parameter ignore_eos differs as well: False and True",
        ),
        (f"{SAME}, ignore_eos = true", ("ignore_eos", "slots"), "no parameter 'slots'"),
        (
            "input_tokens = 200, output_tokens = 8, concurrency = 2",
            ("input_tokens",),
            "input_tokens makes prompts of two sizes",
        ),
        (
            "input_tokens = 100, output_tokens = 8, concurrency = 4",
            ("concurrency",),
            "cells differ: c2 of 5 runs of 10 and c4 of 5 runs of 10",
        ),
        (f"{SAME}, runs = 3", ("runs",), "cells differ: c2 of 5 runs of 10 and c2 of 3 runs of 10"),
    ],
)
def test_two_protocols_that_do_not(parameters: str, named: tuple[str, ...], what: str) -> None:
    ((line, found),) = refused(pair(parameters, *named))
    assert line == "only_change"
    assert what in found


def test_two_protocols_of_two_kinds_or_of_one_burst_after_another() -> None:
    good = pair(f"{SAME}, ignore_eos = true", "ignore_eos")
    near = good.replace('id = "capacity"\nkey = "other"', 'id = "near-limit"\nkey = "other"').replace(
        f"{SAME}, ignore_eos = true", "output_tokens = 8"
    )
    assert ("protocol", "'plain' is capacity and 'other' is near-limit") in refused(near)
    bursts = pair("", "output_tokens").replace('id = "capacity"', 'id = "prefix-cache"')
    bursts = bursts.replace("input_tokens = 100, output_tokens = 8, concurrency = 2", "")
    assert ("only_change", "protocols 'prefix-cache' are not carried out alternately") in refused(bursts)


def test_two_protocols_that_no_attempt_selects_together() -> None:
    text = pair(f"{SAME}, ignore_eos = true", "ignore_eos")
    first, second = ('protocols = ["plain"]', 'protocols = ["other"]')
    text = text.replace('placement = "first"', f'placement = "first"\n{first}').replace(
        'placement = "second"', f'placement = "second"\n{second}'
    )
    assert refused(text) == [("protocol", "no attempt selects both 'plain' and 'other'")]


def test_a_protocol_in_two_experiments() -> None:
    text = pair(f"{SAME}, ignore_eos = true", "ignore_eos")
    again = text[text.index("[[experiments]]") :].replace('"two"', '"three"')
    found = refused(text + again)
    assert [what for _, what in found] == [
        "'plain' is in experiment 'two' already",
        "'other' is in experiment 'two' already",
    ]
