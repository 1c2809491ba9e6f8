"""Fold one ledger, its events so many times over, in a process of its own, so that its memory can be watched."""

from __future__ import annotations

import sys
from pathlib import Path

from fold import again

from anvil.ledger.store import Store
from anvil.projections.campaigns import fold

if __name__ == "__main__":
    store = Store.open_readonly(Path(sys.argv[1]))
    try:
        print(len(fold(again(store, int(sys.argv[2]))).campaigns))
    finally:
        store.close()
