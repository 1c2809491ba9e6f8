"""Disclosed artifacts in publications: whose bytes go along, and what a forger can do about it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command import Anvil
from support.laguna import LOGS, Laguna, about, laguna, noon, observation
from support.ledgers import ATTACKER, forge, header_in
from support.logs import tree_reader
from support.published_folders import DOCUMENT, ORIGIN, Folder, at_home, copied, publish, size, vkey

from anvil.ledger.checkpoint import Checkpoint
from anvil.ledger.disclosure import Extent, disclose, find
from anvil.ledger.drafts import Attachment, Draft
from anvil.ledger.events import ArtifactDisclosed, Event, StreamClosed, StreamOpened
from anvil.ledger.merkle import inclusion_proof, leaf_hash
from anvil.ledger.public import Role
from anvil.ledger.publication import layout
from anvil.ledger.publication.entrychecks import Checked, check_entries
from anvil.ledger.publication.evidence import Proved, decode, encode
from anvil.ledger.publication.manifest import Manifest
from anvil.ledger.recording import Ledger
from anvil.ledger.signing import Signer
from anvil.ledger.store import Store
from anvil.ledger.tiledtree import TiledTree

BYTES, BARE = LOGS[1], LOGS[5]
"""The log whose bytes are disclosed, and the one of which only the digest is."""

AS = ("--key", "anvil-ledger/log.vkey", "--json")


def place(content: bytes) -> str:
    return layout.artifact(layout.digest(content))


def disclosed(made: Laguna, attempt: int, extent: Extent) -> str:
    """Disclose the log of an attempt; return the entry hash of the event."""
    with Ledger.open(made.place.directory, clock=noon) as ledger:
        found = find(ledger, made.observed[attempt].entry_hash, "log", extent)
        return disclose(ledger, found, "It names nobody.").entry_hash


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Laguna, Folder]:
    directory = tmp_path_factory.mktemp("disclosed")
    with at_home(directory):
        made = laguna(directory / "ledger", ORIGIN)
        disclosed(made, 1, "bytes")
        disclosed(made, 5, "digest")
        publish(made, directory / "published")
        return made, Folder(directory / "published", vkey(made.place))


@pytest.fixture
def folder(whole: tuple[Laguna, Folder], tmp_path: Path) -> Folder:
    return copied(whole[1], tmp_path / "published")


def everything(folder: Folder) -> bytes:
    return b"".join(path.read_bytes() for path in folder.path.rglob("*") if path.is_file())


# --- what goes along --------------------------------------------------------------------------------------------


def test_disclosed_bytes_go_along_and_all_of_it_verifies(folder: Folder) -> None:
    assert folder.read(place(BYTES)) == BYTES
    manifest = Manifest.parse(folder.read(layout.MANIFEST))
    assert [(one.name, one.digest, one.size) for one in manifest.artifacts] == [
        ("log", layout.digest(BYTES), len(BYTES))
    ]
    report = folder.verify(again=True)
    assert report.exit_code == 0, report.every_finding
    assert (report.recomputed, report.read_again) == (True, 1)
    assert any(
        "private artifacts behind its figures are not at hand: 1" in f.message for f in report.recomputing
    )


def test_bytes_of_which_only_the_digest_was_disclosed_do_not(folder: Folder) -> None:
    assert BARE not in everything(folder)
    assert len(list((folder.path / layout.ARTIFACTS).iterdir())) == 1
    report = json.loads(folder.read(layout.REDACTIONS))
    told = {
        entry["rule"]: entry["count"] for entry in report["in_all_events"] if "artifact" in entry["class"]
    }
    assert told == {"private: its digest was disclosed, and its bytes not": 1}


def test_before_a_disclosure_nothing_of_it_is_there(folder: Folder, tmp_path: Path) -> None:
    with at_home(tmp_path):
        made = laguna(tmp_path / "ledger", ORIGIN)
        publish(made, tmp_path / "earlier")
        earlier = Folder(tmp_path / "earlier", vkey(made.place))
    assert BYTES not in everything(earlier)
    assert hashlib.sha256(BYTES).hexdigest().encode() not in everything(earlier)
    assert earlier.verify(again=True).exit_code == 0


def test_an_earlier_state_is_released_as_it_was(anvil: Anvil, made: Laguna) -> None:
    before = size(made) - 1
    assert anvil("release", DOCUMENT, "--out", "first").code == 0
    disclosed(made, 1, "bytes")
    assert anvil("release", DOCUMENT, "--out", "again", "--as-of", before).code == 0
    same = [Path(folder) / layout.MANIFEST for folder in ("first", "again")]
    assert same[0].read_bytes() == same[1].read_bytes()
    assert anvil("release", DOCUMENT, "--out", "now").code == 0
    assert (Path("now") / place(BYTES)).read_bytes() == BYTES
    assert anvil("verify", "--publication", "now", *AS).code == 0


def test_the_tripwire_looks_at_them_again(anvil: Anvil, made: Laguna) -> None:
    """What passed with an exception passes no longer when that has expired or was taken back."""
    content = b"library 10.20.30.40 loaded\n"
    with Ledger.open(made.place.directory, clock=noon) as ledger:
        log = Attachment("log", "text/plain", ledger.blobs.put(content))
    said = observation(1, "retained-bounded-log", "Once more.", supported=("words",))
    (one,) = made.add(Draft(said, about(1), (log,)))
    excepted = anvil(
        "except", "ipv4", "10.20.30.40", "--reason", "A version.", "--expires", "2999-01-01", "--json"
    )
    assert anvil("disclose", one.index, "log", "--yes").code == 0
    ran = anvil("release", DOCUMENT, "--out", "first", "--json")
    assert ran.code == 0, ran.err
    released = anvil("show", ran.json["index"], "--json").json["header"]["facts"]
    assert released["exceptions"] == [excepted.json["entry_hash"]]
    assert anvil("retract", excepted.json["index"], "--reason", "It is an address.").code == 0
    refused = anvil("release", DOCUMENT, "--out", "second")
    assert (refused.code, "ipv4 at artifacts/" in refused.err) == (1, True)


def test_a_redaction_afterwards_takes_them_out_of_what_is_released_then(anvil: Anvil, made: Laguna) -> None:
    disclosed(made, 1, "bytes")
    assert anvil("release", DOCUMENT, "--out", "first").code == 0
    at = size(made) - 1
    ran = anvil("redact", made.observed[1].index, "--reason", "It named a customer.")
    assert (ran.code, "whoever has the bytes keeps them" in ran.err) == (0, True)
    assert anvil("verify", "--publication", "first", *AS).code == 0
    assert anvil("release", DOCUMENT, "--out", "second").code == 0
    assert not (Path("second") / layout.ARTIFACTS).exists()
    assert anvil("verify", "--publication", "second", *AS).code == 0
    refused = anvil("release", DOCUMENT, "--out", "third", "--as-of", at)
    assert (refused.code, "gone" in refused.err) == (1, True)


def test_a_withdrawn_publication_with_disclosed_bytes_still_verifies(anvil: Anvil, made: Laguna) -> None:
    disclosed(made, 1, "bytes")
    index = anvil("release", DOCUMENT, "--out", "published", "--json").json["index"]
    assert anvil("withdraw", index, "--reason", "It was wrong.", "--folder", "published").code == 0
    ran = anvil("verify", "--publication", "published", *AS)
    assert (ran.code, ran.json["withdrawn"]) == (0, "It was wrong.")


def test_what_a_key_disclosed_that_was_revoked_since_is_not_released_with_an_earlier_state(
    anvil: Anvil, made: Laguna
) -> None:
    """A thief disclosed it: the state of then would still hand the bytes out."""
    last_good = size(made)
    owner = anvil("key", "list", "--json").json["keys"]
    thief = next(key["key"] for key in owner if key["role"] == "operator")
    disclosed(made, 1, "bytes")
    at = size(made) - 1
    assert anvil("key", "new", "operator").code == 0
    assert anvil("key", "revoke", thief, "--cause", "compromised", "--last-good", last_good).code == 0
    refused = anvil("release", DOCUMENT, "--out", "then", "--as-of", at)
    assert (refused.code, "whose key was revoked since" in refused.err) == (1, True)
    ran = anvil("release", DOCUMENT, "--out", "now")
    assert ran.code == 0, ran.err
    assert not (Path("now") / layout.ARTIFACTS).exists()
    assert anvil("verify", "--publication", "now", *AS).code == 0


def test_why_says_who_may_have_them(anvil: Anvil, made: Laguna) -> None:
    disclosed(made, 1, "bytes")
    disclosed(made, 5, "digest")
    Path("draft.json").write_text(anvil("render", DOCUMENT).out)
    found = {
        artifact["event"]: artifact["disclosure"]
        for attempt in (1, 5)
        for artifact in anvil("why", "draft.json", f"/attempts/{attempt}/evidence_status", "--json").json[
            "artifacts"
        ]
    }
    assert found == {
        made.observed[1].entry_hash: "disclosed",
        made.observed[5].entry_hash: "private, its digest disclosed",
    }


# --- a forger: whoever passes a folder on -------------------------------------------------------------------------


def test_changed_bytes_are_refused(folder: Folder) -> None:
    folder.change(place(BYTES), b"CUDA", b"cuda", listed=True)
    folder.refused("tampered", "artifact-altered", says=place(BYTES), again=True)


def renamed(folder: Folder, content: bytes) -> None:
    """Put other bytes in their place, under their own digest, in the manifest too."""
    (folder.path / place(BYTES)).unlink()
    (folder.path / place(content)).write_bytes(content)

    def change(members: Any) -> None:
        members["artifacts"][0].update(digest=layout.digest(content), size=len(content))

    folder.edit(layout.MANIFEST, change, listed=False)
    folder.relist()


@pytest.mark.parametrize("content", [b"another log\n", BARE], ids=["made up", "of another event"])
def test_bytes_under_another_digest_are_not_those_that_were_disclosed(folder: Folder, content: bytes) -> None:
    renamed(folder, content)
    folder.refused("tampered", "unsupported", says="does not go along as it was signed", again=True)


@pytest.mark.parametrize("is_named", [True, False])
def test_bytes_left_out_are_refused(folder: Folder, is_named: bool) -> None:
    (folder.path / place(BYTES)).unlink()
    folder.relist()
    if not is_named:
        folder.edit(layout.MANIFEST, lambda members: members.update(artifacts=[]), listed=False)
    folder.refused(
        "tampered", again=True, says=place(BYTES) if is_named else "does not go along as it was signed"
    )


def test_bytes_of_which_only_the_digest_was_disclosed_must_not_be_put_in(
    folder: Folder, whole: tuple[Laguna, Folder]
) -> None:
    """Whoever has them by another way makes a publication of ours of it."""
    one = {
        "event": whole[0].observed[5].entry_hash,
        "name": "log",
        "media_type": "text/plain",
        "digest": layout.digest(BARE),
        "size": len(BARE),
    }
    (folder.path / place(BARE)).write_bytes(BARE)

    def change(members: Any) -> None:
        members["artifacts"] = sorted([*members["artifacts"], one], key=lambda each: each["event"])

    folder.edit(layout.MANIFEST, change, listed=False)
    folder.relist()
    folder.refused("tampered", "unsupported", says="no event here names it in the clear")


@pytest.mark.parametrize("name", ["../../log", "lоg", "LOG", "log/", "", "a\u202eb"])
def test_an_artifact_of_a_strange_name_is_refused(folder: Folder, name: str) -> None:
    folder.edit(layout.MANIFEST, lambda members: members["artifacts"][0].update(name=name), listed=False)
    folder.refused("file-damaged", says="manifest.json")


def test_one_name_for_another_event_is_refused(folder: Folder, whole: tuple[Laguna, Folder]) -> None:
    """The disclosed bytes, said to be those of another event's artifact of the same name."""
    other = whole[0].observed[5].entry_hash
    folder.edit(layout.MANIFEST, lambda members: members["artifacts"][0].update(event=other), listed=False)
    folder.refused("tampered", "unsupported", says="no event here names it in the clear")


