"""`load-failure`: `anvil-serving.bakeoff-load-failure/v1`, a candidate that did not come up.

It is a check of one attempt, `load`, that failed. The reason is a word of the source; the excerpts and notes are log
lines and stay in the file.
"""

from __future__ import annotations

from anvil.collectors.importers.evidence import JsonEvidence, Reading, Results, day, made, parameter
from anvil.collectors.importers.fields import label
from anvil.collectors.importers.interface import ImportRefused, Said
from anvil.collectors.importers.reading import found
from anvil.collectors.importers.remaking import finding
from anvil.ledger.events import CheckImported


def take_apart(reading: Reading) -> Results:
    """Return the failure that a file is about.

    Raises:
        ImportRefused: something in it is not what it must be.
    """
    part, identity = reading.part, reading.identity
    outcome = part.needed_text("outcome")
    if outcome != "load_failure":
        raise ImportRefused(f"$.outcome: expected load_failure, found {found(outcome)}")
    said, engine = part.part("identity"), part.part("engine")
    candidate, attempt = (
        (text and label(text)) or None for text in map(said.text, ("candidate_id", "config_id"))
    )
    began = said.moment("attempted_at")
    has_why = any(text.strip() for text in part.texts("error_excerpt"))
    event = made(
        CheckImported,
        "$",
        {
            "source": reading.source,
            "tool": "anvil-serving",
            "called": "load",
            "check": None,
            "outcome": "failed",
            "failure": None,
            "expected": 1,
            "passed": 0,
            "observed": 1 if has_why else 0,
            "parameters": parameter("failure_class", part.text("failure_class")),
            "statistics": (),
            "findings": [] if has_why else [finding("message_missing", (), 1, 1)],
        },
    )
    identity.add("date", began)
    identity.add("model", said.text("model"))
    identity.add_served(said.text("served_model_name"))
    identity.add("image", engine.text("image"))
    identity.add("engine", engine.text("vllm_version") or engine.text("version"), "engine_version")
    identity.add("hardware", engine.text("gpu"))
    return Results([Said(event, candidate, attempt)], day(began), candidate, attempt)


LOAD_FAILURE = JsonEvidence("load-failure", {"anvil-serving.bakeoff-load-failure/v1": take_apart})
