"""`startup`: what an engine said of itself when it started, as somebody wrote it down.

The sizes and counts of `startup_allocations` become one report, each under the source's own name for it: a person
copied them from a log, and what is `gb` there is not converted. Sentences stay in the file.
"""

from __future__ import annotations

from anvil.collectors.importers.evidence import JsonEvidence, Reading, Results, made
from anvil.collectors.importers.fields import Fields, checked_number, public
from anvil.collectors.importers.interface import ImportRefused, Said
from anvil.collectors.importers.reading import Number, found
from anvil.ledger.events import StatementImported
from anvil.ledger.events.imports import StatedValue
from anvil.ledger.public import DecimalText, Label


def take_apart(reading: Reading) -> Results:
    """Return what a file reports.

    Raises:
        ImportRefused: something in it is not what it must be.
    """
    part, identity = reading.part, reading.identity
    part.required("startup_allocations")
    report = part.part("startup_allocations")
    values = [_value(report, name) for name in report.members]
    if not values:
        raise ImportRefused("$.startup_allocations: expected at least one figure, found an empty object")
    event = made(
        StatementImported,
        report.place,
        {
            "source": reading.source,
            "nature": "raw-evidence",
            "topic": "report",
            "name": None,
            "within": None,
            "claimed_status": None,
            "values": values,
        },
    )
    runtime = part.part("runtime")
    day = part.text("observed_at")
    identity.add("date", part.moment("observed_at") if day is not None and "T" in day else None)
    identity.add("model", part.text("model"))
    identity.add("engine", runtime.text("engine"))
    identity.add("image", runtime.text("image_digest"))
    identity.add("revision", runtime.text("target_revision"))
    return Results([Said(event)], None if day is None else day[:10])


def _value(report: Fields, name: str) -> StatedValue:
    place, raw = f"{report.place}.{name}", report.members[name]
    if public(name, Label) is None:
        raise ImportRefused(f"{report.place}: a figure has no name that can be recorded")
    if isinstance(raw, Number):
        text = public(checked_number(raw, place), DecimalText)
        if text is None:
            raise ImportRefused(f"{place}: {found(raw)} cannot be recorded")
        return StatedValue(name=name, text=None, number=text, truth=None, texts=None)
    if isinstance(raw, bool):
        return StatedValue(name=name, text=None, number=None, truth=raw, texts=None)
    raise ImportRefused(f"{place}: expected a number or true or false, found {found(raw)}")


STARTUP = JsonEvidence("startup", {"anvil-serving.startup-observation/v1": take_apart})
