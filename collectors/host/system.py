"""Processor, memory and kernel, as Linux says in ``/proc`` (proc(5)); elsewhere nothing is known.

A name read from a machine can hold anything. A product is public when it is on the reviewed list, a version
when it is one; the texts themselves are sealed.
"""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from anvil.ledger.products import PRODUCTS
from anvil.ledger.public import Version

NOT_LISTED = "product-not-listed"
NO_PROC = "no-proc"
_VERSION = TypeAdapter(Version)
_NUMBERS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,3}")


@dataclass(frozen=True)
class System:
    """What was read. `absent` is field to reason, `names` what is sealed, `raw` what was read as it was."""

    cpu_product: str | None
    cpu_cores: int | None
    memory_bytes: int | None
    available_memory_bytes: int | None
    kernel: str | None
    is_wsl: bool
    absent: dict[str, str] = field(default_factory=dict)
    names: list[list[str]] = field(default_factory=list)
    raw: dict[str, str] = field(default_factory=dict)


def read_system(proc: Path = Path("/proc")) -> System:
    """Return what `proc` says of this host."""
    raw = {name: _text(proc / name) for name in ("cpuinfo", "meminfo", "version")}
    release = _text(proc / "sys" / "kernel" / "osrelease").strip()
    absent: dict[str, str] = {}
    names = [["host", socket.gethostname()]]
    model = _value(raw["cpuinfo"], "model name") or _value(raw["cpuinfo"], "Model")
    if model and model not in PRODUCTS:
        names.append(["cpu", model])
    if model not in PRODUCTS:
        absent["cpu_product"] = NOT_LISTED if model else NO_PROC
    memory = {name: _kibibytes(raw["meminfo"], name) for name in ("MemTotal", "MemAvailable")}
    for name, key in (("memory_bytes", "MemTotal"), ("available_memory_bytes", "MemAvailable")):
        if memory[key] is None:
            absent[name] = NO_PROC
    kernel = public_version(release)
    if release and kernel != release:
        names.append(["kernel", release])
    if kernel is None:
        absent["kernel"] = NO_PROC
    return System(
        cpu_product=model if model in PRODUCTS else None,
        cpu_cores=len(os.sched_getaffinity(0)),
        memory_bytes=memory["MemTotal"],
        available_memory_bytes=memory["MemAvailable"],
        kernel=kernel,
        is_wsl="microsoft" in f"{release} {raw['version']}".lower(),
        absent=absent,
        names=names,
        raw={**raw, "cpuinfo": raw["cpuinfo"].partition("\n\n")[0], "osrelease": release},
    )


def public_version(text: str) -> str | None:
    """Return a version as it is when it is in the language of versions, else the numbers it begins with."""
    try:
        return _VERSION.validate_python(text)
    except ValidationError:
        numbers = _NUMBERS.match(text)
        return numbers[0] if numbers else None


def _text(path: Path) -> str:
    try:
        return path.read_bytes()[: 1 << 20].decode("utf-8", "replace")
    except OSError:
        return ""


def _value(text: str, name: str) -> str | None:
    found = re.search(rf"^{re.escape(name)}\s*:\s*(.+?)\s*$", text, re.MULTILINE)
    return found[1] if found else None


def _kibibytes(text: str, name: str) -> int | None:
    found = re.search(rf"^{name}:\s+(\d{{1,12}}) kB$", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else None
