"""The tables of docs/recipes.md and docs/checks.md, and of protocols in docs/load.md, from their models."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from anvil.collectors import endpoints, site
from anvil.collectors.checks import CHECKS, parameters
from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.endpoints import EndpointBlock
from anvil.collectors.protocols import PROTOCOLS
from anvil.collectors.recipes import blocks, gates, parts, recipe
from anvil.collectors.suites import SUITES, external, interface
from anvil.ledger import public

RECIPE: dict[str, type[BaseModel]] = {
    "recipe": recipe.RecipeFile,
    "hardware": parts.Hardware,
    "candidate": parts.Candidate,
    "package": parts.ModelPackage,
    "weights": parts.ExpectedWeights,
    "engine": blocks.EngineBlock,
    "container": blocks.Container,
    "endpoint": EndpointBlock,
    "attempt": blocks.AttemptBlock,
    "selected": parts.Selected,
    "suite": parts.SelectedSuite,
    "suite-file": external.SuiteFileBlock,
    "suite-item": external.SuiteItemBlock,
    "experiment": parts.Experiment,
    "restoration": gates.RestorationGate,
    "deadlines": parts.Deadlines,
    "site": site.Site,
    "placement": site.Placement,
    "docker": site.DockerSite,
    "gate-place": gates.GatePlace,
}
"""Block of docs/recipes.md to the model that it is made from."""

_ALIASES: tuple[ModuleType, ...] = (
    blocks,
    parts,
    gates,
    recipe,
    site,
    endpoints,
    parameters,
    external,
    interface,
)
_WORDS = {"str": "text", "bool": "true or false", "int": "integer", "None": "nothing", "Any": "any value"}
_WORDS |= {
    "Tokens": "integer",
    "Streams": "integer",
    "Depths": "list of integers",
    "Rate": "decimal in quotes",
}
_WORDS |= dict.fromkeys(("SeveralTokens", "SeveralStreams"), "integer, or list of integers")


def recipe_blocks() -> dict[str, str]:
    """Return what is generated inside docs/recipes.md, by name."""
    tables = {name: key_table(model) for name, model in RECIPE.items()}
    return {**tables, "kinds": _kinds()}


def check_blocks() -> dict[str, str]:
    """Return what is generated inside docs/checks.md, by name."""
    common = "\n".join([_HEAD, *_rows(Parameters)])
    rows = ["| check | parameter | value | default | meaning |", "|---|---|---|---|---|"]
    for name, check in CHECKS.items():
        own = (row for row in _rows(check.parameters) if row not in set(_rows(Parameters)))
        rows += [f"| `{name}` {row}" for row in own]
    return {"common": common, "parameters": "\n".join(rows), "suite-parameters": _suite_table()}


def _suite_table() -> str:
    rows = ["| suite | parameter | value | default | meaning |", "|---|---|---|---|---|"]
    for name, make in SUITES.items():
        own = (row for row in _rows(make().parameters) if row not in set(_rows(Parameters)))
        rows += [f"| `{name}` {row}" for row in own]
    return "\n".join(rows)


def protocol_blocks() -> dict[str, str]:
    """Return what is generated inside docs/load.md about protocols, by name."""
    return {
        f"protocol-{kind}": "\n".join([_HEAD, *_rows(known.parameters)]) for kind, known in PROTOCOLS.items()
    }


_HEAD = "| key | value | default | meaning |\n|---|---|---|---|"


def key_table(model: type[BaseModel]) -> str:
    """Return the keys that `model` itself declares, one a row."""
    own = inspect.get_annotations(model)
    return "\n".join([_HEAD, *(row for row in _rows(model) if row.split("`")[1] in own)])


def _rows(model: type[BaseModel]) -> Iterator[str]:
    for name, info in model.model_fields.items():
        annotation, text = _told(model, name)
        default = "*required*" if info.is_required() else _shown(info.get_default(call_default_factory=True))
        yield f"| `{name}` | {_kind(annotation)} | {default} | {text} |"


def _told(model: type[BaseModel], name: str) -> tuple[ast.expr, str]:
    """Return a field's nearest annotation and nearest docstring, from the class and its bases.

    Raises:
        ValueError: no class says what the field means.
    """
    found = [fields[name] for cls in model.__mro__ if name in (fields := _fields(cls))]
    text = next((text for _, text in found if text), None)
    if text is None:
        raise ValueError(f"{model.__name__}.{name} has no docstring")
    return found[0][0], text


@cache
def _fields(cls: type) -> dict[str, tuple[ast.expr, str]]:
    """Return annotation and docstring, perhaps empty, of each field in the source of a class."""
    if not issubclass(cls, BaseModel) or cls is BaseModel:
        return {}
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    return {
        node.target.id: (node.annotation, _string(after))
        for node, after in zip(body, [*body[1:], None], strict=True)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def _string(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return " ".join(str(node.value.value).replace("``", "`").split())
    return ""


def _kind(node: ast.expr) -> str:
    """Return an annotation in the words of a TOML file."""
    if isinstance(node, ast.BinOp):
        sides = [side for side in (node.left, node.right) if ast.unparse(side) != "None"]
        return " or ".join(_kind(side) for side in sides)
    if isinstance(node, ast.Constant):
        return f"`{node.value}`"
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        match node.value.id:
            case "Annotated":
                return _kind(inner[0])
            case "tuple":
                return f"list of {_kind(inner[0])}"
            case "Mapping":
                return f"table, {_kind(inner[0])} to {_kind(inner[1])}"
            case "Literal":
                return " or ".join(_kind(item) for item in inner)
    text = ast.unparse(node)
    value = next((vars(module)[text] for module in _ALIASES if text in vars(module)), None)
    if isinstance(value, type) and issubclass(value, BaseModel):
        return "block"
    if get_origin(value) is Literal:
        return " or ".join(f"`{item}`" for item in get_args(value))
    return _WORDS.get(text, f"`{text}`")


def _shown(value: Any) -> str:
    match value:
        case None | () | {}:
            return ""
        case bool():
            return f"`{str(value).lower()}`"
        case tuple():
            return "`" + ", ".join(str(item) for item in value) + "`"
        case str() | int():
            return f"`{value}`"
        case _:
            return "" if not isinstance(value, BaseModel) else "its defaults"


def _kinds() -> str:
    """Return what the names of kinds mean, for those that the tables use."""
    tables = "".join(key_table(model) for model in RECIPE.values())
    lines = []
    for module in _ALIASES:
        for name, text in _module_docstrings(module).items():
            if f"`{name}`" in tables:
                lines.append(f"- `{name}`: {text}")
    theirs = [name for name in vars(public) if f"`{name}`" in tables]
    named = ", ".join(f"`{name}`" for name in theirs)
    return "\n".join([*lines, f"- {named}: see [format.md](format.md#13-public-types)."])


def _module_docstrings(module: ModuleType) -> dict[str, str]:
    """Return the docstring of each name that a module assigns."""
    body = ast.parse(inspect.getsource(module)).body
    return {
        node.targets[0].id: _string(after)
        for node, after in zip(body, [*body[1:], None], strict=True)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _string(after)
    }
