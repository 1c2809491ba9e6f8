"""`sanitized-qualification-summary.v1`: candidates side by side under one common recipe."""

from __future__ import annotations

from anvil.projections.document import Document
from anvil.projections.documents.qualification_summary.model import NAME, SCHEMA, QualificationSummary
from anvil.projections.documents.qualification_summary.prepared import prepare

DOCUMENT = Document(
    NAME,
    "Qualification summary",
    SCHEMA,
    QualificationSummary,
    prepare,
    is_of_one_candidate=False,
)
