"""`anvil selftest`."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from typing import Any

import click

from anvil.collectors.load.calibration import Calibration, calibrate
from anvil.collectors.load.resolution import Spread
from anvil.ledger.commands.output import answer, answer_json, json_option, say, table
from anvil.ledger.statistics import rounded
from anvil.ledger.wording import counted

PER_STREAM = 50


@click.command()
@click.option(
    "--concurrency",
    type=click.IntRange(1, 1024),
    default=64,
    show_default=True,
    help="How many streams at once.",
)
@click.option(
    "--rate",
    type=click.IntRange(1, 1_000_000),
    help=f"Tokens a second, over all streams.  [default: {PER_STREAM} for each stream]",
)
@click.option(
    "--seconds",
    type=click.IntRange(1, 600),
    default=2,
    show_default=True,
    help="About how long tokens are sent.",
)
@json_option
def selftest(concurrency: int, rate: int | None, seconds: int, as_json: bool) -> int:
    """Measure how far this machine's load client can be off.

    It is pointed at a server of our own that notes when it really wrote, and its measurements are
    compared with these notes. The same in the machine's present state is what a load run can resolve.
    Exit code 1 when a request failed or the clock was set meanwhile, so that nothing follows.

    \b
    Example:
      anvil selftest --concurrency 64
    """
    if rate is not None and rate < concurrency:
        raise click.BadParameter(
            f"{counted(concurrency, 'stream')} need at least {concurrency}: one token a second each",
            param_hint="--rate",
        )
    found = calibrate(concurrency, rate or PER_STREAM * concurrency, seconds)
    is_sound = not found.stepped and found.resolution.completed == found.resolution.expected
    if as_json:
        answer_json("anvil.selftest/1", {"sound": is_sound, **_members(found)})
    else:
        answer(_text(found))
    if found.stepped:
        say("The clock was set while this ran: nothing follows from it.")
    elif not is_sound:
        say("Some requests failed: nothing follows from the others.")
    return 0 if is_sound else 1


def _members(found: Calibration) -> dict[str, Any]:
    members = asdict(found)
    resolution = members.pop("resolution")
    return {**members, "resolution_ns": found.resolution.resolution_ns, **resolution}


def _text(found: Calibration) -> str:
    what = found.resolution
    return table(
        [
            ("Resolution", f"± {_ms(what.resolution_ns)}"),
            (
                "Clock",
                {"kernel": "the kernel's receive stamps", "client": "the client's own"}.get(
                    what.clock or "", "none"
                ),
            ),
            ("Streams", f"{found.concurrency} at {found.rate} tokens/s, {found.reached} reached"),
            ("Requests", f"{what.completed} completed of {what.expected}"),
            ("Tokens", f"{what.tokens} in {what.token_reads} reads"),
            ("Error of ttfo", f"{_spread(what.ttfo_error)}, {what.ttfo_censored} shared a read"),
            ("Error of gaps", _spread(what.gap_error)),
            ("Loop lag", _spread(what.lag)),
            ("Processor", f"{rounded(found.cpu_ns, 0)} ns a token"),
            ("Truth unknown", f"{what.truth_unknown} tokens"),
        ]
    )


def _spread(spread: Spread) -> str:
    if not spread.n:
        return "no samples"
    upper = f"largest {_ms(spread.max_ns)}" if spread.p99_ns is None else f"p99 {_ms(spread.p99_ns)}"
    return f"p50 {_ms(spread.p50_ns)}, {upper}, n {spread.n}"


def _ms(value: int | None) -> str:
    return "unknown" if value is None else f"{rounded(Fraction(value, 1_000_000), 3)} ms"
