"""What is wrong with a file that a person wrote: where, what, and what to write instead.

1. A problem names a line of the file and says what to write there instead.
2. All problems of a file are reported together, in the order of its lines.
3. Findings are values (`Complaint`, by key) until the file's lines are known; then they are problems.
"""

from __future__ import annotations

from dataclasses import dataclass

from anvil.ledger.errors import CollectorError

KeyPath = tuple[str | int, ...]
"""Where something stands in a TOML document: keys, and positions in arrays from 0."""


@dataclass(frozen=True)
class Complaint:
    """Something that cannot stand, by the keys that lead to it."""

    at: KeyPath
    what: str
    write: str


@dataclass(frozen=True)
class Problem:
    """A complaint with its line, from 1."""

    line: int
    what: str
    write: str

    def text(self, source: str) -> str:
        """Return it as one line for a person, with the file's name."""
        return f"{source}:{self.line}: {self.what}. {self.write}"


class FileRefused(CollectorError):
    """A recipe or site file cannot be used. `problems` says why, line by line."""

    def __init__(self, source: str, problems: tuple[Problem, ...], *, kind: str) -> None:
        self.source = source
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        lines = [problem.text(source) for problem in self.problems]
        super().__init__(f"the {kind} is refused\n" + "\n".join(f"  {line}" for line in lines))
