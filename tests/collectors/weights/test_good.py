"""A good snapshot, as the libraries of others make it: everything is read, and nothing is found."""

from __future__ import annotations

import hashlib
import json
import struct
import threading
from pathlib import Path

import pytest
from support.snapshots import REVISION, TEMPLATE, Cache, good_cache, good_gguf, made, safetensors_file, tensor

from anvil.collectors.recipes.parts import ExpectedWeights
from anvil.collectors.weights.hashing import Hashing
from anvil.collectors.weights.inspection import Inspection, Wanted, inspect
from anvil.collectors.weights.recording import (
    Earlier,
    event_of,
    inventory_of,
    read_inventory,
    recall,
    remember,
)
from anvil.ledger.errors import CollectorError

LATER_NS = 1 << 62
"""A time at which no file of a test was just changed."""


def look(place: Path, wanted: Wanted | None = None, **more: object) -> Inspection:
    return inspect(place, wanted, now_ns=LATER_NS, **more)  # type: ignore[arg-type]


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return good_cache(tmp_path)


def test_a_good_snapshot_in_a_cache_has_no_finding(cache: Cache) -> None:
    seen = look(cache.snapshot, Wanted("org/tiny", REVISION))
    assert seen.found == []
    event = event_of(seen)
    assert (event.model, event.revision) == ("org/tiny", REVISION)
    assert (event.files, event.tensor_files, event.tensors) == (8, 2, 3)
    assert event.bytes == sum(path.stat().st_size for path in cache.blobs.iterdir())
    assert (event.stated_identities, event.matched_identities) == (8, 8)
    assert [(t.name, t.tensors) for t in event.tensor_types] == [("F32", 3)]
    shards = sorted(cache.snapshot.glob("*.safetensors"))
    assert event.tensor_bytes == sum(path.stat().st_size for path in shards)
    assert list(event.tensor_digests) == [digest(path.read_bytes()) for path in shards]
    named = {item.name: item.digest for item in event.documents}
    assert named["config"] == digest((cache.snapshot / "config.json").read_bytes())
    assert named["tokenizer"] == digest((cache.snapshot / "tokenizer.json").read_bytes())
    assert named["chat-template"] == digest(TEMPLATE.encode())


def test_a_repository_in_a_cache_leads_to_its_snapshot(cache: Cache) -> None:
    assert look(cache.repository).snapshot.root == cache.snapshot
    (cache.repository / "snapshots" / ("f" * 40)).mkdir()
    assert look(cache.repository).snapshot.root == cache.snapshot  # which refs/main names
    (cache.refs / "main").unlink()
    with pytest.raises(CollectorError, match="holds 2 snapshots"):
        look(cache.repository)


def test_an_old_model_without_an_organisation_is_in_a_cache_too(tmp_path: Path) -> None:
    cache = Cache(tmp_path, model="gpt2")
    cache.add("model.safetensors", made({"a": tensor()}), lfs=True)
    seen = look(cache.snapshot)
    assert seen.found == []
    assert (seen.snapshot.model, seen.revision) == (None, REVISION)


def test_a_copied_snapshot_states_no_model_and_links_into_itself_are_fine(tmp_path: Path) -> None:
    safetensors_file(tmp_path / "model.safetensors")
    (tmp_path / "same.safetensors").symlink_to("model.safetensors")
    seen = look(tmp_path)
    assert seen.found == []
    event = event_of(seen)
    assert (event.model, event.revision, event.files, event.stated_identities) == (None, None, 2, 0)


def test_a_download_into_a_folder_states_revision_and_digests(tmp_path: Path) -> None:
    path = safetensors_file(tmp_path / "model.safetensors")
    known = tmp_path / ".cache" / "huggingface" / "download"
    known.mkdir(parents=True)
    etag = hashlib.sha256(path.read_bytes()).hexdigest()
    (known / "model.safetensors.metadata").write_text(f"{REVISION}\n{etag}\n1764500000.0\n")
    event = event_of(look(tmp_path))
    assert (event.revision, event.files, event.stated_identities, event.matched_identities) == (
        REVISION,
        1,
        1,
        1,
    )
    assert event.findings == ()


def test_a_gguf_file_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(good_gguf())
    seen = look(path, Wanted(file_sha256=digest(good_gguf())))
    assert seen.found == []
    event = event_of(seen)
    assert (event.files, event.tensor_files, event.tensors) == (1, 1, 2)
    assert event.tensor_bytes == event.bytes == len(good_gguf())
    assert (event.stated_identities, event.matched_identities) == (1, 1)
    assert {t.name: t.tensors for t in event.tensor_types} == {"Q4_1": 1, "F32": 1}
    assert {d.name: d.digest for d in event.documents} == {"chat-template": digest(TEMPLATE.encode())}
    assert seen.ggufs["model.gguf"].values["general.architecture"] == "llama"


