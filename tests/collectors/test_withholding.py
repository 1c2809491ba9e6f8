"""What must not leave does not: in environments, arguments, URLs, inspect output and plain text."""

from __future__ import annotations

import base64
import json
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil.collectors.withholding import (
    MARKER,
    NO_SECRETS,
    Secrets,
    clean_argv,
    clean_document,
    clean_env,
    clean_inspect,
    clean_text,
    clean_url,
    may_keep,
    names_secret,
)

SECRET = 'p@ss/wörd+ "x" &y=1%z'
OTHER = "Zx9kQ2mV7tLr4"
SECRETS = Secrets.of({"HF_TOKEN": OTHER, "DB_PASSWORD": SECRET})

# --- names ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "VLLM_LOGGING_LEVEL",
        "SGLANG_X",
        "NCCL_DEBUG",
        "CUDA_VISIBLE_DEVICES",
        "HF_HUB_OFFLINE",
        "TRITON_CACHE_DIR",
    ],
)
def test_an_engines_own_variables_are_kept(name: str) -> None:
    assert clean_env({name: "1"}) == ({name: "1"}, [])


@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN", "OPENAI_API_KEY", "VLLM_API_KEY", "CUDA_SECRET", "NCCL_PASS", "SGLANG_PASSWORD", "vllm_api_key",
        "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "HOME", "HOSTNAME", "USER", "HTTPS_PROXY", "VLLM_AUTH", "UNHEARD_OF",
        "TOKENIZERS_PARALLELISM",
    ],
)  # fmt: skip
def test_every_other_value_is_withheld(name: str) -> None:
    assert clean_env({name: "a value"}) == ({name: MARKER}, [name])


@pytest.mark.parametrize(
    "name", ["--api-key", "hf_token", "apiKey", "X-Api-Key", "db.password", "--hf-token", "awsSecret"]
)
def test_names_of_credentials(name: str) -> None:
    assert names_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "--tokenizer",
        "--max-num-batched-tokens",
        "--max-total-tokens",
        "PWD",
        "monkey",
        "--ssl-keyfile",
        "keyframe",
    ],
)
def test_names_of_settings(name: str) -> None:
    assert not names_secret(name)


# --- values, wherever they are -------------------------------------------------------------------------

SPELLINGS = {
    "as_it_is": lambda v: v,
    "percent": lambda v: quote(v, safe=""),
    "percent_lower": lambda v: quote(v, safe="").lower() if v == SECRET else "".join(f"%{b:02x}" for b in v.encode()),
    "percent_some": lambda v: quote(v),
    "percent_twice": lambda v: quote(quote(v, safe=""), safe=""),
    "form": quote_plus,
    "json": json.dumps,
    "json_in_json": lambda v: json.dumps(json.dumps(v)),
    "hex": lambda v: v.encode().hex(),
    "base64": lambda v: base64.b64encode(v.encode()).decode(),
    "base64_url": lambda v: base64.urlsafe_b64encode(v.encode()).decode(),
    "base64_shifted_1": lambda v: base64.b64encode(b"u" + v.encode() + b":y").decode(),
    "base64_shifted_2": lambda v: base64.b64encode(b"us" + v.encode() + b"z").decode(),
    "base64_basic": lambda v: base64.b64encode(b"someone:" + v.encode()).decode(),
}  # fmt: skip


