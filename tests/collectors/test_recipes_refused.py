"""What a recipe cannot say: each mistake is named with its line and what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil.collectors.recipes import FileRefused, Problem, load_recipe, parse_recipe
from anvil.collectors.running.judges import JUDGES
from anvil.ledger.errors import CollectorError

DIGEST = "a" * 64
REVISION = "b" * 40

GOOD = f'''format = "anvil.recipe/1"
name = "mine"
campaign = "mine"
about = "A recipe for tests"

[hardware]
gpus = 1

[candidates.fp8]
model = "org/Model-FP8"
revision = "{REVISION}"
quantization = "FP8"
thinking = "enable_thinking"

[engines.vllm]
engine = "vllm"
launcher = "docker"
image = "vllm/vllm-openai@sha256:{DIGEST}"
argv = [
    "{{model}}", "--revision", "{{revision}}",
    "--served-model-name", "{{served_model}}",
    "--max-model-len", "8192",
    "--max-num-seqs", "2",
    "--kv-cache-dtype", "fp8",
    "--gpu-memory-utilization", "0.9",
    "--no-enable-prefix-caching",
]
env_names = ["HF_TOKEN"]
[engines.vllm.settings]
context_tokens = 8192
max_num_seqs = 2
kv_cache_dtype = "fp8"
gpu_memory_utilization = "0.90"
prefix_cache = false
speculative_decoding = false
[engines.vllm.env]
VLLM_LOGGING_LEVEL = "INFO"

[[attempts]]
key = "base"
candidate = "fp8"
engine = "vllm"
served_model = "model"
placement = "first"

[[attempts]]
key = "auto-kv"
candidate = "fp8"
engine = "vllm"
served_model = "model"
placement = "first"
argv_set = {{ "--kv-cache-dtype" = "auto" }}
settings = {{ kv_cache_dtype = "auto" }}

[[checks]]
id = "retrieval"
parameters = {{ target_tokens = 4096, depths = [50] }}

[[experiments]]
key = "kv"
control = "base"
attempt = "auto-kv"
only_change = ["kv_cache_dtype"]
'''


def problems(text: str) -> tuple[Problem, ...]:
    with pytest.raises(FileRefused) as caught:
        parse_recipe(text.encode(), "mine.toml", JUDGES)
    return caught.value.problems


def told(text: str) -> tuple[Problem, ...]:
    """The problems of a text, none for one that is good."""
    try:
        parse_recipe(text.encode(), "mine.toml", JUDGES)
    except FileRefused as refused:
        return refused.problems
    return ()


def changed(old: str, new: str) -> str:
    assert old in GOOD, old
    return GOOD.replace(old, new, 1)


def line_with(text: str, part: str) -> int:
    """The first line that holds `part`."""
    return next(n for n, line in enumerate(text.splitlines(), start=1) if part in line)


def test_the_recipe_that_these_tests_change_is_good() -> None:
    recipe = parse_recipe(GOOD.encode(), "mine.toml", JUDGES)
    assert [attempt.key for attempt in recipe.attempts] == ["base", "auto-kv"]


# Each: what is replaced by what, a part of the line that is named, what is said, what to write.
MISTAKES = {
    "unknown_key": ("quantization =", "quantisation =", "quantisation", "unknown key", "`quantization`"),
    "unknown_key_in_a_list_of_tables": (
        "placement =",
        "placment =",
        "placment",
        "unknown key",
        "`placement`",
    ),
    "missing_key": (
        'served_model = "model"\n',
        "",
        "[[attempts]]",
        "`served_model` is missing",
        "served_model",
    ),
    "floating_tag": (
        f"openai@sha256:{DIGEST}",
        "openai:latest",
        "image =",
        "another image tomorrow",
        'image = "vllm/vllm-openai@sha256:…"',
    ),
    "no_tag_at_all": (f"@sha256:{DIGEST}", "", "image =", "another image tomorrow", "@sha256:…"),
    "short_revision": (REVISION, "main", "revision =", "cannot be this", "pattern"),
    "decimal_without_quotes": ('"0.90"', "0.90", "gpu_memory_utilization =", "has a fraction", '"0.9"'),
    "setting_with_spaces": (
        'kv_cache_dtype = "fp8"',
        'kv_cache_dtype = "f p 8"',
        "f p 8",
        "setting's value",
        "one word",
    ),
    "unknown_launcher": (
        '"docker"',
        '"kubernetes"',
        "launcher",
        "cannot be this",
        "'docker', 'process' or 'attach'",
    ),
    "image_for_a_process": ('"docker"', '"process"', "image =", "belongs to containers", "docker"),
    "argv_for_attach": ('"docker"', '"attach"', "argv =", "starts nothing", "Leave it out"),
    "two_ways_to_name_an_image": (
        "env_names",
        f'image_id = "sha256:{DIGEST}"\nenv_names',
        "image =",
        "named in one way",
        "either",
    ),
    "short_image_id": (
        f'image = "vllm/vllm-openai@sha256:{DIGEST}"',
        'image_id = "abc123"',
        "image_id",
        "no image id",
        "64 hex digits",
    ),
    "secret_in_env": (
        "VLLM_LOGGING_LEVEL =",
        "HF_TOKEN =",
        'HF_TOKEN = "INFO"',
        "looks like a secret",
        'env_names = ["HF_TOKEN"]',
    ),
    "secret_in_argv": (
        '"--no-enable-prefix-caching",',
        '"--no-enable-prefix-caching", "--api-key",\n    "correct-horse",',
        "correct-horse",
        "looks like a secret",
        "env_names",
    ),
    "unknown_candidate": ('candidate = "fp8"', 'candidate = "fp4"', "fp4", "no candidate 'fp4'", "fp8"),
    "unknown_engine": (
        'engine = "vllm"\nserved',
        'engine = "sglang"\nserved',
        '"sglang"',
        "no engine",
        "vllm",
    ),
    "unknown_check": ('id = "retrieval"', 'id = "retreival"', "retreival", "no check", "retrieval"),
    "unknown_check_parameter": ("depths = [50]", "depth = [50]", "depth", "retrieval", "depths"),
    "check_selected_that_is_not_there": (
        'placement = "first"\n',
        'placement = "first"\nchecks = ["coding"]\n',
        "coding",
        "no check 'coding'",
        "retrieval",
    ),
    "the_same_key_twice": ('key = "auto-kv"', 'key = "base"', "[[attempts]]", "stands twice", "another"),
    "setting_that_argv_contradicts": (
        "context_tokens = 8192",
        "context_tokens = 16384",
        "context_tokens",
        "argv says 8192",
        "--max-model-len",
    ),
    "setting_that_argv_leaves_out": (
        '    "--no-enable-prefix-caching",\n',
        "",
        "prefix_cache = false",
        "does not pass it",
        "--no-enable-prefix-caching",
    ),
    "flag_to_change_that_is_not_there": (
        '"--kv-cache-dtype" = "auto"',
        '"--kv-cache" = "auto"',
        '"--kv-cache"',
        "exactly once",
        "argv_append",
    ),
    "unknown_placeholder": ('"{model}"', '"{modell}"', "{modell}", "nobody fills {modell}", "{model}"),
    "another_model_in_argv": ('"{model}"', '"org/Other"', "[[attempts]]", "'org/Model-FP8'", "{model}"),
    "prompt_beyond_the_window": ("4096", "9000", "[[attempts]]", "window of 8192", "another check"),
    "experiment_with_two_changes": (
        'settings = { kv_cache_dtype = "auto" }',
        'argv_append = ["--seed", "1"]\nsettings = { kv_cache_dtype = "auto" }',
        "only_change",
        "argv differs in more: --seed 1",
        "only_change",
    ),
    "experiment_with_a_flag_whose_value_stands_elsewhere_too": (
        'settings = { kv_cache_dtype = "auto" }',
        'argv_append = ["--seed", "8192"]\nsettings = { kv_cache_dtype = "auto" }',
        "only_change",
        "argv differs in more: --seed 8192",
        "only_change",
    ),
    "experiment_that_names_too_much": (
        'only_change = ["kv_cache_dtype"]',
        'only_change = ["kv_cache_dtype", "max_num_seqs"]',
        "only_change",
        "max_num_seqs does not differ",
        "Leave it out",
    ),
    "experiment_on_another_card": (
        'placement = "first"\nargv_set',
        'placement = "second"\nargv_set',
        "only_change",
        "placement differs as well: first and second",
        "'placement' too",
    ),
    "not_toml": ("gpus = 1", "gpus : 1", "gpus : 1", "not TOML", "key = value"),
    "no_format": ("anvil.recipe/1", "anvil.recipe/9", "format", "cannot be this", "'anvil.recipe/1'"),
}


@pytest.mark.parametrize(("old", "new", "line", "what", "write"), MISTAKES.values(), ids=MISTAKES)
def test_refused_with_line_and_remedy(old: str, new: str, line: str, what: str, write: str) -> None:
    text = changed(old, new)
    found = problems(text)
    named = [p for p in found if what in p.what and write in p.what + p.write]
    assert named, [p.text("mine.toml") for p in found]
    assert line in text.splitlines()[named[0].line - 1], named[0].text("mine.toml")


def test_side_by_side_on_one_placement() -> None:
    text = GOOD.replace('placement = "first"', 'placement = "first"\nside_by_side = "lanes"')
    (problem,) = problems(text.partition("[[experiments]]")[0])
    assert "'base' is on 'first' at the same time" in problem.what
    assert text.splitlines()[problem.line - 1] == 'placement = "first"'


def test_an_address_with_a_password_is_refused() -> None:
    text = GOOD.replace(
        "[engines.vllm.env]", '[engines.vllm.endpoint]\nbase_url = "http://me:pw@host"\n[engines.vllm.env]'
    )
    (problem,) = problems(text)
    assert problem.line == line_with(text, "base_url")
    assert "password" in problem.what
    assert "pw" not in problem.text("mine.toml").replace("password", "")


def test_a_relaunch_of_what_was_never_launched() -> None:
    text = GOOD.replace('about = "A recipe', 'on_exit = "relaunch"\nabout = "A recipe').replace(
        '"docker"', '"attach"'
    )
    assert any("never launched" in problem.what for problem in problems(text))


def test_all_problems_are_told_together_in_order_of_lines() -> None:
    text = (
        changed("gpus = 1", "gpus = -1").replace("quantization", "quantisation").replace(REVISION, "main", 1)
    )
    found = problems(text)
    assert len(found) == 3
    assert [problem.line for problem in found] == sorted(problem.line for problem in found)


def test_a_list_whose_items_are_refused_is_not_told_to_be_empty() -> None:
    found = problems(GOOD.replace("served_model =", "served_name ="))
    assert {problem.what for problem in found} == {"`served_model` is missing", "unknown key `served_name`"}


def test_a_value_that_fits_no_type_is_told_once_and_in_the_words_of_toml() -> None:
    (whole,) = problems(changed("target_tokens = 4096", "target_tokens = 4096.0"))
    assert (whole.what, whole.write) == (
        "4096.0 has a fraction",
        'Write 4096, or it in quotes, as it is passed: "4096.0"',
    )
    (block,) = problems(changed('settings = { kv_cache_dtype = "auto" }', 'settings = ["auto"]'))
    assert (block.what, block.write) == ("`settings` cannot be this", "Write a table: { name = value }")


def test_a_share_without_quotes_is_told_to_be_quoted() -> None:
    suite = '[[suites]]\nid = "tool"\nrequired_rate = 0.8\n'
    (problem,) = problems(GOOD + suite)
    assert problem.what == "`required_rate` cannot be this, found '0.8'"
    assert problem.write == 'Write it in quotes: "0.8"'


def test_a_secret_is_not_repeated() -> None:
    text = changed(
        '"--no-enable-prefix-caching",', '"--no-enable-prefix-caching", "--api-key", "correct-horse",'
    )
    assert "correct-horse" not in " ".join(problem.text("mine.toml") for problem in problems(text))


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(FileRefused, match=r"mine.toml:2: this is not UTF-8"):
        parse_recipe(b"a = 1\nb = '\xff'", "mine.toml")


def test_no_such_name_lists_those_there_are() -> None:
    with pytest.raises(CollectorError, match="no packaged recipe 'quikstart'") as caught:
        load_recipe("quikstart")
    assert "quickstart" in caught.value.advice


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(CollectorError, match="cannot be read: No such file"):
        load_recipe(tmp_path / "absent.toml")


VALUES = [
    "1",
    "-1",
    "1.5",
    "true",
    '""',
    '"x"',
    "[]",
    "{}",
    '["a", 1]',
    "{ a = 1 }",
    "1979-05-27",
    '"{port}"',
    "[",
]


@given(st.data())
def test_whatever_is_changed_the_only_way_out_is_a_refusal_with_lines(data: st.DataObject) -> None:
    lines = GOOD.splitlines()
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        key, equals, _ = lines[at].partition(" = ")
        match data.draw(st.sampled_from(["drop", "double", "swap", "value"])):
            case "drop":
                lines.pop(at)
            case "double":
                lines.insert(at, lines[at])
            case "swap":
                lines[0], lines[at] = lines[at], lines[0]
            case "value" if equals:
                lines[at] = f"{key} = {data.draw(st.sampled_from(VALUES))}"
    for problem in told("\n".join(lines)):
        assert 1 <= problem.line <= len(lines) + 1
        assert problem.what
        assert problem.write


@given(st.binary(max_size=200))
def test_bytes_of_any_kind(content: bytes) -> None:
    with pytest.raises(FileRefused):
        parse_recipe(content, "mine.toml", JUDGES)


def test_nesting_without_end() -> None:
    with pytest.raises(FileRefused, match="nested too deeply"):
        parse_recipe(b"a = " + b"[" * 100_000, "mine.toml")
