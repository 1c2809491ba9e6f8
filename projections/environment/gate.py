"""The gate: which syntax a template may use.

1. Allowed: text, `for NAME in PATH`, `if PATH` with `elif` and `else`, output of a path, and
   `PATH|places(N)` with N from 0 to 9. A path is a name, or names joined by dots. Comments are ignored.
2. Everything else is refused by its kind: operators, tests, calls, other filters, subscripts,
   literals, filter and call blocks, macros, blocks, includes, imports, `set`, `with`, `loop`.
   This is an allow-list: a kind of node that nobody thought of is refused too.
3. A template has a bounded size and depth, so that reading it always ends.
"""

from __future__ import annotations

from jinja2 import Environment, nodes
from jinja2.exceptions import TemplateSyntaxError

from anvil.ledger.errors import PublicationRefused

MAX_TEMPLATE = 262_144
"""Characters in a template at most."""

MAX_DEPTH = 16
"""Conditions and loops inside one another at most; Python itself allows 20 loops."""

MAX_BRANCHES = 200
"""Branches of one condition at most."""

_SPECIAL = frozenset({"self", "loop", "super", "caller", "varargs", "kwargs", "cycler"})
"""Names that Jinja2 gives a meaning of its own, and `cycler`, which it usually offers."""

_WORDS: dict[type[nodes.Node], str] = {
    nodes.Const: "a literal",
    nodes.List: "a literal",
    nodes.Tuple: "a literal",
    nodes.Dict: "a literal",
    nodes.Call: "a call",
    nodes.Getitem: "a subscript",
    nodes.Test: "a test",
    nodes.Compare: "a comparison",
    nodes.CondExpr: "a condition inside an output",
    nodes.Concat: "an operator",
    nodes.BinExpr: "an operator",
    nodes.UnaryExpr: "an operator",
    nodes.FilterBlock: "a filter block",
    nodes.CallBlock: "a call block",
    nodes.Macro: "a macro",
    nodes.Block: "a block",
    nodes.Extends: "extends",
    nodes.Include: "include",
    nodes.Import: "an import",
    nodes.FromImport: "an import",
    nodes.Assign: "set",
    nodes.AssignBlock: "set",
    nodes.With: "with",
    nodes.ScopedEvalContextModifier: "autoescape",
}
"""What refused syntax is called in messages; what is not here is called by its class."""


class TemplateRefused(PublicationRefused):
    """A template tries what a template may not do. `line` is where, from 1."""

    def __init__(self, name: str, line: int, what: str) -> None:
        super().__init__(
            f"{name}, line {line}: {what}",
            advice="docs/publishing.md says what a template may do; composite text is built in a projection.",
        )
        self.line = line


def admit(name: str, source: str) -> nodes.Template:
    """Return the syntax tree of a template that keeps the rules.

    Raises:
        TemplateRefused: it does not, or is no template.
    """
    if len(source) > MAX_TEMPLATE:
        raise TemplateRefused(name, 1, f"a template has at most {MAX_TEMPLATE} characters")
    try:
        tree = Environment(optimized=False, autoescape=False).parse(source)  # noqa: S701  # parsed, never run
        _Gate(name).statements(tree.body, 0)
    except TemplateSyntaxError as error:
        raise TemplateRefused(name, error.lineno, str(error.message)) from error
    except RecursionError as error:
        raise TemplateRefused(name, 1, "it is nested too deeply to be read") from error
    return tree


class _Gate:
    """One walk over one tree."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._line = 1

    def statements(self, body: list[nodes.Node], depth: int) -> None:
        for node in body:
            self._line = _line_of(node) or self._line
            if depth > MAX_DEPTH:
                raise self._refused(node, f"conditions and loops are nested more than {MAX_DEPTH} deep")
            match node:
                case nodes.Output():
                    for part in node.nodes:
                        if not isinstance(part, nodes.TemplateData):
                            self._output(part)
                case nodes.If():
                    if len(node.elif_) > MAX_BRANCHES:
                        raise self._refused(node, f"a condition has at most {MAX_BRANCHES} branches")
                    self._path(node.test, "a condition")
                    self.statements(node.body, depth + 1)
                    self.statements(list(node.elif_), depth)
                    self.statements(node.else_, depth + 1)
                case nodes.For():
                    self._loop(node)
                    self.statements(node.body, depth + 1)
                case _:
                    raise self._refused(node, f"{_called(node)} is not allowed")

    def _loop(self, node: nodes.For) -> None:
        if node.test is not None or node.recursive or node.else_:
            raise self._refused(node, "a loop has no condition, no else and is not recursive")
        if not isinstance(node.target, nodes.Name):
            raise self._refused(node, "a loop has one variable")
        self._name_of(node.target)
        self._path(node.iter, "what a loop goes over")

    def _output(self, node: nodes.Node) -> None:
        if isinstance(node, nodes.Filter) and node.name == "places" and node.node is not None:
            places = node.args[0] if len(node.args) == 1 else None
            is_digit = (
                isinstance(places, nodes.Const) and type(places.value) is int and 0 <= places.value <= 9
            )
            if not is_digit or node.kwargs or node.dyn_args or node.dyn_kwargs:
                raise self._refused(node, "the filter is places(N), N one digit")
            node = node.node
        self._path(node, "an output")

    def _path(self, node: nodes.Node, what: str) -> None:
        match node:
            case nodes.Name():
                self._name_of(node)
            case nodes.Getattr():
                if node.attr.startswith("_"):
                    raise self._refused(node, f"no name begins with `_`, found {node.attr!r}")
                self._path(node.node, what)
            case nodes.Filter():
                raise self._refused(
                    node, f"the filter `{node.name}` is not allowed here; the only one is places(N)"
                )
            case _:
                raise self._refused(node, f"{what} is a name, or names joined by dots; found {_called(node)}")

    def _name_of(self, node: nodes.Name) -> None:
        if node.name in _SPECIAL or node.name.startswith("_"):
            raise self._refused(node, f"the name `{node.name}` is not allowed")

    def _refused(self, node: nodes.Node, what: str) -> TemplateRefused:
        return TemplateRefused(self._name, _line_of(node) or self._line, what)


def _called(node: nodes.Node) -> str:
    for kind in type(node).__mro__:
        if kind in _WORDS:
            return _WORDS[kind]
    return f"`{type(node).__name__}`"


def _line_of(node: nodes.Node) -> int | None:
    """Return the line of a node, or of the first below it that has one; Jinja2 leaves some without."""
    lines = (child.lineno for child in node.iter_child_nodes() if child.lineno)
    return node.lineno or next(lines, None)


def path_of(node: nodes.Node) -> str:
    """Return a path as it was written."""
    if isinstance(node, nodes.Getattr):
        return f"{path_of(node.node)}.{node.attr}"
    return str(getattr(node, "name", "?"))
