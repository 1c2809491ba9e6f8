"""What a template may do, and that every leaf and key of the document is accounted for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from anvil.ledger.public import EvidenceStatus
from anvil.projections.environment import Leaf, Rendered, render
from anvil.projections.figures import ArtifactName, Figure, Group, Listing, Support


def figure(value: Any, *events: str, status: EvidenceStatus = "retained-complete") -> Figure:
    artifacts = frozenset(ArtifactName(event, "log") for event in events)
    return Figure(value, "stated", Support(frozenset(events), artifacts), status)


def rendered(body: str, **fields: Figure | Group | Listing) -> Rendered:
    return render("t", '{"schema": "a/1", ' + body + "}", Group(fields))


def leaf(document: Rendered, pointer: str) -> Leaf:
    found = document.leaf(pointer)
    assert found is not None
    return found


def pointers(value: Any, pointer: str = "") -> Iterator[str]:
    """Every leaf of a JSON value, written apart from the reader that is tested."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from pointers(item, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from pointers(item, f"{pointer}/{number}")
    else:
        yield pointer


# --- support --------------------------------------------------------------------------------------------


def test_a_condition_adds_its_support_to_what_is_inside_it_and_to_nothing_else() -> None:
    document = rendered(
        '{% if ok %}"a": {{ x }},{% else %}"b": {{ x }},{% endif %} "c": {{ x }}',
        ok=figure(True, "e1", status="artifact-missing"),
        x=figure(1, "e2"),
    )
    inside, after = leaf(document, "/a"), leaf(document, "/c")
    assert (inside.support.events, inside.status) == ({"e1", "e2"}, "artifact-missing")
    assert (after.support.events, after.status) == ({"e2"}, "retained-complete")
    assert inside.support.artifacts == {ArtifactName("e1", "log"), ArtifactName("e2", "log")}


def test_another_branch_rests_on_every_condition_before_it() -> None:
    fields = {name: figure(name == "c", f"e_{name}") for name in ("a", "b", "c")}
    body = '{% if a %}"x": {{ v }}{% elif b %}"y": {{ v }}{% elif c %}"z": {{ v }}{% endif %}'
    assert leaf(rendered(body, v=figure(1, "v"), **fields), "/z").support.events == {"e_a", "e_b", "e_c", "v"}
    body = '{% if a %}"x": {{ v }}{% elif b %}"y": {{ v }}{% else %}"z": {{ v }}{% endif %}'
    assert leaf(rendered(body, v=figure(1, "v"), **fields), "/z").support.events == {"e_a", "e_b", "v"}


def test_a_loop_adds_why_each_member_is_there() -> None:
    members = Listing(
        figure(2, "basis"),
        tuple((figure(name, f"why-{name}"), Group({"n": figure(name, name)})) for name in ("a", "b")),
    )
    document = rendered(
        '"x": [{% for m in xs %}{{ m.n }},{% endfor %}], "y": {{ y }}', xs=members, y=figure(0, "y")
    )
    assert document.document["x"] == ["a", "b"]
    assert leaf(document, "/x/1").support.events == {"why-b", "b"}
    assert leaf(document, "/y").support.events == {"y"}


def test_conditions_and_loops_inside_one_another_add_up() -> None:
    inner = Listing(figure(1, "inner"), ((figure("i", "why-i"), figure(7, "seven")),))
    outer = Listing(
        figure(1, "outer"), ((figure("o", "why-o"), Group({"xs": inner, "ok": figure(True, "ok")})),)
    )
    body = (
        '"x": [{% for o in os %}{% if o.ok %}{% for i in o.xs %}{{ i }},{% endfor %}{% endif %}{% endfor %}]'
    )
    document = rendered(body, os=outer)
    assert leaf(document, "/x/0").support.events == {"why-o", "ok", "why-i", "seven"}


def test_a_key_that_comes_from_a_figure_is_accounted_for_beside_its_value() -> None:
    document = rendered("{{ key }}: {{ x }}", key=figure("official_fp8", "k"), x=figure(1, "x"))
    assert document.document == {"schema": "a/1", "official_fp8": 1}
    both = [found for found in document.leaves if found.pointer == "/official_fp8"]
    assert [(found.kind, found.support.events) for found in both] == [("key", {"k"}), ("leaf", {"x"})]


