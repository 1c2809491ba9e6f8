"""What the ledger asks of the packages above it, by name: a static table of strings, resolved on use.

The ledger imports nothing above it, and no installed package can put anything in its place. Where the
package is missing nothing is done.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from anvil.ledger.errors import LedgerError

ELSEWHERE: dict[str, str] = {
    "public words": "anvil.projections.tripwire.checks:require_publishable",
    "public bytes": "anvil.projections.tripwire.checks:require_disclosable",
    "recompute": "anvil.projections.recomputing:recompute",
}
"""What it is called to where it is."""


def elsewhere(name: str) -> Any:
    """Return what the table names.

    Raises:
        LedgerError: it cannot be loaded.
    """
    module, _, attribute = ELSEWHERE[name].partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise LedgerError(
            f"{module} cannot be loaded: {error}",
            advice="Nothing was done without it. Install anvil again, with its dependencies.",
        ) from error
