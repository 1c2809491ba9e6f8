"""What each tool is told to do: ten short chats, two at a time, against one endpoint; lm-eval eight small sums.

One prompt is longer than the endpoint's window, so that a request of the ten fails: what a tool makes of a
failure is in its file. vLLM's client makes its own prompts at random, since its CPU build reads no others. All names in the commands are relative to the folder in which they run, since
tools write their command line into what they export.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools_venvs import program, python_of, tokenizer

MODEL = "smollm2-135m"
OUTPUT = 12
STREAMS = 2
WINDOW = 256
"""Tokens of context that the endpoint gives a request."""

_HERE = Path(__file__).resolve().parent
_LONG = "Repeat: " + " ".join(f"word{number}" for number in range(120))
PROMPTS = tuple(
    _LONG if number == 4 else f"Write one short sentence about the number {number} and why people like it."
    for number in range(1, 11)
)


@dataclass(frozen=True)
class Load:
    """A run of a tool, and what it leaves: name of ours to where it lies."""

    tool: str
    argv: tuple[object, ...]
    files: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)


def loads(url: str) -> tuple[Load, ...]:
    """Return what is run against an endpoint."""
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    return (
        Load("vllm", (*_vllm(url), "--save-detailed", "--result-filename", "vllm.json"),
             {"vllm-detailed.json": "vllm.json"}, offline),
        Load("vllm", (*_vllm(url), "--result-filename", "vllm-plain.json"),
             {"vllm-plain.json": "vllm-plain.json"}, offline),
        Load("sglang", (*_sglang(url), "--output-file", "sglang.jsonl", "--output-details", "--tag", "details"),
             {"sglang-details.jsonl": "sglang.jsonl"}, offline),
        Load("sglang", (*_sglang(url), "--output-file", "sglang-plain.jsonl"),
             {"sglang-plain.jsonl": "sglang-plain.jsonl"}, offline),
        Load("guidellm", _guidellm(url), {"guidellm.json": "guidellm.json"}, offline),
        Load("aiperf", _aiperf(url),
             {"aiperf.json": "aiperf/profile_export_aiperf.json", "aiperf.jsonl": "aiperf/profile_export.jsonl"}),
        Load("lm-eval", _lm_eval(url),
             {"lm-eval.json": f"lm-eval/{MODEL}/results_*.json", "lm-eval.jsonl": f"lm-eval/{MODEL}/samples_*.jsonl"},
             {**offline, "OPENAI_API_KEY": "none"}),
    )  # fmt: skip


def prepare(folder: Path) -> None:
    """Write what the commands read."""
    _lines(folder / "prompts.jsonl", [{"prompt": text} for text in PROMPTS])
    _lines(folder / "texts.jsonl", [{"text": text} for text in PROMPTS])
    talks = [[{"content": text}, {"content": "An answer of some length."}] for text in PROMPTS]
    _lines(folder / "conversations.jsonl", [{"conversations": talk} for talk in talks])
    sums = ((1, 1), (2, 2), (3, 4), (5, 5), (7, 2), (9, 6), (10, 10), (12, 5))
    _lines(folder / "sums.jsonl", [{"a": a, "b": b, "sum": a + b} for a, b in sums])
    (folder / "tasks").mkdir()
    shutil.copyfile(_HERE / "tools_sums.yaml", folder / "tasks" / "sums.yaml")
    shutil.copytree(tokenizer(), folder / "tokenizer", ignore=shutil.ignore_patterns("*.safetensors"))


def carry_out(load: Load, folder: Path) -> dict[str, Path]:
    """Run a tool in a folder, and return its files by our names.

    Raises:
        CalledProcessError: it failed; its last lines are printed.
    """
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false", "HF_HOME": str(folder / "hf")}
    environment |= {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", **load.environment}
    command = [str(part) for part in load.argv]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print("\n".join((done.stdout + done.stderr).splitlines()[-30:]))
        done.check_returncode()
    found = {}
    for name, pattern in load.files.items():
        (found[name],) = folder.glob(pattern)
    return found


def _lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _vllm(url: str) -> tuple[object, ...]:
    return (
        python_of("vllm"), _HERE / "tools_vllm.py", "--backend", "openai-chat", "--base-url", url,
        "--endpoint", "/v1/chat/completions", "--model", MODEL, "--tokenizer", "tokenizer",
        "--dataset-name", "random", "--random-input-len", 140, "--random-range-ratio", 0.9,
        "--random-output-len", OUTPUT, "--seed", 7, "--num-prompts", len(PROMPTS), "--max-concurrency", STREAMS,
        "--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,90,99", "--save-result",
    )  # fmt: skip


def _sglang(url: str) -> tuple[object, ...]:
    return (
        python_of("sglang"), _HERE / "tools_sglang.py", "--backend", "vllm-chat", "--base-url", url,
        "--model", MODEL, "--tokenizer", "tokenizer", "--dataset-name", "custom",
        "--dataset-path", "conversations.jsonl", "--sharegpt-output-len", OUTPUT,
        "--num-prompts", len(PROMPTS), "--max-concurrency", STREAMS, "--seed", 7,
    )  # fmt: skip


def _guidellm(url: str) -> tuple[object, ...]:
    backend = {
        "kind": "openai_http",
        "target": url,
        "model": MODEL,
        "extras": {"body": {"max_tokens": OUTPUT}},
    }
    return (
        program("guidellm", "guidellm"), "run", "--backend", json.dumps(backend),
        "--profile", f"kind=concurrent,streams={STREAMS}",
        "--constraint", f"kind=max_requests,count={len(PROMPTS)}",
        "--data", "kind=json_file,path=prompts.jsonl", "--output", "kind=json,path=guidellm.json",
        "--disable-console",
    )  # fmt: skip


def _aiperf(url: str) -> tuple[object, ...]:
    return (
        program("aiperf", "aiperf"), "profile", "--model", MODEL, "--url", url, "--endpoint-type", "chat",
        "--streaming", "--tokenizer", "tokenizer", "--input-file", "texts.jsonl",
        "--custom-dataset-type", "single_turn", "--concurrency", STREAMS, "--request-count", len(PROMPTS),
        "--extra-inputs", f"max_tokens:{OUTPUT}", "--use-server-token-count", "--output-artifact-dir", "aiperf",
        "--ui", "simple",
    )  # fmt: skip


def _lm_eval(url: str) -> tuple[object, ...]:
    arguments = f"model={MODEL},base_url={url}/v1/chat/completions,num_concurrent=1,max_retries=1,tokenizer_backend=None"
    return (
        program("lm-eval", "lm_eval"), "--model", "local-chat-completions", "--model_args", arguments,
        "--include_path", "tasks", "--tasks", "anvil_sums", "--apply_chat_template", "--log_samples",
        "--output_path", "lm-eval",
    )  # fmt: skip
