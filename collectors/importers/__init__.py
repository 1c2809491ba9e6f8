"""Importers: files that were made elsewhere, taken apart into events. One module for each kind of file.

Nothing here keeps or appends; `anvil import` does. To add a kind, write a module with an importer as
`interface` describes it, and add it to `importers`.
"""

from __future__ import annotations

from collections.abc import Mapping

from anvil.collectors.importers.document import DocumentImporter
from anvil.collectors.importers.interface import Importer, ImportRefused

KINDS: Mapping[str, Importer] = {importer.kind: importer for importer in (DocumentImporter(),)}
"""Kind to its importer, in the order in which they are asked."""


def importer_of(content: bytes, kind: str | None) -> Importer:
    """Return the importer of a kind, or the first that recognises the file.

    Raises:
        ImportRefused: no kind is named and none recognises it.
    """
    if kind is not None:
        return KINDS[kind]
    for importer in KINDS.values():
        if importer.recognises(content):
            return importer
    if len(KINDS) == 1:  # its own refusal says what is wrong with the file
        return next(iter(KINDS.values()))
    known = "; ".join(f"{name}: {', '.join(importer.knows)}" for name, importer in KINDS.items())
    raise ImportRefused("no importer recognises it", advice=f"Known are {known}. --kind chooses one.")
