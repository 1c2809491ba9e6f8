"""Measure anvil against its floors and write bench.json; `make bench` runs this.

    python bench/run.py --output bench.json [--full | --events N] [--only NAME] [--date YYYY-MM-DD]

Each measure is one file beside this one. A value is compared with its own floor, measured in the same
run by turns. Exit code 1 when a limit is not kept.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import platformdirs
from apart import apart, spread
from machine import describe
from measure import Row, Setting

MEASURES = (
    "single_append",
    "batch_append",
    "full_verify",
    "structure",
    "incremental",
    "startup",
    "functional",
    "weights",
    "load_client",
    "fold",
    "render",
    "resume",
)
QUICK, FULL = 20_000, 1_000_000


def main() -> int:
    options = _options()
    rows: list[Row] = []
    with TemporaryDirectory(prefix="anvil-bench-") as folder:
        spread(Path(folder))
        cache = options.cache if options.events > QUICK else Path(folder)
        for name in options.only or MEASURES:
            setting = Setting(apart(Path(folder)), cache, options.events)
            found = import_module(name).measure(setting)
            rows += found
            for row in found:
                print(_line(row), flush=True)
    document: dict[str, Any] = {"schema": "anvil.bench/1", "date": options.date, "machine": describe()}
    document["rows"] = [row.members() for row in rows]
    options.output.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0 if all(row.passed for row in rows) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("bench.json"), help="where the result is written")
    parser.add_argument(
        "--events", type=int, default=QUICK, help="size of the large ledger (default: %(default)s)"
    )
    parser.add_argument(
        "--full",
        dest="events",
        action="store_const",
        const=FULL,
        help="one million events: minutes, and 3 GB",
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=platformdirs.user_cache_path("anvil-bench"),
        help="where large ledgers are kept between runs (default: %(default)s)",
    )
    parser.add_argument("--only", action="append", choices=MEASURES, help="run one measure; can be repeated")
    parser.add_argument("--date", help="the day, as the caller knows it")
    return parser.parse_args()


def _line(row: Row) -> str:
    compared = "" if row.ratio is None else f"  {row.ratio:.2f} x {row.floor:,.4g} ({row.floor_name})"
    sign = ">=" if row.at_least else "<="
    verdict = "ok" if row.passed else "NOT KEPT"
    wall = "" if row.wall is None else f" of processor time ({row.wall:,.4g} by the clock)"
    note = f" ({row.note})" if row.note and not wall else ""
    return f"{verdict:8}  {row.name}: {row.value:,.4g} {row.unit}{wall}{compared}, limit {sign} {row.limit:g}{note}"


if __name__ == "__main__":
    sys.exit(main())
