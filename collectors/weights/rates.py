"""How fast bytes go by, in words."""

from __future__ import annotations

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def spell_bytes(size: float) -> str:
    """Return a size with its decimal unit: `1.9 GB`."""
    for unit in _UNITS[:-1]:
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} {_UNITS[-1]}"


def spell_rate(size: int, elapsed_ns: int) -> str:
    """Return a size, how long it took, and the rate: `1.9 GB in 1.2 s, 1.6 GB/s`."""
    seconds = max(elapsed_ns, 1) / 1e9
    return f"{spell_bytes(size)} in {seconds:.1f} s, {spell_bytes(size / seconds)}/s"
