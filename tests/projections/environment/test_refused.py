"""Nothing unproved: templates that try to print what is no figure are refused, with their line.

Each of these prints a value from nowhere, or leaks one, in an environment that is only sandboxed.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from jinja2 import nodes

from anvil.projections.environment import MAX_TEMPLATE, TemplateRefused, gate, render, tracing
from anvil.projections.figures import Figure, Group, Listing, Support

SCHEMA = '"schema": "a.b/1",\n'


def figure(value: object, event: str = "e1") -> Figure:
    return Figure(value, "stated", Support(frozenset((event,))), "retained-complete")  # type: ignore[arg-type]


ITEM = Group({"name": figure("one"), "ok": figure(True), "count": figure(3)})
ROOT = Group(
    {
        "model": figure("org/model"),
        "text": figure("A sentence, written for publication."),
        "rate": figure(Fraction(961, 20)),
        "count": figure(20),
        "ok": figure(True),
        "no": figure(False),
        "null": figure(None),
        "key": figure("official_fp8"),
        "item": ITEM,
        "items": Listing(figure(2), ((figure("a"), ITEM), (figure("b"), ITEM))),
        "names": Listing(figure(2), ((figure("a"), figure("x")), (figure("b"), figure("y")))),
        "empty": Listing(figure(0), ()),
    }
)

HOSTILE: dict[str, str] = {
    # literals
    "literal number": '"x": 48.0',
    "literal negative number": '"x": -1',
    "literal true": '"x": true',
    "literal null": '"x": null',
    "literal string": '"x": "all passed"',
    "literal string in a list": '"x": ["verified"]',
    "literal empty list": '"failures": []',
    "literal empty object": '"failures": {}',
    "schema that is not at the top": '"x": {"schema": "a/1"}',
    "schema that is a sentence": '"x": {{ ok }}, "schema": "All checks passed."',
    "NaN": '"x": NaN',
    "raw block": '"x": {% raw %}48.0{% endraw %}',
    "string output": '"x": {{ "all passed" }}',
    "number output": '"x": {{ 48.0 }}',
    "true output": '"x": {{ true }}',
    "none output": '"x": {{ none }}',
    "list output": '"x": {{ [1, 2] }}',
    "dict output": '"x": {{ {"a": 1} }}',
    # a verdict behind a condition
    "verdict behind an if": '"x": {% if ok %}true{% else %}false{% endif %}',
    "text behind an if": '"x": {% if ok %}"passed"{% endif %}',
    "empty list behind an if": '"x": {% if ok %}[]{% endif %}',
    "inline if": '"x": {{ text if ok else model }}',
    # arithmetic and operators
    "addition": '"x": {{ count + 1 }}',
    "subtraction of figures": '"x": {{ count - rate }}',
    "negation": '"x": {{ -count }}',
    "not": '"x": {{ not ok }}',
    "and": '"x": {{ ok and count }}',
    "comparison": '"x": {{ count > 3 }}',
    "comparison in a condition": '{% if count > 3 %}"x": {{ count }}{% endif %}',
    "literal condition": '{% if true %}"x": {{ count }}{% endif %}',
    "concatenation": '"x": {{ model ~ text }}',
    "percent formatting": '"x": {{ "%s" % count }}',
    "membership": '"x": {{ count in names }}',
    # filters and tests
    "filter length": '"x": {{ items|length }}',
    "filter upper": '"x": {{ text|upper }}',
    "filter default": '"x": {{ nothing|default("5") }}',
    "filter replace": '"x": {{ text|replace("A", "B") }}',
    "filter attr": '"x": {{ item|attr("name") }}',
    "filter tojson": '"x": {{ item|tojson }}',
    "filter of ours": '"x": {{ count|_leaf(1, "x") }}',
    "filter in a loop": '"x": [{% for i in items|list %}{{ i.name }},{% endfor %}]',
    "places without a number": '"x": {{ rate|places }}',
    "places with a name": '"x": {{ rate|places(count) }}',
    "places with two numbers": '"x": {{ rate|places(1, 2) }}',
    "places with many digits": '"x": {{ rate|places(10) }}',
    "places of places": '"x": {{ rate|places(3)|places(1) }}',
    "places with true": '"x": {{ rate|places(true) }}',
    "places of a text": '"x": {{ text|places(1) }}',
    "places of what is true": '"x": {{ ok|places(1) }}',
    "a test": '"x": {{ count is defined }}',
    "filter block": '"x": {% filter upper %}a{% endfilter %}',
    # calls and what they lead to
    "call": '"x": {{ model() }}',
    "method call": '"x": {{ text.upper() }}',
    "format call": '"x": {{ "{0.__class__}".format(model) }}',
    "range": '"x": [{% for i in range(9) %}{{ i }},{% endfor %}]',
    "cycler": '"x": {{ cycler("a", "b").next() }}',
    "cycler by name": '"x": {{ cycler }}',
    "joiner": '"x": {{ joiner }}',
    "lipsum": '"x": {{ lipsum }}',
    "namespace": '{% set n = namespace(a=1) %}"x": {{ n.a }}',
    "debug": '"x": {% debug %}',
    "do": '{% do count %}"x": {{ count }}',
    # attributes
    "attribute of a figure": '"x": {{ model.value }}',
    "support of a figure": '"x": {{ model.support }}',
    "class of a figure": '"x": {{ model.__class__ }}',
    "fields of a group": '"x": {{ item.fields }}',
    "attribute of a list": '"x": {{ items.members }}',
    "subscript": '"x": {{ item["name"] }}',
    "subscript of a list": '"x": {{ items[0] }}',
    "slice": '"x": {{ text[:3] }}',
    "dotted number": '"x": {{ items.0 }}',
    "private name": '"x": {{ _model }}',
    # what is not there, or of another kind
    "undefined name": '"x": {{ nothing }}',
    "undefined attribute": '"x": {{ item.nothing }}',
    "attribute of what is undefined": '"x": {{ nothing.more.still }}',
    "undefined condition": '{% if nothing %}"x": {{ count }}{% endif %}',
    "undefined loop": '"x": [{% for i in nothing %}{{ i }},{% endfor %}]',
    "whole group": '"x": {{ item }}',
    "whole list": '"x": {{ items }}',
    "condition on a group": '{% if item %}"x": {{ count }}{% endif %}',
    "loop over a figure": '"x": [{% for i in text %}{{ i }},{% endfor %}]',
    "loop over a group": '"x": [{% for i in item %}{{ i }},{% endfor %}]',
    "unrounded number": '"x": {{ rate }}',
    "member that is a group": '"x": [{% for i in items %}{{ i }},{% endfor %}]',
    # loops
    "loop index": '"x": [{% for i in items %}{{ loop.index }},{% endfor %}]',
    "loop last": '"x": [{% for i in items %}{{ i.name }}{% if not loop.last %},{% endif %}{% endfor %}]',
    "loop with a condition": '"x": [{% for i in items if i.ok %}{{ i.name }},{% endfor %}]',
    "loop with else": '"x": [{% for i in empty %}{{ i }},{% else %}{{ count }}{% endfor %}]',
    "recursive loop": '"x": [{% for i in items recursive %}{{ i.name }},{% endfor %}]',
    "unpacking": '"x": [{% for a, b in items %}{{ a }},{% endfor %}]',
    "loop variable after the loop": '{% for i in items %}{% endfor %}"x": {{ i.name }}',
    "loop over a literal": '"x": [{% for i in [1, 2] %}{{ i }},{% endfor %}]',
    # other statements
    "set": '{% set x = count %}"x": {{ x }}',
    "set block": '{% set x %}5{% endset %}"x": {{ x }}',
    "with": '{% with x = count %}"x": {{ x }}{% endwith %}',
    "macro": '{% macro m() %}5{% endmacro %}"x": {{ m() }}',
    "call block": '{% call m() %}5{% endcall %}"x": {{ count }}',
    "block": '{% block b %}"x": {{ count }}{% endblock %}',
    "self": '"x": {{ self }}',
    "self block": '"x": {{ self.b() }}',
    "super": '"x": {{ super() }}',
    "caller": '"x": {{ caller }}',
    "include": '"x": {% include "other" %}',
    "import": '{% import "other" as o %}"x": {{ o.x }}',
    "from import": '{% from "other" import x %}"x": {{ x }}',
    "extends": '{% extends "other" %}"x": {{ count }}',
    "autoescape": '{% autoescape true %}"x": {{ count }}{% endautoescape %}',
    "trans": '"x": {% trans %}a{% endtrans %}',
    "unclosed": '"x": {{ count ',
    # half leaves and keys
    "half a leaf": '"x": "{{ count }} passed"',
    "quoted leaf": '"x": "{{ model }}"',
    "two outputs in one leaf": '"x": {{ model }}{{ text }}',
    "digits after an output": '"x": {{ count }}0',
    "output after digits": '"x": 1{{ count }}',
    "escaped quotation mark": '"x": "\\"{{ model }}"',
    "half a key": '"x_{{ key }}": {{ count }}',
    "key that is a sentence": '{{ text }}: {{ count }}',
    "key that is a number": '{{ count }}: {{ ok }}',
    "key that is true": '{{ ok }}: {{ count }}',
    "key from a model": '{{ model }}: {{ count }}',
    "key from a raw string": '{{ "passed" }}: {{ count }}',
    "key that is a figure's name": '{{ names }}: {{ count }}',
    "key twice": '"x": {{ count }}, "x": {{ ok }}',
    "key from data twice": '{{ key }}: {{ count }}, {{ key }}: {{ ok }}',
    "key that shadows the schema": '"x": {{ ok }}, "schema": "b/1"',
    "key that is markup": '"<b>passed</b>": {{ count }}',
    # no JSON
    "two values": '"x": {{ count }} {{ ok }}',
    "no comma": '"x": {{ count }} "y": {{ ok }}',
    "comma alone": ', "x": {{ count }}',
    "no value": '"x": ',
    "no colon": '"x" {{ count }}',
    "a comment of JSON's": '"x": {{ count }} // passed',
    "unclosed list": '"x": [{{ count }}',
    "single quotes": "'x': {{ count }}",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused_with_its_line(name: str) -> None:
    source = "{\n" + SCHEMA + "\n" + HOSTILE[name] + "\n}\n"
    with pytest.raises(TemplateRefused) as refusal:
        render("mine.json.j2", source, ROOT)
    assert refusal.value.line in (
        (4, 5) if name in {"unclosed", "no value", "unclosed list", "half a leaf"} else (4,)
    )
    assert str(refusal.value).startswith(f"mine.json.j2, line {refusal.value.line}: ")


def test_there_are_enough_of_them() -> None:
    assert len(HOSTILE) >= 100


@pytest.mark.parametrize(
    "source", ["", "5", "[]", '"x"', "{{ model }}", "[{{ count }}]", "{} {}", "{", "null"]
)
def test_a_document_is_one_object(source: str) -> None:
    with pytest.raises(TemplateRefused):
        render("t", source, ROOT)


def test_text_after_the_document_is_refused() -> None:
    with pytest.raises(TemplateRefused, match="line 3: expected the end"):
        render("t", "{\n" + SCHEMA + "} {{ count }}", ROOT)


def test_a_template_without_end_is_refused() -> None:
    with pytest.raises(TemplateRefused, match="at most"):
        render("t", " " * (MAX_TEMPLATE + 1), ROOT)


@pytest.mark.parametrize(
    "source",
    [
        "{% if ok %}" * 200 + "{% endif %}" * 200,
        "{% for i in items %}" * 17 + "{% endfor %}" * 17,
        "{% if no %}" + "{% elif no %}" * 5000 + "{% endif %}",
        "{% if ok %}" * 20_000,
        "{{ " + "(" * 20_000 + "count",
        "{{ count" + ".a" * 50_000 + " }}",
        '{"a": ' * 200 + "{{ count }}" + "}" * 200,
        '{"a": ' + "[" * 20_000,
    ],
    ids=["deep", "loops", "branches", "deeper", "brackets", "dots", "document", "lists"],
)
def test_a_template_nested_too_deeply_is_refused(source: str) -> None:
    with pytest.raises(TemplateRefused):
        render("t", source, ROOT)


def test_the_deepest_that_is_admitted_can_be_run() -> None:
    loops = "{% for i in empty %}" * 16 + "{% endfor %}" * 16
    branches = "{% if no %}" + "{% elif no %}" * 200 + "{% endif %}"
    assert render("t", "{" + SCHEMA + loops + branches + "}", ROOT).document == {"schema": "a.b/1"}


def test_loops_inside_loops_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "MAX_PIECES", 10_000)
    loops = "{% for i in items %}" * 16 + "{{ count }}," + "{% endfor %}" * 16
    with pytest.raises(TemplateRefused, match="more than 10000 pieces"):
        render("t", "{" + SCHEMA + '"x": [' + loops + "]}", ROOT)


def test_every_kind_of_node_that_is_not_on_the_list_is_refused() -> None:
    """An allow-list: the gate names what it lets through, so a node of a later Jinja2 is refused."""
    with pytest.raises(TemplateRefused, match=r"t, line 3: `Continue` is not allowed"):
        gate._Gate("t").statements([nodes.Continue(lineno=3)], 0)
