"""`qwen38-27b-qualification-summary.v1`: lanes of several checkpoints, and experiments on their settings."""

from __future__ import annotations

from anvil.projections.document import Document
from anvil.projections.documents.qwen38_27b_summary.model import NAME, SCHEMA, LanesSummary
from anvil.projections.documents.qwen38_27b_summary.prepared import prepare

DOCUMENT = Document(
    NAME,
    "Qualification summary: lanes and experiments",
    SCHEMA,
    LanesSummary,
    prepare,
    is_of_one_candidate=False,
)
