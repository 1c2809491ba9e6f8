"""Fine-grained synthetic campaigns: every event and every row behind a document, made by construction."""
