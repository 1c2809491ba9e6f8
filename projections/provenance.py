"""The provenance of a document: for each leaf where it comes from. A JSON file beside the document."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from anvil.projections.artifacts import Artifacts
from anvil.projections.environment import Leaf
from anvil.projections.figures import ArtifactName
from anvil.projections.rendering import Draft

SCHEMA = "anvil.provenance/1"


@dataclass(frozen=True)
class State:
    """The state of the ledger that a document is made of: what a checkpoint of that size says."""

    origin: str
    size: int
    root: str


def provenance(draft: Draft, state: State, artifacts: Artifacts) -> dict[str, Any]:
    """Return the provenance of a draft, as JSON values."""
    return {
        "schema": SCHEMA,
        "document": {
            "name": draft.document.name,
            "schema": draft.rendered.document["schema"],
            "digest": draft.digest,
            "campaign": draft.campaign,
            "candidate": draft.subject,
        },
        "template": {"name": draft.template.name, "digest": draft.template.digest},
        "ledger": {"origin": state.origin, "size": state.size, "root": state.root},
        "synthetic": draft.is_synthetic,
        "evidence_limit": draft.limit.members(),
        "leaves": [_leaf(leaf, artifacts) for leaf in draft.rendered.leaves],
    }


def spell(members: dict[str, Any]) -> str:
    """Return it as text."""
    return f"{json.dumps(members, indent=1, ensure_ascii=False)}\n"


def _leaf(leaf: Leaf, artifacts: Artifacts) -> dict[str, Any]:
    return {
        "pointer": leaf.pointer,
        "kind": leaf.kind,
        "value": leaf.value,
        "rule": leaf.rule,
        "status": leaf.status,
        "events": sorted(leaf.support.events),
        "artifacts": [_artifact(name, artifacts) for name in sorted(leaf.support.artifacts)],
    }


def _artifact(name: ArtifactName, artifacts: Artifacts) -> dict[str, Any]:
    """Return an artifact as its header shows it: a private one by its commitment alone."""
    entry = artifacts.entries[name]
    return {"event": name.event, **entry.members()}
