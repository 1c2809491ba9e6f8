"""How a file spells the names that became labels of ours.

A label has lower-case letters, digits and three other characters. What makes a path, an address or a token
what it is gets lost on the way (`/home/you/x` becomes `home-you-x`), and nothing that looks for such things finds
the rest. So who looks at what would be public looks at the name as the file spells it as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from anvil.collectors.importers.fields import label

_SHORTEST = 4
"""Characters of a label at least; less stands in every text."""


def spelled(content: bytes, clear: Iterable[str]) -> list[str]:
    """Return each text of a JSON file, or of lines of JSON, that a clear text has as a label, or as a part of one.

    Of a file of another kind there are none: its words are taken as they are, or not at all.
    """
    public = "\n".join(clear)
    found: dict[str, None] = {}
    for text in dict.fromkeys(_texts(_values(content))):
        made = label(text)
        if made is not None and made != text and len(made) >= _SHORTEST and made in public:
            found[text] = None
    return list(found)


def _values(content: bytes) -> list[Any]:
    try:
        return [json.loads(content)]
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in content.splitlines() if line.strip()]
    except ValueError:
        return []


def _texts(values: list[Any]) -> Iterator[str]:
    """Yield every text, names of members too."""
    left = list(values)
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            left += value
        elif isinstance(value, dict):
            yield from value
            left += value.values()
