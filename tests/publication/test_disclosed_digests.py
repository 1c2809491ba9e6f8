"""A publication that prints disclosed digests: each leaf rests on the disclosure and on the commitment that it opens."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from support.fine import events as of
from support.fine.stage import Stage
from support.published_folders import Folder, at_home, copied, vkey

from anvil.ledger.publication import layout
from anvil.ledger.publication.releasing import release
from anvil.ledger.recording import Ledger
from anvil.projections.releasing import Guard, Wanted, prepare

NAME = "qwen38-27b-qualification-summary.v1"
SECTION = "/private_artifact_digests"
OPEN, CLOSED = b'{"answer":"given away"}', b'{"answer":"kept"}'


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A lane with two checks: of one answer the bytes are disclosed, of the other the digest."""
    stage = Stage("mine")
    attempts = [of.attempt("lane", "tiny", settings={"context_tokens": 8192})]
    stage.tell(of.recipe("mine", [of.candidate("tiny", "org/tiny", None, None)], attempts))
    stage.tell(of.launched(None), "tiny", "lane")
    for check, content, extent in (("coding", OPEN, "bytes"), ("responses", CLOSED, "digest")):
        at = stage.tell(of.check(check), "tiny", "lane", artifacts={"r1.response": content})
        stage.disclose(at, "r1.response", "lane", extent=extent)
    directory = tmp_path_factory.mktemp("digests")
    with at_home(directory):
        place = stage.recorded(directory / "ledger", "lanes.tests.example")
        with Ledger.open(place.directory) as ledger:
            what = prepare(place, Wanted(NAME, "mine"), ledger.checkpoint(), Guard())
            signer = ledger.signer("operator")
            release(ledger, signer, what.event, what.subject, what.files, directory / "published")
        return Folder(directory / "published", vkey(place))


@pytest.fixture
def folder(original: Folder, tmp_path: Path) -> Folder:
    return copied(original, tmp_path / "published")


def hexed(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_it_verifies_and_is_made_again_without_the_bytes_that_are_private(folder: Folder) -> None:
    assert folder.read(layout.artifact(layout.digest(OPEN))) == OPEN
    assert len(list((folder.path / layout.ARTIFACTS).iterdir())) == 1
    document = folder.read(layout.DOCUMENT).decode()
    assert hexed(OPEN) in document
    assert hexed(CLOSED) in document
    report = folder.verify(again=True)
    assert report.exit_code == 0, report.every_finding
    assert report.released is not None
    assert (report.released.attempts_shown, report.released.attempts_existing) == (1, 1)
    assert report.recomputed


def of_section(members: Any) -> list[Any]:
    return [leaf for leaf in members["leaves"] if leaf["pointer"].startswith(f"{SECTION}/")]


def test_a_leaf_that_rests_on_the_disclosure_alone_is_refused(folder: Folder) -> None:
    def bare(members: Any) -> None:
        for leaf in of_section(members):
            leaf["artifacts"] = []

    folder.edit(layout.PROVENANCE, bare)
    folder.refused("unsupported", "tampered", says="rests on the disclosure", again=True)


def test_a_leaf_that_rests_on_the_other_artifact_is_refused(folder: Folder) -> None:
    """Both have the same name; each disclosure is of one event."""

    def exchanged(members: Any) -> None:
        leaves = of_section(members)
        held = [leaf["artifacts"] for leaf in leaves]
        events = [leaf["events"] for leaf in leaves]
        for leaf, artifacts, all_events in zip(leaves, held[::-1], events[::-1], strict=True):
            leaf["artifacts"] = artifacts
            leaf["events"] = sorted({*leaf["events"], *all_events})

    folder.edit(layout.PROVENANCE, exchanged)
    folder.refused("unsupported", "tampered", says="rests on the disclosure", again=True)


@pytest.mark.parametrize("content", [OPEN, CLOSED])
def test_another_digest_is_refused(folder: Folder, content: bytes) -> None:
    other = hexed(b"another answer")
    folder.change(layout.DOCUMENT, hexed(content).encode(), other.encode(), listed=True)

    def stated(members: Any) -> None:
        for leaf in of_section(members):
            if leaf["value"] == hexed(content):
                leaf["value"] = other

    folder.edit(layout.PROVENANCE, stated)
    folder.refused("tampered", "unsupported", says="is no digest that was disclosed")
    folder.refused("tampered", "not-recomputed", says=SECTION, again=True)
