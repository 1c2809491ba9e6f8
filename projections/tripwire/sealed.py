"""The sealed values of a ledger as canaries.

1. Every text in a sealed field is one, whole. Of pairs of a name and a text it is the text.
2. What stands in the clear by its type as well (a model, a digest, a version, a setting, a flag that an
   experiment names as its change) is no secret, unless the field says who or where: the names of a host, paths, variables, identities. A product on the
   reviewed list is no secret anywhere.
3. What a person approved word for word (`excerpt.approved`) is no secret any more, to that extent.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from anvil.ledger import canonical
from anvil.ledger.entry import stated
from anvil.ledger.envelope import Envelope
from anvil.ledger.events import ExcerptApproved
from anvil.ledger.events.base import NamedTexts
from anvil.ledger.header import Header
from anvil.ledger.products import PRODUCTS
from anvil.ledger.store import Store

_WHO_AND_WHERE = frozenset({"names", "paths", "env", "identity"})
"""Sealed fields that say who or where (rule 2)."""

_TYPED = re.compile(
    r"[A-Za-z][A-Za-z0-9_.+-]{0,39}|[A-Za-z0-9._-]+/[A-Za-z0-9._-]+|[0-9][A-Za-z0-9.+!_-]*|"
    r"(?:[a-z0-9./:_-]+@)?sha256:[0-9a-f]{64}|[0-9a-f]{40}|--?[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
)
"""Texts of the public types but labels and sentences: words, models, versions, images, digests, revisions, flags."""


def sealed_values(
    store: Store, streams: Collection[str] | None, approving: Mapping[tuple[str, str], str] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) of each sealed value at hand; with `streams`, of those streams only.

    `approving` are words that are about to be approved, by event and field (rule 3).

    Raises:
        Malformed: an entry is none.
    """
    found: list[tuple[str, str, bool, tuple[str, str]]] = []
    approved = {key: [words] for key, words in (approving or {}).items()}
    clear: set[str] = set()
    for row in store.rows(0, store.size()):
        if streams is not None and row.stream not in streams:
            continue
        header = Header.parse(Envelope.parse(row.entry).header)
        clear.update(text for text in _texts(header.facts) if _TYPED.fullmatch(text))
        for name, commitment in header.sealed.items():
            opening = store.opening(commitment)
            if opening is not None:
                where = f"sealed {name} of {header.event.partition('/')[0]}"
                values = _values(canonical.decode(opening.value))
                key = (row.leaf_hash.hex(), name)
                found += [(where, text, name in _WHO_AND_WHERE, key) for text in values]
        if header.event == ExcerptApproved.event_type:
            event = stated(row.entry_index, header)
            if isinstance(event, ExcerptApproved):
                approved.setdefault((event.target, event.source), []).append(event.excerpt)
    for where, text, says_who, key in found:
        is_approved = any(text in words for words in approved.get(key, ()))
        if not is_approved and text not in PRODUCTS and (says_who or text not in clear):
            yield where, text


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from _texts(member)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _values(value: Any) -> Iterator[str]:
    """Yield the texts in a sealed value; of a pair the second, which is what the first names."""
    if isinstance(value, list) and value and all(_is_pair(item) for item in value):
        pairs: NamedTexts = value
        for _, text in pairs:
            yield text
    else:
        yield from _texts(value)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(part, str) for part in value)
