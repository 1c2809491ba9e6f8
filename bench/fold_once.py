"""Fold one ledger in a process of its own, so that its memory can be watched."""

from __future__ import annotations

import sys
from pathlib import Path

from fold import folded

if __name__ == "__main__":
    print(folded(Path(sys.argv[1])))
