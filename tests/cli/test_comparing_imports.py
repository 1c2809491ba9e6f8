"""`anvil compare` of what other tools measured: with its like and with ours, and what it refuses, by name."""

from __future__ import annotations

import json
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.command import Anvil
from support.evidence_files import bakeoff, benchmark, spelled
from support.fine.stage import Stage
from support.published import failure
from support.published import spelled as document
from support.sides import PLAIN, play, recipe
from support.toolfiles import changed, values, whole
from support.toolfiles import spelled as tool_file
from support.tools import EVIDENCE

CACHE = ("--accept-unknown", "cache")
TTFT = "ttft.visible/1"


def take(anvil: Anvil, file: dict[str, Any] | bytes, attempt: str, *options: object) -> None:
    content = file if isinstance(file, bytes) else spelled(file)
    path = Path(f"{attempt}-{len(list(Path().iterdir()))}.json")
    path.write_bytes(content)
    ran = anvil("import", path, "--campaign", "one", "--attempt", attempt, *options)
    assert ran.code == 0, ran.err


def runs(anvil: Anvil, attempt: str, offset: float, count: int = 3, **changes: Any) -> None:
    """Import runs of one load, each request slower by `offset` ms and each run a little different."""
    for number in range(count):
        file = deepcopy(benchmark())
        file |= {"run_id": f"run-{attempt}-{number}", **changes}
        for row in file["request_timings"]:
            row["ttft_ms"] += offset + number
            row["e2e_ms"] += offset + number
        take(anvil, file, attempt)


def compared(anvil: Anvil, *options: object) -> Any:
    ran = anvil("compare", "one/a", "one/b", "--json", *options)
    assert ran.code in (0, 1), ran.err
    return ran.json


def obstacles(anvil: Anvil, *options: object) -> dict[str, tuple[str, str]]:
    (cell,) = compared(anvil, *options)["cells"]
    return {one["what"]: (one["control"], one["treatment"]) for one in cell["not_compared"]}


def metrics(anvil: Anvil, *options: object) -> dict[str, Any]:
    (cell,) = compared(anvil, *options)["cells"]
    assert cell["not_compared"] == []
    return {one["metric"]: one for one in cell["metrics"]}


# --- what is compared ---------------------------------------------------------------------------------------


def test_two_attempts_of_one_tool_are_compared_from_their_rows(ledger: Anvil) -> None:
    runs(ledger, "a", 0)
    runs(ledger, "b", 11.1)
    found = metrics(ledger, *CACHE)
    assert list(found) == [
        TTFT,
        "e2e/1",
        "decode.stream_end/1",
        "prefill.effective/1",
        "generation_ms, anvil-serving's own",
        "mean_inter_token_latency_ms, anvil-serving's own",
        "throughput_tok_s, anvil-serving's own",
    ]
    ttft = found[TTFT]
    assert ttft["statistic"] == "mean_of_run_p50"
    assert (ttft["control"]["value"], ttft["control"]["runs"]) == ("111.000000", 3)
    assert ttft["control"]["status"] == "imported-artifact"
    assert ttft["delta_percent"] == "10.000000"
    assert ttft["found"] == "worse"
    assert found["e2e/1"]["found"] == "worse"


def test_what_was_accepted_as_unknown_is_said_in_the_result(ledger: Anvil) -> None:
    runs(ledger, "a", 0)
    runs(ledger, "b", 11.1)
    made = compared(ledger, *CACHE)
    assert made["accepted_unknown"] == ["cache"]
    notes = made["cells"][0]["notes"]
    assert "accepted as unknown, cache: state of the prefix cache on either side" in notes
    assert "control: n-unsupported, a p50 of 3 samples: " in " ".join(notes)
    assert any("do not say, or not in words that are published: image, revision, recipe" in n for n in notes)
    told = ledger("compare", "one/a", "one/b", *CACHE).out
    assert "accepted as unknown, cache" in told
    assert "No A/B: of what was imported nobody knows how it was planned" in told


def test_what_the_files_say_otherwise_is_a_difference(ledger: Anvil) -> None:
    runs(ledger, "a", 0)
    runs(ledger, "b", 0, engine="vllm-0.24")
    (one,) = compared(ledger, *CACHE)["differences"]
    assert (one["name"], one["control"], one["treatment"]) == ("engine", "vllm-0.23", "vllm-0.24")