def test_a_disclosure_left_out_is_missed(folder: Folder) -> None:
    proved = decode(folder.read(layout.ENTRIES), folder.read(layout.PROOFS))
    streams = {
        header_in(one.entry).stream for one in proved if "artifact.disclosed" in header_in(one.entry).event
    }
    entries, proofs = encode([one for one in proved if header_in(one.entry).stream not in streams])
    folder.write(layout.ENTRIES, entries, listed=False)
    folder.write(layout.PROOFS, proofs, listed=True)
    folder.refused("tampered", "unsupported", says="no event here names it in the clear", again=True)


def test_a_keyring_of_somebody_else_is_refused(folder: Folder) -> None:
    folder.edit(layout.KEYRING, lambda members: members["keyrings"][0]["keys"].pop())
    folder.refused("unknown-key", "tampered", says=layout.KEYRING)


# --- an operator who signs something wrong, in a ledger of their own ------------------------------------------------

Wrong = Callable[[Laguna, ArtifactDisclosed], dict[str, Any]]

WRONG: dict[str, Wrong] = {
    "another digest": lambda made, true: {"digest": layout.digest(b"another log\n")},
    "another size": lambda made, true: {"size": true.size + 1},
    "another salt": lambda made, true: {"salt": "0" * 64},
    "the artifact of another event": lambda made, true: {"target": made.observed[5].entry_hash},
}


