"""A stranger verifies: with the folder and the key alone; whatever was changed is refused, saying which."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.published_folders import Folder

from anvil.ledger.creation import create_ledger
from anvil.ledger.errors import MalformedPublication
from anvil.ledger.publication import layout
from anvil.ledger.publication.evidence import decode, encode
from anvil.ledger.publication.manifest import Manifest


def test_it_verifies_at_all_three_levels(folder: Folder) -> None:
    report = folder.verify(again=True)
    assert report.exit_code == 0, report.every_finding
    assert (report.is_authentic, report.is_supported, report.recomputed) == (True, True, True)
    assert report.released is not None
    assert (report.released.attempts_shown, report.released.attempts_existing) == (6, 6)
    assert [f.code for f in report.every_finding] == ["not-checked"]


def test_without_recomputing_it_says_so(folder: Folder) -> None:
    report = folder.verify()
    assert report.exit_code == 0
    assert report.recomputed is None
    assert any("not made again" in finding.message for finding in report.every_finding)


# --- what a careless forger changes: the manifest names it ---------------------------------------------------


@pytest.mark.parametrize(
    "name",
    sorted(
        item
        for item in (
            layout.DOCUMENT,
            layout.PROVENANCE,
            layout.REDACTIONS,
            layout.KEYRING,
            layout.FOLD,
            layout.ENTRIES,
            layout.PROOFS,
            layout.VERIFIER_KEY,
            *layout.PAGES.values(),
            "templates/candidate-failure.v1.json.j2",
            "templates/page.html.j2",
        )
    ),
)
@pytest.mark.parametrize("how", ["one byte", "cut", "longer", "gone", "empty", "a link"])
def test_a_changed_file_is_named(folder: Folder, tmp_path: Path, name: str, how: str) -> None:
    content = folder.read(name)
    place = folder.path / name
    if how == "one byte":
        middle = len(content) // 2
        place.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    elif how == "gone":
        place.unlink()
    elif how == "a link":
        (tmp_path / "elsewhere").write_bytes(content)
        place.unlink()
        place.symlink_to(tmp_path / "elsewhere")
    else:
        place.write_bytes({"cut": content[:-1], "longer": content + b"\n", "empty": b""}[how])
    folder.refused("file-damaged", says=name, again=True)


def test_a_file_too_many_is_named(folder: Folder) -> None:
    (folder.path / "extra.json").write_text("{}")
    folder.refused("file-damaged", says="extra.json")


@pytest.mark.parametrize("part", ["entries", "proofs", "checkpoint", "consistency"])
@pytest.mark.parametrize("how", ["one byte", "cut", "gone"])
def test_a_changed_release_is_named(folder: Folder, part: str, how: str) -> None:
    place = folder.path / layout.RELEASE / part
    content = place.read_bytes()
    if how == "gone":
        place.unlink()
    elif how == "cut":
        place.write_bytes(content[:-1])
    else:
        place.write_bytes(content[:40] + bytes([content[40] ^ 1]) + content[41:])
    folder.refused(says=layout.RELEASE if how != "one byte" else "")


def test_no_manifest_is_no_publication(folder: Folder) -> None:
    (folder.path / layout.MANIFEST).unlink()
    with pytest.raises(MalformedPublication):
        folder.verify()


# --- what a careful forger changes, the manifest too ----------------------------------------------------------


def change_figure(members: Any) -> None:
    members["attempts"][0]["preflight_default"] = "3/4"


def change_stated_figure(members: Any) -> None:
    leaf = next(leaf for leaf in members["leaves"] if leaf["pointer"] == "/attempts/0/preflight_default")
    leaf["value"] = "3/4"


def test_a_changed_figure_is_named(folder: Folder) -> None:
    folder.edit(layout.DOCUMENT, change_figure)
    report = folder.refused("figure-differs", "tampered", says="/attempts/0/preflight_default")
    assert any("the manifest is not what event" in f.message for f in report.findings)
    assert any("the document is not what event" in f.message for f in report.findings)


def test_a_figure_changed_in_the_provenance_too_is_refused(folder: Folder) -> None:
    folder.edit(layout.DOCUMENT, change_figure)
    folder.edit(layout.PROVENANCE, change_stated_figure)
    folder.refused("tampered", "not-recomputed", says="document.json comes out otherwise", again=True)


@pytest.mark.parametrize("number", ["200.0", "201", '"200"', "null", "2e2"])
def test_another_spelling_of_a_number_is_another_figure(folder: Folder, number: str) -> None:
    folder.change(layout.DOCUMENT, b'"health": 200', f'"health": {number}'.encode(), listed=True)
    folder.refused("figure-differs", says="/attempts/0/health")


def test_a_leaf_that_nobody_states_is_named(folder: Folder) -> None:
    folder.edit(layout.DOCUMENT, lambda members: members.update(verdict="promoted"))
    folder.refused("unsupported", says="/verdict")


@pytest.mark.parametrize("kind", ["leaf", "key"])
def test_a_second_leaf_of_another_value_is_named(folder: Folder, kind: str) -> None:
    """Whoever reads the first of two is told something else than was checked."""

    def doubled(members: Any) -> None:
        leaf = next(leaf for leaf in members["leaves"] if leaf["pointer"] == "/attempts/0/health")
        members["leaves"].insert(0, {**leaf, "kind": kind, "value": "false"})

    folder.edit(layout.PROVENANCE, doubled)
    says = (
        "/attempts/0/health is in the provenance twice" if kind == "leaf" else "is a name in the provenance"
    )
    report = folder.refused("tampered", says=says)
    assert not report.is_supported


def test_a_leaf_left_out_is_named(folder: Folder) -> None:
    folder.edit(layout.DOCUMENT, lambda members: members["attempts"].pop())
    folder.refused("figure-differs", says="/attempts/5/failure")


def test_a_key_that_is_there_twice_is_refused(folder: Folder) -> None:
    folder.change(layout.DOCUMENT, b'"health": 200', b'"health": 500, "health": 200', listed=True)
    folder.refused("file-damaged", says="twice")


def test_a_stronger_status_is_refused(folder: Folder) -> None:
    old = b'"operator-observed-incomplete"'
    folder.change(layout.PROVENANCE, old, b'"retained-complete"', listed=True)
    folder.refused("tampered", "not-recomputed", says="provenance.json comes out otherwise", again=True)


def lines(folder: Folder) -> list[Any]:
    return list(decode(folder.read(layout.ENTRIES), folder.read(layout.PROOFS)))


def write_lines(folder: Folder, proved: list[Any]) -> None:
    entries, proofs = encode(proved)
    (folder.path / layout.ENTRIES).write_bytes(entries)
    folder.write(layout.PROOFS, proofs, listed=True)


def of_attempt(proved: list[Any], attempt: str) -> int:
    import base64

    for at, one in enumerate(proved):
        header = json.loads(base64.b64decode(json.loads(one.entry)["payload"]))
        if header["subject"].get("attempt") == attempt:
            return at
    raise AssertionError(attempt)


@pytest.mark.parametrize("attempt", ["vllm-fp8-kv", "sglang-mha", "sglang-moe"])
def test_a_failed_attempt_left_out_is_named(folder: Folder, attempt: str) -> None:
    proved = lines(folder)
    at = of_attempt(proved, attempt)
    gone = proved.pop(at).leaf.hex()
    write_lines(folder, proved)
    report = folder.refused("chain-broken", "unsupported", "tampered", says=gone[:16])
    assert any("an event is missing" in finding.message for finding in report.findings)


def test_a_whole_stream_left_out_is_refused(folder: Folder) -> None:
    import base64

    proved = lines(folder)
    stream = json.loads(
        base64.b64decode(json.loads(proved[of_attempt(proved, "sglang-mha")].entry)["payload"])
    )["stream"]
    kept = [
        one for one in proved if stream.encode() not in base64.b64decode(json.loads(one.entry)["payload"])
    ]
    write_lines(folder, kept)
    folder.refused("unsupported", "tampered", says="which is not here")


def test_the_end_of_a_stream_left_out_is_refused(folder: Folder) -> None:
    proved = lines(folder)
    write_lines(folder, proved[:-1])
    report = folder.refused("tampered")
    assert any(f.code == "stream-open" for f in report.findings)


def test_a_changed_envelope_is_named(folder: Folder) -> None:
    proved = lines(folder)
    at = of_attempt(proved, "sglang-mha")
    swapped = bytearray(proved[at].entry)
    swapped[60] = swapped[60] ^ 1 if chr(swapped[60] ^ 1).isalnum() else ord("A")
    proved[at] = type(proved[at])(proved[at].index, bytes(swapped), proved[at].hashes)
    write_lines(folder, proved)
    report = folder.refused("tampered")
    assert any(f.index == proved[at].index for f in report.findings)


@pytest.mark.parametrize("what", ["another hash", "one too few", "one too many", "another index"])
def test_a_changed_proof_is_named(folder: Folder, what: str) -> None:
    proved = lines(folder)
    one = proved[4]
    hashes = {
        "another hash": (b"\x00" * 32, *one.hashes[1:]),
        "one too few": one.hashes[:-1],
        "one too many": (*one.hashes, b"\x00" * 32),
        "another index": one.hashes,
    }[what]
    if what == "another index":
        proved = proved[:5]
        proved[4] = type(one)(one.index + 1, one.entry, hashes)
    else:
        proved[4] = type(one)(one.index, one.entry, hashes)
    write_lines(folder, proved)
    report = folder.refused("tampered")
    assert any(f.index == proved[4].index and f.code == "tampered" for f in report.findings)


def test_a_swapped_keyring_is_refused(folder: Folder) -> None:
    folder.edit(layout.KEYRING, lambda members: members["keyrings"][0]["keys"].pop())
    folder.refused("unknown-key", "tampered", says="keyring.json is not what the events about keys give")


def test_a_changed_layout_is_refused(folder: Folder) -> None:
    name = "templates/candidate-failure.v1.json.j2"
    folder.change(name, b'"date": {{ date }}', b'"date": {{ hardware }}', listed=True)
    folder.refused("tampered", says="the layout is not what event", again=True)


@pytest.mark.parametrize("member", ["digest", "size", "commitment", "name", "media_type"])
def test_a_changed_artifact_in_the_provenance_is_named(folder: Folder, member: str) -> None:
    def change(members: Any) -> None:
        for leaf in members["leaves"]:
            if leaf["pointer"] == "/attempts/1/failure":
                leaf["artifacts"][0][member] = "0" * 64

    folder.edit(layout.PROVENANCE, change)
    folder.refused("unsupported", says="/attempts/1/failure names an artifact")


@pytest.mark.parametrize("member", ["size", "root", "origin"])
def test_another_state_of_the_ledger_is_refused(folder: Folder, member: str) -> None:
    def change(members: Any) -> None:
        members["fold"][member] = {"size": 15, "root": "0" * 64, "origin": "other.tests.example"}[member]

    folder.edit(layout.MANIFEST, change, listed=False)
    folder.refused()


@pytest.mark.parametrize("member", ["document", "campaign", "candidate", "policy"])
def test_another_description_is_refused(folder: Folder, member: str) -> None:
    value = "sha256:" + "0" * 64 if member == "policy" else "another"
    folder.edit(layout.MANIFEST, lambda members: members.update({member: value}), listed=False)
    folder.refused("tampered")


def test_the_key_of_another_ledger_is_refused(folder: Folder, tmp_path: Path) -> None:
    other = create_ledger(tmp_path / "other", "other.tests.example").verifier_key
    report = folder.verify(key=other)
    assert report.exit_code == 1
    assert "other-ledger" in {f.code for f in report.findings}


def test_a_key_of_the_same_name_is_refused(folder: Folder, tmp_path: Path) -> None:
    stranger = create_ledger(tmp_path / "other", "other.tests.example").verifier_key
    report = folder.verify(key=type(stranger)(folder.key.name, stranger.public_key))
    assert report.exit_code == 1
    assert "other-ledger" in {f.code for f in report.findings}


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"\xff", b'{"schema":"anvil.publication/1"}', b"[" * 5000]
)
def test_a_manifest_that_is_none_is_refused(folder: Folder, content: bytes) -> None:
    (folder.path / layout.MANIFEST).write_bytes(content)
    folder.refused("file-damaged", says="manifest.json")


@pytest.mark.parametrize(
    "path", ["../outside", "/etc/passwd", "a/../../b", ".hidden", "events//entries", "x\n"]
)
def test_a_manifest_that_leads_out_of_the_folder_is_refused(folder: Folder, path: str) -> None:
    folder.edit(layout.MANIFEST, lambda members: members["files"][0].update(path=path), listed=False)
    folder.refused("file-damaged", says="outside the folder")


@pytest.mark.parametrize(
    "name", [layout.DOCUMENT, layout.PROVENANCE, layout.ENTRIES, layout.PROOFS, layout.FOLD, layout.KEYRING]
)
@pytest.mark.parametrize(
    "content", [b"", b"\x00\xff", b"{}", b"[]", b"null", b"[" * 20000, b'{"leaves":[{}]}', b"1 2 3\n"]
)
def test_rubbish_is_a_finding_and_never_an_error(folder: Folder, name: str, content: bytes) -> None:
    folder.write(name, content, listed=True)
    folder.refused(again=True)


@pytest.mark.parametrize("event", [[], {}, 1, None, "0" * 64])
def test_an_artifact_of_nothing_is_named(folder: Folder, event: Any) -> None:
    def change(members: Any) -> None:
        for leaf in members["leaves"]:
            if leaf["artifacts"]:
                leaf["artifacts"][0]["event"] = event

    folder.edit(layout.PROVENANCE, change)
    folder.refused("unsupported", says="names an artifact")


@pytest.mark.parametrize("depth", [200, 900, 5000])
def test_a_document_nested_too_deep_is_a_finding(folder: Folder, depth: int) -> None:
    folder.write(layout.DOCUMENT, b'{"a":' + b"[" * depth + b"]" * depth + b"}", listed=True)
    folder.refused("tampered", again=True)


def test_the_manifest_has_one_spelling(folder: Folder) -> None:
    raw = folder.read(layout.MANIFEST)
    assert Manifest.parse(raw).to_bytes() == raw
    (folder.path / layout.MANIFEST).write_bytes(raw + b"\n")
    folder.refused("file-damaged", says="one spelling")
