"""`anvil compare`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import click

from anvil.ledger.commands.arguments import IndexRange
from anvil.ledger.commands.output import answer, answer_json, json_option, place, visible
from anvil.ledger.errors import PublicationRefused
from anvil.ledger.statistics import rounded
from anvil.projections.comparing import (
    NOT_STATED,
    UNKNOWN,
    Acceptance,
    Cache,
    Comparison,
    Experiment,
    Pair,
    Shown,
    Unknown,
    compare,
    side,
)
from anvil.projections.evidence import Evidence
from anvil.projections.measurements import Delta, Measure
from anvil.projections.opened import opened

_NAME = 26
"""Characters of a metric's name that stand beside its figures; a longer one has a line of its own."""

_SIDES = ("control", "treatment")


@click.command("compare")
@click.argument("control")
@click.argument("treatment")
@click.option(
    "--only-change",
    metavar="NAME",
    multiple=True,
    help="Refuse unless this is all that was planned otherwise: a setting, candidate, engine or image, or what a "
    "declared experiment names.",
)
@click.option(
    "--accept-unknown",
    type=click.Choice(UNKNOWN),
    multiple=True,
    help="Compare what was imported although nobody knows this of it; the result says so. May be repeated.",
)
@click.option("--as-of", type=IndexRange(), metavar="INDEX", help="As it was right after this event.")
@json_option
def compare_command(
    control: str,
    treatment: str,
    only_change: tuple[str, ...],
    accept_unknown: tuple[Unknown, ...],
    as_of: int | None,
    as_json: bool,
) -> int:
    """Put two attempts, candidates or campaigns next to each other.

    CONTROL and TREATMENT are called CAMPAIGN/ATTEMPT, CAMPAIGN/CANDIDATE, CAMPAIGN, or by the last name alone;
    :PROTOCOL after a name leaves one protocol of it, and two of one attempt can be compared. What was not measured alike is not compared, and why is said; then the exit code is 1 if nothing is left. A
    difference has both operands, the runs behind it, its 95 % interval, and the smallest one that so many runs
    could have shown.

    What other tools measured is compared too, with its like or with ours, where both have a metric by one definition, or
    one tool's own. What nobody knows of it stands in the way, unless it is accepted as unknown.

    \b
    Examples:
      anvil compare cpu cpu-one-slot
      anvil compare cpu cpu-one-slot --only-change slots
      anvil compare cpu:plain cpu:to-the-cap
      anvil compare kernel-ab/default kernel-ab/tuned --accept-unknown cache
    """
    with opened(place(), as_of, is_whole=True) as ledger:
        evidence = Evidence(ledger.record, ledger.artifacts.content)
        before, after = side(evidence, control), side(evidence, treatment)
        if before.name == after.name:
            raise PublicationRefused(
                f"{before.name} would be compared with itself",
                advice="Name another attempt, candidate or campaign.",
            )
        made = compare(evidence, before, after, frozenset(accept_unknown))
        ledger.require_signed_events(made.events)
    if only_change:
        _require(made, only_change)
    if as_json:
        answer_json("anvil.compare/1", {**_members(made), "accepted_unknown": sorted(set(accept_unknown))})
    else:
        answer("\n".join(visible(line) for line in _lines(made)))
    return 0 if any(pair.metrics for pair in made.pairs) else 1


def _require(made: Comparison, names: Sequence[str]) -> None:
    """Check that a comparison is an A/B of what is named.

    Raises:
        PublicationRefused: it is not.
    """
    called = " and ".join(map(repr, names))
    if made.is_imported:
        raise PublicationRefused(
            f"no A/B of {called}: how imported loads were planned is not known, so nobody knows what else differs",
            advice="Leave out --only-change to see both beside each other.",
        )
    if made.unplanned:
        raise PublicationRefused(
            f"no A/B of {called}: {_not_planned(made)}",
            advice="Leave out --only-change to see both beside each other.",
        )
    followed = made.experiment.followed if made.experiment is not None else frozenset()
    others = [name for name in made.changed if name not in names and name not in followed]
    if alike := [name for name in names if name not in made.changed]:
        raise PublicationRefused(
            f"{made.control.name} and {made.treatment.name} are planned alike in "
            f"{' and '.join(map(repr, alike))}",
            advice=f"What differs is {', '.join(others)}." if others else "Nothing else differs.",
        )
    if made.mixed:
        raise PublicationRefused(
            f"no A/B of {called}: the attempts of one side differ in {', '.join(made.mixed)}",
            advice="Name one attempt a side.",
        )
    if others:
        raise PublicationRefused(
            f"no A/B of {called}: {made.control.name} and {made.treatment.name} also differ in "
            f"{', '.join(others)}",
            advice="Measure once more with that made equal, or leave out --only-change to see both beside each other.",
        )