def test_a_campaign_is_a_side_and_so_is_a_candidate(ledger: Anvil) -> None:
    for number, name in enumerate(("x", "y")):
        file = {**benchmark(), "run_id": name}
        Path(f"{name}.json").write_bytes(spelled(file))
        ledger("import", f"{name}.json", "--campaign", name, "--candidate", f"tiny-{number}")
    assert ledger("compare", "x", "y", *CACHE).code == 0
    ran = ledger("compare", "tiny-0", "y/tiny-1", *CACHE, "--json")
    assert (ran.code, len(ran.json["cells"])) == (0, 1)


# --- what stands in the way ---------------------------------------------------------------------------------

FILES: dict[str, dict[str, Any]] = {
    "hardware": {"gpu": "rtx-6000"},
    "parameter max_tokens": {"max_tokens": 32},
    "state of the prefix cache (unknown)": {},
}


@pytest.mark.parametrize("what", FILES)
def test_what_differs_or_is_unknown_is_named(ledger: Anvil, what: str) -> None:
    runs(ledger, "a", 0, 1)
    runs(ledger, "b", 5, 1, **FILES[what])
    assert what in obstacles(ledger)
    assert ledger("compare", "one/a", "one/b").code == 1
    if FILES[what]:  # what is known to differ cannot be accepted as unknown
        every = [word for name in ("protocol", "cache", "hardware") for word in ("--accept-unknown", name)]
        assert list(obstacles(ledger, *every)) == [what]


def test_hardware_that_nobody_said_can_be_accepted_by_name(ledger: Anvil) -> None:
    runs(ledger, "a", 0, 1, gpu=None)
    runs(ledger, "b", 5, 1)
    assert obstacles(ledger, *CACHE)["hardware (unknown)"] == ("not stated", "rtx-5090")
    found = metrics(ledger, *CACHE, "--accept-unknown", "hardware")
    assert found[TTFT]["delta_percent"] is not None
    notes = compared(ledger, *CACHE, "--accept-unknown", "hardware")["cells"][0]["notes"]
    assert "accepted as unknown, hardware: hardware, the other side has rtx-5090" in notes


def test_prompts_of_another_size_are_no_comparison(ledger: Anvil) -> None:
    runs(ledger, "a", 0, 1)
    file = deepcopy(benchmark()) | {"run_id": "longer"}
    for row in file["request_timings"]:
        row["prompt_tokens"] = 1011
    take(ledger, file, "b")
    assert obstacles(ledger, *CACHE) == {
        "actual prompt tokens, by more than 1 %": ("1000.0 on average", "1011.0 on average")
    }


def test_another_number_of_runs_is_no_comparison(ledger: Anvil) -> None:
    runs(ledger, "a", 0, 2)
    runs(ledger, "b", 0, 1)
    assert obstacles(ledger, *CACHE) == {"repetitions": ("2 runs of 3 requests", "1 run of 3 requests")}


def test_prompts_that_shared_a_prefix_are_no_comparison_with_others(ledger: Anvil) -> None:
    runs(ledger, "a", 0, 1)
    shared = {"thinking_mode": "disabled", "reasoning_effort": None, "shared_prefix_burst": True}
    runs(ledger, "b", 0, 1, serve_flags=shared)
    found = obstacles(ledger, *CACHE)
    assert found["parameter shared_prefix_burst"] == ("false", "true")


def test_another_load_is_not_put_beside_it(ledger: Anvil) -> None:
    runs(ledger, "a", 0, 1)
    runs(ledger, "b", 0, 1, concurrency=4)
    ran = ledger("compare", "one/a", "one/b", *CACHE)
    assert ran.code == 1
    assert "Only the control has anvil-serving capacity-v3 c1 1024-tokens" in ran.out


def test_an_ab_of_imported_loads_is_refused(ledger: Anvil) -> None:
    runs(ledger, "a", 0, 1)
    runs(ledger, "b", 0, 1, engine="vllm-0.24")
    ran = ledger("compare", "one/a", "one/b", *CACHE, "--only-change", "engine")
    assert (ran.code, ran.out) == (1, "")
    assert "how imported loads were planned is not known" in ran.err


