"""GPU telemetry beside a cell, as it is published: what the driver said of each GPU at each moment.

1. NDJSON in canonical JSON: a first line about the whole, then a line for each GPU at each moment, in the
   order in which they were read.
2. A GPU is its place in the attempt's placement, from 0. Neither its UUID nor its number on the host is here.
3. What the driver did not give is null; the first line has the reason.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from anvil.ledger.lines import AS_TUPLE, Count, Line, Moment
from anvil.ledger.public import Label

ThrottleReason = Literal[
    "gpu_idle",
    "application_clocks",
    "software_power_cap",
    "hardware_slowdown",
    "sync_boost",
    "software_thermal_slowdown",
    "hardware_thermal_slowdown",
    "hardware_power_brake",
    "display_clocks",
    "other",
]
"""Why a GPU's clocks are not higher, as its driver says."""


def _tuples(value: object) -> object:
    return (
        tuple(tuple(item) if isinstance(item, list) else item for item in value)
        if isinstance(value, list)
        else value
    )


Absences = Annotated[tuple[tuple[Count, Label, Label], ...], BeforeValidator(_tuples)]
"""A GPU, one of its fields that was null at some moment, and why, one after the other."""


class TelemetryHead(Line):
    """The first line of the artifact `telemetry`."""

    form: Literal["anvil.telemetry/1"] = Field(default="anvil.telemetry/1", alias="schema")
    """The name and version of this format."""
    gpus: Count
    """How many GPUs the placement has."""
    interval_ns: Count
    """How much time was to pass between two looks."""
    looks: Count
    """How many there were."""
    cpu_ns: Count
    """How much processor time all looks took together, in a thread beside the load."""
    longest_ns: Count
    """How long the longest look took."""
    absent: Absences
    """Which fields of which GPU were null, and why."""


class GpuSample(Line):
    """One GPU at one moment."""

    moment_ns: Moment
    """When, since the base that the caller named: for a cell, the moment before it began."""
    gpu: Count
    """Which, by its place in the placement, from 0."""
    power_milliwatts: Count | None
    """What it draws."""
    sm_clock_mhz: Count | None
    """The clock of its processors."""
    memory_clock_mhz: Count | None
    """The clock of its memory."""
    used_memory_bytes: Count | None
    """How much of its memory is in use."""
    temperature_celsius: Count | None
    """Its temperature."""
    busy_percent: Count | None
    """In how much of the driver's last period any kernel ran on it."""
    throttle_reasons: Annotated[tuple[ThrottleReason, ...], AS_TUPLE] | None
    """Why its clocks are not higher; empty when nothing holds them back."""
