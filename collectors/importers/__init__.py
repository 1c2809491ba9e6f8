"""Importers: files that were made elsewhere, taken apart into events. One module for each kind of file.

Nothing here keeps or appends; `anvil import` does. To add a kind, write a module with an importer as
`interface` describes it, and add it to `importers`.
"""

from __future__ import annotations

from collections.abc import Mapping

from anvil.collectors.importers.aiperf import AIPERF
from anvil.collectors.importers.bakeoff import BAKEOFF
from anvil.collectors.importers.benchmark import BENCHMARK
from anvil.collectors.importers.control import CONTROL
from anvil.collectors.importers.document import DocumentImporter
from anvil.collectors.importers.enginelog import EngineLogImporter
from anvil.collectors.importers.evidence import parsed
from anvil.collectors.importers.guidellm import GUIDELLM
from anvil.collectors.importers.interface import Importer, ImportRefused
from anvil.collectors.importers.lm_eval import LM_EVAL
from anvil.collectors.importers.loadfailure import LOAD_FAILURE
from anvil.collectors.importers.multimodal import MULTIMODAL
from anvil.collectors.importers.preflight import PREFLIGHT
from anvil.collectors.importers.reading import Part, found
from anvil.collectors.importers.sglang import SGLANG
from anvil.collectors.importers.startup import STARTUP
from anvil.collectors.importers.toolfiles import parsed as read
from anvil.collectors.importers.vllm import VLLM

_IMPORTERS: tuple[Importer, ...] = (
    DocumentImporter(),
    BENCHMARK,
    BAKEOFF,
    PREFLIGHT,
    MULTIMODAL,
    CONTROL,
    STARTUP,
    LOAD_FAILURE,
    VLLM,
    SGLANG,
    GUIDELLM,
    AIPERF,
    LM_EVAL,
    EngineLogImporter(),
)

KINDS: Mapping[str, Importer] = {importer.kind: importer for importer in _IMPORTERS}
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
    raise _not_recognised(content)


def _not_recognised(content: bytes) -> ImportRefused:
    """Return why no importer knows a file.

    Raises:
        ImportRefused: it is no JSON object.
    """
    Part.of(read(content))  # what is no JSON at all is said before what some tools write in it
    part = Part.of(parsed(content))
    schema = part.members.get("schema", part.members.get("schema_version"))
    what = "it has no schema that is known" if schema is None else f"its schema is {found(schema)}"
    known = "; ".join(f"{name}: {', '.join(importer.knows)}" for name, importer in KINDS.items())
    return ImportRefused(
        f"no importer recognises it: {what}", advice=f"Known are {known}. --kind chooses one."
    )