def test_a_name_that_nobody_has_is_one_clear_error(ledger: Anvil) -> None:
    runs(ledger, "a", 0, 1)
    ran = ledger("compare", "one/a", "one/c")
    assert (ran.code, ran.out) == (1, "")
    assert "There is one/a." in ran.err


# --- tools ------------------------------------------------------------------------------------------------------


def test_two_tools_are_compared_by_definitions_that_both_have(ledger: Anvil) -> None:
    records = values("aiperf.jsonl")
    take(ledger, whole("guidellm.json"), "a")
    take(ledger, tool_file("aiperf.jsonl", records), "b")
    ran = ledger("compare", "one/a", "one/b", "--json")
    assert ran.code == 1
    assert (
        ran.json["cells"] == []
    )  # the records do not say their concurrency: no load is known to be the same


def test_a_tool_without_rows_is_compared_by_what_it_states(ledger: Anvil) -> None:
    take(ledger, whole("vllm-plain.json"), "a")
    take(ledger, changed("vllm-plain.json", ["median_ttft_ms"], 398.45544100171539), "b")
    every = [
        word
        for name in ("prompts", "cache", "hardware", "repetitions")
        for word in ("--accept-unknown", name)
    ]
    assert {"actual prompt tokens, by more than 1 % (unknown)", "hardware (unknown)"} <= set(
        obstacles(ledger)
    )
    found = metrics(ledger, *every)
    stated = found["median_ttft_ms, vllm's own, as stated"]
    assert stated["statistic"] == "mean_of_runs_stated"
    assert stated["delta_percent"] == "100.000000"


def test_rows_on_one_side_only_give_no_metric(ledger: Anvil) -> None:
    take(ledger, whole("vllm-plain.json"), "a")
    take(ledger, whole("vllm-detailed.json"), "b")
    ran = ledger("compare", "one/a", "one/b")
    assert ran.code == 1
    assert "not compared" in ran.out


# --- in documents -----------------------------------------------------------------------------------------------


def in_document(anvil: Anvil) -> Any:
    ran = anvil("render", "sanitized-qualification-summary.v1", "--campaign", "one")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)["imported_evidence"].get("comparisons")


def test_a_document_puts_attempts_side_by_side_and_says_what_stands_in_the_way(ledger: Anvil) -> None:
    runs(ledger, "a", 0)
    runs(ledger, "b", 11.1)
    (made,) = in_document(ledger)
    assert (made["control"], made["treatment"]) == ("a", "b")
    assert made["treatment_load"] == "anvil-serving capacity-v3 c1 1024-tokens"
    assert [one["what"] for one in made["not_compared"]] == ["state of the prefix cache (unknown)"]
    ttft = made["metrics"][0]
    assert (ttft["metric"], ttft["control"], ttft["treatment"]) == (TTFT, 111.0, 122.1)
    assert (ttft["control_runs"], ttft["treatment_runs"], ttft["delta_percent"]) == (3, 3, None)


def test_a_document_states_a_difference_where_nothing_stands_in_the_way(ledger: Anvil) -> None:
    shared = {"thinking_mode": "disabled", "reasoning_effort": None, "shared_prefix_burst": True}
    runs(ledger, "a", 0, serve_flags=shared)
    runs(ledger, "b", 11.1, serve_flags=shared)
    (made,) = in_document(ledger)
    assert made["not_compared"] == []
    assert made["metrics"][0]["delta_percent"] == 10.0
    page = ledger("render", "sanitized-qualification-summary.v1", "--campaign", "one", "--format", "md").out
    assert "### b against a" in page


def test_a_document_with_one_attempt_or_none_compares_nothing(ledger: Anvil) -> None:
    runs(ledger, "a", 0)
    assert in_document(ledger) is None


# --- who says whose it is -----------------------------------------------------------------------------------


def test_a_file_that_names_its_own_is_not_given_another(ledger: Anvil) -> None:
    Path("a.json").write_bytes(spelled(bakeoff()))
    ran = ledger("import", "a.json", "--candidate", "other")
    assert (ran.code, ran.out) == (1, "")
    assert "says that it is of candidate 'small', not of 'other'" in ran.err
    assert ledger("import", "a.json", "--candidate", "small").code == 0


