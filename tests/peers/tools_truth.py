"""How far GuideLLM and AIPerf are off at 64 streams, as ratios to our client, in one run.

1. The server is `bench/truth_server.c`, which notes when a request had arrived and when it wrote each token; it
   keeps connections open, as both tools like them. Each stream gives 50 tokens, one every 20 ms.
2. The true time to the first token of a request is the first write less the arrival. The error is what the tool
   says in the file that it exports, less this. A request during whose first write the server itself was held up
   for more than 100 µs is left out, of all three alike.
3. A prompt holds the number of its request. GuideLLM keeps what it sent in each row; AIPerf names a conversation
   in each row, and the conversation's prompt in the file of its inputs.
4. AIPerf's clock starts before a connection is taken, ours and GuideLLM's when the request is written. What AIPerf
   says of the connection is not taken off: it is in the figure that people read.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools_loads import Load, carry_out
from tools_venvs import program

from anvil.collectors.load.calibration import carry_out as measure_ours
from anvil.collectors.load.truth import Note, Schedule, truth_server
from anvil.ledger.statistics import nearest_rank

STREAMS, REQUESTS = 64, 640
SCHEDULE = Schedule(50, 5_000_000, 20_000_000)
_SOURCE = Path(__file__).resolve().parents[2] / "bench" / "truth_server.c"
_HELD_UP_NS = 100_000
_NUMBER = re.compile(r"\(seed ([0-9]+)\)")


@dataclass(frozen=True)
class Accuracy:
    """The error of the time to the first token of one client, in milliseconds."""

    client: str
    n: int
    p50: float
    p99: float

    def line(self, ours: Accuracy) -> str:
        """Return it as a line, with ratios to ours."""
        ratios = f"{self.p50 / ours.p50:8.1f} x {self.p99 / ours.p99:8.1f} x"
        return f"{self.client:<10} {self.n:>5} {self.p50:>10.3f} {self.p99:>10.3f}   {ratios}"


def accuracies(folder: Path) -> list[Accuracy]:
    """Return ours, and then each tool's.

    Raises:
        CalledProcessError: a tool failed.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("a C compiler is needed for the server that knows the truth")
    server = folder / "truth_server"
    subprocess.run([compiler, "-O2", "-o", server, _SOURCE], check=True)
    found = measure_ours(SCHEDULE, REQUESTS, STREAMS, (str(server),)).resolution.ttfo_error
    assert found.p50_ns is not None
    assert found.bound_ns is not None
    made = [Accuracy("anvil", found.n, found.p50_ns / 1e6, found.bound_ns / 1e6)]
    prompts = [f"Say something (seed {number})." for number in range(1, REQUESTS + 1)]
    for tool, key in (("guidellm", "prompt"), ("aiperf", "text")):
        (folder / f"{tool}.jsonl").write_text("".join(json.dumps({key: text}) + "\n" for text in prompts))
        with truth_server(SCHEDULE, (str(server), "--keep-alive")) as running:
            load = _load(tool, running.base_url)
            files = carry_out(load, folder)
            notes = running.finish()
        measured = dict(_guidellm(files) if tool == "guidellm" else _aiperf(files))
        made.append(_accuracy(tool, measured, notes))
    return made


def _load(tool: str, url: str) -> Load:
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    if tool == "guidellm":
        return Load(tool, (
            program(tool, tool), "run", "--backend", json.dumps({"kind": "openai_http", "target": url, "model": "truth"}),
            "--profile", f"kind=concurrent,streams={STREAMS}", "--constraint", f"kind=max_requests,count={REQUESTS}",
            "--data", "kind=json_file,path=guidellm.jsonl", "--output", "kind=json,path=truth.json",
            "--disable-console",
        ), {"report": "truth.json"}, offline)  # fmt: skip
    return Load(tool, (
        program(tool, tool), "profile", "--model", "truth", "--url", url, "--endpoint-type", "chat", "--streaming",
        "--tokenizer", "tokenizer", "--input-file", "aiperf.jsonl", "--custom-dataset-type", "single_turn",
        "--concurrency", STREAMS, "--request-count", REQUESTS, "--use-server-token-count", "--ui", "simple",
        "--output-artifact-dir", "truth",
    ), {"records": "truth/profile_export.jsonl", "inputs": "truth/inputs.json"})  # fmt: skip


def _guidellm(files: Mapping[str, Path]) -> Iterator[tuple[int, float]]:
    """Yield the number of each request, and its time to the first token in nanoseconds."""
    (benchmark,) = json.loads(files["report"].read_text())["benchmarks"]
    for row in benchmark["requests"]["successful"]:
        yield _number(row["request_args"]), row["time_to_first_token_ms"] * 1e6


def _aiperf(files: Mapping[str, Path]) -> Iterator[tuple[int, float]]:
    inputs = json.loads(files["inputs"].read_text())["data"]
    numbers = {one["session_id"]: _number(json.dumps(one["payloads"])) for one in inputs}
    for line in files["records"].read_text().splitlines():
        record: Any = json.loads(line)
        if "time_to_first_token" in record["metrics"]:
            yield (
                numbers[record["metadata"]["conversation_id"]],
                record["metrics"]["time_to_first_token"]["value"] * 1e6,
            )


def _number(text: str) -> int:
    found = _NUMBER.search(text)
    assert found is not None, "the prompt has no number"
    return int(found[1])


def _accuracy(tool: str, measured: Mapping[int, float], notes: Mapping[int, Note]) -> Accuracy:
    errors = [
        round(ttft_ns - (notes[number].writes_ns[0] - notes[number].received_ns))
        for number, ttft_ns in measured.items()
        if notes[number].written_ns[0] - notes[number].writes_ns[0] <= _HELD_UP_NS
    ]
    sizes = [abs(error) for error in errors]
    p50, p99 = nearest_rank(sizes, 50), nearest_rank(sizes, 99)
    assert p50 is not None
    assert p99 is not None
    return Accuracy(tool, len(errors), float(p50) / 1e6, float(p99) / 1e6)
