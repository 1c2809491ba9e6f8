"""`control`: `anvil-serving.control-evidence/v1`, an index that says whether a thinking control works.

It holds no answer: it names where one is. What it says is somebody's verdict, and the check is without an observation.
"""

from __future__ import annotations

from collections.abc import Mapping

from anvil.collectors.importers.evidence import JsonEvidence, Reading, Results, day, made, parameter
from anvil.collectors.importers.interface import ImportRefused, Said
from anvil.collectors.importers.reading import found
from anvil.collectors.importers.remaking import finding
from anvil.ledger.events import CheckImported
from anvil.ledger.events.checks import Outcome

STATUSES: Mapping[str, Outcome] = {
    "verified": "passed",
    "supported": "passed",
    "unsupported": "failed",
    "requested_unverified": "inconclusive",
}
"""What it may say to what is meant."""


def take_apart(reading: Reading) -> Results:
    """Return the verdict of a file.

    Raises:
        ImportRefused: something in it is not what it must be.
    """
    part = reading.part
    status, mechanism = part.needed_text("status"), part.needed_text("control_mechanism")
    if status not in STATUSES:
        raise ImportRefused(f"$.status: expected {', '.join(STATUSES)}, found {found(status)}")
    part.needed_text("source")
    observed = part.moment("observed_at") if "T" in part.needed_text("observed_at") else None
    outcome = STATUSES[status]
    event = made(
        CheckImported,
        "$",
        {
            "source": reading.source,
            "tool": "anvil-serving",
            "called": "control",
            "check": "thinking-control",
            "outcome": outcome,
            "failure": None,
            "expected": 1,
            "passed": int(outcome == "passed"),
            "observed": 0,
            "parameters": [*parameter("control_mechanism", mechanism), *parameter("status", status)],
            "statistics": (),
            "findings": [finding("check_without_observation", ["control"])],
        },
    )
    reading.identity.add("date", observed)
    reading.identity.add_served(part.text("model"))
    return Results([Said(event)], day(observed))


CONTROL = JsonEvidence("control", {"anvil-serving.control-evidence/v1": take_apart})