def test_a_document_is_not_given_a_candidate(ledger: Anvil) -> None:
    Path("a.json").write_bytes(document(failure()))
    ran = ledger("import", "a.json", "--candidate", "other")
    assert (ran.code, ran.out) == (1, "")
    assert "names its own candidates" in ran.err


@pytest.mark.parametrize("option", ["--candidate", "--attempt"])
def test_a_name_that_is_no_label_is_refused(ledger: Anvil, option: str) -> None:
    Path("a.json").write_bytes(spelled(benchmark()))
    ran = ledger("import", "a.json", option, "Not A Label")
    assert ran.code == 2
    assert "is no label" in ran.err


# --- real files -------------------------------------------------------------------------------------------------


@pytest.mark.needs("evidence")
def test_the_differences_that_somebody_published_come_out(ledger: Anvil) -> None:
    """The kernel A/B of twelve files: `deltas_percent` of its comparison, to three decimals."""
    for arm in ("default", "tuned"):
        files = sorted((EVIDENCE / "fp8-moe-kernel-ab").glob(f"fp8-moe-ab-{arm}-v3-pr*.json"))
        assert ledger("import", *files, "--campaign", "ab", "--attempt", arm).code == 0
    assert ledger("compare", "ab/default", "ab/tuned").code == 1
    made = ledger("compare", "ab/default", "ab/tuned", *CACHE, "--json").json
    cells = {cell["cell"]: {one["metric"]: one for one in cell["metrics"]} for cell in made["cells"]}
    throughput = cells["c16 8192-tokens"]["throughput_tok_s, anvil-serving's own"]["delta_percent"]
    decode = cells["c1 128000-tokens"]["decode.stream_end/1"]["delta_percent"]
    assert (round(Fraction(throughput), 3), round(Fraction(decode), 3)) == (
        Fraction("-1.399"),
        Fraction("0.413"),
    )


# --- with what was measured here --------------------------------------------------------------------------------


@pytest.fixture
def mine(anvil: Anvil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Anvil:
    """A ledger with three runs of a planned attempt, into which files are imported."""
    stage = Stage("one")
    stage.tell(recipe(("a", "tiny", PLAIN)))
    play(stage, "a", (100, 102, 98), input_target_tokens=1024, output_cap_tokens=16)
    stage.recorded(tmp_path / "mine")
    monkeypatch.setenv("ANVIL_LEDGER", str(tmp_path / "mine"))
    return anvil


def test_what_no_file_states_is_no_difference(mine: Anvil) -> None:
    runs(mine, "b", 0, 1, engine=None)
    ran = mine("compare", "one/a", "one/b")
    assert "  engine: llamacpp -> not stated\n  launcher: process -> not stated\n" in ran.out
    assert "none" not in ran.out
    assert "  engine: not stated -> llamacpp\n" in mine("compare", "one/b", "one/a").out
    made = compared(mine)
    assert made["differences"] == []
    assert {"name": "engine", "control": "llamacpp", "treatment": None} in made["not_stated"]


@pytest.mark.parametrize(("engine", "is_told"), [("vllm-0.23", True), ("llamacpp-b7000", False)])
def test_what_a_file_states_is_put_beside_the_plan(mine: Anvil, engine: str, is_told: bool) -> None:
    runs(mine, "b", 0, 1, engine=engine)
    made = compared(mine)
    told = [(one["name"], one["control"], one["treatment"]) for one in made["differences"]]
    assert told == ([("engine", "llamacpp", engine)] if is_told else [])
    assert "engine" not in [one["name"] for one in made["not_stated"]]


def test_a_parameter_that_one_file_does_not_state_is_unknown(ledger: Anvil) -> None:
    runs(ledger, "a", 0, 1)
    runs(ledger, "b", 5, 1, max_tokens=None)
    assert obstacles(ledger, *CACHE) == {"parameter max_tokens (unknown)": ("16", "not stated")}
    notes = compared(ledger, *CACHE, "--accept-unknown", "protocol")["cells"][0]["notes"]
    assert "accepted as unknown, protocol: parameter max_tokens, the other side has 16" in notes
