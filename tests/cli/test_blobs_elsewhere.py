"""`anvil init --blobs`: artifacts on another disk, which every command finds, and says when it is away."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.command import Anvil

from anvil.ledger.blobs import BlobStore
from anvil.ledger.places import LedgerPlace

STATUS = ("--status", "retained-complete")


@pytest.fixture
def big(anvil: Anvil) -> Path:
    """A folder that stands for another disk."""
    path = Path("big").absolute()
    path.mkdir()
    return path


@pytest.fixture
def parted(anvil: Anvil, big: Path) -> Anvil:
    """A ledger whose artifacts lie there, with one of them."""
    ran = anvil("init", "--origin", "parted.test.invalid", "--blobs", "big", "--json")
    assert ran.code == 0, ran.err
    assert Path(ran.json["blobs"]).parent == big
    Path("engine.log").write_text("boot ok\n")
    assert anvil("observe", "its log", *STATUS, "--attach", "engine.log").code == 0
    return anvil


def kept(big: Path) -> list[Path]:
    return [path for path in big.rglob("*") if path.is_file()]


def test_artifacts_lie_there_alone_and_are_private(parted: Anvil, big: Path) -> None:
    (artifact,) = kept(big)
    assert artifact.read_text() == "boot ok\n"
    assert not [p for p in Path("anvil-ledger").iterdir() if p.is_dir() and not p.is_symlink()]
    assert artifact.stat().st_mode & 0o777 == 0o600
    assert all(path.stat().st_mode & 0o777 == 0o700 for path in big.rglob("*") if path.is_dir())


def test_every_command_that_touches_artifacts_finds_them(parted: Anvil, big: Path) -> None:
    assert parted("verify").code == 0
    assert parted("status", "--disk", "--json").json["disk"]["artifacts"] == 8
    assert (
        parted("backup", "copy.db").err == f"1 artifact is not in it; copy {next(big.iterdir())} as well.\n"
    )
    assert parted("export", "--audit", "export").code == 0
    assert len(list(BlobStore(Path("export") / "blobs").digests())) == 1
    restored = parted("restore", "copy.db", "restored", "--blobs", next(big.iterdir()), "--json")
    assert restored.json["blobs"] == 1
    assert parted("redact", 3, "--reason", "It was private.").code == 0
    assert kept(big) == []
    assert parted("verify").code == 0


def test_a_disk_that_is_away_is_told_and_nothing_is_written_or_deleted(parted: Anvil, big: Path) -> None:
    away = big.rename("away")
    for arguments in (
        ("verify",),
        ("observe", "x", *STATUS, "--attach", "engine.log"),
        ("redact", 3, "--reason", "It was private."),
        ("export", "--audit", "export"),
        ("backup", "copy.db"),
        ("run", "--recover"),
        ("status", "--disk"),
    ):
        ran = parted(*arguments)
        assert ran.code == 3, (arguments, ran.err)
        assert f"they lie at {big}" in ran.err
        assert "Mount that disk" in ran.err
    assert not big.exists()
    assert parted("log").code == 0  # what needs no artifact works
    away.rename(big)
    assert parted("verify").code == 0
    assert parted("log", "--json").json["size"] == 5


def test_a_disk_that_is_lost_is_replaced_by_an_empty_folder(parted: Anvil, big: Path) -> None:
    shutil.rmtree(big)
    Path("anvil-ledger/blobs").readlink().mkdir(parents=True)
    ran = parted("verify")
    assert ran.code == 1
    assert "artifact-missing" in ran.out


def test_a_store_can_be_moved_later_with_ordinary_tools(ledger: Anvil) -> None:
    Path("engine.log").write_text("boot ok\n")
    assert ledger("observe", "its log", *STATUS, "--attach", "engine.log").code == 0
    shutil.move("anvil-ledger/blobs", "moved")
    assert ledger("verify").code == 1
    Path("anvil-ledger/blobs").symlink_to(Path("moved").absolute())
    assert ledger("verify").code == 0


def test_two_ledgers_on_one_disk_have_folders_of_their_own(anvil: Anvil, big: Path) -> None:
    for name in ("a", "b"):
        assert anvil("init", name, "--origin", "x.test.invalid", "--blobs", big).code == 0
    assert len(list(big.iterdir())) == 2
    assert LedgerPlace(Path("a")).blobs.resolve() != LedgerPlace(Path("b")).blobs.resolve()


def test_a_folder_that_is_not_there_makes_no_ledger(anvil: Anvil) -> None:
    ran = anvil("init", "--origin", "x.test.invalid", "--blobs", "no/such")
    assert ran.code == 1
    assert "there is no such folder" in ran.err
    assert list(Path().iterdir()) == []


def test_a_ledger_that_cannot_be_made_leaves_nothing_there(
    anvil: Anvil, big: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("keys").write_text("no folder")
    monkeypatch.setenv("ANVIL_KEYS", str(Path("keys").absolute()))
    assert anvil("init", "--origin", "x.test.invalid", "--blobs", big).code == 1
    assert list(big.iterdir()) == []
    monkeypatch.delenv("ANVIL_KEYS")
    monkeypatch.setattr("anvil.ledger.creation.write_whole", _refuses)
    assert anvil("init", "--origin", "x.test.invalid", "--blobs", big).code == 1
    assert list(big.iterdir()) == []


def _refuses(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_site_file_has_no_word_in_it(anvil: Anvil) -> None:
    """`anvil verify` reads no site file; where the artifacts lie is the ledger's own."""
    Path("anvil-site.toml").write_text('blobs = "/big"\n')
    ran = anvil("recipe", "show", "quickstart", "--site", "anvil-site.toml")
    assert ran.code == 1
    assert "unknown key `blobs`" in ran.err