def test_every_data_type_of_the_library_is_known(tmp_path: Path) -> None:
    sizes = {
        "bool": 1, "uint8": 1, "int8": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2, "int32": 4,
        "uint32": 4, "float32": 4, "float64": 8, "int64": 8, "uint64": 8, "complex64": 8,
        "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e8m0fnu": 1, "float4_e2m1fn_x2": 1,
    }  # fmt: skip
    tensors = {name: tensor((2,), 0, name, size) for name, size in sizes.items()}
    safetensors_file(tmp_path / "model.safetensors", **tensors, empty=tensor((0, 3)), scalar=tensor(()))
    seen = look(tmp_path)
    assert seen.found == []
    assert seen.tensors == len(sizes) + 2


def test_what_a_recipe_expects_is_compared(cache: Cache) -> None:
    shards = [p.read_bytes() for p in sorted(cache.snapshot.glob("*.safetensors"))]
    right = ExpectedWeights(
        safetensors_files=2,
        safetensors_bytes=sum(map(len, shards)),
        safetensors_tensors=3,
        snapshot_bytes=sum(path.stat().st_size for path in cache.blobs.iterdir()),
        sha256=tuple(hashlib.sha256(shard).hexdigest() for shard in shards),
    )
    assert look(cache.snapshot, Wanted(expected=right)).found == []


def test_progress_ends_with_all_bytes(cache: Cache) -> None:
    told: list[tuple[int, int]] = []
    seen = look(cache.snapshot, hashing=Hashing(progress=lambda done, of: told.append((done, of))))
    assert told[-1] == (seen.size, seen.size) == (seen.read_bytes, seen.size)


def test_a_look_that_is_stopped_says_so(cache: Cache) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(CollectorError, match="interrupted"):
        look(cache.snapshot, hashing=Hashing(stop=stop))


def test_a_place_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CollectorError, match="No such file"):
        look(tmp_path / "nowhere")


# --- digests of an earlier look --------------------------------------------------------------------------


def test_digests_of_unchanged_files_are_taken_over(cache: Cache) -> None:
    first = look(cache.snapshot)
    again = look(cache.snapshot, known=read_inventory(inventory_of(first)))
    assert again.digests == first.digests
    assert (len(again.reused), again.read_bytes) == (8, 0)
    event = event_of(again, Earlier("ab" * 32))
    assert (event.earlier, event.reused_files, event.digested_bytes) == ("ab" * 32, 8, 0)


def test_a_changed_file_is_read_again(cache: Cache) -> None:
    known = read_inventory(inventory_of(look(cache.snapshot)))
    (cache.snapshot / "README.md").resolve().write_bytes(b"# bent\n")  # as long as before
    again = look(cache.snapshot, known=known)
    assert len(again.reused) == 7
    assert [found.kind for found in again.found] == ["identity-differs"]


def test_a_file_that_was_just_changed_is_not_relied_on(cache: Cache) -> None:
    newest = max(path.stat().st_ctime_ns for path in cache.blobs.iterdir())
    first = inspect(cache.snapshot, now_ns=newest + 1)
    assert read_inventory(inventory_of(first)).digests == {}


def test_what_is_remembered_is_found_by_campaign_and_place(tmp_path: Path, cache: Cache) -> None:
    inventory = inventory_of(look(cache.snapshot))
    blobs = {"sha256:x": inventory}
    directory = tmp_path / "runs"
    remember(directory, "c1", cache.snapshot, "ab" * 32, "sha256:x")
    found = recall(directory, "c1", cache.snapshot, blobs.__getitem__)
    assert found.entry_hash == "ab" * 32
    assert len(found.known.digests) == 8
    assert recall(directory, "c2", cache.snapshot, blobs.__getitem__).known.digests == {}
    blobs["sha256:x"] = b"[1, 2"
    assert recall(directory, "c1", cache.snapshot, blobs.__getitem__).known.digests == {}


def test_an_inventory_names_every_file_with_kind_and_digest(cache: Cache) -> None:
    seen = look(cache.snapshot)
    rows = json.loads(inventory_of(seen))["files"]
    assert [row["name"] for row in rows] == [entry.name for entry in seen.snapshot.entries]
    shard = next(row for row in rows if row["name"] == "model-00001-of-00002.safetensors")
    assert shard["kind"] == "safetensors"
    assert shard["sha256"] == f"sha256:{shard['stated']}"


def test_a_split_gguf_is_whole(tmp_path: Path) -> None:
    from support.snapshots import gguf, pair

    for number in range(2):
        split = pair("split.count", 2, struct.pack("<H", 2))
        (tmp_path / f"m-0000{number + 1}-of-00002.gguf").write_bytes(gguf([split]))
    assert look(tmp_path).found == []
