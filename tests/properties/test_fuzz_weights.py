"""Arbitrary and mangled model files: a look always ends, with findings that are in the list."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.mangle import mangled
from support.snapshots import good_gguf, made, tensor

from anvil.collectors.weights.documents import reaches_out
from anvil.collectors.weights.findings import KINDS
from anvil.collectors.weights.gguf import read_gguf
from anvil.collectors.weights.inspection import inspect
from anvil.collectors.weights.recording import event_of, inventory_of
from anvil.collectors.weights.safetensors import read_safetensors

GOOD = {"m.safetensors": made({"a": tensor(), "b": tensor((3,))}), "m.gguf": good_gguf()}
DOCUMENT = b'{"chat_template": "{{ a }}", "auto_map": {}, "weight_map": {"a": "m.safetensors"}}'


@given(raw=st.binary(max_size=400) | mangled(GOOD["m.safetensors"]))
def test_any_bytes_as_safetensors(raw: bytes) -> None:
    assert set(read_safetensors(io.BytesIO(raw), len(raw)).problems) <= set(KINDS)


@given(raw=st.binary(max_size=400).map(b"GGUF\3\0\0\0".__add__) | mangled(GOOD["m.gguf"]))
def test_any_bytes_as_gguf(raw: bytes) -> None:
    assert set(read_gguf(io.BytesIO(raw), len(raw)).problems) <= set(KINDS)


@pytest.mark.parametrize(
    "name", ["m.safetensors", "m.gguf", "config.json", "model.safetensors.index.json", "SHA256SUMS", "x.bin"]
)
@given(raw=st.binary(max_size=200) | mangled(DOCUMENT) | mangled(GOOD["m.gguf"]))
def test_any_bytes_under_any_name(name: str, raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(raw)
        seen = inspect(Path(folder), now_ns=0)
        event_of(seen).openings()
        json.loads(inventory_of(seen))


@given(text=st.text(alphabet="{}%'\"[]_| atrmoclsx", max_size=300))
def test_any_template(text: str) -> None:
    reaches_out(text)
