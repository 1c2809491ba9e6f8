"""What of a count came to no verdict: said by the rule of the figure, whose text counts only what passed.

1. A figure such as `2/3` does not tell what failed from what was never carried out. Its rule says the verdict over all of
   it, and how much is incomplete.
2. Of several verdicts one that is no pass and has a result decides; else one that is incomplete. What is incomplete is
   never counted as failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, cast

from anvil.ledger.wording import counted

Verdict = Literal["passed", "failed", "incomplete"]

_SAID = re.compile(r"; verdict (passed|failed|incomplete), ([0-9]+) [a-z]+ incomplete$")


@dataclass(frozen=True)
class Unfinished:
    """The verdict over what is counted, and how much of it is incomplete; 0 where only the verdict is known."""

    verdict: Verdict
    incomplete: int


def together(outcomes: Iterable[str]) -> Verdict:
    """Return the verdict over several outcomes (rule 2)."""
    found = set(outcomes)
    if found - {"passed", "incomplete"}:
        return "failed"
    return "incomplete" if "incomplete" in found else "passed"


def rule(named: str, verdict: Verdict, incomplete: int, of: str) -> str:
    """Return the rule `named` with what it says of the incomplete ones, `of` being what they are: `repetition`."""
    if not incomplete and verdict != "incomplete":
        return named
    return f"{named}; verdict {verdict}, {counted(incomplete, of)} incomplete"


def unfinished(text: str) -> Unfinished | None:
    """Return what a rule says of the incomplete ones; None where it says nothing of them."""
    found = _SAID.search(text)
    if found is None:
        return None
    return Unfinished(cast("Verdict", found[1]), int(found[2]))
