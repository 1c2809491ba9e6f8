"""What the files of a model say of one another: the index of shards, and the parts of a split GGUF."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from anvil.collectors.weights.findings import Found
from anvil.collectors.weights.gguf import GgufFile
from anvil.collectors.weights.safetensors import TensorFile

_PART = re.compile(r"(.*-)(\d{5})-of-(\d{5})(\.gguf)")


def index_findings(name: str, index: Any, files: Mapping[str, TensorFile]) -> Iterator[Found]:
    """Yield what is wrong with an index, compared with the headers of the tensor files beside it."""
    mapped = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(mapped, dict) or not all(isinstance(file, str) for file in mapped.values()):
        yield Found("index-malformed", name)
        return
    folder = PurePosixPath(name).parent
    beside = {
        PurePosixPath(path).name: file for path, file in files.items() if PurePosixPath(path).parent == folder
    }
    listed: dict[str, set[str]] = {}
    for tensor, file in mapped.items():
        listed.setdefault(file, set()).add(tensor)
    for file, tensors in sorted(listed.items()):
        if "/" in file or "\\" in file or file in ("", ".", ".."):
            yield Found("index-path", name)
        elif file not in beside:
            yield Found("index-file-missing", name)
        elif tensors != beside[file].names:
            yield Found("index-tensor-differs", name)
    yield from (
        Found("index-file-unlisted", str(folder / file)) for file in sorted(beside.keys() - listed.keys())
    )
    metadata = index.get("metadata")
    stated = metadata.get("total_size") if isinstance(metadata, dict) else None
    held = sum(file.data_bytes for file in beside.values())
    if stated is not None and listed.keys() == beside.keys() and stated != held:
        yield Found("index-size-differs", name)


def part_findings(files: Mapping[str, GgufFile]) -> Iterator[Found]:
    """Yield the parts of split models that are not there."""
    for name, file in files.items():
        matched = _PART.fullmatch(name)
        parts = int(matched[3]) if matched else file.parts
        if parts <= 1:
            continue
        if not matched or parts > 10_000 or file.parts != parts:
            yield Found("gguf-part-missing", name)
            continue
        expected = [f"{matched[1]}{number:05d}-of-{matched[3]}{matched[4]}" for number in range(1, parts + 1)]
        if int(matched[2]) == 1 or expected[0] not in files:
            yield from (Found("gguf-part-missing", path) for path in expected if path not in files)
