"""The files of external suites that a recipe names, read once, beside the recipe.

1. A file is named by its path relative to the recipe, so that both can be moved together. A recipe that comes with
   anvil names none.
2. It is a plain file of at most `LONGEST` bytes. The bytes that were judged with the recipe are those that a run
   carries out and keeps.
3. Where the recipe pins a digest, the bytes have it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from anvil.collectors.recipes.parts import SelectedSuite
from anvil.collectors.recipes.problems import Complaint, KeyPath
from anvil.collectors.recipes.recipe import RecipeFile
from anvil.ledger.files import open_plain

LONGEST = 1 << 20
"""Bytes of a suite file at most."""

JudgeSuite = Callable[[SelectedSuite, bytes | None], Iterable[tuple[KeyPath, str, str]]]
"""Says what is wrong with a suite that a recipe selects, given its file's bytes: where in its block, what, and
what to write."""


class SuiteFiles:
    """The bytes of each file by its name, and what is wrong with the others."""

    def __init__(self, file: RecipeFile, directory: Path | None, known: Mapping[str, bytes]) -> None:
        self.content: dict[str, bytes] = {}
        self.complaints = list(self._read(file, directory, known))

    def of(self, selected: SelectedSuite) -> bytes | None:
        """Return the bytes of the file that a suite names; null where it names none, or none that is good."""
        return None if selected.file is None else self.content.get(selected.file)

    def _read(
        self, file: RecipeFile, directory: Path | None, known: Mapping[str, bytes]
    ) -> Iterator[Complaint]:
        for position, selected in enumerate(file.suites):
            if selected.file is None:
                continue
            at: KeyPath = ("suites", position, "file")
            if directory is None and selected.file not in known:
                yield Complaint(at, "this recipe lies in no folder, so no file is beside it", "Leave it out")
                continue
            content = known.get(selected.file) or _content((directory or Path()) / selected.file)
            if isinstance(content, str):
                yield Complaint(
                    at, f"{selected.file} {content}", "Name a file by its path from the recipe's folder"
                )
                continue
            found = f"sha256:{hashlib.sha256(content).hexdigest()}"
            if selected.digest not in (None, found):
                yield Complaint(
                    ("suites", position, "digest"),
                    f"{selected.file} is another file than {selected.digest}",
                    f'It is `digest = "{found}"`: write this if the change is meant',
                )
                continue
            self.content[selected.file] = content


def suite_complaints(file: RecipeFile, files: SuiteFiles, judge: JudgeSuite | None) -> Iterator[Complaint]:
    """Yield what is wrong with the suites of a recipe, besides their files."""
    for position, selected in enumerate(file.suites):
        if judge is None or (selected.file is not None and files.of(selected) is None):
            continue
        for where, what, write in judge(selected, files.of(selected)):
            yield Complaint(("suites", position, *where), what, write)


def _content(path: Path) -> bytes | str:
    """Return the bytes of a file, or why there are none."""
    try:
        with open_plain(path) as file:
            content = file.read(LONGEST + 1)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return content if len(content) <= LONGEST else f"has more than {LONGEST:,} bytes; no suite has so many"
