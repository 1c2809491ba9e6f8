"""Hostile model files: what each is called, the finding, the file's name, and its bytes."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import zipfile
from collections.abc import Callable

from support.snapshots import entry, gguf, gguf_tensor, good_gguf, made, pair, raw_header, tensor, text

INDEX = "model.safetensors.index.json"


class Bomb:
    """What unpickling would do."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, ...]]:
        return (os.mkdir, ("unpickled",))


def zipped(name: str, content: bytes = b"x", comment: bytes = b"") -> bytes:
    made_of = io.BytesIO()
    with zipfile.ZipFile(made_of, "w") as archive:
        archive.writestr(name, content)
        archive.comment = comment
    return made_of.getvalue()


def numpy_objects() -> bytes:
    header = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + pickle.dumps([Bomb()])


def two(first: dict[str, object], second: dict[str, object], data: bytes) -> bytes:
    return raw_header({"a": first, "b": second}, data)


def keys_twice() -> bytes:
    inner = json.dumps(entry())
    return raw_header(f'{{"a":{inner},"a":{inner}}}'.encode(), bytes(4))


def keys_twice_inside() -> bytes:
    return raw_header(b'{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"data_offsets":[0,4]}}', bytes(4))


PICKLE = pickle.dumps(Bomb())
OLD_PICKLE = pickle.dumps(Bomb(), protocol=0)

