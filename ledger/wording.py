"""How messages say things."""

from __future__ import annotations


def counted(number: int, what: str, *, be: bool = False) -> str:
    """Return a number and what it counts, of one or of several: `1 run`, `2 runs`, `3 entries`; `be`: `1 run is`."""
    several = f"{what[:-1]}ies" if what.endswith("ry") else f"{what}s"
    verb = "" if not be else " is" if number == 1 else " are"
    return f"{number} {what if number == 1 else several}{verb}"
