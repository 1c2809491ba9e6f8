"""Verify one ledger in a process of its own and print the seconds it took, so that memory can be watched.

A short one is verified twice and the second counts: loading the code for the other processes takes half
a second once, which a long log hides and a short one would not.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ledgers import NEW_EVENTS, Site
from measure import LONG, seconds

from anvil.ledger.verify import Expectations, verify


def main() -> None:
    site = Site(Path(sys.argv[1]), int(sys.argv[2]))
    reports = []
    taken = 0.0
    for _ in range(2 if site.history < LONG else 1):
        taken = seconds(lambda: reports.append(verify(site.location, Expectations())))
    assert reports[0].size == site.history + NEW_EVENTS
    assert {finding.code for finding in reports[0].findings} == {"unanchored"}, reports[0].findings
    print(taken)


if __name__ == "__main__":
    main()
