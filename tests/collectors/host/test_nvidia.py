"""GPUs as NVML tells of them. No GPU is here: the library's own errors, and a stand-in that answers.

`Library` has the functions that are called, with answers of the kind and shape that the library documents.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest
from support.tools import missing

from anvil.collectors.host.nvidia import read_driver
from anvil.collectors.host.observation import observe_host
from anvil.ledger.events.surroundings import Gpu

UUID = "GPU-00000000-1111-2222-3333-444444444444"


def fails(code: int) -> Callable[..., Any]:
    def fail(*_: object) -> Any:
        raise pynvml.NVMLError(code)

    return fail


class Library:
    """A library with one GPU that a process of ours uses."""

    NVMLError = pynvml.NVMLError
    NVML_CLOCK_SM, NVML_CLOCK_MEM = pynvml.NVML_CLOCK_SM, pynvml.NVML_CLOCK_MEM

    def __init__(self, **changed: Callable[..., Any]) -> None:
        self.ended = 0
        process = SimpleNamespace(pid=os.getpid(), usedGpuMemory=1 << 30)
        answers: dict[str, Callable[..., Any]] = {
            "nvmlInit": lambda: None,
            "nvmlSystemGetDriverVersion": lambda: "580.65.06",
            "nvmlSystemGetCudaDriverVersion_v2": lambda: 12080,
            "nvmlDeviceGetCount": lambda: 1,
            "nvmlDeviceGetHandleByIndex": lambda position: position,
            "nvmlDeviceGetUUID": lambda of: UUID,
            "nvmlDeviceGetName": lambda of: b"NVIDIA H200",
            "nvmlDeviceGetMemoryInfo": lambda of: SimpleNamespace(total=150_754_820_096, used=1 << 30),
            "nvmlDeviceGetComputeRunningProcesses": lambda of: [process],
            "nvmlDeviceGetGraphicsRunningProcesses": lambda of: [process],
            "nvmlDeviceGetCudaComputeCapability": lambda of: (9, 0),
            "nvmlDeviceGetCurrPcieLinkGeneration": lambda of: 1,
            "nvmlDeviceGetCurrPcieLinkWidth": lambda of: 16,
            "nvmlDeviceGetMaxPcieLinkGeneration": lambda of: 5,
            "nvmlDeviceGetMaxPcieLinkWidth": lambda of: 16,
            "nvmlDeviceGetPowerManagementLimit": lambda of: 700_000,
            "nvmlDeviceGetClockInfo": lambda of, kind: {pynvml.NVML_CLOCK_SM: 345}.get(kind, 3201),
            "nvmlDeviceGetMaxClockInfo": lambda of, kind: 1980,
            "nvmlDeviceGetMigMode": lambda of: [0, 0],
        }
        for name, answer in {**answers, **changed}.items():
            assert hasattr(pynvml, name), name
            setattr(self, name, answer)

    def nvmlShutdown(self) -> None:  # noqa: N802  # the library's name
        self.ended += 1


def test_a_gpu_and_who_uses_it() -> None:
    library = Library()
    event = observe_host("before", placed=[UUID], nvml=library).event
    assert (event.driver, event.cuda) == ("580.65.06", "12.8")
    assert event.gpus == (
        Gpu(
            position=0,
            is_placed=True,
            product="NVIDIA H200",
            compute_capability="sm_90",
            memory_bytes=150_754_820_096,
            used_memory_bytes=1 << 30,
            pcie_generation=1,
            pcie_width=16,
            pcie_max_generation=5,
            pcie_max_width=16,
            power_limit_milliwatts=700_000,
            sm_clock_mhz=345,
            max_sm_clock_mhz=1980,
            memory_clock_mhz=3201,
            is_mig=False,
            processes=1,
        ),
    )
    names = [tuple(row) for row in event.names or []]
    assert ("gpu-0.uuid", UUID) in names
    assert "NVIDIA H200" not in str(names)  # what is sealed cannot be published
    (process,) = [text for name, text in names if name == "gpu-0.process"]
    assert process.startswith(f"{os.getpid()} ")
    assert process.endswith(f" {1 << 30}")
    assert UUID not in str(event.facts())
    assert library.ended == 1


def test_another_placement_is_not_this_one() -> None:
    assert [gpu.is_placed for gpu in observe_host("before", nvml=Library()).event.gpus] == [False]


def test_a_product_that_is_not_listed_is_sealed() -> None:
    event = observe_host("before", nvml=Library(nvmlDeviceGetName=lambda of: "Bob's GPU")).event
    assert event.gpus[0].product is None
    assert ["gpu-0.product", "Bob's GPU"] in (event.names or [])
    assert {a.field: a.reason for a in event.absent}["gpu-0.product"] == "product-not-listed"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, "no-nvidia-driver"),
        (pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "nvidia-driver-not-loaded"),
        (pynvml.NVML_ERROR_NO_PERMISSION, "no-permission"),
        (pynvml.NVML_ERROR_UNKNOWN, "nvml-error"),
    ],
)
def test_without_a_driver_the_fields_are_absent_with_their_reason(code: int, reason: str) -> None:
    event = observe_host("before", nvml=Library(nvmlInit=fails(code))).event
    assert (event.driver, event.cuda, event.gpus) == (None, None, ())
    reasons = {item.field: item.reason for item in event.absent}
    assert [reasons[name] for name in ("driver", "cuda", "gpus")] == [reason] * 3


def test_what_a_gpu_does_not_tell_is_null_with_its_reason_and_the_rest_is_there() -> None:
    quiet = fails(pynvml.NVML_ERROR_NOT_SUPPORTED)
    library = Library(
        nvmlDeviceGetPowerManagementLimit=quiet,
        nvmlDeviceGetMemoryInfo=quiet,
        nvmlDeviceGetMigMode=quiet,
        nvmlDeviceGetGraphicsRunningProcesses=quiet,
    )
    event = observe_host("before", nvml=library).event
    (gpu,) = event.gpus
    assert (gpu.power_limit_milliwatts, gpu.memory_bytes, gpu.is_mig, gpu.processes) == (None,) * 4
    assert gpu.sm_clock_mhz == 345
    reasons = {item.field: item.reason for item in event.absent}
    assert reasons["gpu-0.power_limit_milliwatts"] == reasons["gpu-0.processes"] == "not-supported"


def test_a_gpu_that_has_fallen_off_the_bus() -> None:
    library = Library(nvmlDeviceGetHandleByIndex=fails(pynvml.NVML_ERROR_GPU_IS_LOST))
    event = observe_host("before", nvml=library).event
    assert event.gpus == ()
    assert {item.field: item.reason for item in event.absent}["gpu-0"] == "gpu-is-lost"
    assert library.ended == 1


def test_this_machine_without_a_gpu_says_so() -> None:
    if not missing("nvidia"):
        return
    reasons = read_driver().absent
    assert set(reasons) == {"driver", "cuda", "gpus"}
    assert len(set(reasons.values())) == 1


@pytest.mark.needs("nvidia")
def test_this_machines_own_gpus() -> None:
    found = read_driver()
    assert found.driver
    assert found.cuda
    assert found.gpus
    assert all(gpu.memory_bytes for gpu in found.gpus)
