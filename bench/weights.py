"""Looking through a snapshot of 2 GB in sparse files, against `sha256sum` on the same cores."""

from __future__ import annotations

import json
import struct
import subprocess
from pathlib import Path

from measure import Row, Setting, interleaved, seconds

from anvil.collectors.weights.hashing import cores
from anvil.collectors.weights.inspection import inspect

SHARDS = 8
SHARD = 250_000_000
ROUNDS = 5


def measure(setting: Setting) -> list[Row]:
    folder = setting.folder / "snapshot"
    folder.mkdir()
    for number in range(SHARDS):
        _sparse(folder / f"model-{number + 1:05d}-of-{SHARDS:05d}.safetensors")
    names = [str(path) for path in sorted(folder.iterdir())]
    command = ["xargs", "-0", f"-P{cores()}", "-n1", "sha256sum"]

    def theirs() -> None:
        done = subprocess.run(command, input="\0".join(names), capture_output=True, text=True, check=True)
        assert len(done.stdout.splitlines()) == SHARDS

    def ours() -> None:
        seen = inspect(folder, now_ns=0)
        assert not seen.found
        assert seen.read_bytes == SHARDS * SHARD

    a, b = interleaved(ROUNDS, lambda: seconds(ours), lambda: seconds(theirs))
    gigabytes = SHARDS * SHARD / 1e9
    name = f"weights, {gigabytes:g} GB in {SHARDS} sparse files"
    return [Row(name, gigabytes / a, "GB/s", 0.9, gigabytes / b, "sha256sum on as many cores", at_least=True)]


def _sparse(path: Path) -> None:
    """Write a file of one tensor of zeros."""
    header = b""
    while (size := SHARD - 8 - len(header)) and f"[0, {size}]" not in header.decode():
        entry = {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}
        header = json.dumps({"weight": entry}).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(SHARD)
