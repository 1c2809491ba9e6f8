"""A folder of raw files, taken into a fresh ledger by `anvil import`, and what is found in it by file name."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from anvil.collectors.importers import KINDS
from anvil.collectors.importers.reading import parse
from anvil.ledger.events import CheckImported, LoadImported, SuiteImported
from anvil.ledger.places import LedgerPlace
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Figure
from anvil.projections.imported import Imported, every
from anvil.projections.importedfigures import Measured, measured
from anvil.projections.opened import opened


@dataclass(frozen=True)
class Line:
    """One published value and what comes out here. `expected` is what must come out where that is not the same."""

    campaign: str
    what: str
    published: str
    ours: str
    rule: str
    expected: str | None = None

    @property
    def is_match(self) -> bool:
        return same(self.published, self.ours)

    @property
    def is_right(self) -> bool:
        return same(self.expected or self.published, self.ours)


def same(one: str, other: str) -> bool:
    """Say whether two printed values are one: numbers by value, so that 5.317 is 5.3170, everything else by letter."""
    try:
        return Fraction(one) == Fraction(other)
    except ValueError:
        return one == other


@dataclass(frozen=True)
class Folder:
    """What was imported of one folder."""

    directory: Path
    results: dict[str, list[Measured]]
    """By file name."""
    said: dict[str, Imported]
    left: tuple[str, ...]
    """The files that no importer knows."""

    def published(self, name: str) -> Any:
        """Return a file of published figures, numbers as their text."""
        return parse((self.directory / name).read_bytes())

    def load(self, name: str) -> Measured:
        return self._one(name, LoadImported)

    def suite(self, name: str) -> Measured:
        return self._one(name, SuiteImported)

    def checks(self, name: str) -> Iterator[Measured]:
        return (one for one in self.results[name] if isinstance(one.event, CheckImported))

    def check(self, name: str, called: str) -> Measured:
        return next(one for one in self.checks(name) if one.event.called == called)

    def printed(self, name: str, value: str) -> str:
        """Return a figure of an engine's log as the log has it."""
        return str(self.said[name].figure("report", value).value)

    def reported(self, name: str, value: str) -> Figure:
        """Return the same as the number that it is."""
        figure = self.said[name].figure("report", value)
        return Figure(Fraction(str(figure.value)), figure.rule, figure.support, figure.status)

    def served(self, name: str) -> str | None:
        """Return what the endpoint called its model, as the file says."""
        return str(self.said[name].figure("candidate", "served_model").value)

    def names(self, kind: type) -> list[str]:
        """Return the files that hold a check, a suite or a load."""
        return [name for name, found in self.results.items() if any(isinstance(m.event, kind) for m in found)]

    def _one(self, name: str, kind: type) -> Measured:
        return next(one for one in self.results[name] if isinstance(one.event, kind))


def take_in(directory: Path, work: Path) -> Folder:
    """Import every file of a folder that an importer knows, in one command, and read the ledger."""
    contents = {path.name: path.read_bytes() for path in sorted(directory.iterdir())}
    known = {name for name, raw in contents.items() if any(kind.recognises(raw) for kind in KINDS.values())}
    home = work / directory.name
    run_anvil(home, "init", "--origin", "evidence.example")
    run_anvil(home, "import", *(directory / name for name in sorted(known)), "--campaign", directory.name)
    run_anvil(home, "verify")
    names = {f"sha256:{hashlib.sha256(raw).hexdigest()}": name for name, raw in contents.items()}
    with opened(LedgerPlace(home / "anvil-ledger"), None) as ledger:
        evidence = Evidence(ledger.record, ledger.artifacts.content)
        campaign = ledger.record.campaigns[directory.name]
        results: dict[str, list[Measured]] = {}
        for one in measured(evidence, campaign):
            results.setdefault(names[str(one.file.value)], []).append(one)
        said = {names[str(one.file.value)]: one for one in every(evidence, campaign)}
    return Folder(directory, results, said, tuple(sorted(contents.keys() - known)))


def status(directory: Path, work: Path) -> str:
    """Return what `anvil status` says of a folder that was taken in."""
    return run_anvil(work / directory.name, "status", "--campaign", directory.name)


def status_members(directory: Path, work: Path) -> Any:
    """Return the same for programs."""
    return json.loads(run_anvil(work / directory.name, "status", "--campaign", directory.name, "--json"))


def run_anvil(home: Path, *arguments: object) -> str:
    """Return what a command prints in a home of its own.

    Raises:
        AssertionError: it failed.
    """
    home.mkdir(exist_ok=True, parents=True)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_STATE_HOME": str(home / "state"),
    }
    done = subprocess.run(
        [sys.executable, "-c", "from anvil.ledger.cli import main; main()", *map(str, arguments)],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if done.returncode:
        raise AssertionError(f"anvil {arguments[0]}: {done.returncode}\n{done.stderr}")
    return done.stdout
