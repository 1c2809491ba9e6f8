"""Figures: support is the union, status the weakest, and nothing sealed or rounded gets through."""

from __future__ import annotations

from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.story import STORY_BY_TYPE

from anvil.ledger.events import CATALOGUE
from anvil.ledger.events.base import SEALED
from anvil.ledger.public import EvidenceStatus
from anvil.ledger.statistics import delta_percent
from anvil.projections.figures import (
    ArtifactName,
    Figure,
    Source,
    Support,
    Unsupported,
    compose,
    count,
    derive,
    is_stronger,
    weakest,
)

STATUSES = get_args(EvidenceStatus)
hashes = st.sampled_from([f"{n:064x}" for n in range(6)])
supports = st.builds(
    Support,
    st.frozensets(hashes, min_size=1),
    st.frozensets(st.builds(ArtifactName, hashes, st.sampled_from(("log", "rows")))),
)
figures = st.builds(Figure, st.integers(0, 9), st.just("stated"), supports, st.sampled_from(STATUSES))


def source(event_type: str, status: EvidenceStatus = "retained-complete") -> Source:
    told = STORY_BY_TYPE[event_type]
    return Source(told.leaf, told.event, tuple(a.name for a in told.header.artifacts), status)


# --- refused -------------------------------------------------------------------------------------------


def test_a_value_without_an_event_is_no_figure() -> None:
    with pytest.raises(Unsupported, match="no event"):
        Figure(1, "made up", Support(), "retained-complete")
    with pytest.raises(Unsupported, match="no event"):
        derive("made up", lambda: 1)
    with pytest.raises(Unsupported, match="no event"):
        count("made up", ())


@pytest.mark.parametrize("event_type", CATALOGUE)
def test_a_sealed_field_never_becomes_a_figure(event_type: str) -> None:
    one = source(event_type)
    for name, field in type(one.event).model_fields.items():
        if SEALED in field.metadata or name == "type":
            with pytest.raises(Unsupported, match="not a clear field"):
                one.stated(name)


@pytest.mark.parametrize(
    "value", [1.5, b"x", [1], {"a": 1}, object()], ids=["float", "bytes", "list", "object", "any"]
)
def test_what_is_not_published_is_no_figure(value: object) -> None:
    with pytest.raises(Unsupported):
        Figure(value, "stated", Support(frozenset(("a",))), "declared")  # type: ignore[arg-type]


def test_a_whole_group_of_facts_is_no_figure() -> None:
    with pytest.raises(Unsupported):
        source("recipe.declared/1").stated("attempts", 0)


def test_a_figure_is_not_asked_whether_it_is_true() -> None:
    with pytest.raises(TypeError):
        bool(Figure(True, "stated", Support(frozenset(("a",))), "declared"))


@pytest.mark.parametrize("value", ["text", True, "28.47"])
def test_what_is_no_exact_number_is_not_rounded(value: str | bool) -> None:
    with pytest.raises(Unsupported):
        Figure(value, "stated", Support(frozenset(("a",))), "declared").places(1)


def test_a_rounded_number_is_neither_rounded_again_nor_computed_with() -> None:
    printed = Figure(Fraction(48), "stated", Support(frozenset(("a",))), "declared").places(1)
    assert printed.value == "48.0"
    with pytest.raises(Unsupported):
        printed.places(0)
    with pytest.raises(Unsupported, match="rounded"):
        derive("twice", lambda n: n * 2, printed)


# --- what they carry -------------------------------------------------------------------------------------


def test_a_stated_figure_names_its_field_and_carries_the_event_with_its_artifacts() -> None:
    figure = source("check.completed/1").stated("requests", 1, "failure")
    assert figure.value == "wrong_arguments"
    assert figure.rule == "check.completed/1 requests.1.failure"
    assert {a.name for a in figure.support.artifacts} == {"r1.request", "r1.response"}


@given(st.lists(figures, min_size=1, max_size=5))
def test_what_is_derived_rests_on_all_and_is_as_weak_as_the_weakest(parts: list[Figure]) -> None:
    made = [
        derive("sum", lambda *values: sum(values), *parts),
        count("how many", parts),
        compose("together", lambda *values: "/".join(map(str, values)), *parts),
    ]
    for figure in made:
        assert figure.support.events == frozenset().union(*(p.support.events for p in parts))
        assert figure.support.artifacts == frozenset().union(*(p.support.artifacts for p in parts))
        assert not any(is_stronger(figure.status, part.status) for part in parts)
        assert figure.status in {part.status for part in parts}


@given(st.lists(st.sampled_from(STATUSES)), st.randoms(use_true_random=False))
def test_the_weakest_does_not_depend_on_order_and_declared_does_not_count(
    statuses: list, random: object
) -> None:
    mixed = list(statuses)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert weakest(mixed) == weakest(statuses) == weakest([*statuses, "declared"])


def test_rounding_happens_once_and_at_the_end() -> None:
    one, other = (
        Figure(Fraction(text), "stated", Support(frozenset((text,))), "imported-artifact")
        for text in ("554.26", "429.25")
    )
    delta = derive("delta_percent", delta_percent, one, other).places(1)
    assert delta.value == "-22.6"
    assert delta.rule == "delta_percent, rounded half up to 1 place"
    assert delta.support.events == {"554.26", "429.25"}
