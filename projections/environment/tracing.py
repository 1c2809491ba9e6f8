"""Tracing: an admitted tree is run, and what it prints is a row of pieces, never text.

1. Each text and each output of the tree is wrapped in a filter of ours that knows its line; a
   condition and what a loop goes over too. The filters write pieces; the text that Jinja2 itself
   puts together stays empty.
2. The sandbox resolves an attribute in a `Group` and nowhere else, has no globals, no tests and no
   filters but ours, and its `finalize` refuses whatever did not come through them.
3. An undefined name or attribute is refused when it is printed, tested or gone over. Nothing is
   ever silently empty.
4. A condition adds its support to all that stands inside it, in its other branches too. A loop adds for
   each turn why this member is one; its basis, what was looked at for all of them, stands where the
   list comes out empty, and where a condition asks whether it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jinja2 import StrictUndefined, Undefined, nodes, pass_context
from jinja2.exceptions import TemplateError
from jinja2.sandbox import SandboxedEnvironment

from anvil.projections.environment.gate import TemplateRefused, path_of
from anvil.projections.figures import Figure, Group, Listing, Unsupported


@dataclass(frozen=True)
class Text:
    """Text of the template, and the line it begins in."""

    text: str
    line: int


@dataclass(frozen=True)
class Output:
    """A figure that is printed, the figures that decided that it is, and the line."""

    figure: Figure
    around: tuple[Figure, ...]
    line: int


@dataclass(frozen=True)
class Looked:
    """A condition was tested or a loop begun here: what an empty list or object rests on."""

    figures: tuple[Figure, ...]


Piece = Text | Output | Looked

MAX_PIECES = 1_000_000
"""Pieces in a document at most, so that loops inside loops end."""


class _Nothing(str):
    """What our filters give Jinja2 to print."""

    __slots__ = ()


_NOTHING = _Nothing()


def trace(name: str, tree: nodes.Template, root: Group) -> list[Piece]:
    """Run an admitted tree over `root` and return what it printed.

    Raises:
        TemplateRefused: it prints, tests or goes over what is not there or is not of that kind.
    """
    run = _Run(name)
    tree.body = _wrapped(tree.body)
    environment = _Sandbox(run)
    try:
        environment.from_string(tree).render(dict(root.fields))
    except (TemplateError, RecursionError) as error:  # nothing that the gate lets through is known to
        raise TemplateRefused(name, getattr(error, "lineno", None) or 1, str(error)) from error
    return run.pieces


class _Sandbox(SandboxedEnvironment):
    """Rule 2."""

    def __init__(self, run: _Run) -> None:
        super().__init__(
            undefined=StrictUndefined, finalize=run.finalize, autoescape=False, optimized=False, cache_size=0
        )
        self.globals.clear()
        self.tests.clear()
        self.filters.clear()
        self.filters.update({f"_{kind}": getattr(run, kind) for kind in _FILTERS})

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, Undefined):
            return obj
        if type(obj) is Group and attribute in obj.fields:
            return obj.fields[attribute]
        return self.undefined(obj=obj, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        return self.undefined(obj=obj, name=str(argument))


_FILTERS = ("text", "leaf", "places", "opened", "decided", "members", "closed")


@dataclass
class _Run:
    """One rendering: the pieces so far, and the figures that decide what is inside now."""

    name: str
    pieces: list[Piece] = field(default_factory=list)
    scopes: list[list[Figure]] = field(default_factory=list)

    # each of these is a filter; the first argument is Jinja2's context, which keeps it from being run early

    @pass_context
    def text(self, _context: object, text: str, line: int) -> str:
        self._add(Text(text, line), line)
        return _NOTHING

    @pass_context
    def leaf(self, _context: object, value: object, line: int, path: str) -> str:
        figure = self._figure(value, line, path, "printed")
        self._add(Output(figure, self._around(), line), line)
        return _NOTHING

    @pass_context
    def places(self, _context: object, value: object, count: int, line: int, path: str) -> Figure:
        try:
            return self._figure(value, line, path, "printed").places(count)
        except Unsupported as error:
            raise TemplateRefused(self.name, line, f"{path}: {error}") from error

    @pass_context
    def opened(self, _context: object, _nothing: str) -> str:
        self.scopes.append([])
        return _NOTHING

    @pass_context
    def decided(self, _context: object, value: object, line: int, path: str) -> bool:
        if isinstance(value, Listing):
            decision, is_true = value.basis, bool(value.members)
        else:
            decision = self._figure(value, line, path, "tested")
            is_true = bool(decision.value)
        self.scopes[-1].append(decision)
        self._add(Looked(self._around()), line)
        return is_true

    @pass_context
    def members(self, _context: object, value: object, line: int, path: str) -> Iterator[Figure | Group]:
        if not isinstance(value, Listing):
            raise TemplateRefused(self.name, line, f"`{path}` is {_kind(value)}; a loop goes over a list")
        self._add(Looked((*self._around(), value.basis)), line)
        for reason, member in value:
            self.scopes.append([reason])
            yield member
            self.scopes.pop()

    @pass_context
    def closed(self, _context: object, _nothing: str) -> str:
        self.scopes.pop()
        return _NOTHING

    def finalize(self, value: object) -> str:
        if type(value) is not _Nothing:
            raise TemplateRefused(self.name, 1, f"something is printed that is no figure: {_kind(value)}")
        return value

    def _add(self, piece: Piece, line: int) -> None:
        if len(self.pieces) >= MAX_PIECES:
            raise TemplateRefused(self.name, line, f"it prints more than {MAX_PIECES} pieces")
        self.pieces.append(piece)

    def _around(self) -> tuple[Figure, ...]:
        return tuple(figure for scope in self.scopes for figure in scope)

    def _figure(self, value: object, line: int, path: str, what: str) -> Figure:
        if isinstance(value, Figure):
            return value
        raise TemplateRefused(self.name, line, f"`{path}` is {_kind(value)}; only a figure can be {what}")


def _kind(value: object) -> str:
    if isinstance(value, Undefined):
        return "not there"
    names = {Group: "a group of figures", Listing: "a list"}
    return names.get(type(value), "no figure")


# --- wrapping ---------------------------------------------------------------------------------------------


def _wrapped(body: list[nodes.Node]) -> list[nodes.Node]:
    made: list[nodes.Node] = []
    for node in body:
        if isinstance(node, nodes.Output):
            made.append(nodes.Output([_output(part) for part in node.nodes], lineno=node.lineno))
        elif isinstance(node, nodes.If):
            made += [_mark("_opened", node), _if(node), _mark("_closed", node)]
        elif isinstance(node, nodes.For):
            node.iter = _filter("_members", node.iter, node.iter.lineno, path_of(node.iter))
            node.body = _wrapped(node.body)
            made.append(node)
    return made


def _if(node: nodes.If) -> nodes.If:
    node.test = _filter("_decided", node.test, node.test.lineno, path_of(node.test))
    node.body = _wrapped(node.body)
    node.elif_ = [_if(branch) for branch in node.elif_]
    node.else_ = _wrapped(node.else_)
    return node


def _output(node: nodes.Node) -> nodes.Expr:
    line = node.lineno
    if isinstance(node, nodes.TemplateData):
        return _filter("_text", nodes.Const(node.data, lineno=line), line)
    if isinstance(node, nodes.Filter) and node.node is not None:
        path, places = path_of(node.node), node.args[0].as_const()
        return _filter("_leaf", _filter("_places", node.node, places, line, path), line, path)
    return _filter("_leaf", node, line, path_of(node))


def _mark(name: str, near: nodes.Node) -> nodes.Output:
    return nodes.Output([_filter(name, nodes.Const("", lineno=near.lineno))], lineno=near.lineno)


def _filter(name: str, node: nodes.Node, *arguments: int | str) -> nodes.Filter:
    constants = [nodes.Const(argument, lineno=node.lineno) for argument in arguments]
    return nodes.Filter(node, name, constants, [], None, None, lineno=node.lineno)
