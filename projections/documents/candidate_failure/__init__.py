"""`candidate-failure.v1`: one candidate, every attempt to serve it, and why it was not taken."""

from __future__ import annotations

from anvil.projections.document import Document
from anvil.projections.documents.candidate_failure.model import NAME, SCHEMA, CandidateFailure
from anvil.projections.documents.candidate_failure.prepared import prepare

DOCUMENT = Document(NAME, "Candidate failure", SCHEMA, CandidateFailure, prepare)