def _not_planned(made: Comparison) -> str:
    """Say which sides have no recipe that stands."""
    sides = " and ".join(one.name for one in made.unplanned)
    return f"how {sides} {'was' if len(made.unplanned) == 1 else 'were'} planned is not on record"


# --- for people ---------------------------------------------------------------------------------------------


def _lines(made: Comparison) -> Iterator[str]:
    yield f"control    {made.control.name}"
    yield f"treatment  {made.treatment.name}"
    for one in made.differences:
        yield f"  {one.name}: {one.control or 'none'} -> {one.treatment or 'none'}"
    for one in made.not_stated:
        yield f"  {one.name}: {one.control or NOT_STATED} -> {one.treatment or NOT_STATED}"
    yield from _standing(made)
    if not made.is_imported:
        yield from _caches(made.caches)
    for pair in made.pairs:
        yield ""
        yield from _pair(pair)
    for name, keys in (("control", made.only_control), ("treatment", made.only_treatment)):
        if keys:
            yield ""
            yield f"Only the {name} has {', '.join(_called(key) for key in keys)}."
    if not made.pairs:
        yield ""
        yield "No cell of a load protocol was measured on both sides."


def _standing(made: Comparison) -> Iterator[str]:
    """Yield what kind of comparison it is."""
    if made.is_imported:
        yield "No A/B: of what was imported nobody knows how it was planned; what its files say otherwise stands above."
    elif made.unplanned:
        yield f"No A/B: {_not_planned(made)}."
    elif made.experiment is not None:
        key = made.experiment.declared.key
        turned = ", the other way round" if made.experiment.is_reversed else ""
        named = ", ".join(made.experiment.declared.only_change)
        if made.is_ab:
            yield f"Experiment {key}{turned}: {named}, and nothing else was planned otherwise."
        else:
            more = ", ".join(one.name for one in made.unnamed)
            yield f"No A/B: experiment {key}{turned} names {named}, and {more} was planned otherwise too."
    elif made.mixed:
        yield (
            f"No A/B: the attempts of one side differ in {', '.join(made.mixed)}, so that nobody knows of which a figure "
            "is. Name one attempt a side."
        )
    elif made.is_ab:
        yield f"An A/B of {made.differences[0].name}: nothing else was planned otherwise."
    elif made.differences:
        yield f"No A/B: {len(made.differences)} things were planned otherwise."
    else:
        yield "Planned alike: a repetition."


def _caches(caches: tuple[Cache, Cache]) -> Iterator[str]:
    for name, one in zip(_SIDES, caches, strict=True):
        told = [
            f"{one.kv_tokens} tokens" if one.kv_tokens is not None else None,
            f"{rounded(one.concurrency, 2)} windows of {one.window_tokens}"
            if one.concurrency is not None
            else f"null ({one.why})",
        ]
        yield f"KV cache, {name}: {', '.join(word for word in told if word)}"


def _accepted(accepted: tuple[Acceptance, Acceptance]) -> Iterator[str]:
    for name, one in zip(_SIDES, accepted, strict=True):
        if one.rate is not None:
            yield f"  drafts, {name}: {one.accepted} accepted / {one.drafted} drafted = {_percent_of(one.rate)}"
        else:
            yield f"  drafts, {name}: null ({one.why})"


def _percent_of(rate: Fraction) -> str:
    return f"{rounded(rate * 100, 1)} %"


def _pair(pair: Pair) -> Iterator[str]:
    if pair.obstacles:
        yield f"{_called(pair.key)}: not compared"
        for one in pair.obstacles:
            yield f"  {one.what}: {one.control} against {one.treatment}"
    else:
        before, after = (measure.counts for measure in (pair.metrics[0].control, pair.metrics[0].treatment))
        yield _called(pair.key)
        yield f"  control: {before.words}"
        yield f"  treatment: {after.words}"
        yield f"  {'':<27}{'control':>10}{'treatment':>11}{'delta':>10}"
        for shown in pair.metrics:
            yield from _shown(shown)
    if pair.accepted is not None:
        yield from _accepted(pair.accepted)
    for note in pair.notes:
        yield f"  note: {note}"