def true_event(made: Laguna) -> ArtifactDisclosed:
    """Return the truth about the log of attempt 1."""
    with Ledger.open(made.place.directory, clock=noon) as ledger:
        found = find(ledger, made.observed[1].entry_hash, "log", "bytes")
    return ArtifactDisclosed(
        target=found.cited.entry_hash,
        artifact="log",
        extent="bytes",
        digest=found.blob.digest,
        size=found.blob.size,
        salt=found.opening.salt.hex(),
        reason=None,
        exceptions=(),
    )


def recorded(made: Laguna, event: ArtifactDisclosed) -> None:
    """Record it as the owner of the key could, with a program of their own."""
    made.add(Draft(event, about()))


@pytest.mark.parametrize("wrong", WRONG)
def test_a_false_disclosure_is_not_released(anvil: Anvil, made: Laguna, wrong: str) -> None:
    true = true_event(made)
    recorded(made, true.model_copy(update=WRONG[wrong](made, true)))
    ran = anvil("release", DOCUMENT, "--out", "published")
    assert (ran.code, "the events would not verify: sealed-altered" in ran.err) == (1, True), ran.err
    assert not Path("published").exists()


def test_of_two_that_disagree_the_one_that_opens_nothing_is_named(anvil: Anvil, made: Laguna) -> None:
    true = true_event(made)
    recorded(made, true)
    recorded(made, true.model_copy(update={"digest": layout.digest(b"another log\n")}))
    wrong = size(made) - 2
    ran = anvil("release", DOCUMENT, "--out", "published")
    assert (ran.code, f"sealed-altered at index {wrong}" in ran.err) == (1, True), ran.err
    report = anvil("verify", "--json")
    assert (report.code, [(f["code"], f["index"]) for f in report.json["findings"]]) == (
        1,
        [("sealed-altered", wrong)],
    )


