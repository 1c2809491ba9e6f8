"""How messages say things."""

from __future__ import annotations

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def counted(number: int, what: str, *, be: bool = False) -> str:
    """Return a number and what it counts, of one or of several: `1 run`, `2 runs`, `3 entries`; `be`: `1 run is`."""
    several = f"{what[:-1]}ies" if what.endswith("ry") else f"{what}s"
    verb = "" if not be else " is" if number == 1 else " are"
    return f"{number} {what if number == 1 else several}{verb}"


def spell_bytes(size: float) -> str:
    """Return a size with its decimal unit: `1.9 GB`."""
    for unit in _UNITS[:-1]:
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} {_UNITS[-1]}"


def ended(text: str) -> str:
    """Return a person's words so that another sentence can follow: with a full stop unless they end by themselves."""
    return text if text.endswith((".", "!", "?", "…", "\u3002", "\uff01", "\uff1f")) else f"{text}."