def _shown(shown: Shown) -> Iterator[str]:
    name = f"{shown.metric} {shown.control.unit}"
    refused = shown.control.refused or shown.treatment.refused
    if refused:
        yield f"  {name:<30}{refused}"
        return
    cells = (_figure(shown.control), _figure(shown.treatment), _percent(_value(shown.delta.figure.value)))
    if len(name) > _NAME:
        yield f"  {name}"
        name = ""
    yield f"  {name:<27}{cells[0]:>10}{cells[1]:>11}{cells[2]:>10}"
    yield f"      {_finding(shown.delta)}"


def _finding(delta: Delta) -> str:
    if delta.interval is None or delta.smallest is None:
        return "one run a side: nothing is known of how runs differ"
    between = f"{_percent(delta.interval.low)} to {_percent(delta.interval.high)}"
    if delta.found == "not_shown":
        return f"95 %: {between}: none is shown; {rounded(delta.smallest, 1)} % would have been"
    return f"95 %: {between}: {delta.found}"


def _called(key: tuple[str | None, str, str]) -> str:
    return " ".join(part for part in key if part is not None)


def _figure(measure: Measure) -> str:
    value = _value(measure.figure.value)
    return "null" if value is None else rounded(value, 1)


def _percent(value: Fraction | None) -> str:
    if value is None:
        return "null"
    text = rounded(value, 1)
    return f"{'' if text.startswith('-') else '+'}{text} %"


def _value(value: object) -> Fraction | None:
    return Fraction(value) if isinstance(value, int | Fraction) else None


# --- for programs -------------------------------------------------------------------------------------------


def _members(made: Comparison) -> dict[str, Any]:
    return {
        "control": made.control.name,
        "treatment": made.treatment.name,
        "differences": [one._asdict() for one in made.differences],
        "not_stated": [one._asdict() for one in made.not_stated],
        "is_ab": made.is_ab,
        "experiment": None if made.experiment is None else _experiment(made.experiment),
        "kv_cache": {name: _cache(one) for name, one in zip(_SIDES, made.caches, strict=True)},
        "cells": [_cell(pair) for pair in made.pairs],
        "only_control": [_called(key) for key in made.only_control],
        "only_treatment": [_called(key) for key in made.only_treatment],
    }


def _experiment(found: Experiment) -> dict[str, Any]:
    return {
        "key": found.declared.key,
        "only_change": list(found.declared.only_change),
        "is_reversed": found.is_reversed,
    }


def _cache(one: Cache) -> dict[str, Any]:
    return {
        "kv_tokens": _exact(one.kv_tokens),
        "window_tokens": _exact(one.window_tokens),
        "full_window_concurrency": None if one.concurrency is None else rounded(one.concurrency, 2),
        "why": one.why,
    }


def _acceptance(one: Acceptance) -> dict[str, Any]:
    return {
        "accepted": _exact(one.accepted),
        "drafted": _exact(one.drafted),
        "rate": _exact(one.rate),
        "why": one.why,
    }


def _exact(value: Fraction | None) -> str | None:
    """Return a number exactly: `128`, `3/4`."""
    return None if value is None else str(value)


def _cell(pair: Pair) -> dict[str, Any]:
    candidate, protocol, cell = pair.key
    return {
        "candidate": candidate,
        "protocol": protocol,
        "cell": cell,
        "not_compared": [one._asdict() for one in pair.obstacles],
        "notes": list(pair.notes),
        "metrics": [_metric(shown) for shown in pair.metrics],
        "drafts": {
            name: _acceptance(one)
            for name, one in zip(_SIDES, pair.accepted or (), strict=pair.accepted is not None)
        },
    }


def _metric(shown: Shown) -> dict[str, Any]:
    delta = shown.delta
    return {
        "metric": shown.metric,
        "statistic": shown.control.statistic,
        "unit": shown.control.unit,
        "control": _side(shown.control),
        "treatment": _side(shown.treatment),
        "delta_percent": _text(_value(delta.figure.value)),
        "interval_percent": None if delta.interval is None else [_text(end) for end in delta.interval],
        "smallest_effect_percent": _text(delta.smallest),
        "found": delta.found,
    }


def _side(measure: Measure) -> dict[str, Any]:
    return {
        "value": _text(_value(measure.figure.value)),
        "runs": len(measure.per_run),
        "completed": measure.counts.completed.value,
        "failed": measure.counts.failed.value,
        "expected": measure.counts.expected.value,
        "refused": measure.refused,
        "status": measure.figure.status,
    }


def _text(value: Fraction | None) -> str | None:
    """Return a number as text with six decimals: a program is not to take it for exact."""
    return None if value is None else rounded(value, 6)
