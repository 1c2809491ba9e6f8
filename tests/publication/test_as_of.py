"""The same state of the ledger gives the same bytes: later, in another process, locale, time zone and hash seed."""

from __future__ import annotations

import json
import locale
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command import Anvil
from support.laguna import CAMPAIGN, CANDIDATE, Laguna, observation
from support.published_folders import DOCUMENT, vkey

from anvil.ledger.drafts import Draft
from anvil.ledger.header import Subject
from anvil.ledger.publication import layout
from anvil.ledger.publication.verifying import verify_publication
from anvil.ledger.recording import Ledger
from anvil.projections.recomputing import recompute

ENVIRONMENTS = (
    {"LC_ALL": "C", "TZ": "UTC", "PYTHONHASHSEED": "0"},
    {"LC_ALL": "C.UTF-8", "TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "1"},
    {"LC_ALL": "de_DE.UTF-8", "TZ": "America/St_Johns", "PYTHONHASHSEED": "4711"},
    {"LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "random"},
)
"""A locale that is not installed is as good as C, and no worse."""


def released(folder: Path) -> dict[str, bytes]:
    """Return the files that are of the state; those of the event that came after it are proved by it."""
    names = [name for name in layout.present(folder) if name not in layout.NOT_LISTED]
    return {name: (folder / name).read_bytes() for name in names}


def last(made: Laguna) -> int:
    with Ledger.open(made.place.directory) as ledger:
        return ledger.store.size() - 1


def more(made: Laguna) -> None:
    """Record what changes the document."""
    words = observation(2, "operator-observed-incomplete", "It came up at the fourth try, and answered.")
    made.add(Draft(words, Subject(CAMPAIGN, CANDIDATE, "vllm-kv-skip-262k")))


def fresh(made: Laguna, environment: dict[str, str], *arguments: object) -> bytes:
    """Run anvil in a new process."""
    command = [sys.executable, "-c", "from anvil.ledger.cli import main; main()", *map(str, arguments)]
    ran = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout


def test_a_publication_comes_out_again_bit_for_bit(anvil: Anvil, made: Laguna) -> None:
    state = last(made)
    assert anvil("release", DOCUMENT, "--out", "first").code == 0
    more(made)
    assert anvil("release", DOCUMENT, "--out", "later").code == 0
    assert anvil("release", DOCUMENT, "--out", "again", "--as-of", state).code == 0
    first, later, again = (released(Path(name)) for name in ("first", "later", "again"))
    assert again == first
    assert {layout.DOCUMENT, *layout.PAGES.values()} <= {n for n in first if first[n] != later[n]}
    for name in ("first", "again"):
        report = verify_publication(Path(name), vkey(made.place), recompute)
        assert report.exit_code == 0, report.every_finding


def test_it_is_recorded_once(anvil: Anvil, made: Laguna) -> None:
    state = last(made)
    index = anvil("release", DOCUMENT, "--out", "first", "--json").json["index"]
    size = last(made)
    assert anvil("release", DOCUMENT, "--out", "again", "--as-of", state, "--json").json["index"] == index
    assert last(made) == size
    assert (Path("again") / "release" / "entries").read_bytes() == (
        Path("first") / "release" / "entries"
    ).read_bytes()


def test_what_was_withdrawn_does_not_come_back(anvil: Anvil, made: Laguna) -> None:
    state = last(made)
    index = anvil("release", DOCUMENT, "--out", "first", "--json").json["index"]
    assert anvil("withdraw", index, "--reason", "It was wrong.").code == 0
    ran = anvil("release", DOCUMENT, "--out", "again", "--as-of", state)
    assert ran.code == 1
    assert "withdrawn at index" in ran.err
    assert not Path("again").exists()


def test_a_state_that_nobody_asked_for_then_can_be_released(anvil: Anvil, made: Laguna) -> None:
    """No checkpoint was stored between two events of one stream."""
    more(made)
    state = made.observed[-1].index
    assert anvil("release", DOCUMENT, "--out", "then", "--as-of", state).code == 0
    document = json.loads((Path("then") / layout.DOCUMENT).read_bytes())
    assert document["status"] is None  # the decision came after it
    report = verify_publication(Path("then"), vkey(made.place), recompute)
    assert report.exit_code == 0, report.every_finding
    assert report.fold is not None
    assert report.fold.size == state + 1


def test_an_earlier_state_is_not_published_with_what_was_retracted_since(anvil: Anvil, made: Laguna) -> None:
    """The release is signed after the retraction, and the folder would not show it."""
    state = last(made)
    target = made.observed[-1].index
    assert anvil("retract", target, "--reason", "It was another host.").code == 0
    size = last(made)
    ran = anvil("release", DOCUMENT, "--out", "then", "--as-of", state)
    assert ran.code == 1
    assert "which was retracted since" in ran.err
    assert (last(made), Path("then").exists()) == (size, False)
    assert anvil("release", DOCUMENT, "--out", "now").code == 0


@pytest.mark.parametrize("index", ["999", "-1", "soon"])
def test_only_an_entry_has_a_state(anvil: Anvil, index: str) -> None:
    ran = anvil("release", DOCUMENT, "--out", "then", "--as-of", index)
    assert ran.code in (1, 2)
    assert not Path("then").exists()


def test_after_a_rotation_the_earlier_state_shows_the_earlier_key(anvil: Anvil, made: Laguna) -> None:
    state = last(made)
    assert anvil("release", DOCUMENT, "--out", "first").code == 0
    old = vkey(made.place)
    assert anvil("key", "rotate", old.public_key.key_id[:16]).code == 0
    assert anvil("release", DOCUMENT, "--out", "again", "--as-of", state).code == 0
    assert released(Path("again")) == released(Path("first"))
    assert verify_publication(Path("again"), old, recompute).exit_code == 0


@pytest.mark.parametrize("form", ["json", "md", "html"])
def test_a_draft_is_the_same_in_any_surroundings(made: Laguna, form: str) -> None:
    texts = {fresh(made, one, "render", DOCUMENT, "--format", form) for one in ENVIRONMENTS}
    assert len(texts) == 1


def test_a_release_is_the_same_in_any_surroundings(made: Laguna) -> None:
    state = last(made)
    found = []
    for number, environment in enumerate(ENVIRONMENTS):
        fresh(made, environment, "release", DOCUMENT, "--out", f"out-{number}", "--as-of", state)
        found.append(released(Path(f"out-{number}")))
    assert all(one == found[0] for one in found)


@pytest.fixture
def other_locale() -> Iterator[None]:
    before = locale.setlocale(locale.LC_ALL)
    for name in ("de_DE.UTF-8", "C.UTF-8"):
        try:
            locale.setlocale(locale.LC_ALL, name)
            break
        except locale.Error:
            continue
    yield
    locale.setlocale(locale.LC_ALL, before)


@pytest.mark.usefixtures("other_locale")
def test_a_locale_set_in_the_process_changes_nothing(anvil: Anvil, made: Laguna) -> None:
    ran = anvil("render", DOCUMENT)
    assert ran.code == 0, ran.err
    assert ran.out.encode() == fresh(made, ENVIRONMENTS[0], "render", DOCUMENT)
