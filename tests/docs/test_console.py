"""What README.md, docs/quickstart.md and docs/recipes.md show on a console is what the commands print.

A block ```` ```console ```` holds commands after ``$`` and their output, stdout and stderr together. All
blocks of a page are run in order in one new folder; then every line is compared, with what differs from run to
run (digests, keys, times, the home directory) masked. When an answer changes on purpose,
`PYTHONPATH=tests python tests/docs/test_console.py` writes the new output into the pages.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import tools

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/quickstart.md", "docs/recipes.md")
HOME = "/home/you"

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MASKS = (
    (re.compile(r"SHA256:[A-Za-z0-9+/]{43}"), "SHA256:…"),
    (re.compile(r"\+[A-Za-z0-9+/]{43}="), "+…"),
    (re.compile(r"\+[A-Za-z0-9+/]{44}(?![A-Za-z0-9+/=])"), "+…"),
    (re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+Z"), "TIME"),
    (re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{16}"), "STREAM"),
    (re.compile(r"[0-9a-f]{6,}"), "HEX"),
)


def mask(text: str) -> str:
    for pattern, instead in _MASKS:
        text = pattern.sub(instead, text)
    return text


def steps(block: str) -> Iterator[tuple[str, str]]:
    """Yield (command, output shown) of one block."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


class Console:
    """A folder with a home of its own, in which the commands of a page are run one after another."""

    def __init__(self, folder: Path) -> None:
        self._home = folder / "home"
        self._folder = folder / "work"
        self._home.mkdir()
        self._folder.mkdir()
        (self._folder / "tests").symlink_to(ROOT / "tests")

    def run(self, command: str) -> str:
        keep = {n: v for n, v in os.environ.items() if not n.startswith(("ANVIL_", "XDG_"))}
        bin_directory = str(Path(sys.executable).parent)
        environment = {
            **keep,
            "HOME": str(self._home),
            "PATH": f"{bin_directory}:{keep['PATH']}",
            "LC_ALL": "C.UTF-8",
        }
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self._folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=120,
        )
        return done.stdout.replace(str(self._home), HOME)


def foreign_tools(block: str) -> set[str]:
    """Return the tools, not ours, that the commands of a block need."""
    return {tool for tool in ("go", "openssl") if re.search(rf"\b{tool} (?:run|pkeyutl)\b", block)}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_the_commands_print(page: str, tmp_path: Path, need: Callable[[str], None]) -> None:
    console, absent = Console(tmp_path), set[str]()
    for block in _BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        if lacking := {tool for tool in foreign_tools(block) if tools.missing(tool)}:
            absent |= lacking
            continue
        for command, shown in steps(block):
            assert mask(console.run(command)) == mask(shown), f"{page}: $ {command}"
    for tool in sorted(absent):
        need(tool)  # all else was compared; what could not be is named


def test_the_mask_hides_nothing_that_a_reader_would_miss() -> None:
    assert mask("Verified: 8 entries.") == "Verified: 8 entries."
    assert mask("FOUND: tampered at index 3") == "FOUND: tampered at index 3"
    assert mask("Origin  example.com/gpu-lab-0c618017") == "Origin  example.com/gpu-lab-HEX"


def write(page: Path) -> None:
    """Run a page and write what the commands print into it."""
    with tempfile.TemporaryDirectory() as folder:
        console = Console(Path(folder))

        def filled(block: re.Match[str]) -> str:
            lines = [f"$ {command}\n{console.run(command)}" for command, _ in steps(block[1])]
            return "```console\n" + "".join(lines) + "```"

        text = page.read_text(encoding="utf-8")
        page.write_text(_BLOCK.sub(filled, text), encoding="utf-8")


if __name__ == "__main__":
    for name in PAGES:
        write(ROOT / name)
