"""Assembling: the pieces that a template printed are read as JSON, and every leaf is accounted for.

1. The grammar is that of RFC 8259, read by hand, so that each thing has its line in the template. One
   liberty: a comma may stand before a closing bracket, since a loop has no way to leave out the last.
2. A figure is a whole leaf or a whole key. Inside quotation marks, or beside other text, it is half
   of one, and refused.
3. A literal string stands only as a key, or as the top-level `schema`. A literal number, true, false
   or null is refused: no figure and no verdict without evidence.
4. A list or object that is empty says so on the evidence of the condition or loop inside it; one that
   the template itself leaves empty is a literal, and refused.
5. A key that comes from a figure is a label, as `anvil.ledger.public` defines it; no key comes twice.
6. An exact number that is no integer is printed with `places`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from anvil.ledger.public import EvidenceStatus
from anvil.projections.environment.gate import TemplateRefused
from anvil.projections.environment.tracing import Looked, Output, Piece, Text
from anvil.projections.figures import Figure, Printed, Support, Value, weakest

_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_WORD = re.compile(r'[^\s{}\[\],:"]+')
_LITERAL_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _./-]{0,63}")
_LABEL = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_SCHEMA = re.compile(r"[a-z0-9][a-z0-9._/-]{0,127}")
MAX_NESTING = 60

Kind = Literal["leaf", "key", "empty", "literal"]


@dataclass(frozen=True)
class Leaf:
    """One leaf or key of a document and what it rests on, the conditions and loops around it included.

    `kind` is `literal` for the schema, `empty` for an empty list or object, `key` for a key that came
    from a figure; `pointer` is then that of the key's value.
    """

    pointer: str
    kind: Kind
    value: Value
    rule: str
    support: Support
    status: EvidenceStatus
    line: int
    figures: tuple[Figure, ...] = ()
    """The figure itself, then those of the conditions and loops around it."""


@dataclass(frozen=True)
class Rendered:
    """A document: as values, as JSON text, and leaf by leaf."""

    document: dict[str, Any]
    leaves: tuple[Leaf, ...]

    @property
    def text(self) -> str:
        """The document as JSON: UTF-8, two blanks a level, numbers as they are printed."""
        return f"{_spell(self.document, 0)}\n"

    def leaf(self, pointer: str) -> Leaf | None:
        """Return the leaf at a JSON pointer (RFC 6901); the value rather than the key."""
        found = [leaf for leaf in self.leaves if leaf.pointer == pointer]
        return next((leaf for leaf in found if leaf.kind != "key"), found[0] if found else None)


def assemble(name: str, pieces: list[Piece]) -> Rendered:
    """Read the pieces as one JSON object.

    Raises:
        TemplateRefused: a rule above is broken; with the line.
    """
    reader = _Reader(name, _tokens(name, pieces))
    document = reader.value("", 0)
    reader.end()
    if not isinstance(document, dict):
        raise TemplateRefused(name, 1, "a document is a JSON object")
    return Rendered(document, tuple(reader.leaves))


# --- tokens -------------------------------------------------------------------------------------------------


class _Token(NamedTuple):
    kind: str
    """One of `{ } [ ] , :`, `string`, `output`, `looked`, `end`."""
    line: int
    text: str = ""
    output: Output | None = None
    looked: tuple[Figure, ...] = ()


def _tokens(name: str, pieces: list[Piece]) -> Iterator[_Token]:
    line = 1
    for piece in pieces:
        match piece:
            case Text():
                yield from _in_text(name, piece)
                line = piece.line + piece.text.count("\n")
            case Output():
                line = piece.line
                yield _Token("output", line, output=piece)
            case Looked():
                yield _Token("looked", line, looked=piece.figures)
    yield _Token("end", line)


def _in_text(name: str, piece: Text) -> Iterator[_Token]:
    position, text, line = 0, piece.text, piece.line
    while position < len(text):
        character = text[position]
        if character in " \t\r\n":
            line += character == "\n"
            position += 1
        elif character in "{}[],:":
            yield _Token(character, line)
            position += 1
        elif character == '"':
            found = _STRING.match(text, position)
            if found is None:
                raise TemplateRefused(
                    name,
                    line,
                    "a string does not end here: an output is a whole leaf, without quotation marks",
                )
            yield _Token("string", line, json.loads(found[0]))
            position = found.end()
        else:
            word = _WORD.match(text, position)
            shown = word[0] if word else character
            raise TemplateRefused(name, line, f"a literal stands where a figure belongs: {shown[:40]!r}")


# --- reading ------------------------------------------------------------------------------------------------


class _Reader:
    """A reader of tokens, one ahead."""

    def __init__(self, name: str, tokens: Iterator[_Token]) -> None:
        self._name = name
        self._tokens = tokens
        self._looked: list[list[Figure]] = [[]]
        self.leaves: list[Leaf] = []
        self._ahead: _Token | None = None

    def value(self, pointer: str, depth: int) -> Any:
        token = self._take()
        if depth > MAX_NESTING:
            raise self._refused(token, f"the document is nested more than {MAX_NESTING} deep")
        match token.kind:
            case "{":
                return self._container(
                    token, pointer, "}", lambda made: self._member(made, pointer, depth), {}
                )
            case "[":
                return self._container(token, pointer, "]", lambda made: self._item(made, pointer, depth), [])
            case "output" if token.output is not None:
                return self._leaf(pointer, "leaf", token.output)
            case "string" if pointer == "/schema":
                return self._schema(token)
            case "string":
                raise self._refused(token, f"a literal stands where a figure belongs: {token.text[:40]!r}")
            case _:
                raise self._refused(token, f"expected a value, found {_shown(token)}")

    def end(self) -> None:
        token = self._take()
        if token.kind != "end":
            raise self._refused(token, f"expected the end of the document, found {_shown(token)}")

    def _container(self, start: _Token, pointer: str, end: str, read: Any, made: Any) -> Any:
        self._looked.append([])
        while True:
            if self._peek().kind == end:
                self._take()
                break
            read(made)
            after = self._peek()
            if after.kind == ",":
                self._take()
            elif after.kind != end:
                raise self._refused(after, f"expected `,` or `{end}`, found {_shown(after)}")
        looked = self._looked.pop()
        if not made:
            if not looked:
                raise self._refused(
                    start, "an empty list or object is a literal: nothing shows that it is empty"
                )
            self._add(pointer, "empty", None, "none is recorded", tuple(looked), start.line)
        return made

    def _member(self, made: dict[str, Any], pointer: str, depth: int) -> None:
        token = self._take()
        output = token.output
        if output is not None:
            key = output.figure.value
            if type(key) is not str or not _LABEL.fullmatch(key):
                raise self._refused(token, f"a key is a label, found {str(key)[:40]!r}")
        elif token.kind == "string":
            key = token.text
            if not _LITERAL_KEY.fullmatch(key):
                raise self._refused(token, f"no key: {key[:40]!r}")
        else:
            raise self._refused(token, f"expected a key, found {_shown(token)}")
        below = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
        if key in made:
            raise self._refused(token, f"the key {key!r} stands here twice")
        if output is not None:
            if below == "/schema":
                raise self._refused(token, "the schema is the template's own")
            self._leaf(below, "key", output)
        colon = self._take()
        if colon.kind != ":":
            raise self._refused(colon, f"expected `:` after a key, found {_shown(colon)}")
        made[key] = self.value(below, depth + 1)

    def _item(self, made: list[Any], pointer: str, depth: int) -> None:
        made.append(self.value(f"{pointer}/{len(made)}", depth + 1))

    def _leaf(self, pointer: str, kind: Kind, output: Output) -> Value:
        figure = output.figure
        value = figure.value
        if isinstance(value, Fraction):
            if value.denominator != 1:
                raise TemplateRefused(
                    self._name, output.line, f"{pointer}: an exact number that is no integer needs places(N)"
                )
            value = int(value)
        self._add(pointer, kind, value, figure.rule, (figure, *output.around), output.line)
        return value

    def _schema(self, token: _Token) -> str:
        if not _SCHEMA.fullmatch(token.text):
            raise self._refused(token, "a schema is a name: a-z 0-9 . _ / -")
        leaf = Leaf("/schema", "literal", token.text, "the template's own", Support(), "declared", token.line)
        self.leaves.append(leaf)
        return token.text

    def _add(
        self, pointer: str, kind: Kind, value: Value, rule: str, figures: tuple[Figure, ...], line: int
    ) -> None:
        support = Support.of_all([figure.support for figure in figures])
        status = weakest(figure.status for figure in figures)
        self.leaves.append(Leaf(pointer, kind, value, rule, support, status, line, figures))

    def _take(self) -> _Token:
        token = self._peek()
        if token.kind != "end":
            self._ahead = None
        return token

    def _peek(self) -> _Token:
        """Return the next token. What is looked at before it belongs to every container that is open now."""
        while self._ahead is None:
            token = next(self._tokens)
            if token.kind == "looked":
                for scope in self._looked:
                    scope.extend(token.looked)
            else:
                self._ahead = token
        return self._ahead

    def _refused(self, token: _Token, what: str) -> TemplateRefused:
        return TemplateRefused(self._name, token.line, what)


def _shown(token: _Token) -> str:
    names = {"output": "an output", "end": "the end", "string": f"the text {token.text[:40]!r}"}
    return names.get(token.kind, f"`{token.kind}`")


# --- writing ------------------------------------------------------------------------------------------------


def _spell(value: Any, level: int) -> str:
    inner, outer = "  " * (level + 1), "  " * level
    if isinstance(value, dict) and value:
        lines = (
            f"{inner}{json.dumps(key, ensure_ascii=False)}: {_spell(item, level + 1)}"
            for key, item in value.items()
        )
        return "{\n" + ",\n".join(lines) + f"\n{outer}}}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"{inner}{_spell(item, level + 1)}" for item in value) + f"\n{outer}]"
    if isinstance(value, Printed):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
