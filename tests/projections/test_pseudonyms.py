"""Pseudonyms: what is equal stays equal, what differs stays different, and no name is left."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from support.campaigns import Scene
from support.fine import events as of
from support.fine.stage import ORIGIN, Stage
from support.laguna import recipe

from anvil.ledger.events import LaunchStarted
from anvil.ledger.header import Subject
from anvil.projections.artifacts import Artifacts
from anvil.projections.document import find
from anvil.projections.figures import Figure, Support
from anvil.projections.provenance import State, provenance, spell
from anvil.projections.pseudonyms import Named, Pseudonyms
from anvil.projections.record import fold
from anvil.projections.rendering import Template, draft

EVENT = Support(frozenset(("e" * 64,)))
NAMES = st.lists(st.tuples(st.sampled_from(["host", "gpu", "placement"]), st.sampled_from("abcdefgh")))


def name(value: str | None) -> Figure:
    return Figure(value, "named", EVENT, "declared")


def ordinals(pairs: list[tuple[Named, str]]) -> list[object]:
    pseudonyms = Pseudonyms()
    return [pseudonyms.of(kind, name(value)).value for kind, value in pairs]


def test_they_are_ordinals_by_first_appearance() -> None:
    pairs: list[tuple[Named, str]] = [("host", "b"), ("gpu", "x"), ("host", "a"), ("gpu", "y"), ("host", "b")]
    assert ordinals(pairs) == ["host-1", "gpu-1", "host-2", "gpu-2", "host-1"]


@given(NAMES, st.permutations("abcdefgh"))
def test_other_names_with_the_same_pattern_give_the_same(
    pairs: list[tuple[Named, str]], other: list[str]
) -> None:
    renamed = [(kind, f"zurich-{other['abcdefgh'.index(value)]}") for kind, value in pairs]
    assert ordinals(pairs) == ordinals(renamed)


@given(NAMES)
def test_equality_is_kept_both_ways(pairs: list[tuple[Named, str]]) -> None:
    found = ordinals(pairs)
    for one, first in zip(pairs, found, strict=True):
        for other, second in zip(pairs, found, strict=True):
            assert (one == other) == (first == second)


def test_it_rests_on_what_the_name_rests_on_and_says_nothing_of_it() -> None:
    figure = Pseudonyms().of("gpu", name("GPU-4711"))
    assert (figure.value, figure.support, figure.status) == ("gpu-1", EVENT, "declared")
    assert "4711" not in figure.rule
    assert Pseudonyms().of("gpu", name(None)).value is None


def test_there_is_an_end_to_them() -> None:
    pseudonyms = Pseudonyms()
    for number in range(9999):
        pseudonyms.of("host", name(str(number)))
    with pytest.raises(ValidationError):
        pseudonyms.of("host", name("one too many"))


def launched(placement: str | None) -> LaunchStarted:
    return LaunchStarted(
        launcher="docker",
        placement=placement,
        image=None,
        image_id=None,
        gpus=1,
        withheld_env=0,
        withheld_argv=0,
        has_launch_evidence=True,
        argv=None,
        env=None,
        identity=None,
    )


LAYOUT = (
    '{"schema": "mine/1", "placements": [{% for attempt in attempts %}{{ attempt.placement }},{% endfor %}]}'
)


@pytest.mark.parametrize("other", [("alpha", "beta"), ("secret-box", "alpha")])
def test_a_document_names_placements_by_their_pseudonyms(tmp_path: Path, other: tuple[str, str]) -> None:
    one, two = other
    scene = Scene()
    scene.opened()
    scene.add(recipe(), Subject("mine"))
    keys = ("vllm-fp8-kv", "vllm-kv-skip-131k", "vllm-kv-skip-262k", "sglang-radix")
    for key, placement in zip(keys, (two, one, two, None), strict=True):
        scene.add(launched(placement), Subject("mine", "laguna-nvfp4", key))
    record = fold(scene.seen)
    artifacts = Artifacts.of(record, lambda _: None, lambda _: None)
    made = draft(record, artifacts, find("candidate-failure.v1"), template=Template("mine", LAYOUT))
    assert made.rendered.document["placements"] == ["placement-1", "placement-2", "placement-1", None]
    told = spell(provenance(made, State("x.test.invalid", 0, "0" * 64), artifacts))
    assert not any(name in made.rendered.text + told for name in other)


HOSTS = (
    '{"schema": "mine/1", "on": [{% for attempt in attempts %}'
    '{"host": {{ attempt.host }}, "gpus": {{ attempt.gpus }}},{% endfor %}]}'
)


def test_a_document_names_hosts_and_gpus_by_their_pseudonyms() -> None:
    stage = Stage("mine")
    attempts = [of.attempt(key, "tiny") for key in ("a1", "a2", "a3")]
    stage.tell(of.recipe("mine", [of.candidate("tiny", "org/tiny", None, None)], attempts))
    for attempt, placed in (("a1", (1,)), ("a2", (0, 1)), ("a3", None)):
        if placed is not None:
            cards = of.host({0: "NVIDIA L4", 1: "NVIDIA L4"}, placed, 24 * 2**30)
            stage.tell(cards, "tiny", attempt, artifacts={"host": b"{}"})
        stage.tell(of.launched(None), "tiny", attempt)
    made = draft(*stage.played(), find("candidate-failure.v1"), template=Template("mine", HOSTS))
    assert made.rendered.document["on"] == [
        {"host": "host-1", "gpus": "gpu-1"},
        {"host": "host-1", "gpus": "gpu-2, gpu-1"},
        {"host": None, "gpus": None},
    ]
    leaf = made.rendered.leaf("/on/2/gpus")
    assert leaf is not None
    assert leaf.rule == "no event says on which GPU it was placed"
    assert all("test.invalid" not in one.rule and one.value != ORIGIN for one in made.rendered.leaves)
