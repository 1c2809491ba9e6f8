"""Hostile snapshots: each is found for what it is, none ends the look, and none is read more than it must.

A good snapshot is spoiled in one way, or a folder holds one bad file. What is required is the finding of that
kind; where a kind is named twice, two ways lead to it.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import socket
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from support.snapshots import (
    Cache,
    entry,
    gguf,
    gguf_tensor,
    good_cache,
    good_gguf,
    made,
    pair,
    raw_header,
    tensor,
    text,
)

from anvil.collectors.recipes.parts import ExpectedWeights
from anvil.collectors.weights import snapshot
from anvil.collectors.weights.findings import KINDS, counted
from anvil.collectors.weights.gguf import read_gguf
from anvil.collectors.weights.inspection import Inspection, Wanted, inspect
from anvil.collectors.weights.recording import event_of, inventory_of
from anvil.collectors.weights.safetensors import read_safetensors

SHARD = "model-00001-of-00002.safetensors"
INDEX = "model.safetensors.index.json"


class Bomb:
    """What unpickling would do."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, ...]]:
        return (os.mkdir, ("unpickled",))


def look(place: Path, wanted: Wanted | None = None) -> Inspection:
    return inspect(place, wanted, now_ns=1 << 62)


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


@pytest.mark.parametrize(
    ("kind", "name", "content"), [row[1:] for row in FILES], ids=[row[0] for row in FILES]
)
def test_a_hostile_file(
    kind: str, name: str, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "snapshot"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_bytes(content)
    seen = look(folder)
    assert kind in counted(seen.found), seen.found
    assert not (tmp_path / "unpickled").exists()
    assert event_of(seen).findings
    assert inventory_of(seen)
    if kind != "git-folder":
        assert seen.digests[name].sha256 is not None  # whatever it is, it can be named


# --- folders ------------------------------------------------------------------------------------------------


def link_out(cache: Cache) -> None:
    (cache.snapshot / "config.json").unlink()
    (cache.snapshot / "config.json").symlink_to("/etc/passwd")


def link_up(cache: Cache) -> None:
    (cache.repository.parent / "secret").write_text("of another model")
    (cache.snapshot / "notes.txt").symlink_to("../../../secret")


def blob_leads_out(cache: Cache) -> None:
    (cache.blobs / "aa").symlink_to("/etc/hostname")
    (cache.snapshot / "host").symlink_to("../../blobs/aa")


def link_to_device(cache: Cache) -> None:
    (cache.snapshot / "zeros.safetensors").symlink_to("/dev/zero")


def link_to_nowhere(cache: Cache) -> None:
    (cache.snapshot / "gone.safetensors").symlink_to("../../blobs/ff")


def links_in_a_ring(cache: Cache) -> None:
    (cache.snapshot / "a").symlink_to("b")
    (cache.snapshot / "b").symlink_to("a")


def links_in_a_row(cache: Cache) -> None:
    (cache.snapshot / "0").symlink_to("README.md")
    for number in range(1, 3000):
        (cache.snapshot / str(number)).symlink_to(str(number - 1))


def link_to_itself(cache: Cache) -> None:
    (cache.snapshot / "again").symlink_to(".")


def pipe(cache: Cache) -> None:
    os.mkfifo(cache.snapshot / "model.safetensors")


def plug(cache: Cache) -> None:
    with socket.socket(socket.AF_UNIX) as plugged:
        before = Path.cwd()
        os.chdir(cache.snapshot)  # a socket's path is short
        try:
            plugged.bind("plug")
        finally:
            os.chdir(before)


def strange_names(cache: Cache) -> None:
    for name in (b"a\nb.txt", "right\u202eelft.txt".encode(), b"\xff\xfe.txt"):
        (Path(os.fsdecode(os.fsencode(cache.snapshot) + b"/" + name))).write_text("x")


def deep(cache: Cache) -> None:
    path = cache.snapshot
    for _ in range(40):
        path = path / "d"
    path.mkdir(parents=True)


def huge(cache: Cache) -> None:
    with (cache.snapshot / "model-big.safetensors").open("wb") as file:
        file.truncate(snapshot_limit() + 1)


def snapshot_limit() -> int:
    from anvil.collectors.weights.hashing import MAX_SIZE

    return MAX_SIZE


def large_config(cache: Cache) -> None:
    (cache.snapshot / "generation_config.json").unlink()
    with (cache.snapshot / "generation_config.json").open("wb") as file:
        file.truncate(40 << 20)


def blob_altered(cache: Cache) -> None:
    blob = (cache.snapshot / SHARD).resolve()
    blob.write_bytes(blob.read_bytes()[:-1] + b"!")


def git_blob_altered(cache: Cache) -> None:
    (cache.snapshot / "README.md").resolve().write_bytes(b"# bent\n")


def metadata_of_another(cache: Cache) -> None:
    known = cache.snapshot / ".cache" / "huggingface" / "download"
    known.mkdir(parents=True)
    (cache.snapshot / "plain.txt").write_text("plain")
    (known / "plain.txt.metadata").write_text(f"{'a' * 40}\n{'b' * 64}\n1.0\n")


def download_not_ended(cache: Cache) -> None:
    (cache.blobs / ("c" * 64 + ".incomplete")).write_bytes(b"half")


def index_wrong(change: Callable[[dict[str, dict[str, object]]], object]) -> Callable[[Cache], None]:
    def spoil(cache: Cache) -> None:
        index = json.loads((cache.snapshot / INDEX).read_bytes())
        change(index)
        (cache.snapshot / INDEX).unlink()
        cache.add(INDEX, json.dumps(index).encode())

    return spoil


def unlisted(cache: Cache) -> None:
    cache.add("model-extra.safetensors", made({"x": tensor()}), lfs=True)


FOLDERS: list[tuple[Callable[[Cache], None], str]] = [
    (link_out, "link-out"),
    (link_up, "link-out"),
    (blob_leads_out, "link-out"),
    (link_to_device, "link-out"),
    (link_to_nowhere, "link-broken"),
    (links_in_a_ring, "link-loop"),
    (links_in_a_row, "link-loop"),
    (link_to_itself, "link-to-folder"),
    (pipe, "fifo"),
    (plug, "socket"),
    (strange_names, "odd-name"),
    (deep, "too-deep"),
    (huge, "too-large"),
    (large_config, "document-too-large"),
    (blob_altered, "identity-differs"),
    (git_blob_altered, "identity-differs"),
    (metadata_of_another, "identity-differs"),
    (download_not_ended, "incomplete-download"),
    (index_wrong(lambda i: i["metadata"].update(total_size=1)), "index-size-differs"),
    (index_wrong(lambda i: i["weight_map"].update(ghost=SHARD)), "index-tensor-differs"),
    (unlisted, "index-file-unlisted"),
]


@pytest.mark.parametrize(
    ("spoil", "kind"), FOLDERS, ids=[f"{n}-{kind}" for n, (_, kind) in enumerate(FOLDERS)]
)
def test_a_hostile_folder(spoil: Callable[[Cache], None], kind: str, tmp_path: Path) -> None:
    cache = good_cache(tmp_path)
    spoil(cache)
    seen = look(cache.snapshot)
    assert kind in counted(seen.found), seen.found
    assert set(counted(seen.found)) <= {kind, "link-out", "header-malformed", "header-too-short", "index-file-unlisted",
                                        "ranges-gap", "trailing-bytes", "range-size"}  # fmt: skip
    json.loads(inventory_of(seen))
    assert (event_of(seen).places or [])[0] == ["snapshot", str(cache.snapshot)]


@pytest.mark.needs("root")
def test_a_device(tmp_path: Path) -> None:
    os.mknod(tmp_path / "model.safetensors", 0o20600, os.makedev(1, 5))  # /dev/zero: endless
    assert counted(look(tmp_path).found) == {"device": 1}


def test_a_hundred_thousand_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "MAX_FILES", 2000)
    folder = tmp_path / "many"
    folder.mkdir()
    first = folder / "0.safetensors"
    first.write_bytes(made({"a": tensor()}))
    for number in range(1, 10_000):  # links to one file: as many names, quickly made
        os.link(first, folder / f"{number}.safetensors")
    seen = look(tmp_path)
    assert counted(seen.found) == {"too-many-files": 1}
    assert len(seen.snapshot.entries) <= 2001
    assert len(event_of(seen).tensor_digests) == 400
    assert len(json.dumps(event_of(seen).facts())) < 60_000


