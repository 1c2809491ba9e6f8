"""Which machine a run was measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from sqlite_utils.utils import sqlite3


def describe() -> dict[str, Any]:
    """Return processor, cores, memory, kernel and the versions that matter."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown"
    )
