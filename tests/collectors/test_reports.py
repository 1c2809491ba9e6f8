"""What engines say of themselves: figures with their lines, from excerpts of ours and from real logs."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import tools

from anvil.collectors.reports import READERS, Report, read_report

VLLM = b"""\
(APIServer pid=1) INFO 01-02 03:04:05 [utils.py:1] non-default args: {'max_model_len': 65536, 'max_num_seqs': 5}
(EngineCore pid=9) WARNING 01-02 03:04:06 [envs.py:12] Unknown variable
(EngineCore pid=9) INFO 01-02 03:04:06 [core.py:1] Initializing a V1 LLM engine (v0.30.0) with config: model='x', dtype=torch.bfloat16, max_seq_len=65536, quantization=None, kv_cache_dtype=fp8_e4m3, device_config=cuda
(EngineCore pid=9) INFO 01-02 03:04:06 [cuda.py:1] Using backend AttentionBackendEnum.FLASH_ATTN for vit attention
(EngineCore pid=9) INFO 01-02 03:04:06 [cuda.py:2] Using \x1b[1mFLASHINFER\x1b[0m attention backend out of potential backends: [].
(EngineCore pid=9) WARNING 01-02 03:04:07 [kv_cache.py:1] Using KV cache scaling factor 1.0 for fp8_e4m3. If this is unintended, look.
(EngineCore pid=9) WARNING 01-02 03:04:07 [kv_cache.py:2] Using uncalibrated q_scale 1.0 and/or prob_scale 1.0 with fp8 attention.
(EngineCore pid=9) INFO 01-02 03:04:08 [gpu_model_runner.py:1] Model loading took 1.50 GiB memory and 3.2 seconds
(EngineCore pid=9) INFO 01-02 03:04:08 [gpu_worker.py:1] Available KV cache memory: 10.25 GiB
(EngineCore pid=9) INFO 01-02 03:04:08 [kv_cache_utils.py:1] GPU KV cache size: 1,825,809 tokens
(EngineCore pid=9) INFO 01-02 03:04:08 [kv_cache_utils.py:2] Maximum concurrency for 65,536 tokens per request: 27.86x
(EngineCore pid=9) INFO 01-02 03:04:08 [kv_cache_utils.py:1] GPU KV cache size: 1,825,809 tokens
"""

SGLANG = b"""\
[2030-01-02 03:04:05] server_args=ServerArgs(model_path='x', attention_backend='flashinfer', kv_cache_dtype='fp8_e4m3')
[2030-01-02 03:04:06] Using FP8 KV cache but no scaling factors provided. Defaulting to scaling factors of 1.0. This may lead to less accurate results!
[2030-01-02 03:04:07] Load weight end. elapsed=9.1 s, type=XForCausalLM, dtype=torch.bfloat16, quant=fp8, avail mem=66.00 GB, mem usage=28.47 GB.
[2030-01-02 03:04:08] KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 1665740, K size: 12.71 GB, V size: 12.70 GB
[2030-01-02 03:04:09] max_total_num_tokens=1665740, chunked_prefill_size=2048, max_prefill_tokens=16384, max_running_requests=1, context_len=393216, available_gpu_mem=10.00 GB
"""

LLAMACPP = b"""\
0.00.001 I srv          init: build_info: b0-unknown
0.00.002 W srv          init: security: no API key is set
0.00.700 I print_info: file type   = Q4_1
0.01.100 I load_tensors:   CPU_Mapped model buffer size =    92.10 MiB
0.01.121 I llama_context: n_ctx                 = 16384
0.01.121 I llama_context: n_ctx_seq             = 8192
0.01.569 I llama_kv_cache: size =  360.00 MiB (  8192 cells,  30 layers,  2/2 seqs), K (f16):  180.00 MiB, V (f16):  180.00 MiB
0.08.490 I srv    load_model: initializing, n_slots = 2, n_ctx_slot = 8192, kv_unified = 'false'
"""


def report(engine: str, log: bytes, **more: object) -> Report:
    found = read_report(engine, log, **more)  # type: ignore[arg-type]
    assert found is not None
    return found


def figures(found: Report) -> list[tuple[str, object, int | None]]:
    return [(f.name, f.word if f.number is None else f.number, f.line) for f in found.figures]


def test_vllm_on_the_processor() -> None:
    log = b"""\
(Worker pid=7) INFO 01-02 03:04:08 [cpu_worker.py:260] Explicitly set (2.0/23.54) GiB for KV cache on node 0.
(EngineCore pid=9) INFO 01-02 03:04:08 [kv_cache_utils.py:1] CPU KV cache size: 93,184 tokens, Maximum concurrency for 8,192 tokens per request: 11.38x
"""
    assert figures(report("vllm", log)) == [
        ("kv_memory_gib", "2.0", 1),
        ("kv_capacity_tokens", 93_184, 2),
        ("context_tokens", 8192, 2),
        ("full_window_concurrency", "11.38", 2),
    ]


def test_vllm() -> None:
    assert figures(report("vllm", VLLM)) == [
        ("max_sequences", 5, 1),
        ("other_warning", "envs", 2),
        ("model_dtype", "bfloat16", 3),
        ("kv_cache_dtype", "fp8_e4m3", 3),
        ("attention_backend", "FLASHINFER", 5),
        ("kv_scaling_factors_missing", "k_v_scale", 6),
        ("other_warning", "kv_cache", 6),
        ("kv_scaling_factors_missing", "q_prob_scale", 7),
        ("weight_memory_gib", "1.50", 8),
        ("kv_memory_gib", "10.25", 9),
        ("kv_capacity_tokens", 1825809, 10),
        ("context_tokens", 65536, 11),
        ("full_window_concurrency", "27.86", 11),
    ]


def test_vllm_metrics() -> None:
    metrics = (
        '# HELP x y\nvllm:cache_config_info{block_size="16",cache_dtype="fp8",num_gpu_blocks="99"} 1.0\n'
    )
    (figure,) = report("vllm", b"", metrics=metrics).figures
    assert (figure.name, figure.word, figure.source, figure.line) == (
        "kv_cache_dtype",
        "fp8",
        "metrics",
        None,
    )


def test_sglang() -> None:
    metrics = 'sglang:max_total_num_tokens{model_name="x"} 1665741.0\n'
    assert figures(report("sglang", SGLANG, metrics=metrics)) == [
        ("attention_backend", "flashinfer", 1),
        ("kv_scaling_factors_missing", "k_v_scale", 2),
        ("weight_memory_gib", "28.47", 3),
        ("model_dtype", "bfloat16", 3),
        ("quantization", "fp8", 3),
        ("kv_cache_dtype", "float8_e4m3fn", 4),
        ("kv_capacity_tokens", 1665740, 4),
        ("kv_memory_gib", "25.41", 4),
        ("max_sequences", 1, 5),
        ("context_tokens", 393216, 5),
        ("kv_capacity_tokens", 1665741, None),
    ]


def test_llamacpp() -> None:
    props = {"total_slots": 2, "default_generation_settings": {"n_ctx": 8192}, "model_ftype": "Q4_1"}
    found = report("llamacpp", LLAMACPP, props=props)
    assert figures(found) == [
        ("other_warning", "init", 2),
        ("quantization", "Q4_1", 3),
        ("weight_memory_gib", "0.08994140625", 4),
        ("kv_capacity_tokens", 16384, 5),
        ("kv_memory_gib", "0.3515625", 7),
        ("kv_cache_dtype", "f16", 7),
        ("max_sequences", 2, 8),
        ("context_tokens", 8192, 8),
    ]


@pytest.mark.parametrize(("engine", "log"), [("vllm", VLLM), ("sglang", SGLANG), ("llamacpp", LLAMACPP)])
def test_each_figure_has_its_line_beside_it(engine: str, log: bytes) -> None:
    found = report(engine, log)
    lines = dict(found.lines)
    assert {f.line for f in found.figures} == set(lines)
    plain = log.decode().replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()
    assert all(plain[number - 1].startswith(text) for number, text in lines.items())
    event = found.event()
    assert event.lines == [[str(number), text] for number, text in found.lines]
    assert "srv" not in str(event.facts())


def test_an_engine_that_nobody_reads() -> None:
    assert read_report("trtllm", b"Model loading took 1 GiB") is None


@pytest.mark.parametrize("engine", READERS)
def test_a_log_can_say_anything(engine: str) -> None:
    hostile = (
        b"GPU KV cache size: "
        + b"9" * 400
        + b" tokens\nUsing A"
        + b"B" * 400
        + b" attention backend\n\xff\xfe\n"
    )
    hostile += b"KV Cache is allocated. #tokens: " + b"9" * 400 + b"\n" + b"x" * 200_000
    found = report(engine, hostile * 3)
    assert found.figures == ()


@pytest.mark.parametrize("engine", READERS)
def test_a_log_that_repeats_itself_ends(engine: str) -> None:
    many = b"".join(
        b"GPU KV cache size: %d tokens\nmax_total_num_tokens=%d, \nllama_context: n_ctx = %d\n" % (n, n, n)
        for n in range(5000)
    )
    assert len(report(engine, many).figures) == 200


# --- real logs -----------------------------------------------------------------------------------------

REAL = {
    "agents-a1-head-to-head/agents-a1-fp8-262k-startup.log": (
        ("weight_memory_gib", "35.31"), ("kv_memory_gib", "51.93"), ("kv_capacity_tokens", 5277426),
        ("full_window_concurrency", "20.13"), ("context_tokens", 262144), ("attention_backend", "FLASHINFER"),
        ("kv_cache_dtype", "fp8"), ("kv_cache_dtype", "float8_e4m3fn"), ("quantization", "compressed-tensors"),
        ("max_sequences", 1),
    ),
    "agents-a1-head-to-head/qwen35-122b-video-262k-startup.log": (
        ("weight_memory_gib", "73.22"), ("kv_memory_gib", "13.84"), ("kv_capacity_tokens", 571950),
        ("full_window_concurrency", "2.18"), ("attention_backend", "FLASH_ATTN"), ("kv_cache_dtype", "bfloat16"),
        ("quantization", "modelopt_fp4"),
    ),
    "fp8-moe-kernel-ab/fp8-moe-ab-default-startup.log": (
        ("weight_memory_gib", "34.46"), ("kv_capacity_tokens", 5046272), ("full_window_concurrency", "38.50"),
        ("context_tokens", 131072), ("max_sequences", 32),
    ),
}  # fmt: skip


@pytest.mark.needs("evidence")
@pytest.mark.parametrize("name", REAL)
def test_real_start_up_logs_of_vllm(name: str) -> None:
    log = (tools.EVIDENCE / name).read_bytes()
    found = report("vllm", log)
    said = figures(found)
    assert {(figure, value) for figure, value, _ in said} >= set(REAL[name])
    lines = log.decode().split("\n")
    for figure, value, line in said:
        assert line is not None
        plain = lines[line - 1].replace(",", "")
        assert str(value).casefold() in plain.casefold() or figure == "kv_scaling_factors_missing"


@pytest.mark.needs("evidence")
def test_excerpts_of_two_engines_that_failed() -> None:
    log = (tools.EVIDENCE / "heavy-eval-v2/laguna-runtime-excerpts.log").read_bytes()
    vllm = {(name, value) for name, value, _ in figures(report("vllm", log))}
    assert vllm == {("max_sequences", 5), ("attention_backend", "FLASH_ATTN"), ("weight_memory_gib", "20.18")}
    sglang = [(name, value) for name, value, _ in figures(report("sglang", log))]
    assert ("weight_memory_gib", "20.32") in sglang
    assert [value for name, value in sglang if name == "kv_capacity_tokens"] == [406540, 508175]


@pytest.mark.needs("evidence")
def test_every_log_there_is_can_be_read() -> None:
    logs = sorted(Path(tools.EVIDENCE).glob("*/*.log"))
    assert logs
    for path in logs:
        for engine in READERS:
            report(engine, path.read_bytes()).event()