def test_endless_folders_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "MAX_FILES", 50)
    for number in range(200):
        (tmp_path / str(number % 10) / str(number)).mkdir(parents=True)
    assert counted(look(tmp_path).found) == {"too-many-files": 1}


def test_an_empty_folder(tmp_path: Path) -> None:
    assert counted(look(tmp_path).found) == {"snapshot-empty": 1}


def test_a_file_that_changes_between_look_and_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("one")
    from anvil.collectors.weights import inspection

    before = inspection.stated_identities

    def meanwhile(snap: snapshot.Snapshot) -> dict[str, inspection.Stated]:
        path.unlink()
        path.symlink_to("/etc/passwd")
        return before(snap)

    monkeypatch.setattr(inspection, "stated_identities", meanwhile)
    seen = look(tmp_path)
    assert counted(seen.found) == {"changed-while-read": 1}
    assert seen.digests["notes.txt"].sha256 is None


# --- expectations -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "kind"),
    [
        (Wanted(model="org/other"), "model-differs"),
        (Wanted(revision="f" * 40), "revision-differs"),
        (Wanted(expected=ExpectedWeights(sha256=("a" * 64,))), "pinned-digest-differs"),
        (Wanted(file_sha256="sha256:" + "a" * 64), "pinned-digest-differs"),
        (Wanted(expected=ExpectedWeights(safetensors_files=3)), "expected-differs"),
        (Wanted(expected=ExpectedWeights(snapshot_bytes=3)), "expected-differs"),
    ],
)
def test_not_what_the_recipe_names(wanted: Wanted, kind: str, tmp_path: Path) -> None:
    assert counted(look(good_cache(tmp_path).snapshot, wanted).found) == {kind: 1}


