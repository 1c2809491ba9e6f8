"""What engines say of themselves at start-up: one small reader each, over log, metrics and properties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anvil.collectors.reports.interface import Reader, Report, read
from anvil.collectors.reports.llamacpp import LlamacppReader
from anvil.collectors.reports.patterns import patterns_of
from anvil.collectors.reports.sglang import SglangReader
from anvil.collectors.reports.vllm import VllmReader

_ALL: tuple[Reader, ...] = (VllmReader(), SglangReader(), LlamacppReader())

READERS: Mapping[str, Reader] = {reader.name: reader for reader in _ALL}
"""By engine."""


def read_report(
    engine: str, log: bytes, *, metrics: str = "", props: Mapping[str, Any] | None = None
) -> Report | None:
    """Return what `engine` says of itself, or None for an engine that no reader knows."""
    reader = READERS.get(engine)
    return None if reader is None else read(reader, log, metrics, props)


__all__ = ["READERS", "Report", "patterns_of", "read_report"]
