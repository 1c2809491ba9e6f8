"""`anvil verify` of folders: a key that comes from the folder itself, and a folder that is given as something else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.command import Anvil
from support.laguna import laguna

ORIGIN = "example.com/laguna"
WARNED = "proves nothing about who made it"
OUTSIDE = ("--key", "kept.vkey")


@pytest.fixture
def made(anvil: Anvil) -> Anvil:
    """A ledger, what was exported of it, and a publication; its key was kept outside of each."""
    laguna(Path("anvil-ledger"), ORIGIN)
    assert anvil("export", "tiles").code == 0
    assert anvil("release", "candidate-failure.v1", "--out", "published").code == 0
    assert anvil("checkpoint").code == 0
    Path("kept.checkpoint").write_bytes(Path("tiles/checkpoint").read_bytes())
    shutil.copy("anvil-ledger/log.vkey", "kept.vkey")
    return anvil


FOLDERS = {
    "anvil-ledger": (),
    "tiles": ("--tiles", "tiles", "--checkpoint", "kept.checkpoint"),
    "published": ("--publication", "published"),
}


# --- keys that come along ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_key_from_the_folder_itself_is_no_proof_of_who_made_it(made: Anvil, folder: str) -> None:
    ran = made("verify", *FOLDERS[folder], "--key", f"{folder}/log.vkey")
    assert ran.code == 0, ran.err
    assert f"Warning: the key was read from {folder}" in ran.err
    assert WARNED in ran.err
    assert WARNED not in ran.out
    assert made("verify", *FOLDERS[folder], "--key", f"{folder}/log.vkey", "--json").json["key_from_folder"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_key_from_elsewhere_is_none_of_its_folder(made: Anvil, folder: str) -> None:
    for key in ("kept.vkey", Path("kept.vkey").read_text().strip()):
        ran = made("verify", *FOLDERS[folder], "--key", key)
        assert (ran.code, "Warning" in ran.err) == (0, False)
    report = made("verify", *FOLDERS[folder], *OUTSIDE, "--json").json
    assert report["key_from_folder"] is False


def test_a_way_around_leads_to_the_same_folder(made: Anvil) -> None:
    Path("linked").symlink_to("published")
    Path("link.vkey").symlink_to("published/log.vkey")
    for folder, key in (("linked", "published/log.vkey"), ("published", "link.vkey")):
        assert WARNED in made("verify", "--publication", folder, "--key", key).err
    Path("published/log.vkey").unlink()
    Path("published/log.vkey").symlink_to("../kept.vkey")
    assert WARNED not in made("verify", "--publication", "published", "--key", "published/log.vkey").err


def test_the_key_beside_a_ledger_of_ones_own_is_no_reason_to_warn(made: Anvil) -> None:
    ran = made("verify", "--json")
    assert (ran.code, "Warning" in ran.err, ran.json["key_from_folder"]) == (0, False, False)


def test_a_checkpoint_from_the_folder_itself_anchors_nothing(made: Anvil) -> None:
    ran = made("verify", "--tiles", "tiles", *OUTSIDE, "--checkpoint", "tiles/checkpoint")
    assert "Warning: the checkpoint was read from tiles" in ran.err
    report = made("verify", "--tiles", "tiles", *OUTSIDE, "--checkpoint", "tiles/checkpoint", "--json").json
    assert (report["checkpoint_from_folder"], report["key_from_folder"]) == (True, False)
    kept = made("verify", "--tiles", "tiles", *OUTSIDE, "--checkpoint", "kept.checkpoint", "--json")
    assert (kept.json["checkpoint_from_folder"], "Warning" in kept.err) == (False, False)


# --- folders that are given as something else -------------------------------------------------------------------

SAID = {
    "anvil-ledger": "anvil-ledger is a ledger, which `anvil --ledger anvil-ledger verify` checks",
    "tiles": "tiles holds exported files, which `anvil verify --tiles tiles --key VKEY` checks",
    "published": "published is a publication, which `anvil verify --publication published --key VKEY` checks",
}


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("folder", SAID)
def test_a_folder_is_no_backup_and_it_is_said_how_it_is_verified(made: Anvil, folder: str) -> None:
    ran = made("verify", folder)
    assert (ran.code, ran.out) == (2, "")
    assert f"{folder} is a folder, and FILE is one file that `anvil backup` wrote" in words(ran.err)
    assert SAID[folder] in words(ran.err)


@pytest.mark.parametrize(
    ("arguments", "folder"),
    [
        (("--ledger", "published", "verify"), "published"),
        (("--ledger", "tiles", "verify"), "tiles"),
        (("--ledger", "published", "log"), "published"),
        (("verify", "--publication", "tiles", *OUTSIDE), "tiles"),
        (("verify", "--publication", "anvil-ledger", *OUTSIDE), "anvil-ledger"),
        (("verify", "--tiles", "published", *OUTSIDE), "published"),
        (("verify", "--tiles", "anvil-ledger", *OUTSIDE), "anvil-ledger"),
    ],
)
def test_a_folder_of_another_kind_says_so(made: Anvil, arguments: tuple[str, ...], folder: str) -> None:
    ran = made(*arguments)
    assert (ran.code, ran.out) == (3, "")
    assert SAID[folder] in words(ran.err)


def test_a_folder_of_no_kind_is_told_what_was_expected(made: Anvil) -> None:
    Path("some").mkdir()
    ran = made("verify", "some")
    assert ran.code == 2
    assert "expected ledger.db, manifest.json or a checkpoint in it, found none" in words(ran.err)
    assert "Name the directory with `anvil --ledger DIR" in words(made("--ledger", "some", "verify").err)


def test_a_name_that_a_shell_would_split_is_quoted(made: Anvil) -> None:
    shutil.copytree("tiles", "to be checked")
    assert "anvil verify --tiles 'to be checked' --key VKEY" in words(made("verify", "to be checked").err)
