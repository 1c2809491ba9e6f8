"""`vllm-bench`: what `vllm bench serve --save-result` writes, one run of a load; with rows when `--save-detailed`.

Read in the source of vLLM 0.32 (`benchmarks/serve.py`, `benchmarks/lib/endpoint_request_func.py`):

1. Its TTFT ends at the first chunk that has a choice: that is the role's, where a server sends it before any
   token. It begins before a connection is opened. Its ITL are the times between such chunks, up to the one
   with the finish reason; its E2EL ends at the last of them, not with the stream. None is a metric of ours,
   nor is TPOT, which is made of them (`benchserving`, rule 3).
2. Output tokens are those of `usage`, or else counted by its tokenizer from the text.
3. Moments in its rows are of a clock without a date. The date is local time without its offset.
"""

from __future__ import annotations

import re

from anvil.collectors.importers.benchserving import (
    duration,
    figures,
    findings,
    request_rate,
    requests,
    word_or_number,
)
from anvil.collectors.importers.evidence import made, parameter
from anvil.collectors.importers.interface import Said
from anvil.collectors.importers.remaking import findings_of, remade
from anvil.collectors.importers.toolfiles import Reading, Results, Shape, ToolImporter
from anvil.ledger.events import LoadImported
from anvil.ledger.events.results import Quantity

_METRICS = {"ttft": "ttft", "itl": "itl", "e2el": "e2e", "tpot": None}
_DATE = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})-[0-9]{6}")
_PARAMETERS = ("backend", "burstiness", "ramp_up_strategy", "ramp_up_start_rps", "ramp_up_end_rps")


def _take(reading: Reading) -> Results:
    (part,) = reading.objects
    completed, planned = part.needed_count("completed"), part.needed_count("num_prompts")
    failed = part.count("failed")
    wall = Quantity(number=duration(part), unit="s")
    kept = requests(part)
    remakes = remade(figures(part, kept, completed, _METRICS), kept, wall)
    event = made(
        LoadImported,
        part.place,
        {
            "source": reading.source,
            "tool": "vllm",
            "called": "bench-serve",
            "concurrency": part.count("max_concurrency"),
            "request_rate": request_rate(part),
            "target_tokens": None,
            "run": None,
            "began": None,
            "ended": None,
            "wall": wall,
            "expected": planned,
            "completed": completed,
            "failed": max(0, planned - completed) if failed is None else failed,
            "parameters": [
                one for name in _PARAMETERS for one in parameter(name, word_or_number(part, name))
            ],
            "statistics": remakes,
            "findings": [
                *findings(part, kept, planned, completed),
                *findings_of(remakes, kept, completed, ("save-detailed",)),
            ],
        },
    )
    date = part.text("date")
    reading.identity.add("date", date)
    reading.identity.add_served(part.text("model_id"))
    day = _DATE.fullmatch(date or "")
    return Results("vllm.bench-serve", [Said(event, rows=kept)], "-".join(day.groups()) if day else None)


VLLM = ToolImporter(
    "vllm-bench",
    ("vllm bench serve --save-result",),
    (Shape(frozenset({"endpoint_type", "tokenizer_id", "num_prompts", "duration", "completed"}), _take),),
)
