"""Lines that patterns find: numbered in the whole log, counted all, quoted within bounds, without secrets."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support import tools

from anvil.collectors.interface import LogPattern
from anvil.collectors.launchers.excerpts import END_LINES, MAX_BYTES, MAX_QUOTED, Patterns, excerpts
from anvil.collectors.launchers.logs import BoundedLog, LogFile, LogLimits
from anvil.collectors.reports import patterns_of
from anvil.collectors.withholding import Secrets
from anvil.ledger.events.base import MAX_SEALED_SIZE


def log_of(content: bytes) -> BoundedLog:
    return BoundedLog(content, b"", len(content), content.count(b"\n"))


def patterns(**texts: str) -> Patterns:
    return {name: LogPattern(re.compile(text)) for name, text in texts.items()}


def numbers(log: BoundedLog, found: Patterns, **more: int) -> list[tuple[int, str]]:
    return [(item.line, item.pattern) for item in excerpts(log, found, **more).quoted]


def test_lines_have_the_numbers_of_the_whole_log(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"".join(f"line {number:05}\n".encode() for number in range(1, 1001)))
    log = LogFile(path, LogLimits(100, 100)).read()
    assert not log.is_whole
    wanted = patterns(a="00003$", b="0099[89]", c="00500")
    found = excerpts(log, wanted)
    assert [(item.line, item.text) for item in found.quoted] == [
        (3, "line 00003"),
        (998, "line 00998"),
        (999, "line 00999"),
    ]
    assert found.matched == {"a": 1, "b": 2, "c": 0}  # 500 was cut out
    assert numbers(log, wanted, after=998) == [(999, "b")]


def test_a_line_counts_under_the_first_pattern_that_finds_it() -> None:
    log = log_of(b"both\nonly two\n")
    assert numbers(log, patterns(one="both", two="both|two")) == [(1, "one"), (2, "two")]


def test_the_first_and_the_last_of_many_are_quoted_and_all_are_counted() -> None:
    log = log_of(b"".join(b"WARNING again\n" for _ in range(10_000)) + b"ERROR the end\n")
    found = excerpts(log, patterns(error="ERROR", warning="WARNING"))
    quoted = [item.line for item in found.quoted]
    assert quoted == [*range(1, END_LINES + 1), *range(10_001 - END_LINES, 10_002)]
    assert [(p.name, p.lines, p.quoted) for p in found.event().patterns] == [
        ("error", 1, 1),
        ("warning", 10_000, 2 * END_LINES),
    ]


def test_what_is_quoted_fits_a_sealed_field_and_earlier_patterns_come_first() -> None:
    log = log_of((b"a " + b"\x01" * 9000 + b"\n" + b"b " + b"\xff" * 9000 + b"\nc\n") * 100)
    found = excerpts(log, patterns(c="^c", a="^a", b="^b"))
    assert all(len(item.text) <= MAX_QUOTED for item in found.quoted)
    counts = [pattern.quoted for pattern in found.event().patterns]
    assert counts[0] == 2 * END_LINES
    assert counts[2] < counts[1] < 2 * END_LINES
    assert len(json.dumps(found.event().lines)) < MAX_BYTES + 100 < MAX_SEALED_SIZE
    found.event().openings()  # it can be recorded


def test_no_secret_is_quoted_not_even_a_half_of_one() -> None:
    secrets = Secrets.of({"HF_TOKEN": "Zx9kQ2mV7tLr4"})
    at_the_cut = "error " + "x" * (MAX_QUOTED - 12) + " Zx9kQ2mV7tLr4 and on"
    log = log_of(f"error token Zx9kQ2mV7tLr4 here\n{at_the_cut}\n".encode())
    found = excerpts(log, patterns(error="error"), secrets=secrets)
    assert found.quoted[0].text == "error token [withheld] here"
    assert "Zx9k" not in json.dumps(found.event().lines)


def test_words_are_looked_for_in_any_case_before_an_expression() -> None:
    log = log_of(b"Fatal: one\nFATAL two\nfatal three\n")
    found = {
        "fatal": LogPattern(re.compile("(?i)fatal"), ("fatal",)),
        "never": LogPattern(re.compile(""), ("x",)),
    }
    assert excerpts(log, found).matched == {"fatal": 3, "never": 0}


def test_nothing_found_is_told_too() -> None:
    event = excerpts(log_of(b"all is well\n"), patterns(error="ERROR")).event()
    assert event.lines is None
    assert [(p.lines, p.quoted) for p in event.patterns] == [(0, 0)]


@pytest.mark.parametrize(
    ("engine", "line", "name"),
    [
        ("vllm", "(EngineCore pid=3) ERROR 07-29 10:26:04 [registry.py:951] Error in inspecting", "error"),
        ("vllm", "WARNING 07-29 10:26:39 [interface.py:729] Using 'pin_memory=False'", "warning"),
        ("vllm", "No FlashInfer autotune cache entries found.Falling back to default tactics.", "fallback"),
        ("vllm", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "out-of-memory"),
        ("vllm", "Sequence group 7 is preempted by PreemptionMode.RECOMPUTE", "preempted"),
        ("sglang", "[2026-07-29 10:26:04 TP0] KV cache pool is full. Retract requests.", "preempted"),
        ("sglang", "torch.AcceleratorError: CUDA error: an illegal memory access was encountered", "gpu"),
        ("llamacpp", "0.12.345 E srv    load_model: failed to load model", "error"),
        ("llamacpp", "0.12.345 W srv    init: no template", "warning"),
        ("another", "Traceback (most recent call last):", "error"),
        ("another", "RuntimeError: the weights do not fit", "error"),
        ("another", "fatal: the GPU has fallen off the bus", "error"),
        ("another", "OSError: [Errno 12] Cannot allocate memory", "error"),
        (None, "listening on 8000", None),
        ("vllm", "INFO 07-29 10:26:39 terrors and forewarnings: none", None),
    ],
)
def test_the_patterns_of_engines(engine: str | None, line: str, name: str | None) -> None:
    found = excerpts(log_of(f"{line}\n".encode()), patterns_of(engine))
    assert [item.pattern for item in found.quoted] == ([] if name is None else [name])


@pytest.mark.needs("evidence")
def test_a_real_start_that_failed() -> None:
    folder = tools.EVIDENCE / "agents-a1-head-to-head"
    log = log_of((folder / "qwen35-122b-video-262k-startup-attempt1-gpu-uuid-failure.log").read_bytes())
    found = excerpts(log, patterns_of("vllm"))
    assert found.matched["error"] > 50
    assert any("invalid literal for int()" in item.text or "Error" in item.text for item in found.quoted)
    assert len(found.quoted) < 200
