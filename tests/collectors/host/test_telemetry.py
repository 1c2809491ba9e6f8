"""GPU telemetry beside a cell. No GPU is here: the library's own errors, and a stand-in that answers.

`Library` has the functions that are called, with answers of the kind and shape that the library documents.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest
from support.tools import missing

from anvil.collectors.host.telemetry import Telemetry
from anvil.ledger.telemetry import GpuSample, TelemetryHead

FIRST = "GPU-00000000-1111-2222-3333-444444444444"
SECOND = "GPU-55555555-6666-7777-8888-999999999999"


def fails(code: int) -> Callable[..., Any]:
    def fail(*_: object) -> Any:
        raise pynvml.NVMLError(code)

    return fail


class Library:
    """A library with two GPUs; the second one is warm and throttled."""

    NVMLError = pynvml.NVMLError
    NVML_CLOCK_SM, NVML_CLOCK_MEM = pynvml.NVML_CLOCK_SM, pynvml.NVML_CLOCK_MEM
    NVML_TEMPERATURE_GPU = pynvml.NVML_TEMPERATURE_GPU

    def __init__(self, **changed: Callable[..., Any] | None) -> None:
        self.opened = self.ended = 0
        self.looks = 0
        self.enough = threading.Event()
        slowed = pynvml.nvmlClocksEventReasonSwPowerCap | pynvml.nvmlClocksEventReasonHwThermalSlowdown
        answers: dict[str, Callable[..., Any] | None] = {
            "nvmlDeviceGetHandleByUUID": self._handle,
            "nvmlDeviceGetPowerUsage": self._power,
            "nvmlDeviceGetClockInfo": lambda of, kind: {pynvml.NVML_CLOCK_SM: 1980}.get(kind, 3201),
            "nvmlDeviceGetMemoryInfo": lambda of: SimpleNamespace(total=1 << 37, used=1 << 30),
            "nvmlDeviceGetTemperature": lambda of, sensor: 41 if of == FIRST else 88,
            "nvmlDeviceGetUtilizationRates": lambda of: SimpleNamespace(gpu=97, memory=40),
            "nvmlDeviceGetCurrentClocksEventReasons": lambda of: 0 if of == FIRST else slowed,
            "nvmlDeviceGetCurrentClocksThrottleReasons": lambda of: 0x400,
        }
        for name, answer in {**answers, **changed}.items():
            assert hasattr(pynvml, name), name
            if answer is not None:
                setattr(self, name, answer)

    def nvmlInit(self) -> None:  # noqa: N802  # the library's name
        self.opened += 1

    def nvmlShutdown(self) -> None:  # noqa: N802  # the library's name
        self.ended += 1

    def _handle(self, uuid: str) -> str:
        if uuid not in (FIRST, SECOND):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return uuid

    def _power(self, handle: str) -> int:
        self.looks += 1
        if self.looks >= 6:
            self.enough.set()
        return 698_123


def watched(library: Any, *placed: str, **more: Any) -> Telemetry:
    with Telemetry(placed or (FIRST,), nvml=library, **more) as telemetry:
        pass
    return telemetry


def read(telemetry: Telemetry) -> tuple[TelemetryHead, list[GpuSample]]:
    content = telemetry.content()
    assert content is not None
    first, *rest = content.splitlines()
    return TelemetryHead.read(first), [GpuSample.read(line) for line in rest]


def test_gpus_are_named_by_their_place_and_never_by_uuid() -> None:
    telemetry = watched(Library(), SECOND, FIRST)
    head, samples = read(telemetry)
    assert (head.gpus, head.absent) == (2, ())
    assert [sample.gpu for sample in samples] == [0, 1] * head.looks
    assert samples[0] == GpuSample(
        moment_ns=samples[0].moment_ns,
        gpu=0,
        power_milliwatts=698_123,
        sm_clock_mhz=1980,
        memory_clock_mhz=3201,
        used_memory_bytes=1 << 30,
        temperature_celsius=88,
        busy_percent=97,
        throttle_reasons=("software_power_cap", "hardware_thermal_slowdown"),
    )
    assert (samples[1].temperature_celsius, samples[1].throttle_reasons) == (41, ())
    content = (telemetry.content() or b"").decode()
    assert not any(part in content for uuid in (FIRST, SECOND) for part in (uuid, uuid[4:], uuid[-12:]))


def test_it_looks_again_and_again_beside_the_cell_and_says_what_that_costs() -> None:
    library = Library()
    with Telemetry([FIRST], nvml=library, interval_ns=1_000_000) as telemetry:
        assert library.enough.wait(60)
    head, samples = read(telemetry)
    assert head.looks == len(samples) >= 6
    assert head.cpu_ns > 0
    assert head.longest_ns > 0
    moments = [sample.moment_ns for sample in samples]
    assert moments == sorted(moments)
    assert (library.opened, library.ended) == (1, 1)


def test_the_shortest_cell_has_a_look_at_its_start_and_one_at_its_end() -> None:
    ticks = itertools.count(1000, 10)
    head, samples = read(watched(Library(), clock=lambda: next(ticks), base_ns=1000))
    assert head.looks == 2
    assert [sample.moment_ns > 0 for sample in samples] == [True, True]


def test_what_a_gpu_does_not_tell_is_null_with_its_reason_and_the_rest_is_there() -> None:
    quiet = fails(pynvml.NVML_ERROR_NOT_SUPPORTED)
    library = Library(nvmlDeviceGetPowerUsage=quiet, nvmlDeviceGetUtilizationRates=quiet)
    head, samples = read(watched(library))
    assert head.absent == (
        (0, "busy_percent", "not-supported"),
        (0, "power_milliwatts", "not-supported"),
    )
    assert (samples[0].power_milliwatts, samples[0].busy_percent) == (None, None)
    assert samples[0].temperature_celsius == 41


def test_a_gpu_that_falls_off_the_bus_while_it_is_watched() -> None:
    answers = itertools.chain([41], itertools.repeat(None))

    def temperature(of: str, sensor: int) -> int:
        found = next(answers)
        if found is None:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)
        return found

    head, samples = read(watched(Library(nvmlDeviceGetTemperature=temperature)))
    assert [sample.temperature_celsius for sample in samples] == [41, None]
    assert head.absent == ((0, "temperature_celsius", "gpu-is-lost"),)


@pytest.mark.parametrize("today", [None, fails(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)])
def test_throttle_reasons_under_their_older_name(today: Callable[..., Any] | None) -> None:
    _, samples = read(watched(Library(nvmlDeviceGetCurrentClocksEventReasons=today)))
    assert samples[0].throttle_reasons == ("other",)


def test_a_library_that_has_no_name_for_them() -> None:
    library = Library(
        nvmlDeviceGetCurrentClocksEventReasons=None, nvmlDeviceGetCurrentClocksThrottleReasons=None
    )
    head, samples = read(watched(library))
    assert samples[0].throttle_reasons is None
    assert head.absent == ((0, "throttle_reasons", "library-too-old"),)


def test_one_gpu_of_the_placement_is_not_here() -> None:
    head, samples = read(watched(Library(), "GPU-gone", FIRST))
    assert (head.gpus, {sample.gpu for sample in samples}) == (2, {1})
    assert head.absent == ((0, "gpu", "nvml-error"),)


def unwatched(telemetry: Telemetry) -> str | None:
    """Return why there is nothing, and see that nothing was started for it."""
    before = threading.active_count()
    with telemetry:
        assert threading.active_count() == before
    assert telemetry.content() is None
    return telemetry.missing


def test_without_a_placement_nothing_is_asked() -> None:
    library = Library()
    assert unwatched(Telemetry([], nvml=library)) == "no-gpu-placed"
    assert library.opened == 0


def test_without_a_driver_no_thread_is_started() -> None:
    library = Library()
    library.nvmlInit = fails(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)  # type: ignore[method-assign]
    assert unwatched(Telemetry([FIRST], nvml=library)) == "no-nvidia-driver"


def test_without_its_gpus_no_thread_is_started_and_the_library_is_left() -> None:
    library = Library()
    assert unwatched(Telemetry(["GPU-gone"], nvml=library)) == "nvml-error"
    assert (library.opened, library.ended) == (1, 1)


def test_this_machine_without_a_gpu_says_so() -> None:
    if not missing("nvidia"):
        return
    assert unwatched(Telemetry([FIRST])) in (
        "no-nvidia-driver",
        "nvidia-driver-not-loaded",
        "no-nvidia-library",
    )


@pytest.mark.needs("nvidia")
def test_this_machines_own_gpus() -> None:
    pynvml.nvmlInit()
    try:
        uuid = str(pynvml.nvmlDeviceGetUUID(pynvml.nvmlDeviceGetHandleByIndex(0)))
    finally:
        pynvml.nvmlShutdown()
    _, samples = read(watched(None, uuid))
    assert samples[0].used_memory_bytes