def test_one_of_a_name_that_is_not_there_changes_nothing(anvil: Anvil, made: Laguna) -> None:
    recorded(made, true_event(made).model_copy(update={"artifact": "other"}))
    assert anvil("release", DOCUMENT, "--out", "published").code == 0
    assert not (Path("published") / layout.ARTIFACTS).exists()
    assert anvil("verify", "--publication", "published", *AS).code == 0
    assert "dangling-reference" in {f["code"] for f in anvil("verify", "--json").json["findings"]}


# --- a folder whose events somebody wrote by hand ---------------------------------------------------------------------


def continued(made: Laguna, signer: Signer, *events: Event) -> tuple[Checked, int]:
    """Check the ledger's entries and one more stream, signed by `signer`, as a folder of them is checked.

    The index of the first of `events` comes with it.
    """
    store = Store.open_readonly(made.place.database)
    try:
        entries = [row.entry for row in store.rows(0, store.size())]
    finally:
        store.close()
    origin, first = header_in(entries[0]).ledger, len(entries) + 1
    entries.append(
        forge(origin, StreamOpened(purpose="publication", synthetic=False, software="0.1.0"), signer)
    )
    for event in (*events, StreamClosed(outcome="completed", reason=None)):
        entries.append(forge(origin, event, signer, after=header_in(entries[-1])))
    leaves = [leaf_hash(entry) for entry in entries]
    tree = TiledTree()
    tree.extend(leaves)
    read, count = tree_reader(leaves), len(entries)
    proved = [Proved(at, entry, tuple(inclusion_proof(at, count, read))) for at, entry in enumerate(entries)]
    return check_entries(origin, proved, Checkpoint(origin, tree.size, tree.root())), first


def signer_of(made: Laguna, role: Role) -> Signer:
    with Ledger.open(made.place.directory, clock=noon) as ledger:
        return ledger.signer(role)


@pytest.mark.parametrize("wrong", WRONG)
def test_a_false_disclosure_in_a_folder_is_named_and_counts_for_nothing(made: Laguna, wrong: str) -> None:
    true = true_event(made)
    false = true.model_copy(update=WRONG[wrong](made, true))
    checked, at = continued(made, signer_of(made, "operator"), false)
    assert [(f.code, f.index) for f in checked.findings] == [("sealed-altered", at)]
    assert checked.disclosures() == {}


def test_beside_a_false_one_the_true_one_counts(made: Laguna) -> None:
    true = true_event(made)
    false = true.model_copy(update={"digest": layout.digest(b"another log\n")})
    checked, at = continued(made, signer_of(made, "operator"), false, true)
    assert [(f.code, f.index) for f in checked.findings] == [("sealed-altered", at)]
    assert [(found.index, found.event) for found in checked.disclosures().values()] == [(at + 1, true)]


def test_one_by_a_collector_s_key_counts_for_nothing(made: Laguna) -> None:
    """`Ledger.append` refuses it; a ledger that somebody wrote by hand holds it all the same."""
    checked, at = continued(made, signer_of(made, "collector"), true_event(made))
    assert {(f.code, f.index) for f in checked.findings} == {("not-permitted", at)}
    assert checked.disclosures() == {}


def test_one_by_a_stranger_s_key_counts_for_nothing(made: Laguna) -> None:
    checked, at = continued(made, ATTACKER, true_event(made))
    assert ("unknown-key", at) in {(f.code, f.index) for f in checked.findings}
    assert checked.disclosures() == {}
