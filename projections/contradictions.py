"""What an imported summary prints that does not follow from what else it prints: found in its figures alone.

1. A printed number stands for every number that is rounded to it: half a unit of its last place to both sides. Two
   figures contradict one another only where no such numbers could both be true.
2. What is computed here becomes a sentence of the evidence limit and no figure: the document itself stays as it was.
3. A label is read as what it says: a size (`128k`) says so many thousands, of 1,000 or of 1,024; a *median* says that
   values were ordered, which a quotient over a whole run has none of, and of an even number it says too little.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from anvil.ledger.statistics import rounded
from anvil.projections.figures import Figure, Group, Listing, Printed

_SIZE = re.compile(r"(?<![a-z0-9.])([1-9][0-9]{0,3})([km])(?![a-z0-9])", re.IGNORECASE)
_INPUT = re.compile(r"\b([1-9][0-9,]*)[ -](?:[a-z]+ ){0,2}(?:input|prompt)[ -]tokens?\b")
_REQUESTS = re.compile(r"\b([1-9][0-9]*)[ -]requests?\b")
_MEDIAN = re.compile(r"\bmedians?\b", re.IGNORECASE)
_FRACTION = re.compile(r"([0-9]+)/([0-9]+)")
CLOSE = Fraction(5, 100)
"""How far a product of averages may be from the average of products, before they are said to differ."""


@dataclass(frozen=True)
class Span:
    """The numbers that a printed one can stand for (rule 1)."""

    low: Fraction
    high: Fraction
    text: str

    @classmethod
    def of(cls, figure: object) -> Span | None:
        """Return the span of a printed number; None where there is none."""
        value = figure.value if isinstance(figure, Figure) else None
        if isinstance(value, bool) or not isinstance(value, int | Printed):
            return None
        text = str(value)
        half = Fraction(1, 2 * 10 ** len(text.partition(".")[2]))
        return cls(Fraction(text) - half, Fraction(text) + half, text)

    def meets(self, low: Fraction, high: Fraction) -> bool:
        """Say whether some number is in both."""
        return self.low <= high and low <= self.high


def does_not_follow(before: Span, after: Span, difference: Span) -> bool:
    """Say whether a difference in percent cannot be that of two printed figures (rule 1)."""
    if before.low <= 0 or after.low < 0:
        return False
    low, high = after.low / before.high, after.high / before.low
    return not difference.meets((low - 1) * 100, (high - 1) * 100)


def is_no_quotient(dividend: Span, divisor: Span, quotient: Span) -> bool:
    """Say whether a printed quotient cannot be that of two printed figures."""
    if divisor.low <= 0:
        return False
    return not quotient.meets(dividend.low / divisor.high, dividend.high / divisor.low)


def prompt_tokens(rate: Span, seconds: Span) -> Fraction:
    """Return how many prompt tokens a prefill rate and a time to first token are of, together."""
    return (rate.low + rate.high) * (seconds.low + seconds.high) / 4


def is_apart(found: Fraction, said: int) -> bool:
    """Say whether what figures come to is another size than the one that is said, by more than `CLOSE`."""
    return abs(found - said) > said * CLOSE


def sizes_in(label: str) -> Iterator[str]:
    """Yield the sizes that a label says: `128k` (rule 3)."""
    yield from (found[0] for found in _SIZE.finditer(label.replace("_", " ")))


def input_tokens(protocol: str) -> int | None:
    """Return how many prompt tokens a protocol says that it sends; None where it does not."""
    found = _INPUT.search(protocol)
    return None if found is None else int(found[1].replace(",", ""))


def requests(protocol: str) -> int | None:
    """Return how many requests a protocol says that a run has."""
    found = _REQUESTS.search(protocol)
    return None if found is None else int(found[1])


def says_median(protocol: str) -> bool:
    """Say whether a protocol calls its values medians."""
    return _MEDIAN.search(protocol) is not None


def counts(text: object) -> tuple[int, int] | None:
    """Return passed and tried of a text such as `12/12`."""
    found = _FRACTION.fullmatch(str(text))
    return None if found is None else (int(found[1]), int(found[2]))


def whole(number: Fraction) -> str:
    """Return a number as a sentence says it, without decimals."""
    return f"{int(rounded(number, 0)):,}"


def in_imported(sentences: Iterable[str]) -> Iterator[str]:
    """Yield sentences about an imported document as the evidence limit has them."""
    yield from (f"In the imported document, {sentence}" for sentence in sentences)


# --- what summaries are made of -----------------------------------------------------------------------------


def members(group: Group, name: str) -> list[Group]:
    """Return the groups of a list of figures."""
    listing = group.fields.get(name)
    found = listing.members if isinstance(listing, Listing) else ()
    return [member for _, member in found if isinstance(member, Group)]


def text(group: Group, name: str) -> str:
    """Return a figure's text; the empty one where it has none."""
    figure = group.fields.get(name)
    value = figure.value if isinstance(figure, Figure) else None
    return "" if value is None else str(value)


def span(group: Group, name: str) -> Span | None:
    """Return the span of a printed figure."""
    return Span.of(group.fields.get(name))