def test_an_empty_list_rests_on_what_was_looked_at() -> None:
    nothing = Listing(figure(0, "looked"), ())
    document = rendered('"x": [{% for i in xs %}{{ i }},{% endfor %}]', xs=nothing)
    found = leaf(document, "/x")
    assert (document.document["x"], found.kind, found.support.events) == ([], "empty", {"looked"})


def test_a_list_of_nothing_and_null_are_no_condition_fulfilled() -> None:
    nothing = Listing(figure(0, "looked"), ())
    body = '{% if xs %}"x": {{ v }},{% endif %}{% if n %}"y": {{ v }},{% endif %}"z": {{ v }}'
    document = rendered(body, xs=nothing, n=figure(None, "n"), v=figure(1, "v"))
    assert list(document.document) == ["schema", "z"]


# --- values and their order -------------------------------------------------------------------------------


def test_numbers_are_printed_as_they_were_rounded() -> None:
    document = rendered(
        '"a": {{ x|places(1) }}, "b": {{ x|places(0) }}, "c": {{ whole }}, "d": {{ nothing|places(2) }}',
        x=figure(Fraction(48), "e"),
        whole=figure(Fraction(27), "e"),
        nothing=figure(None, "e"),
    )
    assert '"a": 48.0,' in document.text
    assert '"b": 48,' in document.text
    assert '"c": 27,' in document.text
    assert document.document["d"] is None


def test_text_is_text_whatever_is_in_it() -> None:
    for text in ('"', "\\", '"}', "{{ x }}", "\u2028", "</script>", "é😀", "}{", "// a", "@anvil:1@"):
        document = rendered('"x": {{ x }}', x=figure(text, "e"))
        assert json.loads(document.text)["x"] == text


def test_keys_stay_in_the_order_of_the_template() -> None:
    document = rendered('"z": {{ x }}, "a": {{ x }}, "m": {"b": {{ x }}, "a": {{ x }}}', x=figure(1, "e"))
    assert list(json.loads(document.text)) == ["schema", "z", "a", "m"]


values = st.one_of(st.none(), st.booleans(), st.integers(), st.text())
figures = st.builds(lambda value, number: figure(value, f"e{number}"), values, st.integers(0, 9))
labels = st.from_regex(r"\Af_[a-z0-9]{1,6}\Z")
shapes = st.recursive(
    figures, lambda inner: st.dictionaries(labels, inner, max_size=3).map(Group) | st.lists(inner, max_size=3), max_leaves=12
)  # fmt: skip


def template_of(shape: Any, path: str, level: int = 0) -> str:
    if isinstance(shape, Figure):
        return f"{{{{ {path} }}}}"
    if isinstance(shape, Group):
        inner = ", ".join(
            f'"{key}": {template_of(item, f"{path}.{key}", level)}' for key, item in shape.fields.items()
        )
        return "{" + f'"{level}n": {{{{ always }}}}, ' + inner + "}"
    return f"[{{% for m{level} in {path} %}}{{{{ always }}}},{{% endfor %}}]"


def context_of(shape: Any) -> Any:
    if isinstance(shape, list):
        return Listing(figure(len(shape), "basis"), tuple((figure(0, "why"), figure(0, "m")) for _ in shape))
    if isinstance(shape, Group):
        return Group({key: context_of(item) for key, item in shape.fields.items()})
    return shape


@given(st.dictionaries(labels, shapes, max_size=4))
def test_every_leaf_is_in_the_provenance_with_an_event(fields: dict[str, Any]) -> None:
    body = "".join(f'"{key}": {template_of(shape, f"root.{key}")}, ' for key, shape in fields.items())
    root = Group({key: context_of(shape) for key, shape in fields.items()})
    document = rendered(body, root=root, always=figure(True, "always"))
    read = json.loads(document.text)
    assert sorted(pointers(read)) == sorted(found.pointer for found in document.leaves)
    assert all(found.support.events for found in document.leaves if found.kind != "literal")
    assert [found.pointer for found in document.leaves if found.kind == "literal"] == ["/schema"]
