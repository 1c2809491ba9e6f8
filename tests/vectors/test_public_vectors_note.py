"""golang.org/x/mod sumdb/note, the C2SP examples, and checkpoints of Sunlight and Rekor as found.

The last two carry signatures of types that we do not read (timestamped cosignatures and a Rekor key):
they must be kept and not judged, since clients must ignore unknown signatures.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from anvil.ledger import tiles
from anvil.ledger.checkpoint import Checkpoint, open_checkpoint
from anvil.ledger.errors import MalformedKey, MalformedNote, SignatureInvalid
from anvil.ledger.note import SignedNote, VerifierKey, open_note, sign_note
from anvil.ledger.signing import PrivateKey

pytestmark = pytest.mark.needs("vectors")

REFUSALS: dict[str, type[Exception]] = {
    "malformed note": MalformedNote,
    "invalid signature": SignatureInvalid,
    "note has no verifiable signatures": SignatureInvalid,
}


def load(path: Path) -> Any:
    return json.loads(path.read_bytes())


def signer_of(skey: str) -> tuple[str, PrivateKey]:
    """Return name and key of a signer key in the text form of sumdb/note, which anvil does not use."""
    name, _, encoded = skey.removeprefix("PRIVATE+KEY+").split("+", 2)
    return name, PrivateKey.from_seed(base64.b64decode(encoded)[1:])


# --- golang.org/x/mod sumdb/note -----------------------------------------------------------------------


def test_sumdb_signed_note_is_reproduced(vectors: Path) -> None:
    cases = load(vectors / "sumdb-note" / "note_vectors.json")["sign"]
    for case in cases:
        assert sign_note(case["text"], [signer_of(case["skey"])]).decode() == case["want"]
    assert len(cases) == 1


def test_sumdb_notes_open_or_are_refused(vectors: Path) -> None:
    cases = load(vectors / "sumdb-note" / "note_vectors.json")["open"]
    for case in cases:
        raw = base64.b64decode(case["note_b64"]) if "note_b64" in case else case["note"].encode()
        keys = [VerifierKey.parse(vkey) for vkey in case["vkeys"]]
        if case["ok"]:
            note, signed_by = open_note(raw, keys)
            assert [key.name for key in signed_by] == case["verified"]
            names = dict.fromkeys(signature.name for signature in note.signatures)
            assert [name for name in names if name not in case["verified"]] == case["unverified"]
        else:
            with pytest.raises(REFUSALS[case["error"]]):
                open_note(raw, keys)
    assert len(cases) == 13


def test_sumdb_bad_verifier_keys_are_refused(vectors: Path) -> None:
    bad = load(vectors / "sumdb-note" / "note_vectors.json")["bad_vkeys"]
    for vkey in bad:
        with pytest.raises(MalformedKey):
            VerifierKey.parse(vkey)
    assert len(bad) == 2


# --- C2SP ------------------------------------------------------------------------------------------------


def test_c2sp_note(vectors: Path) -> None:
    example = load(vectors / "c2sp-spec" / "examples.json")["note"]
    key = VerifierKey.parse(example["vkey"])
    assert str(key) == example["vkey"]
    note, signed_by = open_note(example["note"].encode(), [key])
    assert signed_by == (key,)
    assert note.text == "This is an example message.\n"


def test_c2sp_tile_paths_and_geometry(vectors: Path) -> None:
    examples = load(vectors / "c2sp-spec" / "examples.json")
    for example in examples["tile_paths"]:
        assert tiles.tile_path(0, example["index"]) == f"tile/0/{example['path']}"
    for size, name in ((70_000, "tree_70000"), (256, "tree_256")):
        geometry: dict[str, int] = {}
        for level, _, width in tiles.layout(size):
            if width == tiles.TILE_WIDTH:
                geometry[f"full_l{level}"] = geometry.get(f"full_l{level}", 0) + 1
            else:
                geometry[f"partial_l{level}"] = width
        assert geometry == examples[name]


# --- signatures of types that we do not read ------------------------------------------------------------


def test_sunlight_checkpoint_with_a_cosignature(vectors: Path) -> None:
    raw = (vectors / "sunlight-skylight" / "mirror-cosigned.checkpoint").read_bytes()
    note = SignedNote.parse(raw)
    assert note.to_bytes() == raw
    assert Checkpoint.parse_body(note.text).size == 300
    assert [(line.name, len(line.signature)) for line in note.signatures] == [("mirror.example.org", 72)]
    (vkey,) = load(vectors / "sunlight-skylight" / "mirror.v0.json")["verifier_keys"]
    with pytest.raises(MalformedKey, match="type 0x04, expected Ed25519"):
        VerifierKey.parse(vkey)
    # An Ed25519 key under the same name does not make the cosignature a bad signature: its key id differs.
    namesake = VerifierKey("mirror.example.org", PrivateKey.from_seed(bytes(32)).public_key)
    with pytest.raises(SignatureInvalid, match="none of the known keys"):
        open_checkpoint(raw, [namesake])


def test_rekor_checkpoint_with_three_witnesses(vectors: Path) -> None:
    bundle = load(vectors / "rekor-v2-bundle" / "a.dsse.staging-rekor-v2.txt.sigstore.json")
    (entry,) = bundle["verificationMaterial"]["tlogEntries"]
    raw = entry["inclusionProof"]["checkpoint"]["envelope"].encode()
    note = SignedNote.parse(raw)
    checkpoint = Checkpoint.parse_body(note.text)
    assert note.to_bytes() == raw
    assert len(note.signatures) == 4
    assert (checkpoint.origin, checkpoint.size) == ("log2025-alpha3.rekor.sigstage.dev", 4_026_479)
    assert checkpoint.root == base64.b64decode(entry["inclusionProof"]["rootHash"])
