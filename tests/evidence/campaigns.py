"""The published figures of five campaigns, one function each: published value, ours from the rows, and the rule.

Nothing is computed but by `anvil.ledger.statistics` and exact arithmetic on its results; published values are read
from their files. Which file a figure is of follows from names inside the files wherever they say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from anvil.ledger import statistics
from anvil.ledger.events import CheckImported, LoadImported, SuiteImported
from anvil.ledger.statistics import rounded
from anvil.projections.figures import Figure
from evidence.taking import Folder, Line


def number(figure: Figure) -> Fraction:
    """Return the value of a figure that must be a number."""
    assert isinstance(figure.value, int | Fraction), figure.rule
    assert figure.status == "imported-artifact", figure.rule
    return Fraction(figure.value)


def decimals(text: str) -> int:
    return len(text.partition(".")[2])


# --- agents-a1-head-to-head --------------------------------------------------------------------------------

CAPACITY = {
    "ttft_p50_ms": ("nearest_rank_p50", "ttft"),
    "ttft_p95_ms": ("nearest_rank_p95", "ttft"),
    "effective_prefill_p50_tok_s": ("nearest_rank_p50", "prefill"),
    "generation_p50_ms": ("nearest_rank_p50", "generation"),
    "decode_p50_tok_s": ("nearest_rank_p50", "decode"),
    "mean_inter_token_latency_p50_ms": ("nearest_rank_p50", "token_latency"),
    "e2e_p50_ms": ("nearest_rank_p50", "e2e"),
    "aggregate_output_tok_s": ("sum_over_wall", "output_tokens"),
    "actual_prompt_tokens_p50": ("nearest_rank_p50", "prompt_tokens"),
}
REPORTED = {
    "weight_memory_gib": "weight_memory_gib",
    "kv_memory_gib": "kv_memory_gib",
    "kv_tokens": "kv_capacity_tokens",
    "reported_full_context_concurrency": "full_window_concurrency",
}
SIZES = {"capacity_8k_c1": 8192, "capacity_240k_c1": 240_000}


def head_to_head(folder: Folder) -> Iterator[Line]:
    name = folder.directory.name
    published = folder.published("comparison.json")
    exact: dict[tuple[str, str], Fraction] = {}
    for profile, figures in published["profiles"].items():
        served = figures["served_model"]
        loads = {
            folder.load(file).event.target_tokens: folder.load(file)  # type: ignore[union-attr]
            for file in folder.names(LoadImported)
            if folder.served(file) == served
        }
        for cell, size in SIZES.items():
            for metric, text in figures[cell].items():
                statistic, column = CAPACITY[metric]
                ours = number(loads[size].statistic(statistic, column))
                exact[profile, f"{cell}.{metric}"] = ours
                rule = f"{statistic}, 4 decimals"
                yield Line(name, f"{profile}.{cell}.{metric}", text, rounded(ours, 4), rule)
        suites = [folder.suite(file) for file in folder.names(SuiteImported) if folder.served(file) == served]
        for group, text in figures["multimodal"].items():
            if group == "failure_boundary":
                continue
            of = None if group == "overall" else group
            ours_text = f"{suites[0].passed(of).value}/{suites[0].asked(of).value}"
            yield Line(name, f"{profile}.multimodal.{group}", text, ours_text, "rows that passed / rows")
        log = next(
            f"{file.split('-capacity')[0]}-startup.log"
            for file in folder.names(LoadImported)
            if folder.served(file) == served
        )
        for metric, called in REPORTED.items():
            exact[profile, metric] = number(folder.reported(log, called))
            rule = "as the engine's log prints it"
            yield Line(name, f"{profile}.{metric}", figures[metric], folder.printed(log, called), rule)
        gate = next(
            file
            for file in folder.names(CheckImported)
            if folder.served(file) == served and file.endswith("240k.json")
        )
        all_passed = all(check.event.outcome == "passed" for check in folder.checks(gate))
        yield Line(
            name,
            f"{profile}.functional_240k",
            figures["functional_240k"],
            "pass" if all_passed else "fail",
            "every check passed",
        )
    yield from _derived(name, published["derived_comparison"], exact)


def _derived(name: str, published: dict[str, str], exact: dict[tuple[str, str], Fraction]) -> Iterator[Line]:
    agents, qwen = "agents_a1_fp8", "qwen35_122b_nvfp4"

    def ratio(over: str, under: str, metric: str) -> Fraction:
        return exact[over, metric] / exact[under, metric]

    def reduction(metric: str) -> Fraction:
        return (1 - ratio(agents, qwen, metric)) * 100

    ours: dict[str, Callable[[], Fraction]] = {
        "agents_weight_memory_reduction_percent": lambda: reduction("weight_memory_gib"),
        "agents_kv_capacity_multiple": lambda: ratio(agents, qwen, "kv_memory_gib"),
        "agents_reported_full_context_concurrency_multiple": lambda: ratio(
            agents, qwen, "reported_full_context_concurrency"
        ),
        "qwen_8k_effective_prefill_multiple": lambda: ratio(
            qwen, agents, "capacity_8k_c1.effective_prefill_p50_tok_s"
        ),
        "agents_8k_decode_multiple": lambda: ratio(agents, qwen, "capacity_8k_c1.decode_p50_tok_s"),
        "agents_240k_effective_prefill_multiple": lambda: ratio(
            agents, qwen, "capacity_240k_c1.effective_prefill_p50_tok_s"
        ),
        "agents_240k_decode_multiple": lambda: ratio(agents, qwen, "capacity_240k_c1.decode_p50_tok_s"),
        "agents_240k_ttft_reduction_percent": lambda: reduction("capacity_240k_c1.ttft_p50_ms"),
    }
    for figure, text in published.items():
        rule = "from unrounded operands, 2 decimals"
        yield Line(name, f"derived.{figure}", text, rounded(ours[figure](), 2), rule)


# --- fp8-moe-kernel-ab -------------------------------------------------------------------------------------


def kernel_ab(folder: Folder) -> Iterator[Line]:
    name = folder.directory.name
    published = folder.published("fp8-moe-ab-comparison.json")
    exact: dict[tuple[str, str, str], Fraction] = {}
    for arm in ("default", "tuned"):
        failures = 0
        for lane in ("primary", "protected"):
            side = published[arm][lane]
            files = [artifact["path"].rpartition("/")[2] for artifact in side["artifacts"]]
            runs = [folder.load(file) for file in files]
            for artifact, file in zip(side["artifacts"], files, strict=True):
                digest = str(folder.said[file].file.value).removeprefix("sha256:")
                yield Line(
                    name, f"{arm}.{lane}.{file}", artifact["sha256"], digest, "SHA-256 of the file kept"
                )
            for metric, text in side["means"].items():
                ours = statistics.mean([number(run.again(metric)) for run in runs])
                assert ours is not None
                exact[arm, lane, metric] = ours
                rule = "mean of three runs, 6 decimals"
                yield Line(name, f"{arm}.{lane}.{metric}", text, rounded(ours, 6), rule)
            events = [run.event for run in runs if isinstance(run.event, LoadImported)]
            failed = sum(event.failed for event in events)
            failures += failed
            yield Line(name, f"{arm}.{lane}.repetitions", side["repetitions"], str(len(runs)), "files")
            yield Line(
                name,
                f"{arm}.{lane}.requests_total",
                side["requests_total"],
                str(sum(event.expected for event in events)),
                "planned requests",
            )
            yield Line(name, f"{arm}.{lane}.failures_total", side["failures_total"], str(failed), "failed")
        gates = published["hard_gates"]
        checks = list(folder.checks(f"fp8-moe-ab-{arm}-functional.json"))
        passed = bool(checks) and all(check.event.outcome == "passed" for check in checks)
        yield Line(
            name,
            f"gates.{arm}_functional_passed",
            str(gates[f"{arm}_functional_passed"]),
            str(passed),
            "every check passed",
        )
        yield Line(
            name,
            f"gates.{arm}_capacity_failures",
            gates[f"{arm}_capacity_failures"],
            str(failures),
            "failed requests of the six runs",
        )
    for figure, text in published["deltas_percent"].items():
        lane, _, rest = figure.partition("_")
        metric, sign = DELTAS[rest]
        delta = statistics.delta_percent(exact["default", lane, metric], exact["tuned", lane, metric])
        assert delta is not None
        rule = f"{'minus ' if sign < 0 else ''}(tuned - default) / default, 3 decimals"
        yield Line(name, f"delta.{figure}", text, rounded(sign * delta, 3), rule)


DELTAS = {
    "throughput": ("throughput_tok_s", 1),
    "e2e_p95_improvement": ("e2e_p95_ms", -1),
    "ttft_p95_improvement": ("ttft_p95_ms", -1),
    "generation_p95_improvement": ("generation_p95_ms", -1),
    "e2e_p95_regression": ("e2e_p95_ms", 1),
    "ttft_p95_regression": ("ttft_p95_ms", 1),
    "decode_throughput": ("decode_tok_s_p50", 1),
}
"""What each delta is of, and its sign by its name: of a latency less is an improvement."""


# --- heavy-eval-v2 -----------------------------------------------------------------------------------------


def heavy_eval(folder: Folder) -> Iterator[Line]:
    name = folder.directory.name
    for suite, rows in folder.published("published.json").items():
        if suite in ("note", "rule"):
            continue
        for file, figures in rows.items():
            ours = folder.suite(f"{file}.json")
            event = ours.event
            assert isinstance(event, SuiteImported)
            assert event.wall is not None
            stable = f"{ours.stable().value}/{len(event.items)}"
            yield Line(
                name,
                f"{suite}.{file}.stable",
                figures["stable"],
                stable,
                "passes >= required rate x repetitions",
            )
            passed = f"{ours.passed().value}/{ours.asked().value}"
            yield Line(
                name,
                f"{suite}.{file}.attempts_passed",
                figures["attempts_passed"],
                passed,
                "rows that passed / rows",
            )
            wall = rounded(statistics.exact(event.wall.number) / 1000, 2)
            yield Line(name, f"{suite}.{file}.wall_s", figures["wall_s"], wall, "wall / 1000, 2 decimals")
            if "median_attempt_s" in figures:
                median = rounded(number(ours.statistic("median_interpolated", "latency")) / 1000, 2)
                yield Line(
                    name,
                    f"{suite}.{file}.median_attempt_s",
                    figures["median_attempt_s"],
                    median,
                    "median_interpolated / 1000, 2 decimals",
                )


# --- qwen38-1m-context -------------------------------------------------------------------------------------


RIGHT = "862.4"
"""The one published mean that was rounded twice, as it must be: the README of the folders says so."""


def context_ladder(folder: Folder) -> Iterator[Line]:
    name = folder.directory.name
    rungs: dict[int, list[tuple[Fraction, Fraction, bool]]] = {}
    for file in folder.names(CheckImported):
        if not file.startswith("needle-"):
            continue
        needle = folder.check(file, "needle")
        event = needle.event
        target = next(int(str(p.value)) for p in event.parameters if p.name == "target_tokens")
        tokens, seconds = (number(needle.statistic("maximum", c)) for c in ("prompt_tokens", "latency"))
        rungs.setdefault(target, []).append((tokens, seconds, event.outcome == "passed"))
    for rung in folder.published("qualification-summary.json")["retrieval_ladder"]:
        yield from _rung(name, rung, rungs[int(rung["target_label_tokens"])])
    restored = all(check.event.outcome == "passed" for check in folder.checks("restored-fp8-preflight.json"))
    summary = folder.published("qualification-summary.json")
    yield Line(
        name,
        "restoration.original_fp8_preflight_passed",
        str(summary["restoration"]["original_fp8_preflight_passed"]),
        str(restored),
        "every check passed",
    )


def _rung(name: str, rung: dict[str, object], runs: list[tuple[Fraction, Fraction, bool]]) -> Iterator[Line]:
    label = rung["target_label_tokens"]
    yield Line(
        name,
        f"{label}.actual_prompt_tokens",
        str(rung["actual_prompt_tokens"]),
        str(runs[0][0]),
        "as reported",
    )
    yield Line(name, f"{label}.attempts", str(rung["attempts"]), str(len(runs)), "files")
    yield Line(
        name, f"{label}.passed", str(rung["passed"]), str(sum(run[2] for run in runs)), "checks that passed"
    )
    listed = rung["e2e_seconds"]
    assert isinstance(listed, list)
    for at, (text, (_, seconds, _)) in enumerate(zip(listed, runs, strict=True)):
        yield Line(name, f"{label}.e2e_seconds[{at}]", text, rounded(seconds, 3), "as the file has it")
    rates = [tokens / seconds for tokens, seconds, _ in runs]
    single = rung.get("effective_input_tokens_per_second")
    if isinstance(single, list):
        for text, rate in zip(single, rates, strict=True):
            yield Line(name, f"{label}.effective_rate", text, rounded(rate, 1), "tokens / seconds, 1 decimal")
        return
    mean_seconds, mean_rate = statistics.mean([seconds for _, seconds, _ in runs]), statistics.mean(rates)
    assert mean_seconds is not None
    assert mean_rate is not None
    yield Line(
        name,
        f"{label}.e2e_seconds_mean",
        str(rung["e2e_seconds_mean"]),
        rounded(mean_seconds, 3),
        "mean, 3 decimals",
    )
    text = str(rung["effective_input_tokens_per_second_mean"])
    yield Line(
        name,
        f"{label}.effective_rate_mean",
        text,
        rounded(mean_rate, 1),
        "mean of unrounded, 1 decimal",
        RIGHT,
    )
    first = [statistics.exact(rounded(rate, 1)) for rate in rates]
    twice = statistics.mean(first)
    assert twice is not None
    rule = "the published one: the mean of rates that were rounded before, cut to 1 decimal"
    yield Line(name, f"{label}.effective_rate_mean, rounded twice", text, rounded(twice, 1), rule)


# --- rtx5090-mtp3-ab ---------------------------------------------------------------------------------------

CELLS = {"4k": 4096, "64k": 65536}


def speculative_ab(folder: Folder) -> Iterator[Line]:
    name = folder.directory.name
    loads = {
        (file.split("-", 1)[0], folder.load(file).event.target_tokens): folder.load(file)  # type: ignore[union-attr]
        for file in folder.names(LoadImported)
    }
    for metric, row in folder.published("published.json")["rows"].items():
        for figure, text in row.items():
            arm, _, cell = figure.partition("_")
            if arm == "delta":
                size = CELLS[cell.removesuffix("_percent")]
                operands = (number(loads[one, size].again(metric)) for one in ("baseline", "mtp3"))
                delta = statistics.delta_percent(*operands)
                assert delta is not None
                yield Line(name, f"{metric}.{figure}", text, rounded(delta, 1), "unrounded p50s, 1 decimal")
            else:
                ours = number(loads[arm, CELLS[cell]].again(metric))
                places = decimals(text)
                rule = f"nearest_rank_p50, {places} decimals"
                yield Line(name, f"{metric}.{figure}", text, rounded(ours, places), rule)


CAMPAIGNS: dict[str, Callable[[Folder], Iterator[Line]]] = {
    "agents-a1-head-to-head": head_to_head,
    "fp8-moe-kernel-ab": kernel_ab,
    "heavy-eval-v2": heavy_eval,
    "qwen38-1m-context": context_ladder,
    "rtx5090-mtp3-ab": speculative_ab,
}
