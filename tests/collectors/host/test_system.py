"""Processor, memory and kernel from the files of /proc: this machine's, and others' that were written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from anvil.collectors.host.observation import ContainerEngineSeen, observe_host
from anvil.collectors.host.system import public_version, read_system

CPUINFO = "processor\t: 0\nmodel name\t: {model}\n\nprocessor\t: 1\nmodel name\t: {model}\n"
MEMINFO = "MemTotal:       16384 kB\nMemFree: 1 kB\nMemAvailable:    8192 kB\n"


def host(
    tmp_path: Path,
    *,
    model: str = "AMD EPYC 9654 96-Core Processor",
    release: str = "6.8.0",
    version: str = "",
) -> Path:
    (tmp_path / "sys/kernel").mkdir(parents=True)
    (tmp_path / "cpuinfo").write_text(CPUINFO.format(model=model))
    (tmp_path / "meminfo").write_text(MEMINFO)
    (tmp_path / "version").write_text(version or f"Linux version {release}\n")
    (tmp_path / "sys/kernel/osrelease").write_text(f"{release}\n")
    return tmp_path


def test_this_machine_says_what_it_is() -> None:
    seen = observe_host("before")
    event = seen.event
    assert event.kernel
    assert event.cpu_cores
    assert event.memory_bytes
    assert event.available_memory_bytes
    assert event.memory_bytes >= event.available_memory_bytes
    assert dict(event.names or [])["host"]
    assert b"MemTotal" in seen.content()


def test_a_listed_product_is_public(tmp_path: Path) -> None:
    event = observe_host("before", proc=host(tmp_path)).event
    assert event.cpu_product == "AMD EPYC 9654 96-Core Processor"
    assert "AMD EPYC 9654 96-Core Processor" not in str(event.names)  # what is sealed cannot be published
    assert (event.memory_bytes, event.available_memory_bytes) == (16384 * 1024, 8192 * 1024)
    assert "cpu_product" not in {item.field for item in event.absent}


def test_another_product_is_sealed_and_says_why(tmp_path: Path) -> None:
    event = observe_host("before", proc=host(tmp_path, model="Bob's laptop, serial 12345")).event
    assert event.cpu_product is None
    assert {a.field: a.reason for a in event.absent}["cpu_product"] == "product-not-listed"
    assert ["cpu", "Bob's laptop, serial 12345"] in (event.names or [])
    assert "Bob" not in str(event.facts())


@pytest.mark.parametrize(
    ("release", "kernel", "is_wsl"),
    [
        ("6.8.0-45-generic", "6.8.0-45-generic", False),
        ("5.15.167.4-microsoft-standard-WSL2", "5.15.167.4", True),
        ("6.1.0-zürich", "6.1.0", False),
    ],
)
def test_kernels(release: str, kernel: str, is_wsl: bool, tmp_path: Path) -> None:
    event = observe_host("before", proc=host(tmp_path, release=release)).event
    assert (event.kernel, event.is_wsl) == (kernel, is_wsl)
    assert (["kernel", release] in (event.names or [])) == (release != kernel)


def test_wsl_1_shows_in_the_version_only(tmp_path: Path) -> None:
    proc = host(tmp_path, release="4.4.0", version="Linux version 4.4.0-Microsoft (x@y)")
    assert read_system(proc).is_wsl


def test_without_proc_the_reason_stands_beside_each_field(tmp_path: Path) -> None:
    event = observe_host("after", proc=tmp_path).event
    assert (event.kernel, event.memory_bytes, event.cpu_product) == (None, None, None)
    reasons = {item.field: item.reason for item in event.absent}
    assert {reasons[name] for name in ("kernel", "memory_bytes", "cpu_product")} == {"no-proc"}
    assert reasons["container_engine"] == "not-asked"


def test_container_engine() -> None:
    assert observe_host("before", engine=ContainerEngineSeen("20.10.24+dfsg1")).event.container_engine
    odd = observe_host("before", engine=ContainerEngineSeen("dev build of Bob")).event
    assert odd.container_engine is None
    assert ["container-engine", "dev build of Bob"] in (odd.names or [])
    gone = observe_host("before", engine=ContainerEngineSeen(reason="no-container-engine")).event
    assert {a.field: a.reason for a in gone.absent}["container_engine"] == "no-container-engine"


@pytest.mark.parametrize(
    ("text", "found"), [("580.65.06", "580.65.06"), ("6.8.0-WSL2", "6.8.0"), ("none", None), ("", None)]
)
def test_public_version(text: str, found: str | None) -> None:
    assert public_version(text) == found
