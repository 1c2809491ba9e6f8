"""Hostile folders, and files that are not what is known of them: each with its finding, none ends the look.

A good snapshot is spoiled in one way. What is required is the finding of that kind; where a kind is named twice,
two ways lead to it.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from support.hostile_models import FILES, INDEX
from support.snapshots import Cache, good_cache, made, tensor

from anvil.collectors.recipes.parts import ExpectedWeights
from anvil.collectors.weights import snapshot
from anvil.collectors.weights.findings import KINDS, counted
from anvil.collectors.weights.inspection import Inspection, Wanted, inspect
from anvil.collectors.weights.recording import event_of, inventory_of

SHARD = "model-00001-of-00002.safetensors"


def look(place: Path, wanted: Wanted | None = None) -> Inspection:
    return inspect(place, wanted, now_ns=1 << 62)


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
