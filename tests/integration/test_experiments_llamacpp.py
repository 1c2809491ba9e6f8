"""An A/B of two settings of a real engine, and the same refused when two differ."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import quickstart
from support.launching import free_port
from support.running import Bench

from anvil.collectors.recipes import load_recipe
from anvil.ledger.events import EngineReported, LoadMeasured

RECIPE = """format = "anvil.recipe/1"
name = "slots"
campaign = "slots"
about = "One slot against two, and texts to their end against texts to the cap"

[hardware]
gpus = 0

CANDIDATE
[engines.llamacpp]
engine = "llamacpp"
launcher = "process"
argv = [
    "{python}", "-m", "anvil.collectors.engines.llamacpp", "--model", "{weights}", "--alias", "{served_model}",
    "--port", "{port}", "--slots", "1", "--threads", "1", "--slot-context", "1024",
]
port = PORT
settings = { slots = 1, context_tokens = 1024 }

[[attempts]]
key = "one-slot"
candidate = "smollm2-135m"
engine = "llamacpp"
served_model = "smollm2-135m"

[[attempts]]
key = "two-slots"
candidate = "smollm2-135m"
engine = "llamacpp"
served_model = "smollm2-135m"
argv_set = { "--slots" = "2" }
settings = { slots = 2 }
protocols = ["capacity"]

[[experiments]]
key = "slots"
control = "one-slot"
attempt = "two-slots"
only_change = ["slots"]
protocols = ["capacity"]

[[protocols]]
id = "capacity"
parameters = { input_tokens = 96, output_tokens = 8, requests = 3, runs = 3 }

[[protocols]]
id = "capacity"
key = "to-the-cap"
parameters = { input_tokens = 96, output_tokens = 8, requests = 3, runs = 3, ignore_eos = true }

[[experiments]]
key = "cap"
control_protocol = "capacity"
protocol = "to-the-cap"
only_change = ["ignore_eos"]

[deadlines]
ready_s = 300
first_byte_s = 120
idle_gap_s = 60
stop_s = 15
"""

ONE = 'argv_set = { "--slots" = "2" }\nsettings = { slots = 2 }\n'
TWO = 'argv_set = { "--slots" = "2", "--slot-context" = "1536" }\nsettings = { slots = 2, context_tokens = 1536 }\n'


def written(bench: Bench) -> Path:
    """Write the recipe, with the quickstart's candidate and a port of its own."""
    shipped = load_recipe("quickstart").content.decode()
    candidate = shipped[shipped.index("[candidates.") : shipped.index("[engines.")]
    bench.ports["llamacpp"] = free_port()
    text = RECIPE.replace("CANDIDATE", candidate).replace("PORT", str(bench.ports["llamacpp"]))
    path = bench.directory / "slots.toml"
    path.write_text(text)
    return path


@pytest.mark.needs("quickstart")
def test_one_setting_is_an_ab_and_two_are_refused(tmp_path: Path) -> None:
    bench = Bench(tmp_path, quickstart.anvil_in(tmp_path))
    path = written(bench)
    assert bench.anvil("init", "--origin", "localhost/slots").code == 0
    checked = bench.anvil("recipe", "check", path)
    assert "2 attempts, 0 checks, 0 suites, 2 protocols, 2 experiments" in checked.out, checked.err
    ran = bench.anvil("run", path)
    assert ran.code == 0, ran.err
    for attempt in ("one-slot", "two-slots"):
        counted = [
            seen.event
            for seen in bench.seen()
            if isinstance(seen.event, LoadMeasured)
            and seen.header.subject.attempt == attempt
            and (seen.event.protocol, seen.event.phase) == ("capacity", "measured")
        ]
        assert [(event.run, event.completed, event.failed) for event in counted] == [
            (n, 3, 0) for n in (1, 2, 3)
        ]

    made = bench.anvil("compare", "slots/one-slot", "slots/two-slots", "--only-change", "slots")
    assert made.code == 0, made.out + made.err
    assert "Experiment slots: slots, and nothing else was planned otherwise." in made.out
    assert "  control: 9 completed and 0 failed of 9 requests in 3 runs" in made.out
    assert "not compared" not in made.out
    told = bench.anvil("compare", "slots/one-slot", "slots/two-slots", "--json").json
    assert (told["is_ab"], told["experiment"]["key"]) == (True, "slots")
    (cell,) = told["cells"]
    shown = {one["metric"]: one for one in cell["metrics"]}
    rate = shown["output.aggregate/1"]
    assert all(float(rate[side]["value"]) > 0 for side in ("control", "treatment"))
    assert rate["delta_percent"] is not None
    assert shown["e2e/1"]["control"]["refused"] == "n-unsupported"  # three requests support no median
    assert len(bench.events(EngineReported)) == 2
    one, two = (told["kv_cache"][side] for side in ("control", "treatment"))
    assert (one["kv_tokens"], one["window_tokens"], one["full_window_concurrency"]) == (
        "1024",
        "1024",
        "1.00",
    )
    assert (two["kv_tokens"], two["window_tokens"], two["full_window_concurrency"]) == (
        "2048",
        "1024",
        "2.00",
    )
    assert cell["drafts"]["control"]["rate"] is None
    assert cell["drafts"]["control"]["why"]

    protocols = ("one-slot:capacity", "one-slot:to-the-cap")
    made = bench.anvil("compare", *protocols, "--only-change", "ignore_eos")
    assert made.code == 0, made.out + made.err
    assert "Experiment cap: ignore_eos, and nothing else was planned otherwise." in made.out
    assert "  note: the runs of both sides alternate: C T T C C T" in made.out

    text = path.read_text()
    path.write_text(text.replace(ONE, TWO))
    refused = bench.anvil("recipe", "check", path)
    line = next(
        n for n, said in enumerate(path.read_text().splitlines(), 1) if said.startswith("only_change")
    )
    assert refused.code == 1
    assert f"slots.toml:{line}: context_tokens differs as well: 1024 and 1536" in refused.err
    assert bench.anvil("run", path).code == 1

    alone = text.replace(ONE, TWO).partition("[[experiments]]")[0].replace('"one-slot"', '"again"')
    path.write_text(alone + PROTOCOL)
    assert bench.anvil("run", path, "--attempt", "two-slots", "--campaign", "two-changes").code == 0
    both = ("slots/one-slot", "two-changes/two-slots")
    refused = bench.anvil("compare", *both, "--only-change", "slots")
    assert refused.code == 1
    assert (
        "no A/B of 'slots': slots/one-slot and two-changes/two-slots also differ in context_tokens"
        in refused.err
    )
    beside = bench.anvil("compare", *both)
    assert beside.code == 0, beside.out
    assert "No A/B: 2 things were planned otherwise." in beside.out
    assert bench.anvil("verify").code == 0


PROTOCOL = """[[protocols]]
id = "capacity"
parameters = { input_tokens = 96, output_tokens = 8, requests = 3, runs = 3 }
"""
