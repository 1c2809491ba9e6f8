"""`document`: a summary that somebody published, recognised by its schema, taken apart into statements.

One module for each schema. What it says is somebody's claim about another run. Nothing of it is left out:
an unknown member refuses the file, so that what is rendered later is the whole of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from anvil.collectors.importers.document import candidate_failure, qualification_summary, qwen38_27b_summary
from anvil.collectors.importers.document.sayings import Sayings
from anvil.collectors.importers.evidence import family, schema_of
from anvil.collectors.importers.interface import ImportRefused, Taken
from anvil.collectors.importers.reading import Part, found, parse
from anvil.ledger.events import StatementImported
from anvil.ledger.events.imports import IdentityField


@dataclass(frozen=True)
class _Shape:
    take_apart: Callable[[Part, Sayings], None]
    not_said: tuple[IdentityField, ...]


_SHAPES: Mapping[str, _Shape] = {
    candidate_failure.SCHEMA: _Shape(candidate_failure.take_apart, candidate_failure.NOT_SAID),
    qualification_summary.SCHEMA: _Shape(qualification_summary.take_apart, qualification_summary.NOT_SAID),
    qwen38_27b_summary.SCHEMA: _Shape(qwen38_27b_summary.take_apart, qwen38_27b_summary.NOT_SAID),
}


class DocumentImporter:
    """Reads published documents."""

    kind = "document"

    @property
    def knows(self) -> Sequence[str]:
        """The schemas that it reads."""
        return list(_SHAPES)

    def recognises(self, content: bytes) -> bool:
        """Say whether a file names a schema of a published document, of a version that is known or not."""
        schema = schema_of(content)
        return schema is not None and family(schema) in {family(known) for known in _SHAPES}

    def take_apart(self, content: bytes, digest: str) -> Taken:
        """Return what a document states.

        Raises:
            ImportRefused: it is no document of a known schema, or something in it is not what it must be.
        """
        part = Part.of(parse(content))
        schema = part.members.get("schema")
        shape = _SHAPES.get(schema) if type(schema) is str else None
        if shape is None or type(schema) is not str:
            what = "it has no schema" if "schema" not in part.members else f"its schema is {found(schema)}"
            raise ImportRefused(what, advice=f"Known schemas: {', '.join(_SHAPES)}.")
        sayings = Sayings(digest)
        shape.take_apart(part, sayings)
        said = tuple(sayings.said)
        return Taken(schema, "published-document", "application/json", _date(sayings), shape.not_said, said)


def _date(sayings: Sayings) -> str | None:
    for one in sayings.said:
        if isinstance(one.event, StatementImported) and one.event.topic == "document":
            return next((value.text for value in one.event.values if value.name == "date"), None)
    return None
