"""Virtual environments of the tools that people measure with, one each, kept in `.cache/peers`.

vLLM's own is that of `vllm_cpu.py`. SGLang's benchmark client needs nothing of its serving runtime, which
does not install without a GPU's libraries: the wheel is installed without what it depends on, the client's
few packages beside it, and `tools_sglang.py` starts it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import vllm_cpu

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "peers"

ALONE: Mapping[str, str] = {"sglang": "sglang==0.5.23"}
"""Installed without what they depend on."""

REQUIREMENTS: Mapping[str, tuple[str, ...]] = {
    "sglang": (
        "aiohttp",
        "datasets",
        "msgspec",
        "numpy",
        "orjson",
        "pillow",
        "pybase64",
        "requests",
        "tqdm",
        "transformers==5.19.0",
    ),
    "guidellm": ("guidellm==0.8.1",),
    "aiperf": ("aiperf==0.13.0",),
    "lm-eval": ("lm-eval[api]==0.4.13",),
}


def install() -> None:
    """Make the environments that are missing (12 GB, some minutes), and a snapshot of the model's tokenizer."""
    vllm_cpu.install()
    for tool, requirements in REQUIREMENTS.items():
        ready = CACHE / tool / "ready"
        if ready.exists():
            continue
        print(f"peers: installing {tool}", flush=True)
        (CACHE / tool).mkdir(parents=True, exist_ok=True)
        if not python_of(tool).exists():
            subprocess.run([sys.executable, "-m", "venv", CACHE / tool / "venv"], check=True)
        pip = [
            python_of(tool),
            "-m",
            "pip",
            "--disable-pip-version-check",
            "install",
            "--quiet",
            "--no-warn-conflicts",
        ]
        if tool in ALONE:
            subprocess.run([*pip, "--no-deps", ALONE[tool]], check=True)
        subprocess.run([*pip, *requirements], check=True)
        ready.touch()


def python_of(tool: str) -> Path:
    """Return the interpreter of a tool's environment."""
    return CACHE / tool / "venv" / "bin" / "python"


def program(tool: str, name: str) -> Path:
    """Return a program of a tool's environment."""
    return python_of(tool).with_name(name)


def tokenizer() -> Path:
    """Return the folder that holds the quickstart model's tokenizer."""
    (found,) = (vllm_cpu.CACHE / "hub").glob("models--*/snapshots/*")
    return found
