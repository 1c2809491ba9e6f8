"""The page of events, from the event classes: their docstrings, those of their fields, types and roles."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from types import UnionType
from typing import Literal, Union, get_args, get_origin

from anvil.ledger import public
from anvil.ledger.events import CATALOGUE, Facts
from anvil.ledger.public import Role

BY_HAND = "<!-- Written by docs/generate.py; `make docs` writes it again. -->"


_IN_FORMAT = (public.Role, public.EvidenceStatus)
"""Vocabularies that docs/format.md defines, with the public types."""


def events_page() -> str:
    """Return the page of every event type."""
    parts = [
        "# Events",
        BY_HAND,
        (
            "Every type of event that this version of anvil writes, from the classes in `ledger/events/`. What an "
            "event is and how it is signed is in [format.md](format.md); here is what each one says."
        ),
        (
            "A field stands in the clear, in `facts`, unless it is marked *sealed*: then the header holds only a "
            "commitment to it. A clear field is always present; what is absent is `null`. The name of a type such "
            "as `Label` is a small language of its own, defined in "
            "[format.md, section 13](format.md#13-public-types)."
        ),
        "\n".join(f"- [`{name}`](#{anchor(name)}): {_first_line(cls)}" for name, cls in CATALOGUE.items()),
    ]
    groups, vocabularies = _inside_events()
    for name, cls in CATALOGUE.items():
        signed = ", ".join(role for role in get_args(Role) if role in cls.signed_by)
        parts += [f"## {name}", prose(cls), f"Signed by: {signed}.", _fields(cls)]
    parts += ["## Groups of fields", "These stand inside the events above."]
    for group in groups:
        parts += [f"### {group.__name__}", prose(group), _fields(group)]
    parts += ["## Vocabularies", "A field of one of these types holds one of these values."]
    for name, value in vocabularies.items():
        parts += [f"### {name}", ", ".join(_member(item) for item in get_args(value))]
    return "\n\n".join(parts) + "\n"


def _fields(cls: type[Facts]) -> str:
    rows = ["| field | type | meaning |", "|---|---|---|"]
    for name, annotation, text in documented(cls):
        rows.append(f"| `{name}` | {_type(annotation, cls)} | {text} |")
    return "\n".join(rows) if len(rows) > 2 else "It has no fields."


def _inside_events() -> tuple[list[type[Facts]], dict[str, object]]:
    """Return the groups of fields and the named vocabularies that events use, each once, as they come up."""
    groups: list[type[Facts]] = []
    vocabularies: dict[str, object] = {}
    waiting: list[type[Facts]] = list(CATALOGUE.values())
    for cls in waiting:
        for _, annotation, _ in documented(cls):
            for node in ast.walk(annotation):
                value = _named(cls, node)
                if isinstance(value, type) and issubclass(value, Facts) and value not in groups:
                    groups.append(value)
                    waiting.append(value)
                elif isinstance(node, ast.Name) and _is_vocabulary(value):
                    vocabularies[node.id] = value
    return groups, vocabularies


def _named(cls: type, node: ast.AST) -> object:
    """Return what a name in an annotation of `cls` stands for; null for what is no name of its module."""
    return vars(sys.modules[cls.__module__]).get(node.id) if isinstance(node, ast.Name) else None


def _is_vocabulary(value: object) -> bool:
    return get_origin(value) in (Literal, UnionType, Union) and value not in _IN_FORMAT


def _member(item: object) -> str:
    if isinstance(item, str):
        return f"`{item}`"
    name = next((name for name, value in vars(public).items() if value is item), None)
    return f"a `{name}`" if name else "true or false"


def documented(cls: type) -> Iterator[tuple[str, ast.expr, str]]:
    """Yield name, annotation and docstring of each field that `cls` itself declares.

    Raises:
        ValueError: a field has no docstring.
    """
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    if not isinstance(tree, ast.ClassDef):
        raise ValueError(f"{cls} is no class")
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        name = node.target.id
        if name == "type" or "ClassVar" in ast.unparse(node.annotation):
            continue
        if not isinstance(after, ast.Expr) or not isinstance(after.value, ast.Constant):
            raise ValueError(f"{cls.__name__}.{name} has no docstring")
        yield name, node.annotation, " ".join(str(after.value.value).split())


def _type(node: ast.expr, cls: type) -> str:
    """Return an annotation of `cls` in words."""
    if isinstance(node, ast.BinOp):
        return f"{_type(node.left, cls)} or {_type(node.right, cls)}"
    if isinstance(node, ast.Constant):
        return "null" if node.value is None else f"`{node.value}`"
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        match node.value.id:
            case "Annotated":
                return _type(inner[0], cls)
            case "Sealed":
                return f"*sealed* {_type(inner[0], cls)}"
            case "tuple" | "list":
                return f"list of {_type(inner[0], cls)}"
            case "Literal":
                return " or ".join(_type(item, cls) for item in inner)
    text = ast.unparse(node)
    value = _named(cls, node)
    if (isinstance(value, type) and issubclass(value, Facts)) or _is_vocabulary(value):
        return f"[{text}](#{text.lower()})"
    words = {"str": "text", "bool": "true or false", "int": "integer", "_Cited": "list of `EntryHash`"}
    return {**words, "NamedTexts": "list of names and their texts"}.get(text, f"`{text}`")


def prose(cls: type) -> str:
    return inspect.cleandoc(cls.__doc__ or "")


def _first_line(cls: type) -> str:
    return prose(cls).partition("\n")[0]


def anchor(heading: str) -> str:
    return re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-")