@pytest.mark.parametrize("value", [SECRET, OTHER], ids=["odd", "plain"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_secret_is_found_inside_longer_text(spelling: str, value: str) -> None:
    spelled = SPELLINGS[spelling](value)
    cleaned = clean_text(f"before({spelled})after", SECRETS)
    assert cleaned.startswith("before(")
    assert cleaned.endswith(")after")
    assert MARKER in cleaned
    assert spelled.strip('"') not in cleaned
    assert len(cleaned) <= len("before()after") + len(MARKER) + 6  # nothing of it is left beside the marker


def test_a_common_value_is_not_looked_for() -> None:
    secrets = Secrets.of({"USE_TOKEN": "true", "KEY_COUNT": "8192", "API_KEY": "EMPTY", "A_KEY": "x"})
    assert secrets == NO_SECRETS
    assert (
        clean_text('{"enable_thinking": true, "max": 8192}', secrets)
        == '{"enable_thinking": true, "max": 8192}'
    )


def test_a_short_secret_is_withheld_where_it_stands_alone() -> None:
    secrets = Secrets.of({"API_KEY": "abc"})
    assert clean_argv(["--name", "abc", "--x=abc", "abcd"], secrets) == (
        ["--name", MARKER, f"--x={MARKER}", "abcd"],
        2,
    )


def test_parts_of_a_secret_are_secrets() -> None:
    secrets = Secrets.of(
        {
            "AUTH_HEADER": "Bearer Qq11223344",
            "SSH_PRIVATE": "-----BEGIN X-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END X-----",
            "DOCKER_AUTH_CONFIG": '{"auths": {"r": {"auth": "dXNlcjpwYXNzd29yZDE="}}}',
            "DATABASE": "postgres://someone:hunter2222@db/x",
            "UNNAMED": "aB3dE5fG7hJ9kL1m",
        }
    )
    for part in (
        "Qq11223344",
        "MIIEvQIBADANBgkqhkiG9w0B",
        "dXNlcjpwYXNzd29yZDE=",
        "hunter2222",
        "aB3dE5fG7hJ9kL1m",
    ):
        assert part not in clean_text(f"it said {part}.", secrets)


def test_secrets_print_nothing() -> None:
    assert OTHER not in repr(SECRETS)
    assert OTHER not in str(SECRETS)


@given(st.text(min_size=6, max_size=40), st.text(max_size=20), st.text(max_size=20))
def test_a_known_secret_never_remains(value: str, before: str, after: str) -> None:
    secrets = Secrets.of({}, others=[value])
    if value not in secrets.values or value in MARKER:
        return
    cleaned = clean_text(f"{before}{value}{after}", secrets)
    assert value not in cleaned.replace(MARKER, "") or value in before + after or value in MARKER * 2


@given(st.text(max_size=200))
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once = clean_text(text, SECRETS)
    assert clean_text(once, SECRETS) == once


def test_cleaning_a_long_text_takes_no_time() -> None:
    started = time.perf_counter()
    for text in (
        "A" * 20_000,
        "a:" * 10_000,
        "://" * 6_000,
        "key=" * 5_000,
        "\\" * 20_000,
        "-a " * 6_000,
    ):
        clean_text(text, SECRETS)
    assert time.perf_counter() - started < 20


# --- arguments -------------------------------------------------------------------------------------------

ARGUMENTS = [
    (["--api-key", "X1"], ["--api-key", MARKER]),
    (["--hf-token=X1"], [f"--hf-token={MARKER}"]),
    (["-hft", "X1"], ["-hft", MARKER]),
    (["--api-key", "--host", "127.0.0.1"], ["--api-key", "--host", "127.0.0.1"]),
    (["env", "HF_TOKEN=X1", "vllm"], ["env", f"HF_TOKEN={MARKER}", "vllm"]),
    (["sh", "-c", "HF_TOKEN=X1 vllm serve --api-key X2 m"], ["sh", "-c", f"HF_TOKEN={MARKER} vllm serve --api-key {MARKER} m"]),
    (["-H", "Authorization: Token X1 X2"], ["-H", f"Authorization: {MARKER}"]),
    (["--header", "x-api-key: X1"], ["--header", f"x-api-key: {MARKER}"]),
    (["--opts", '{"api_key": "X1", "n": 1}'], ["--opts", '{"api_key": "[withheld]", "n": 1}']),
    (["http://u:X1@h/p"], [f"http://{MARKER}@h/p"]),
    (["--model=https://h/m?token=X1&v=2"], [f"--model=https://h/m?token={MARKER}&v=2"]),
    (["--api-key=a,b;c&d e"], [f"--api-key={MARKER}"]),
    (["-x", "hf_ABCDEFGHIJKLMNOPQRST"], ["-x", MARKER]),
]  # fmt: skip


@pytest.mark.parametrize(("argv", "cleaned"), ARGUMENTS, ids=[" ".join(before) for before, _ in ARGUMENTS])
def test_arguments(argv: list[str], cleaned: list[str]) -> None:
    assert clean_argv(argv) == (cleaned, sum(1 for a, b in zip(argv, cleaned, strict=True) if a != b))


def test_settings_are_left_as_they_are() -> None:
    argv = [
        "vllm", "serve", "/models/x", "--tokenizer", "Org/Model", "--max-num-batched-tokens", "8192", "--port", "8000",
        "--kv-transfer-config", '{"kv_connector":"X","kv_role":"kv_both"}', "--speculative-config",
        '{"method": "mtp",  "num_speculative_tokens": 3}', "--hf-overrides", '{"rope": 1.0}', "--served-model-name", "a@b",
    ]  # fmt: skip
    assert clean_argv(argv, SECRETS) == (argv, 0)


# --- URLs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "cleaned"),
    [
        ("http://h:8000/v1", "http://h:8000/v1"),
        ("http://h:8000/v1?x=1#token=X2", f"http://h:8000/v1?x=1#token={MARKER}"),
        ("http://user:X1@h:8000/v1", f"http://{MARKER}@h:8000/v1"),
        ("http://X1@h/", f"http://{MARKER}@h/"),
        ("http://u:a@b@h/", f"http://{MARKER}@h/"),
        ("http://u:a/b@h/", f"http://{MARKER}@h/"),
        ("https://h/v1?api_key=X1&model=m", f"https://h/v1?api_key={MARKER}&model=m"),
        ("https://h/v1?a=1&sig=X1#token=X2", f"https://h/v1?a=1&sig={MARKER}"),
        ("https://s3/x?X-Amz-Signature=X1&X-Amz-Credential=X2", f"https://s3/x?X-Amz-Signature={MARKER}&X-Amz-Credential={MARKER}"),
    ],
)  # fmt: skip
def test_urls(url: str, cleaned: str) -> None:
    assert clean_url(url) == cleaned
    assert clean_url(cleaned) == cleaned


def test_a_secret_in_a_path_is_found() -> None:
    assert clean_url(f"https://h/{OTHER}/v1", SECRETS) == f"https://h/{MARKER}/v1"


# --- inspect output ---------------------------------------------------------------------------------------


def test_inspect_output_is_cleaned_everywhere() -> None:
    inspected = {
        "Id": "ab" * 32,
        "Path": "vllm",
        "Args": ["serve", "--api-key", OTHER, "m"],
        "Config": {
            "Env": [f"HF_TOKEN={OTHER}", "VLLM_X=1", f"VLLM_Y=is {OTHER}", "MYSTERY=7", "FLAG"],
            "Cmd": ["--api-key", "X1"],
            "Entrypoint": None,
            "Labels": {"org.token": "X1", "note": f"see {OTHER}", "version": "1", f"odd {OTHER}": "1"},
            "Healthcheck": {"Test": ["CMD-SHELL", "curl -H 'Authorization: Bearer X1' h"]},
        },
        "HostConfig": {
            "Binds": [f"/srv/{OTHER}:/x:ro"],
            "LogConfig": {"Config": {"splunk-token": "X1"}},
            "Memory": 5,
        },
        "Mounts": [{"Source": f"/srv/{OTHER}", "RW": False}],
        "NetworkSettings": {"SandboxKey": "/var/run/docker/netns/a"},
    }
    cleaned, number = clean_inspect(inspected, SECRETS)
    text = json.dumps(cleaned)
    assert OTHER not in text
    assert "X1" not in text
    assert cleaned["Config"]["Env"] == [
        f"HF_TOKEN={MARKER}",
        "VLLM_X=1",
        f"VLLM_Y=is {MARKER}",
        f"MYSTERY={MARKER}",
        "FLAG",
    ]
    assert cleaned["Id"] == inspected["Id"]
    assert cleaned["HostConfig"]["Memory"] == 5
    assert cleaned["Config"]["Labels"]["version"] == "1"
    assert cleaned["NetworkSettings"] == inspected["NetworkSettings"]
    assert number == 12


def test_a_document_of_env_as_members_is_cleaned() -> None:
    assert clean_document({"env": {"HOME": "/x", "NCCL_DEBUG": "INFO"}}) == (
        {"env": {"HOME": MARKER, "NCCL_DEBUG": "INFO"}},
        1,
    )


def test_may_keep_is_exact_about_case() -> None:
    assert may_keep("VLLM_X")
    assert not may_keep("vllm_x")