# --- nothing is read more than it must ----------------------------------------------------------------------


class Counting(io.BytesIO):
    """Bytes that count how many of them were asked for."""

    asked = 0

    def read(self, size: int | None = -1) -> bytes:
        assert size is not None
        assert size >= 0
        self.asked += size
        return super().read(size)


REFUSED_EARLY = {"claims-gigabytes", "claims-all-bits", "claims-past-its-end", "six-bytes", "empty"}
GGUF_ROWS = [row for row in FILES if row[2].endswith(".gguf")]


@pytest.mark.parametrize("row", [r for r in FILES if r[0] in REFUSED_EARLY], ids=lambda row: row[0])
def test_a_header_that_cannot_be_is_not_read(row: tuple[str, str, str, bytes]) -> None:
    file = Counting(row[3])
    read_safetensors(file, len(row[3]))
    assert file.asked <= 8


@pytest.mark.parametrize("row", GGUF_ROWS, ids=lambda row: row[0])
def test_a_gguf_header_is_never_read_past_what_is_there(row: tuple[str, str, str, bytes]) -> None:
    file = Counting(row[3])
    read_gguf(file, len(row[3]))
    assert file.asked <= len(row[3])


# --- the list of kinds ----------------------------------------------------------------------------------------


def test_every_kind_has_a_hostile_snapshot_here() -> None:
    elsewhere = {
        "device", "too-many-files", "snapshot-empty", "changed-while-read", "model-differs", "revision-differs",
        "pinned-digest-differs", "expected-differs",
        "unreadable",  # root reads everything
        "snapshot-not-found",  # of a run: test_weights_in_runs
    }  # fmt: skip
    covered = {row[1] for row in FILES} | {kind for _, kind in FOLDERS} | elsewhere
    assert covered == set(KINDS)


def test_a_tar_of_python_is_only_named(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(__file__, "evil.py")
    assert counted(look(tmp_path).found) == {"archive": 1}


def test_names_that_no_json_holds_and_more_of_them_than_an_event_can(tmp_path: Path) -> None:
    for number in range(300):
        name = f"{number}-".encode() + "\u202e\u00fc".encode() * 40 + b"\xff.py"
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("x")
    rows = [{"name": "\ud800", "template": "{{ a.__class__ }}"}]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": rows}))
    seen = look(tmp_path)
    assert counted(seen.found) == {"odd-name": 300, "code": 300, "template-escapes": 1}
    assert event_of(seen).openings()
    assert json.loads(inventory_of(seen))
