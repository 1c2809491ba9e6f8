"""What the story says of surroundings: the recipe, the host, the weights and a gate, each as one event."""

from __future__ import annotations

from anvil.ledger.events import (
    HostObserved,
    RecipeDeclared,
    RestorationChecked,
    WeightsInspected,
)
from anvil.ledger.events.recipes import (
    DeclaredAttempt,
    DeclaredCandidate,
    DeclaredCell,
    DeclaredExperiment,
    DeclaredProtocol,
    Setting,
)
from anvil.ledger.events.surroundings import Absence, Gpu, NamedDigest, TensorType, WeightFinding

IMAGE = "docker.io/vllm/vllm-openai@sha256:" + "c2" * 32
REVISION = "0123456789abcdef0123456789abcdef01234567"


def recipe() -> RecipeDeclared:
    return RecipeDeclared(
        recipe="qwen38-27b-vllm-262k",
        digest="sha256:" + "e4" * 32,
        base_revision="6f" * 20,
        candidates=(
            DeclaredCandidate(
                key="official_fp8", model="Qwen/Qwen3.8-27B-FP8", revision=REVISION, quantization="fp8"
            ),
        ),
        attempts=(
            DeclaredAttempt(
                key="a1",
                candidate="official_fp8",
                placement="gpu0",
                launcher="docker",
                engine="vllm",
                image=IMAGE,
                image_id=None,
                recipe_revision="dd" * 20,
                settings=(
                    Setting(name="context_tokens", value=262_144),
                    Setting(name="kv_cache_dtype", value="fp8_e4m3"),
                    Setting(name="gpu_memory_utilization", value="0.92"),
                    Setting(name="prefix_cache", value=True),
                ),
                checks=("tools-batch", "finish"),
                suites=("session",),
                protocols=(
                    DeclaredProtocol(
                        protocol="steady",
                        kind="capacity",
                        cells=(DeclaredCell(cell="c5", runs=5, requests=20),),
                    ),
                ),
            ),
        ),
        experiments=(
            DeclaredExperiment(
                key="unquantized_kv",
                control="a1",
                attempt="a2",
                control_protocol=None,
                protocol=None,
                only_change=("kv_cache_dtype",),
                protocols=("steady",),
            ),
            DeclaredExperiment(
                key="to-the-cap",
                control=None,
                attempt=None,
                control_protocol="steady",
                protocol="steady-to-the-cap",
                only_change=("ignore_eos",),
                protocols=(),
            ),
        ),
        continues=None,
        deadline_ready_ns=1_800_000_000_000,
        argv=[["a1", "--model", "/models/qwen", "--api-key", "[withheld]"]],
    )


def host() -> HostObserved:
    return HostObserved(
        moment="before",
        cpu_product=None,
        cpu_cores=64,
        memory_bytes=540_000_000_000,
        available_memory_bytes=530_000_000_000,
        kernel="6.8.0",
        driver="580.65.06",
        cuda="13.0",
        container_engine="28.3.1",
        is_wsl=False,
        gpus=(
            Gpu(
                position=0,
                is_placed=True,
                product="NVIDIA H200",
                compute_capability="sm_90",
                memory_bytes=150_754_820_096,
                used_memory_bytes=0,
                pcie_generation=5,
                pcie_width=16,
                pcie_max_generation=5,
                pcie_max_width=16,
                power_limit_milliwatts=700_000,
                sm_clock_mhz=345,
                max_sm_clock_mhz=1980,
                memory_clock_mhz=3201,
                is_mig=False,
                processes=0,
            ),
        ),
        absent=(Absence(field="cpu_product", reason="product-not-listed"),),
        names=[["host", "zürich-7"], ["gpu-0.uuid", "GPU-00000000-0000-0000-0000-000000000000"]],
    )


def weights() -> WeightsInspected:
    return WeightsInspected(
        model="Qwen/Qwen3.8-27B-FP8",
        revision=REVISION,
        files=19,
        bytes=29_000_000_000,
        tensor_files=1,
        tensor_bytes=28_000_000_000,
        tensors=1200,
        tensor_types=(TensorType(name="F8_E4M3", tensors=1000), TensorType(name="BF16", tensors=200)),
        tensor_digests=("sha256:" + "f5" * 32,),
        documents=(NamedDigest(name="chat-template", digest="sha256:" + "c7" * 32),),
        stated_identities=2,
        matched_identities=1,
        findings=(WeightFinding(kind="remote-code", count=1),),
        digested_bytes=28_000_000_000,
        elapsed_ns=14_000_000_000,
        earlier="ab" * 32,
        reused_files=3,
        places=[["snapshot", "/srv/models/qwen"], ["remote-code", "config.json"]],
    )


def gate(outcome: str, differences: tuple[str, ...], before: str | None = None) -> RestorationChecked:
    return RestorationChecked(
        gate="router",
        kind="http",
        outcome=outcome,  # type: ignore[arg-type]
        differences=differences,
        before=before,
        value=200,
        detail=[["fingerprint", "fp-1"]],
    )
