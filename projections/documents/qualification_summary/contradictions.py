"""What an imported summary prints that does not follow from what else it prints, in sentences.

1. A protocol that calls every value a median, over a figure that has none; and a median of an even number of requests,
   of which it does not say which it is.
2. A difference that the figures beside it do not give.
3. A size that is said, where prefill rate and time to first token come to another; and one that is only a label.
4. A prompt near the limit that passed, where nothing says what was asked.
5. Suites that did not pass in full beside no failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from anvil.projections.contradictions import (
    Span,
    counts,
    does_not_follow,
    input_tokens,
    is_apart,
    members,
    prompt_tokens,
    requests,
    says_median,
    sizes_in,
    span,
    text,
    whole,
)
from anvil.projections.figures import Figure, Group, Listing

_AGAINST = {
    "ttft": "ttft_p50_ms",
    "e2e": "e2e_p50_ms",
    "effective_prefill": "effective_prefill_tok_s_p50",
    "decode": "decode_tok_s_p50",
    "aggregate_output_throughput": "aggregate_output_tok_s",
}
"""What a difference is called, and the figure that it is of."""
_DELTA = "_delta_percent"


def contradictions(document: Group) -> Iterator[str]:
    """Yield the contradictions of an imported document, as its figures."""
    for cell in members(document, "cells"):
        yield from _medians(cell)
        yield from _differences(cell)
        yield from _sizes(cell)
    yield from _labels(document)
    yield from _longest(document)
    for suites in members(document, "quality"):
        yield from _failures(suites)


def _medians(cell: Group) -> Iterator[str]:
    name, protocol = text(cell, "name"), text(cell, "protocol")
    if not says_median(protocol):
        return
    if any(span(one, "aggregate_output_tok_s") for one in members(cell, "candidates")):
        yield (
            f"{name}: the protocol calls its values means of each run's median; aggregate_output_tok_s is a quotient over "
            "a whole run and has no median."
        )
    number = requests(protocol)
    if number is not None and number % 2 == 0:
        yield (
            f"{name}: of {number} requests, an even number, the nearest-rank median and the interpolated one differ; the "
            "protocol does not say which it is."
        )


def _differences(cell: Group) -> Iterator[str]:
    candidates = {text(one, "key"): one for one in members(cell, "candidates")}
    for difference in members(cell, "differences"):
        sides = _sides(text(difference, "name"), list(candidates))
        if sides is None:
            continue
        control, treatment = (candidates[key] for key in sides)
        for name, measured in _AGAINST.items():
            spans = span(control, measured), span(treatment, measured), span(difference, name)
            if None not in spans and does_not_follow(*_given(spans)):
                one, other, told = (each.text for each in _given(spans))
                yield (
                    f"{text(cell, 'name')}: {name} of {text(difference, 'name')} is printed as {told} %; {measured} of "
                    f"{one} and {other} does not give that."
                )


def _sides(name: str, candidates: list[str]) -> tuple[str, str] | None:
    """Return control and treatment of a difference; None where its name does not say them."""
    stem = name.removesuffix(_DELTA)
    meant = [key for key in candidates if key == stem or key.endswith((f"_{stem}", f"-{stem}"))]
    others = [key for key in candidates if key not in meant]
    return (others[0], meant[0]) if len(meant) == len(others) == 1 else None


def _given(spans: tuple[Span | None, ...]) -> tuple[Span, Span, Span]:
    one, other, third = (each for each in spans if each is not None)
    return one, other, third


def _sizes(cell: Group) -> Iterator[str]:
    said = input_tokens(text(cell, "protocol"))
    for one in members(cell, "candidates"):
        rate, milliseconds = span(one, "effective_prefill_tok_s_p50"), span(one, "ttft_p50_ms")
        if said is None or rate is None or milliseconds is None:
            continue
        found = prompt_tokens(rate, milliseconds) / 1000
        if is_apart(found, said):
            yield (
                f"{text(cell, 'name')}, {text(one, 'key')}: the protocol says {said:,} prompt tokens; {rate.text} tok/s "
                f"over {milliseconds.text} ms are about {whole(found)}."
            )


def _labels(document: Group) -> Iterator[str]:
    named: dict[str, list[str]] = {}
    for tested in members(document, "functional"):
        checks = tested.fields["checks"]
        for _, check in checks.members if isinstance(checks, Listing) else ():
            label = str(check.value) if isinstance(check, Figure) else ""
            if next(sizes_in(label), None) is not None:
                named.setdefault(label, []).append(text(tested, "key"))
    for label, candidates in named.items():
        yield (
            f"the label “{label}” says a size ({', '.join(candidates)}); how many prompt tokens the endpoint counted is "
            "not printed."
        )


def _longest(document: Group) -> Iterator[str]:
    near = document.fields["near_limit"]
    if not isinstance(near, Group):
        return
    actual = span(near, "actual_prompt_tokens")
    for one in members(near, "candidates"):
        rate, seconds = span(one, "effective_prefill_tok_s"), span(one, "ttft_s")
        if actual is None or rate is None or seconds is None:
            continue
        is_possible = actual.meets(rate.low * seconds.low, rate.high * seconds.high)
        found = prompt_tokens(rate, seconds)
        if not is_possible and is_apart(found, int(Fraction(actual.text))):
            yield (
                f"near_limit_context, {text(one, 'key')}: {rate.text} tok/s over {seconds.text} s are about {whole(found)} "
                f"prompt tokens, and {actual.text} are printed."
            )
    if any(text(one, "status") == "passed" for one in members(near, "candidates")):
        yield "near_limit_context: what was asked is not said; passed can mean that any answer came."


def _failures(suites: Group) -> Iterator[str]:
    failures = span(suites, "failures")
    short = [one for one in members(suites, "suites") if _is_short(text(one, "result"))]
    if failures is not None and failures.text == "0" and short:
        told = ", ".join(f"{text(one, 'name')} {text(one, 'result')}" for one in short)
        yield f"bounded_quality of {text(suites, 'key')}: no failure is printed beside {told}."


def _is_short(result: str) -> bool:
    found = counts(result)
    return found is not None and found[0] < found[1]
