"""What an attempt's GPUs do while a cell is measured, looked at twice a second in a thread beside the load.

1. Only the GPUs of the placement are looked at, found by UUID; what is kept names them by their place.
2. Without a placement, a driver or a GPU no thread is started, and `missing` says why.
3. A field that the driver does not give is null, with its reason; the others are there.
4. The load client is a process of its own, and the library releases the interpreter while it asks the driver. What
   the looks cost is measured and kept: processor time of the thread, and the longest look.
5. There is a look at the start and one at the end, however short the cell.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from types import TracebackType
from typing import Any, Self

from anvil.collectors.host.nvidia import NO_LIBRARY, reason_of
from anvil.ledger.lines import Count
from anvil.ledger.telemetry import GpuSample, TelemetryHead, ThrottleReason

INTERVAL_NS = 500_000_000

NO_PLACEMENT = "no-gpu-placed"
TOO_OLD = "library-too-old"
NOT_STARTED = "not-started"

_SECOND_NS = 1_000_000_000
_MAX_LOOKS = 200_000
_REASONS: tuple[tuple[int, ThrottleReason], ...] = (
    (0x001, "gpu_idle"),
    (0x002, "application_clocks"),
    (0x004, "software_power_cap"),
    (0x008, "hardware_slowdown"),
    (0x010, "sync_boost"),
    (0x020, "software_thermal_slowdown"),
    (0x040, "hardware_thermal_slowdown"),
    (0x080, "hardware_power_brake"),
    (0x100, "display_clocks"),
)
"""The bits of NVML's clocks event reasons; older libraries call them throttle reasons."""


class Telemetry:
    """A context manager around a cell. `placed` are the UUIDs of its GPUs, in the placement's order.

    Moments are monotonic nanoseconds since `base_ns`, by default the moment of entering.
    """

    def __init__(
        self,
        placed: Sequence[str],
        *,
        base_ns: int | None = None,
        interval_ns: int = INTERVAL_NS,
        nvml: Any = None,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.missing: str | None = NOT_STARTED
        self._placed = tuple(placed)
        self._base_ns = base_ns
        self._interval_ns = interval_ns
        self._nvml = nvml
        self._clock = clock
        self._gpus: list[_Gpu] = []
        self._samples: list[GpuSample] = []
        self._absent: dict[tuple[int, str], str] = {}
        self._looks = 0
        self._cpu_ns = 0
        self._longest_ns = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._base_ns is None:
            self._base_ns = self._clock()
        self.missing = self._open()
        if self.missing is None:
            self._thread = threading.Thread(target=self._go_on, name="gpu-telemetry", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._nvml.nvmlShutdown()

    def content(self) -> bytes | None:
        """Return the artifact `telemetry`; null when no GPU was watched, for the reason in `missing`."""
        if self.missing is not None:
            return None
        head = TelemetryHead(
            gpus=len(self._placed),
            interval_ns=self._interval_ns,
            looks=self._looks,
            cpu_ns=self._cpu_ns,
            longest_ns=self._longest_ns,
            absent=tuple((gpu, name, reason) for (gpu, name), reason in sorted(self._absent.items())),
        )
        return b"".join(line.spelled() for line in (head, *self._samples))

    # --- 1. and 2. which GPUs -------------------------------------------------------------------------

    def _open(self) -> str | None:
        """Find the GPUs, and return why none can be watched."""
        if not self._placed:
            return NO_PLACEMENT
        try:
            self._nvml = self._nvml or import_module("pynvml")
        except ImportError:
            return NO_LIBRARY
        try:
            self._nvml.nvmlInit()
        except self._nvml.NVMLError as error:
            return reason_of(error)
        for place, uuid in enumerate(self._placed):
            try:
                handle = self._nvml.nvmlDeviceGetHandleByUUID(uuid)
            except self._nvml.NVMLError as error:
                self._absent[(place, "gpu")] = reason_of(error)
            else:
                self._gpus.append(_Gpu(self._nvml, handle, place))
        if not self._gpus:
            self._nvml.nvmlShutdown()
            return next(iter(self._absent.values()))
        return None

    # --- 4. and 5. when --------------------------------------------------------------------------------

    def _go_on(self) -> None:
        spent = time.thread_time_ns()
        is_last = False
        due = self._clock()
        while not is_last and self._looks < _MAX_LOOKS:
            self._look()
            self._cpu_ns = time.thread_time_ns() - spent
            due += self._interval_ns
            is_last = self._stop.wait(max(0, due - self._clock()) / _SECOND_NS)
        if is_last:
            self._look()
            self._cpu_ns = time.thread_time_ns() - spent

    def _look(self) -> None:
        began = self._clock()
        for gpu in self._gpus:
            self._samples.append(gpu.sample(self._clock() - (self._base_ns or 0), self._absent))
        self._looks += 1
        self._longest_ns = max(self._longest_ns, self._clock() - began)


class _Gpu:
    """One GPU. `sample` asks the driver for each field."""

    def __init__(self, nvml: Any, handle: Any, place: int) -> None:
        self._nvml = nvml
        self._handle = handle
        self._place = place

    def sample(self, moment_ns: int, absent: dict[tuple[int, str], str]) -> GpuSample:
        nvml, handle = self._nvml, self._handle

        def ask(name: str, question: Callable[[], Any]) -> Any:
            try:
                return question()
            except nvml.NVMLError as error:
                absent[(self._place, name)] = reason_of(error)
            except AttributeError:
                absent[(self._place, name)] = TOO_OLD
            return None

        def number(name: str, question: Callable[[], Any]) -> Count | None:
            found = ask(name, question)
            return None if found is None else max(0, int(found))

        return GpuSample(
            moment_ns=moment_ns,
            gpu=self._place,
            power_milliwatts=number("power_milliwatts", lambda: nvml.nvmlDeviceGetPowerUsage(handle)),
            sm_clock_mhz=number(
                "sm_clock_mhz", lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)
            ),
            memory_clock_mhz=number(
                "memory_clock_mhz", lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM)
            ),
            used_memory_bytes=number("used_memory_bytes", lambda: nvml.nvmlDeviceGetMemoryInfo(handle).used),
            temperature_celsius=number(
                "temperature_celsius",
                lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
            ),
            busy_percent=number("busy_percent", lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu),
            throttle_reasons=ask("throttle_reasons", lambda: _reasons(_mask(nvml, handle))),
        )


def _mask(nvml: Any, handle: Any) -> int:
    """Ask under the name of today, or under the one that older libraries and drivers have."""
    try:
        return int(nvml.nvmlDeviceGetCurrentClocksEventReasons(handle))
    except AttributeError:
        pass
    except nvml.NVMLError as error:
        if reason_of(error) != "driver-too-old":
            raise
    return int(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))


def _reasons(mask: int) -> tuple[ThrottleReason, ...]:
    known = tuple(name for bit, name in _REASONS if mask & bit)
    rest: tuple[ThrottleReason, ...] = ("other",) if mask & ~sum(bit for bit, _ in _REASONS) else ()
    return known + rest
