"""Figures from rows: the rows go along, and whoever has the folder computes the figures again from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.laguna import Laguna, laguna, noon
from support.published_folders import ORIGIN, Folder, at_home, copied
from support.rows_document import measure, publish_rows, rows, rows_document

from anvil.ledger.errors import PublicationRefused
from anvil.ledger.events import LoadMeasured
from anvil.ledger.publication import layout
from anvil.ledger.publication.manifest import Manifest
from anvil.ledger.recording import Ledger
from anvil.ledger.redaction import redact
from anvil.ledger.store import Store
from anvil.projections.seen import Seen, read_events

__all__ = ["rows_document"]

pytestmark = pytest.mark.usefixtures("rows_document")

FIRST, SECOND = rows(12.5, 14.25, 80), rows(13, 15, 17.04)
SECRET = b"what somebody asked, word for word"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    directory = tmp_path_factory.mktemp("rows")
    with at_home(directory), pytest.MonkeyPatch.context() as patch:
        from anvil.projections.document import DOCUMENTS

        patch.setitem(DOCUMENTS, "candidate-failure.v1", "support.rows_document:DOCUMENT")
        made = laguna(directory / "ledger", ORIGIN)
        measure(made, FIRST, SECOND, secret=SECRET)
        return publish_rows(made, directory / "published")


@pytest.fixture
def folder(original: Folder, tmp_path: Path) -> Folder:
    return copied(original, tmp_path / "published")


def place(content: bytes) -> str:
    return layout.artifact(layout.digest(content))


def test_the_rows_go_along_and_the_figures_come_out_again(folder: Folder) -> None:
    assert json.loads(folder.read(layout.DOCUMENT)) == {
        "schema": "rows.test/1",
        "requests": 6,
        "p50_ttft_ms": 14.3,
        "runs": [1, 2],
    }
    assert folder.read(place(FIRST)) == FIRST
    assert folder.read(place(SECOND)) == SECOND
    manifest = Manifest.parse(folder.read(layout.MANIFEST))
    assert [(one.name, one.digest) for one in manifest.artifacts] == [
        ("rows", one.digest) for one in manifest.artifacts
    ]
    assert {one.digest for one in manifest.artifacts} == {layout.digest(FIRST), layout.digest(SECOND)}
    report = folder.verify(again=True)
    assert report.exit_code == 0, report.every_finding
    assert (report.recomputed, report.read_again) == (True, 2)


def test_the_provenance_names_rule_and_rows_of_each_leaf(folder: Folder) -> None:
    leaves = {leaf["pointer"]: leaf for leaf in json.loads(folder.read(layout.PROVENANCE))["leaves"]}
    leaf = leaves["/p50_ttft_ms"]
    assert "nearest_rank_p50" in leaf["rule"]
    rests_on = {artifact["digest"] for artifact in leaf["artifacts"] if artifact["disclosure"] == "public"}
    assert rests_on == {layout.digest(FIRST), layout.digest(SECOND)}


def test_private_artifacts_do_not_go_along(folder: Folder) -> None:
    everything = b"".join(path.read_bytes() for path in folder.path.rglob("*") if path.is_file())
    assert SECRET not in everything
    assert layout.digest(SECRET).encode() not in everything
    assert len(list((folder.path / layout.ARTIFACTS).iterdir())) == 2


# --- a forger ---------------------------------------------------------------------------------------


def test_one_row_changed_is_refused(folder: Folder) -> None:
    folder.change(place(FIRST), b"12500000", b"12400000")
    folder.refused("file-damaged", "artifact-altered", says=place(FIRST), again=True)


def test_one_row_changed_in_the_manifest_too_is_refused(folder: Folder) -> None:
    folder.change(place(FIRST), b"12500000", b"12400000", listed=True)
    report = folder.refused("tampered", "artifact-altered", says=place(FIRST), again=True)
    assert any("is not artifact rows of event" in f.message for f in report.supporting)
    assert report.recomputed is False


def test_rows_under_their_own_digest_are_not_those_that_were_signed(folder: Folder) -> None:
    other = FIRST.replace(b"12500000", b"12400000")
    (folder.path / place(FIRST)).unlink()
    (folder.path / place(other)).write_bytes(other)

    def change(members: Any) -> None:
        for one in members["artifacts"]:
            if one["digest"] == layout.digest(FIRST):
                one["digest"] = layout.digest(other)

    folder.edit(layout.MANIFEST, change, listed=False)
    folder.relist()
    folder.refused("tampered", "unsupported", says="does not go along as it was signed", again=True)


def test_swapped_rows_are_refused(folder: Folder) -> None:
    folder.write(place(FIRST), SECOND, listed=False)
    folder.write(place(SECOND), FIRST, listed=True)
    report = folder.refused("tampered", "artifact-altered", again=True)
    told = [f.message for f in report.supporting if f.code == "artifact-altered"]
    assert {place(FIRST), place(SECOND)} == {message.split()[0] for message in told}


def test_rows_left_out_are_refused(folder: Folder) -> None:
    (folder.path / place(SECOND)).unlink()
    folder.refused("file-damaged", "artifact-altered", says=place(SECOND), again=True)


def without_second(members: Any) -> None:
    members["artifacts"] = [one for one in members["artifacts"] if one["digest"] != layout.digest(SECOND)]


@pytest.mark.parametrize("named", [True, False])
def test_rows_left_out_of_the_manifest_too_are_refused(folder: Folder, named: bool) -> None:
    (folder.path / place(SECOND)).unlink()
    folder.relist()
    if not named:
        folder.edit(layout.MANIFEST, without_second, listed=False)
    report = folder.refused("tampered", again=True)
    says = place(SECOND) if named else "/requests rests on artifact rows of event"
    assert any(says in f.message for f in report.supporting), report.supporting
    assert any("gone or altered" in f.message for f in report.recomputing)


def test_rows_that_were_read_and_are_not_shown_go_along_so_that_all_comes_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anvil.projections.document import DOCUMENTS

    monkeypatch.setitem(DOCUMENTS, "candidate-failure.v1", "support.rows_document:FIRST_ALONE")
    with at_home(tmp_path):
        made = laguna(tmp_path / "ledger", ORIGIN)
        measure(made, FIRST, SECOND, secret=SECRET)
        folder = publish_rows(made, tmp_path / "published")
    assert json.loads(folder.read(layout.DOCUMENT))["runs"] == [1]
    assert folder.read(place(SECOND)) == SECOND
    report = folder.verify(again=True)
    assert report.exit_code == 0, report.every_finding


def test_an_artifact_that_no_event_names_in_the_clear_is_refused(folder: Folder) -> None:
    def invented(members: Any) -> None:
        stray = {**members["artifacts"][0], "name": "record", "digest": layout.digest(SECRET)}
        members["artifacts"] = sorted(
            [*members["artifacts"], stray], key=lambda one: (one["event"], one["name"])
        )

    folder.write(place(SECRET), SECRET, listed=True)
    folder.edit(layout.MANIFEST, invented, listed=False)
    folder.refused("unsupported", "tampered", says="no event here names it in the clear")


def test_rows_that_an_event_says_are_gone_do_not_come_back(tmp_path: Path) -> None:
    """Whoever kept the bytes may put them back; the folder says that they were redacted."""
    with at_home(tmp_path):
        made = with_rows(tmp_path)
        with Ledger.open(made.place.directory, clock=noon) as ledger:
            index = max(row.entry_index for row in ledger.store.of_types(["load.measured/1"]))
            redact(ledger, [index], "Not ours.", artifacts=["rows"])
        folder = publish_rows(made, tmp_path / "published")
        assert folder.verify(again=True).exit_code == 0
        (kept,) = Manifest.parse(folder.read(layout.MANIFEST)).artifacts
        (gone,) = {one.entry_hash for one in _loads(made)} - {kept.event}

    def again(members: Any) -> None:
        back = {
            **members["artifacts"][0],
            "event": gone,
            "digest": layout.digest(SECOND),
            "size": len(SECOND),
        }
        members["artifacts"] = sorted(
            [*members["artifacts"], back], key=lambda one: (one["event"], one["name"])
        )

    folder.write(place(SECOND), SECOND, listed=True)
    folder.edit(layout.MANIFEST, again, listed=False)
    folder.refused("unsupported", "tampered", says="an event here says that it is gone")


def _loads(made: Laguna) -> list[Seen]:
    store = Store.open_readonly(made.place.database)
    try:
        return [seen for seen in read_events(store) if isinstance(seen.event, LoadMeasured)]
    finally:
        store.close()


def test_a_file_that_no_figure_rests_on_is_refused(folder: Folder) -> None:
    stray = place(b"stray")
    folder.write(stray, b"stray", listed=True)
    folder.refused("unsupported", "tampered", says=stray)


def test_one_figure_changed_everywhere_is_told_by_its_pointer(folder: Folder) -> None:
    folder.change(layout.DOCUMENT, b"14.3", b"12.3")
    folder.change(layout.PROVENANCE, b'"14.3"', b'"12.3"')

    def restated(members: Any) -> None:
        members["document"]["digest"] = layout.digest(folder.read(layout.DOCUMENT))

    folder.edit(layout.PROVENANCE, restated)
    report = folder.refused("tampered", "not-recomputed", says="/p50_ttft_ms comes out otherwise", again=True)
    told = next(f for f in report.recomputing if f.message.startswith("/p50"))
    assert (told.expected, told.found) == ('"14.3"', '"12.3"')
    assert not [f for f in report.recomputing if f.message.startswith("/requests")]


def test_a_private_artifact_that_somebody_adds_is_refused(folder: Folder) -> None:
    event = Manifest.parse(folder.read(layout.MANIFEST)).artifacts[0].event
    named = {
        "event": event,
        "name": "record",
        "media_type": "application/octet-stream",
        "digest": layout.digest(SECRET),
        "size": len(SECRET),
    }
    folder.edit(layout.MANIFEST, lambda members: members["artifacts"].insert(0, named), listed=False)
    folder.write(place(SECRET), SECRET, listed=True)
    folder.refused("unsupported", says="artifact record of event")


# --- what cannot be released ------------------------------------------------------------------------


def test_rows_that_are_gone_refuse_the_release(tmp_path: Path) -> None:
    with at_home(tmp_path):
        made = with_rows(tmp_path)
        path = made.place.blobs / "sha256" / layout.digest(FIRST)[7:9] / layout.digest(FIRST)[9:]
        path.unlink()
        with pytest.raises(PublicationRefused, match="gone or altered"):
            publish_rows(made, tmp_path / "published")


def test_a_secret_in_rows_trips(tmp_path: Path) -> None:
    with at_home(tmp_path):
        made = laguna(tmp_path / "ledger", ORIGIN)
        planted = FIRST.replace(
            b'"index": 1', b'"warning": "hf_' + b"AbCdEfGhIjKlMnOpQrStUvWxYz01234567" + b'"'
        )
        measure(made, planted)
        with pytest.raises(PublicationRefused, match=r"artifacts/[0-9a-f]{64}, line 2"):
            publish_rows(made, tmp_path / "published")


def with_rows(directory: Path) -> Laguna:
    made = laguna(directory / "ledger", ORIGIN)
    measure(made, FIRST, SECOND)
    return made