FILES: list[tuple[str, str, str, bytes]] = [
    # what it is called, the finding, the file's name, its bytes
    ("claims-gigabytes", "header-too-long", "m.safetensors", raw_header(b"{}", claimed=1 << 40)),
    ("claims-all-bits", "header-too-long", "m.safetensors", b"\xff" * 8 + b"{}"),
    ("claims-past-its-end", "header-beyond-file", "m.safetensors", raw_header(b"{}", claimed=4096)),
    ("six-bytes", "header-too-short", "m.safetensors", b"\x02\0\0\0\0\0"),
    ("empty", "header-too-short", "m.safetensors", b""),
    ("no-json", "header-malformed", "m.safetensors", raw_header(b"{nothing}")),
    ("no-object", "header-malformed", "m.safetensors", raw_header(b"[1, 2]")),
    ("no-utf-8", "header-malformed", "m.safetensors", raw_header(b'{"\xff": 1}')),
    ("leading-blank", "header-malformed", "m.safetensors", raw_header(b" {}")),
    ("padded-with-zeros", "header-malformed", "m.safetensors", raw_header(b"{}\0\0")),
    ("not-a-number", "header-malformed", "m.safetensors", raw_header(b'{"a": NaN}')),
    ("endless-integer", "header-malformed", "m.safetensors", raw_header(b'{"a": 1' + b"0" * 9000 + b"}")),
    ("nested", "too-nested", "m.safetensors", raw_header(b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}")),
    ("key-twice", "duplicate-keys", "m.safetensors", keys_twice()),
    ("key-twice-inside", "duplicate-keys", "m.safetensors", keys_twice_inside()),
    ("too-many", "too-many-tensors", "m.safetensors", raw_header(b'{"a":[' + b"{}," * 200_010 + b"0]}")),
    ("overlap", "ranges-overlap", "m.safetensors", two(entry(0, 4), entry(2, 6), bytes(6))),
    ("same-range-twice", "ranges-overlap", "m.safetensors", two(entry(0, 4), entry(0, 4), bytes(4))),
    ("gap", "ranges-gap", "m.safetensors", two(entry(0, 4), entry(6, 8), bytes(8))),
    ("hidden-before", "ranges-gap", "m.safetensors", raw_header({"a": entry(4, 8)}, bytes(8))),
    ("negative", "range-malformed", "m.safetensors", raw_header({"a": entry(-4, 4)}, bytes(4))),
    ("turned-around", "range-malformed", "m.safetensors", raw_header({"a": entry(8, 4)}, bytes(8))),
    ("fractions", "range-malformed", "m.safetensors",
     raw_header({"a": entry(data_offsets=[0.0, 4.0])}, bytes(4))),
    ("yes-and-no", "range-malformed", "m.safetensors",
     raw_header({"a": entry(data_offsets=[False, True])}, bytes(1))),
    ("wraps-around", "range-malformed", "m.safetensors",
     raw_header({"a": entry(data_offsets=[0, 2**64 - 1])}, bytes(4))),
    ("past-the-end", "range-beyond-file", "m.safetensors", raw_header({"a": entry(0, 400)}, bytes(4))),
    ("more-than-it-says", "trailing-bytes", "m.safetensors", raw_header({"a": entry(0, 4)}, bytes(900))),
    ("wrong-size", "range-size", "m.safetensors", raw_header({"a": entry(dtype="F32")}, bytes(4))),
    ("half-a-byte", "range-size", "m.safetensors",
     raw_header({"a": entry(0, 1, dtype="F4", shape=[3])}, bytes(1))),
    ("shape-overflows", "range-size", "m.safetensors",
     raw_header({"a": entry(shape=[2**62, 2**62])}, bytes(4))),
    ("unknown-type", "data-type-unknown", "m.safetensors", raw_header({"a": entry(dtype="I3")}, bytes(4))),
    ("type-is-a-list", "data-type-unknown", "m.safetensors", raw_header({"a": entry(dtype=[])}, bytes(4))),
    ("negative-shape", "shape-malformed", "m.safetensors", raw_header({"a": entry(shape=[-4])}, bytes(4))),
    ("rank-of-thousands", "shape-malformed", "m.safetensors",
     raw_header({"a": entry(shape=[1] * 5000)}, bytes(4))),
    ("path-as-name", "tensor-name", "m.safetensors", raw_header({"../../etc/x": entry()}, bytes(4))),
    ("control-in-name", "tensor-name", "m.safetensors", raw_header({"a\x1b[2J": entry()}, bytes(4))),
    ("more-fields", "unknown-fields", "m.safetensors", raw_header({"a": entry(code="x")}, bytes(4))),
    ("part-missing", "tensor-malformed", "m.safetensors", raw_header({"a": {"dtype": "U8"}})),
    ("no-entry", "tensor-malformed", "m.safetensors", raw_header({"a": 7})),
    ("metadata-not-text", "metadata-malformed", "m.safetensors", raw_header({"__metadata__": {"a": 1}})),
    ("metadata-a-list", "metadata-malformed", "m.safetensors", raw_header({"__metadata__": []})),
    ("zip-behind-tensors", "zip-appended", "m.safetensors",
     made({"a": tensor((2000,))}) + zipped("x", b"run me", comment=b"a comment")),
    ("zip-inside-a-tensor", "zip-appended", "m.safetensors",
     raw_header({"a": entry(0, len(zipped("x")))}, zipped("x"))),
    ("pickle-renamed", "disguised", "m.safetensors", PICKLE),
    ("old-pickle-renamed", "pickle", "m.safetensors", OLD_PICKLE),
    ("torch-archive-renamed", "pytorch-archive", "m.safetensors", zipped("archive/data.pkl", PICKLE)),
    ("program-renamed", "disguised", "m.safetensors", b"\x7fELF\x02\x01\x01" + bytes(60)),
    ("gguf-renamed", "disguised", "m.safetensors", good_gguf()),
    ("tensors-renamed", "disguised", "tokenizer.json", made({"a": tensor()})),
    ("program-as-tokenizer", "native-code", "tokenizer.json", b"\x7fELF\x02\x01\x01" + bytes(60)),
    ("pickle", "pickle", "pytorch_model.bin", PICKLE),
    ("pickle-by-name", "pickle", "optimizer.pt", b"who knows"),
    ("unknown-bin", "pickle-suspected", "weights.bin", bytes(64)),
    ("torch-archive", "pytorch-archive", "pytorch_model.bin", zipped("archive/data.pkl", PICKLE)),
    ("zip-bomb", "archive", "data.zip", zipped("x", bytes(1 << 20)).replace(b"\0\0\x10\0", b"\xff\xff\xff\xff")),
    ("tar", "archive", "model.nemo", bytes(257) + b"ustar\0" + bytes(249)),
    ("numpy-of-objects", "numpy-objects", "vectors.npy", numpy_objects()),
    ("keras", "keras-model", "model.h5", b"\x89HDF\r\n\x1a\n" + bytes(8)),
    ("library", "native-code", "kernel.so", b"anything"),
    ("python", "code", "modeling_tiny.py", b"import os\n"),
    ("script-without-a-name", "code", "setup", b"#!/bin/sh\nrm -rf /\n"),
    ("auto-map", "remote-code", "config.json", b'{"auto_map": {"AutoModel": "modeling_tiny.Tiny"}}'),
    ("auto-map-deep", "remote-code", "config.json", b'{"text_config": {"x": [{"auto_map": {"A": "b.C"}}]}}'),
    ("trusts-by-itself", "remote-code", "tokenizer_config.json", b'{"trust_remote_code": true}'),
    ("own-module", "remote-code", "modules.json", b'[{"type": "custom_st.Transformer"}]'),
    ("config-no-json", "document-malformed", "config.json", b"{'a': 1}"),
    ("config-key-twice", "duplicate-keys", "config.json", b'{"auto_map": 1, "auto_map": 2}'),
    ("config-nested", "too-nested", "config.json", b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    ("template-gets-out", "template-escapes", "chat_template.jinja",
     b"{{ ''.__class__.__mro__[1].__subclasses__() }}"),
    ("template-by-name", "template-escapes", "chat_template.jinja", b"{{ x['__globals__'] }}"),
    ("template-in-config", "template-escapes", "tokenizer_config.json",
     json.dumps({"chat_template": "{% set a = x|attr('y') %}"}).encode()),
    ("template-in-gguf", "template-escapes", "m.gguf",
     gguf([pair("tokenizer.chat_template", 8, text("{{ a.__init__ }}"))])),
    ("git", "git-folder", ".git/config", b"[core]\n"),
    ("half-a-download", "incomplete-download", "model.safetensors.incomplete", b"\0"),
    ("checksums-stale", "checksum-stale", "SHA256SUMS", b"0" * 64 + b"  SHA256SUMS\n"),
    ("checksums-empty", "checksum-empty", "model.sha256", b"\n"),
    ("checksums-of-nothing", "checksum-missing-file", "checksums.txt", b"0" * 64 + b"  gone.safetensors\n"),
    ("index-a-list", "index-malformed", INDEX, b"[]"),
    ("index-out", "index-path", INDEX, b'{"weight_map": {"a": "../../../etc/passwd"}}'),
    ("index-of-nothing", "index-file-missing", INDEX, b'{"weight_map": {"a": "gone.safetensors"}}'),
    # GGUF
    ("gguf-old", "gguf-version", "m.gguf", gguf(version=1)),
    ("gguf-turned", "gguf-version", "m.gguf", gguf(version=3 << 24)),
    ("gguf-four-bytes", "gguf-truncated", "m.gguf", b"GGUF"),
    ("gguf-tensors-absurd", "gguf-counts", "m.gguf", gguf(counts=(2**63, 0))),
    ("gguf-pairs-absurd", "gguf-counts", "m.gguf", gguf(counts=(0, 2**64 - 1))),
    ("gguf-text-absurd", "gguf-string", "m.gguf",
     gguf([text("k") + struct.pack("<IQ", 8, 2**60)], counts=(0, 1), data=bytes(64))),
    ("gguf-array-absurd", "gguf-array", "m.gguf", gguf([pair("k", 9, struct.pack("<IQ", 4, 2**61))])),
    ("gguf-texts-absurd", "gguf-array", "m.gguf", gguf([pair("k", 9, struct.pack("<IQ", 8, 2**61))])),
    ("gguf-arrays-of-arrays", "gguf-array", "m.gguf", gguf([pair("k", 9, struct.pack("<IQ", 9, 1) * 9)])),
    ("gguf-value-unknown", "gguf-value-type", "m.gguf", gguf([pair("k", 99, bytes(8))])),
    ("gguf-key-twice", "duplicate-keys", "m.gguf", gguf([pair("k", 0, b"\1"), pair("k", 0, b"\2")])),
    ("gguf-tensor-twice", "duplicate-keys", "m.gguf",
     gguf([], [gguf_tensor(), gguf_tensor(offset=32)], bytes(64))),
    ("gguf-alignment-odd", "gguf-alignment", "m.gguf",
     gguf([pair("general.alignment", 4, struct.pack("<I", 33))])),
    ("gguf-alignment-none", "gguf-alignment", "m.gguf", gguf([pair("general.alignment", 4, bytes(4))])),
    ("gguf-type-unknown", "data-type-unknown", "m.gguf", gguf([], [gguf_tensor(kind=9999)], bytes(32))),
    ("gguf-past-its-end", "range-beyond-file", "m.gguf", gguf([], [gguf_tensor(offset=1 << 40)], bytes(32))),
    ("gguf-between", "range-malformed", "m.gguf", gguf([], [gguf_tensor(offset=7)], bytes(64))),
    ("gguf-overlap", "ranges-overlap", "m.gguf", gguf([], [gguf_tensor("a"), gguf_tensor("b")], bytes(32))),
    ("gguf-rank", "shape-malformed", "m.gguf", gguf([], [gguf_tensor(shape=[1] * 9)], bytes(32))),
    ("gguf-shape-overflows", "range-beyond-file", "m.gguf",
     gguf([], [gguf_tensor(shape=[2**60, 2**60])], bytes(32))),
    ("gguf-half-a-block", "shape-malformed", "m.gguf", gguf([], [gguf_tensor(shape=[7], kind=2)], bytes(32))),
    ("gguf-more-than-it-says", "trailing-bytes", "m.gguf", gguf([], [gguf_tensor()], bytes(4096))),
    ("gguf-part", "gguf-part-missing", "m-00001-of-00003.gguf",
     gguf([pair("split.count", 2, struct.pack("<H", 3))])),
]  # fmt: skip
