"""How fast bytes go by, in words."""

from __future__ import annotations

from anvil.ledger.wording import spell_bytes


def spell_rate(size: int, elapsed_ns: int) -> str:
    """Return a size, how long it took, and the rate: `1.9 GB in 1.2 s, 1.6 GB/s`."""
    seconds = max(elapsed_ns, 1) / 1e9
    return f"{spell_bytes(size)} in {seconds:.1f} s, {spell_bytes(size / seconds)}/s"
