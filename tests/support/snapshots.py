"""Snapshots of model files, made here: a good one in the layout of a real cache, and parts to spoil one with."""

from __future__ import annotations

import ctypes
import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors import TensorSpec, serialize

REVISION = "0123456789abcdef0123456789abcdef01234567"
TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"


def tensor(
    shape: Sequence[int] = (4, 8), fill: int = 7, dtype: str = "float32", bytes_each: int = 4
) -> dict[str, Any]:
    """A tensor for `made`."""
    size = bytes_each
    for count in shape:
        size *= count
    return {"dtype": dtype, "shape": list(shape), "data": bytes([fill]) * size}


def made(tensors: Mapping[str, Mapping[str, Any]], metadata: dict[str, str] | None = None) -> bytes:
    """A file made by the safetensors library."""
    buffers = {n: ctypes.create_string_buffer(t["data"], max(1, len(t["data"]))) for n, t in tensors.items()}
    specs = {
        name: TensorSpec(
            dtype=t["dtype"],
            shape=t["shape"],
            data_ptr=ctypes.addressof(buffers[name]),
            data_len=len(t["data"]),
        )
        for name, t in tensors.items()
    }
    return bytes(serialize(specs, metadata=metadata))


class Cache:
    """A Hugging Face cache with one repository; `snapshot` is a folder of links into its blobs."""

    def __init__(self, directory: Path, model: str = "org/tiny", revision: str = REVISION) -> None:
        self.repository = directory / "hub" / f"models--{model.replace('/', '--')}"
        self.blobs = self.repository / "blobs"
        self.snapshot = self.repository / "snapshots" / revision
        self.refs = self.repository / "refs"
        for folder in (self.blobs, self.snapshot, self.refs):
            folder.mkdir(parents=True)
        (self.refs / "main").write_text(revision)

    def add(self, name: str, content: bytes, *, lfs: bool = False, etag: str | None = None) -> Path:
        """Add a file as the hub's client does: the bytes by their ETag, and a link."""
        git = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
        blob = self.blobs / (etag or (hashlib.sha256(content).hexdigest() if lfs else git))
        blob.write_bytes(content)
        link = self.snapshot / name
        link.parent.mkdir(parents=True, exist_ok=True)
        ups = "../" * (len(Path(name).parts) + 1)
        link.symlink_to(f"{ups}blobs/{blob.name}")
        return link


def good_cache(directory: Path) -> Cache:
    """A whole model of two shards, made with the safetensors library."""
    cache = Cache(directory)
    shards = {
        "model-00001-of-00002.safetensors": {
            "model.embed.weight": tensor(),
            "model.norm.weight": tensor((8,)),
        },
        "model-00002-of-00002.safetensors": {"lm_head.weight": tensor((8, 4), 9)},
    }
    for name, tensors in shards.items():
        cache.add(name, made(tensors, {"format": "pt"}), lfs=True)
    mapped = {key: name for name, tensors in shards.items() for key in tensors}
    size = sum(len(t["data"]) for tensors in shards.values() for t in tensors.values())
    index = {"metadata": {"total_size": size}, "weight_map": mapped}
    cache.add("model.safetensors.index.json", json.dumps(index).encode())
    cache.add("config.json", b'{"architectures": ["TinyForCausalLM"], "hidden_size": 8}')
    cache.add("generation_config.json", b'{"eos_token_id": 2}')
    cache.add("tokenizer.json", b'{"version": "1.0"}', lfs=True)
    cache.add("tokenizer_config.json", json.dumps({"chat_template": TEMPLATE}).encode())
    cache.add("README.md", b"# tiny\n")
    return cache


def safetensors_file(path: Path, **tensors: dict[str, Any]) -> Path:
    """A file made with the safetensors library."""
    path.write_bytes(made(tensors or {"a": tensor()}))
    return path


def raw_header(header: bytes | Mapping[str, Any], data: bytes = b"", *, claimed: int | None = None) -> bytes:
    """A safetensors file of any header."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw) if claimed is None else claimed) + raw + data


def entry(begin: int = 0, end: int = 4, **more: Any) -> dict[str, Any]:
    """One tensor of a header: four bytes of U8 unless told otherwise."""
    return {"dtype": "U8", "shape": [end - begin], "data_offsets": [begin, end], **more}


# --- GGUF ------------------------------------------------------------------------------------------------


def text(value: str | bytes) -> bytes:
    """A GGUF text."""
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(raw)) + raw


def pair(key: str, kind: int, value: bytes) -> bytes:
    """A GGUF pair of metadata."""
    return text(key) + struct.pack("<I", kind) + value


def gguf_tensor(name: str = "t", shape: Sequence[int] = (8,), kind: int = 0, offset: int = 0) -> bytes:
    """A row of the tensor table."""
    counts = struct.pack(f"<{len(shape)}Q", *shape)
    return text(name) + struct.pack("<I", len(shape)) + counts + struct.pack("<IQ", kind, offset)


def gguf(
    pairs: Sequence[bytes] = (),
    tensors: Sequence[bytes] = (),
    data: bytes = b"",
    *,
    version: int = 3,
    counts: tuple[int, int] | None = None,
    alignment: int = 32,
) -> bytes:
    """A GGUF file of any header."""
    stated = counts or (len(tensors), len(pairs))
    head = b"GGUF" + struct.pack("<IQQ", version, *stated) + b"".join(pairs) + b"".join(tensors)
    return head + bytes(-len(head) % alignment) + data


def good_gguf() -> bytes:
    """A GGUF file with a template and two tensors."""
    pairs = [
        pair("general.architecture", 8, text("llama")),
        pair("tokenizer.chat_template", 8, text(TEMPLATE)),
        pair("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 2) + text("a") + text("b")),
        pair("tokenizer.ggml.scores", 9, struct.pack("<IQ", 6, 2) + bytes(8)),
        pair("general.file_type", 4, struct.pack("<I", 3)),
    ]
    tensors = [gguf_tensor("token_embd.weight", (32, 2), 3, 0), gguf_tensor("output.weight", (8,), 0, 64)]
    return gguf(pairs, tensors, bytes(64 + 32))
