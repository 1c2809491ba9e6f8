"""Saturation of whole releases: every place that is not public holds a canary of its own, and none leaves.

`support.saturated` records every event type and fails when there is one that it has no place for. Here each kind
of document is rendered and released, and every byte of the folders is looked through: files as they are, events
with their payload decoded, and each canary in every spelling that the formats know.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from support.command import run_here
from support.published_folders import at_home
from support.saturated import ATTEMPT, BY_THE_LEDGER, CAMPAIGN, CANDIDATE, Saturated, saturated

from anvil.ledger.events import CATALOGUE
from anvil.ledger.places import LedgerPlace
from anvil.ledger.publication import layout
from anvil.ledger.store import Store
from anvil.projections.document import DOCUMENTS, find

LABEL = f"withheld-of-{ATTEMPT}"


def canary(where: str) -> str:
    """A value that no file can hold by chance, with a character that every format spells otherwise."""
    return f"canary-{hashlib.sha256(where.encode()).hexdigest()[:20]} zürich’s “{where}” <b>"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Saturated]:
    directory = tmp_path_factory.mktemp("saturated")
    with at_home(directory):
        yield saturated(directory / "anvil-ledger", canary, lambda where: f"withheld-{where}")


@pytest.fixture
def home(made: Saturated) -> Path:
    """Nothing of this test's own: the keys are those of the ledger that was made once."""
    return made.place.directory.parent


def spellings(value: str) -> Iterator[bytes]:
    core = value.split(" ")[0]
    for text in (value, core, core.removeprefix("canary-")):
        raw = text.encode()
        yield raw
        yield quote(text).encode()
        yield html.escape(text).encode()
        yield json.dumps(text)[1:-1].encode()
        yield raw.hex().encode()
        for shift in range(3):  # base64 at each of the three places where it can begin
            coded = base64.b64encode(b"\0" * shift + raw).rstrip(b"=")
            yield coded[4:-2] if shift else coded[:-2]


def private(made: Saturated) -> dict[str, bytes]:
    """Every byte string that must not leave: values in every spelling, salts, digests of private artifacts."""
    found = {}
    for where, value in made.values.items():
        for at, spelled in enumerate(spellings(value)):
            found[f"{where} ({at})"] = spelled
        if where.endswith(" artifact"):
            digest = hashlib.sha256(value.encode())
            found[f"digest of {where}"] = digest.hexdigest().encode()
            found[f"digest of {where}, in base64"] = base64.b64encode(digest.digest())
    store = Store.open_readonly(made.place.database)
    try:
        for commitment, opening in store.openings():
            found[f"salt of {commitment}"] = opening.salt
            found[f"salt of {commitment}, in hex"] = opening.salt.hex().encode()
            found[f"salt of {commitment}, in base64"] = base64.b64encode(opening.salt)
    finally:
        store.close()
    return found


def payloads(entries: bytes) -> Iterator[bytes]:
    for line in entries.splitlines():
        yield base64.b64decode(json.loads(line)["payload"])


def require_clean(what: str, content: bytes, secrets: dict[str, bytes]) -> None:
    leaked = [where for where, secret in secrets.items() if secret in content]
    assert not leaked, (what, leaked[:5])


def test_every_type_has_its_place(made: Saturated) -> None:
    by_the_ledger = {name for name in CATALOGUE if name.partition("/")[0] in BY_THE_LEDGER}
    assert made.recorded | by_the_ledger == set(CATALOGUE)
    for name in made.recorded:
        for field in CATALOGUE[name].sealed_fields:
            assert f"{name} {field}" in made.values
        assert f"{name} artifact" in made.values
    assert len(set(made.values.values())) == len(made.values) > 40


def test_the_canaries_are_in_the_ledger_and_are_found(made: Saturated) -> None:
    """The search finds what is there: else finding nothing would prove nothing."""
    secrets = private(made)
    kept = b"".join(path.read_bytes() for path in made.place.blobs.rglob("*") if path.is_file())
    database = made.place.database.read_bytes() + kept
    for wal in made.place.directory.glob("*-wal"):
        database += wal.read_bytes()
    for where in made.values:
        if not where.endswith(" artifact"):
            assert secrets[f"{where} (0)"] in database, where
        else:
            assert secrets[f"{where} (0)"] in kept, where


@pytest.mark.parametrize("name", DOCUMENTS)
def test_nothing_private_is_rendered(
    made: Saturated, home: Path, name: str, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    secrets = private(made)
    for form in ("json", "md", "html"):
        sidecar = tmp_path / f"{form}.json"
        ran = run_here(
            capfdbinary, *at(made), "render", *which(name), "--format", form, "--provenance", sidecar
        )
        assert ran.code == 0, ran.err
        require_clean(f"{name} {form}", ran.out.encode() + ran.err.encode(), secrets)
        require_clean(f"{name} provenance", sidecar.read_bytes(), secrets)
        assert LABEL not in ran.out
        assert LABEL not in sidecar.read_text()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_nothing_private_is_released(
    made: Saturated, home: Path, name: str, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    folder = tmp_path / "published"
    ran = run_here(capfdbinary, *at(made), "release", *which(name), "--out", folder)
    assert ran.code == 0, ran.err
    verified = run_here(
        capfdbinary,
        "verify",
        "--publication",
        folder,
        "--key",
        LedgerPlace(made.place.directory).verifier_key,
    )
    assert verified.code == 0, verified.out
    secrets = private(made)
    paths = [path for path in folder.rglob("*") if path.is_file()]
    assert {layout.DOCUMENT, *layout.PAGES.values()} <= {p.relative_to(folder).as_posix() for p in paths}
    for path in paths:
        require_clean(str(path), path.read_bytes(), secrets)
        require_clean(f"name of {path}", path.relative_to(folder).as_posix().encode(), secrets)
        if path.name == "entries":
            for payload in payloads(path.read_bytes()):
                require_clean(f"an event of {path}", payload, secrets)


def at(made: Saturated) -> tuple[str, str]:
    return "--ledger", str(made.place.directory)


def which(name: str) -> tuple[str, ...]:
    candidate = ("--candidate", CANDIDATE) if find(name).is_of_one_candidate else ()
    return name, "--campaign", CAMPAIGN, *candidate
