"""`anvil compare`: what a person sees, what a program gets, and when it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import Anvil
from support.fine.events import reported
from support.fine.stage import Stage
from support.sides import PLAIN, counters, experiment, play, recipe

CONTROL, TREATMENT = (100, 102, 98), (80, 82, 78)

ONE_CHANGE = """\
control    mine/a
treatment  mine/b
  slots: 2 -> 1
An A/B of slots: nothing else was planned otherwise.
KV cache, control: null (the engine reported no kv capacity tokens)
KV cache, treatment: null (the engine reported no kv capacity tokens)

capacity-4k c1
  control: 30 completed and 0 failed of 30 requests in 3 runs
  treatment: 30 completed and 0 failed of 30 requests in 3 runs
                                control  treatment     delta
  ttft.visible/1 ms               100.0       80.0   -20.0 %
      95 %: -24.1 % to -15.7 %: better
"""


def recorded(directory: Path, **settings: object) -> None:
    stage = Stage("mine")
    stage.tell(recipe(("a", "tiny", PLAIN), ("b", "tiny", {**PLAIN, **settings})))  # type: ignore[dict-item]
    play(stage, "a", CONTROL)
    play(stage, "b", TREATMENT)
    stage.recorded(directory)


@pytest.fixture
def mine(anvil: Anvil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Anvil:
    """A ledger with two attempts that differ in one setting."""
    recorded(tmp_path / "mine", slots=1)
    monkeypatch.setenv("ANVIL_LEDGER", str(tmp_path / "mine"))
    return anvil


def test_for_a_person(mine: Anvil) -> None:
    ran = mine("compare", "a", "b", "--only-change", "slots")
    assert ran.code == 0, ran.err
    assert ran.out.startswith(ONE_CHANGE)
    assert max(len(line) for line in ran.out.splitlines()) <= 80


def test_for_a_program(mine: Anvil) -> None:
    made = mine("compare", "mine/a", "mine/b", "--json").json
    (cell,) = made["cells"]
    assert (made["schema"], made["is_ab"], cell["not_compared"]) == ("anvil.compare/1", True, [])
    first = next(one for one in cell["metrics"] if one["metric"] == "ttft.visible/1")
    assert first["delta_percent"] == "-20.000000"
    assert first["control"] == {
        "value": "100.000000",
        "runs": 3,
        "completed": 30,
        "failed": 0,
        "expected": 30,
        "refused": None,
        "status": "retained-complete",
    }
    assert first["found"] == "better"


def test_two_changes_are_no_ab(anvil: Anvil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(tmp_path / "two", slots=1, kv_cache_dtype="auto")
    monkeypatch.setenv("ANVIL_LEDGER", str(tmp_path / "two"))
    ran = anvil("compare", "a", "b", "--only-change", "slots")
    assert ran.code != 0
    assert "no A/B of 'slots': mine/a and mine/b also differ in kv_cache_dtype" in ran.err
    assert "No A/B: 2 things were planned otherwise." in anvil("compare", "a", "b").out
    assert (
        "planned alike in 'context_tokens'"
        in anvil("compare", "a", "b", "--only-change", "context_tokens").err
    )


def test_several_changes_can_be_required(
    anvil: Anvil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(tmp_path / "two", slots=1, kv_cache_dtype="auto")
    monkeypatch.setenv("ANVIL_LEDGER", str(tmp_path / "two"))
    both = ("--only-change", "slots", "--only-change", "kv_cache_dtype")
    assert anvil("compare", "a", "b", *both).code == 0
    refused = anvil("compare", "a", "b", *both, "--only-change", "context_tokens")
    assert refused.code == 1
    assert "planned alike in 'context_tokens'" in refused.err


@pytest.fixture
def speculating(anvil: Anvil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Anvil:
    """A ledger with the experiment `draft`, whose engine counts drafts and reports its cache on one side."""
    stage = Stage("mine")
    change = {"speculative_decoding": True, "speculative_tokens": 3}
    names = (*change, "--spec")
    declared = experiment("draft", control="a", attempt="b", only_change=names, protocols=("capacity-4k",))
    stage.tell(recipe(("a", "tiny", PLAIN), ("b", "tiny", {**PLAIN, **change}), experiments=(declared,)))
    stage.tell(reported("vllm", kv_capacity_tokens="10000", context_tokens="4096"), "tiny", "a")
    stage.tell(reported("vllm", context_tokens="4096"), "tiny", "b")
    play(stage, "a", CONTROL, counters_missing="no_table")
    play(stage, "b", TREATMENT, counters_missing=None, counters=counters(draft_tokens=300, accepted=200))
    stage.recorded(tmp_path / "drafting")
    monkeypatch.setenv("ANVIL_LEDGER", str(tmp_path / "drafting"))
    return anvil


def test_an_experiment_is_called_by_its_name(speculating: Anvil) -> None:
    ran = speculating("compare", "a", "b")
    named = "speculative_decoding, speculative_tokens, --spec"
    assert f"Experiment draft: {named}, and nothing else was planned otherwise." in ran.out
    assert "Experiment draft, the other way round: " in speculating("compare", "b", "a").out
    required = [word for name in named.split(", ") for word in ("--only-change", name)]
    assert speculating("compare", "a", "b", *required).code == 0
    refused = speculating("compare", "a", "b", *required[:2])
    assert "also differ in speculative_tokens, --spec" in refused.err


def test_drafts_and_cache_stand_beside_each_other(speculating: Anvil) -> None:
    ran = speculating("compare", "a:capacity-4k", "b:capacity-4k")
    assert "KV cache, control: 10000 tokens, 2.44 windows of 4096" in ran.out
    assert "KV cache, treatment: null (the engine reported no kv capacity tokens)" in ran.out
    assert "  drafts, control: null (the engine's counters are missing: no_table)" in ran.out
    assert "  drafts, treatment: 600 accepted / 900 drafted = 66.7 %" in ran.out
    made = speculating("compare", "a", "b", "--json").json
    assert made["experiment"] == {
        "key": "draft",
        "only_change": ["speculative_decoding", "speculative_tokens", "--spec"],
        "is_reversed": False,
    }
    assert made["kv_cache"]["control"] == {
        "kv_tokens": "10000",
        "window_tokens": "4096",
        "full_window_concurrency": "2.44",
        "why": None,
    }
    (cell,) = made["cells"]
    assert cell["drafts"]["treatment"] == {"accepted": "600", "drafted": "900", "rate": "2/3", "why": None}
    assert cell["drafts"]["control"]["rate"] is None


def test_nothing_left_to_compare_is_exit_1(mine: Anvil, tmp_path: Path) -> None:
    stage = Stage("mine")
    stage.tell(recipe(("a", "tiny", PLAIN), ("b", "tiny", PLAIN)))
    play(stage, "a", CONTROL)
    play(stage, "b", TREATMENT, concurrency=5)
    stage.recorded(tmp_path / "unlike")
    ran = mine("--ledger", tmp_path / "unlike", "compare", "a", "b")
    assert ran.code == 1
    assert "capacity-4k c1: not compared\n  concurrency: 1 against 5" in ran.out
    assert "Planned alike: a repetition." in ran.out


def test_two_campaigns_of_one_ledger(mine: Anvil, tmp_path: Path) -> None:
    stage = Stage("mine")
    for campaign, slots, times in (("mine", 2, CONTROL), ("other", 4, TREATMENT)):
        stage.campaign = campaign
        stage.tell(recipe(("a", "tiny", {**PLAIN, "slots": slots})))
        play(stage, "a", times)
    stage.recorded(tmp_path / "both")
    ran = mine("--ledger", tmp_path / "both", "compare", "mine/a", "other/a", "--only-change", "slots")
    assert ran.code == 0, ran.err
    assert "  slots: 2 -> 4\nAn A/B of slots: nothing else was planned otherwise." in ran.out
    assert "  treatment: 30 completed and 0 failed of 30 requests in 3 runs" in ran.out


def test_an_unknown_name_says_what_there_is(mine: Anvil) -> None:
    ran = mine("compare", "a", "c")
    assert ran.code == 1
    assert "is called 'c'" in ran.err
    assert "mine/a, mine/b" in ran.err
    assert "Traceback" not in ran.err


def test_a_side_is_not_compared_with_itself(mine: Anvil) -> None:
    ran = mine("compare", "a", "mine/a")
    assert ran.code == 1
    assert "mine/a would be compared with itself" in ran.err


def test_rows_that_are_gone_refuse(mine: Anvil, tmp_path: Path) -> None:
    for blob in (tmp_path / "mine" / "blobs").rglob("*"):
        if blob.is_file() and b"anvil.load.rows/1" in blob.read_bytes()[:400]:
            blob.chmod(0o600)
            blob.unlink()
            break
    ran = mine("compare", "a", "b")
    assert ran.code == 1
    assert "artifact rows of event" in ran.err


def test_a_side_whose_recipe_was_taken_back_is_no_ab(
    anvil: Anvil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was planned of it is not known then, which is no difference, and is not "planned alike" either."""
    recorded(tmp_path / "bare", slots=1)
    monkeypatch.setenv("ANVIL_LEDGER", str(tmp_path / "bare"))
    recipes = [one["index"] for one in anvil("log", "--json").json["events"] if "recipe." in one["event"]]
    for index in recipes:
        assert anvil("retract", index, "--reason", "It was another recipe.").code == 0
    ran = anvil("compare", "a", "b")
    assert "No A/B: how mine/a and mine/b were planned is not on record." in ran.out
    refused = anvil("compare", "a", "b", "--only-change", "slots")
    assert refused.code == 1
    assert "no A/B of 'slots': how mine/a and mine/b were planned is not on record" in refused.err
