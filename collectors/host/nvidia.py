"""GPUs as NVIDIA's driver says, through its own library (NVML): the one place that imports it.

1. Without the driver nothing is known, and that is said with its reason. Nothing is installed or started.
2. A value that the driver does not give (another GPU, no right, MIG) is null, with the reason beside it.
3. Numbers of GPUs change; the UUID is the identity, and is sealed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from anvil.collectors.host.system import NOT_LISTED, public_version
from anvil.ledger.events.surroundings import Gpu
from anvil.ledger.products import PRODUCTS

NO_LIBRARY = "no-nvidia-library"
_REASONS = {
    "NVMLError_LibraryNotFound": "no-nvidia-driver",
    "NVMLError_DriverNotLoaded": "nvidia-driver-not-loaded",
    "NVMLError_NoPermission": "no-permission",
    "NVMLError_NotSupported": "not-supported",
    "NVMLError_GpuIsLost": "gpu-is-lost",
    "NVMLError_FunctionNotFound": "driver-too-old",
}


@dataclass
class Driver:
    """What the driver says. `absent` is field to reason, `names` what is sealed, `raw` what was read as it was."""

    driver: str | None = None
    cuda: str | None = None
    gpus: list[Gpu] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    names: list[list[str]] = field(default_factory=list)
    raw: dict[str, Any] = field(default_factory=dict)


def read_driver(placed: Collection[str] = (), nvml: Any = None, proc: Path = Path("/proc")) -> Driver:
    """Return what the driver says of this host's GPUs; `placed` are the UUIDs of those that the attempt gets."""
    found = Driver()
    try:
        library = nvml or import_module("pynvml")
    except ImportError:
        return _without(found, NO_LIBRARY)
    try:
        library.nvmlInit()
    except library.NVMLError as error:
        return _without(found, reason_of(error))
    try:
        reading = _Reading(library, found, proc)
        found.driver = reading.ask(
            "driver", lambda: public_version(_text(library.nvmlSystemGetDriverVersion()))
        )
        found.cuda = reading.ask("cuda", lambda: _cuda(library.nvmlSystemGetCudaDriverVersion_v2()))
        count = reading.ask("gpus", library.nvmlDeviceGetCount) or 0
        for position in range(count):
            gpu = reading.gpu(position, placed)
            if gpu is not None:
                found.gpus.append(gpu)
    finally:
        library.nvmlShutdown()
    return found


def _without(found: Driver, reason: str) -> Driver:
    found.absent |= dict.fromkeys(("driver", "cuda", "gpus"), reason)
    return found


class _Reading:
    """Asks the library one thing at a time; what it does not give is null with its reason."""

    def __init__(self, library: Any, found: Driver, proc: Path) -> None:
        self.nvml = library
        self.found = found
        self.proc = proc

    def ask(self, name: str, question: Callable[[], Any]) -> Any:
        try:
            answer = question()
        except self.nvml.NVMLError as error:
            self.found.absent[name] = reason_of(error)
            return None
        self.found.raw[name] = answer if isinstance(answer, int | str | list | None) else str(answer)
        return answer

    def gpu(self, position: int, placed: Collection[str]) -> Gpu | None:
        """Return one GPU, and seal what names it."""
        library, at = self.nvml, f"gpu-{position}"
        handle = self.ask(at, lambda: library.nvmlDeviceGetHandleByIndex(position))
        if handle is None:
            return None

        def ask(name: str, question: Callable[..., Any], *arguments: Any) -> Any:
            return self.ask(f"{at}.{name}", lambda: question(handle, *arguments))

        uuid = ask("uuid", lambda of: _text(library.nvmlDeviceGetUUID(of)))
        product = ask("product", lambda of: _text(library.nvmlDeviceGetName(of)))
        if product is not None and product not in PRODUCTS:
            self.found.absent[f"{at}.product"] = NOT_LISTED
            self.found.names += [[f"{at}.product", product]]
        memory = ask(
            "memory_bytes", lambda of: _numbers(library.nvmlDeviceGetMemoryInfo(of), "total", "used")
        )
        processes = ask("processes", self._processes)
        self.found.names += [[f"{at}.uuid", uuid]] if uuid else []
        self.found.names += [[f"{at}.process", text] for text in processes or ()]
        clock, most = library.nvmlDeviceGetClockInfo, library.nvmlDeviceGetMaxClockInfo
        return Gpu(
            position=position,
            is_placed=uuid in placed,
            product=product if product in PRODUCTS else None,
            compute_capability=ask(
                "compute_capability",
                lambda of: _architecture(*library.nvmlDeviceGetCudaComputeCapability(of)),
            ),
            memory_bytes=memory[0] if memory else None,
            used_memory_bytes=memory[1] if memory else None,
            pcie_generation=ask("pcie_generation", library.nvmlDeviceGetCurrPcieLinkGeneration),
            pcie_width=ask("pcie_width", library.nvmlDeviceGetCurrPcieLinkWidth),
            pcie_max_generation=ask("pcie_max_generation", library.nvmlDeviceGetMaxPcieLinkGeneration),
            pcie_max_width=ask("pcie_max_width", library.nvmlDeviceGetMaxPcieLinkWidth),
            power_limit_milliwatts=ask("power_limit_milliwatts", library.nvmlDeviceGetPowerManagementLimit),
            sm_clock_mhz=ask("sm_clock_mhz", clock, library.NVML_CLOCK_SM),
            max_sm_clock_mhz=ask("max_sm_clock_mhz", most, library.NVML_CLOCK_SM),
            memory_clock_mhz=ask("memory_clock_mhz", clock, library.NVML_CLOCK_MEM),
            is_mig=ask("is_mig", lambda of: bool(library.nvmlDeviceGetMigMode(of)[0])),
            processes=None if processes is None else len(processes),
        )

    def _processes(self, handle: Any) -> list[str]:
        """Return each process that uses a GPU: its number, its name, and how much memory it has there."""
        rows = [
            *self.nvml.nvmlDeviceGetComputeRunningProcesses(handle),
            *self.nvml.nvmlDeviceGetGraphicsRunningProcesses(handle),
        ]
        by_number = {row.pid: row for row in rows}
        return [
            f"{number} {_name(self.proc, number)} {row.usedGpuMemory or 'unknown'}"
            for number, row in sorted(by_number.items())
        ]


def _name(proc: Path, number: int) -> str:
    try:
        return (proc / str(number) / "comm").read_text(encoding="utf-8", errors="replace").strip() or "?"
    except OSError:
        return "?"


def _numbers(answer: Any, *names: str) -> list[int]:
    return [int(getattr(answer, name)) for name in names]


def _text(answer: Any) -> str:
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else str(answer)


def _architecture(major: int, minor: int) -> str:
    return f"sm_{major}{minor}"


def _cuda(number: int) -> str:
    """Return 13000 as ``13.0`` (`nvmlSystemGetCudaDriverVersion`)."""
    return f"{number // 1000}.{number % 1000 // 10}"


def reason_of(error: Exception) -> str:
    """Return why the library gave no answer, in a word."""
    return _REASONS.get(type(error).__name__, "nvml-error")
