"""Run SGLang's benchmark client as its wheel has it, without the serving runtime; with that environment's Python.

    python tools_sglang.py --backend vllm-chat --base-url URL …

The client takes three names from the runtime, which needs torch and a GPU's libraries. They are given here.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType


def _module(name: str, **members: object) -> ModuleType:
    made = ModuleType(name)
    made.__dict__.update(members)
    sys.modules[name] = made
    return made


def main() -> None:
    found = importlib.util.find_spec("sglang")
    assert found is not None, "sglang is not installed"
    _module("sglang").__path__ = list(found.submodule_search_locations or ())
    for name in ("sglang.srt", "sglang.srt.utils", "sglang.srt.disaggregation"):
        _module(name).__path__ = []
    _module("sglang.srt.disaggregation.utils", FAKE_BOOTSTRAP_HOST="192.0.2.1")
    _module(
        "sglang.srt.utils.network",
        resolve_base_url=lambda base_url, host, port: base_url or f"http://{host}:{port}",
        resolve_host_port=lambda base_url, host, port: base_url or f"{host}:{port}",
    )
    importlib.import_module("sglang.benchmark.serving").cli_main()


if __name__ == "__main__":
    main()
