"""One TOML file, read and checked against a model; what is wrong has its line and a remedy.

1. The bytes are kept, and their SHA-256 is the file's digest.
2. The text is UTF-8 and TOML 1.0.0.
3. The document fits the model: strict types, no unknown key, nothing missing.
4. A number with a fraction is refused everywhere: a decimal is written in quotes, so that it stays
   the text it was.
"""

from __future__ import annotations

import difflib
import hashlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from anvil.collectors.recipes.lines import key_lines, line_of
from anvil.collectors.recipes.problems import Complaint, FileRefused, KeyPath, Problem

ModelT = TypeVar("ModelT", bound=BaseModel)


@dataclass(frozen=True)
class TomlFile:
    """A file's bytes, what they say, and where each key stands."""

    source: str
    kind: str
    content: bytes
    document: Mapping[str, Any]
    lines: Mapping[KeyPath, int]

    @property
    def digest(self) -> str:
        """The SHA-256 of the file's bytes, as ``sha256:…``."""
        return "sha256:" + hashlib.sha256(self.content).hexdigest()

    def refuse(self, complaints: Iterable[Complaint]) -> None:
        """Do nothing when there is no complaint.

        Raises:
            FileRefused: there is one; each has its line.
        """
        found = tuple(Problem(line_of(self.lines, c.at), c.what, c.write) for c in complaints)
        if found:
            raise FileRefused(self.source, found, kind=self.kind)


def read_toml(content: bytes, source: str, kind: str) -> TomlFile:
    """Return a file that was read, with the line of each key.

    Raises:
        FileRefused: the bytes are not UTF-8, or not TOML; the line is named.
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise FileRefused(
            source, (Problem(line, "this is not UTF-8", "Save the file as UTF-8"),), kind=kind
        ) from error
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileRefused(source, (_not_toml(error, text),), kind=kind) from error
    except RecursionError as error:
        deep = Problem(1, "this is nested too deeply", "Write fewer brackets within brackets")
        raise FileRefused(source, (deep,), kind=kind) from error
    return TomlFile(source, kind, content, document, key_lines(text))


def _not_toml(error: tomllib.TOMLDecodeError, text: str) -> Problem:
    """Return the parser's finding with its line, which the parser puts into its message."""
    what, _, place = str(error).partition(" (at ")
    digits = place.removeprefix("line ").partition(",")[0]
    line = int(digits) if digits.isdigit() else text.count("\n") + 1
    return Problem(
        line, f"this is not TOML: {what[:1].lower()}{what[1:]}", "Write `key = value`; see toml.io"
    )


def validated(file: TomlFile, model: type[ModelT]) -> ModelT:
    """Return the document as `model`.

    Raises:
        FileRefused: it does not fit; every misfit has its line and what to write instead.
    """
    try:
        return model.model_validate(_frozen(file.document))
    except ValidationError as error:
        items = error.errors(include_url=False)
        file.refuse(_first_of_each([_complaint(item, model) for item in items]))
        raise


def _frozen(value: Any) -> Any:
    """Return TOML's lists as tuples, which is what frozen models hold."""
    if isinstance(value, dict):
        return {name: _frozen(item) for name, item in value.items()}
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def _first_of_each(complaints: list[Complaint]) -> list[Complaint]:
    """Return one complaint for each place, and none of a block that only lacks what is wrong inside it.

    What fits none of a union's types is told once for each of them, and a list whose items are all refused
    is also told to be empty.
    """
    first: dict[KeyPath, Complaint] = {}
    for complaint in complaints:
        first.setdefault(complaint.at, complaint)
    inside = {at[:length] for at in first for length in range(len(at))}
    return [complaint for at, complaint in first.items() if at not in inside]


def _complaint(item: Mapping[str, Any], model: type[BaseModel]) -> Complaint:
    # The types of a union stand among the keys, as ``tuple[…]`` or ``function-wrap[…]``.
    at = tuple(step for step in item["loc"] if not (isinstance(step, str) and "[" in step))
    name = str(at[-1]) if at else "the file"
    found = f", found {str(item['input'])[:60]!r}" if not isinstance(item["input"], dict | tuple) else ""
    match item["type"]:
        case "anvil":
            return Complaint(at, item["ctx"]["what"], item["ctx"]["write"])
        case "extra_forbidden":
            return Complaint(at, f"unknown key `{name}`", _nearest(name, known_keys(model, at[:-1])))
        case "missing":
            return Complaint(at, f"`{name}` is missing", f"Write `{name} = …`")
        case "literal_error":
            return Complaint(at, f"`{name}` cannot be this{found}", f"Write {item['ctx']['expected']}")
        case kind:
            write = _AS_TOML.get(kind) or f"{item['msg']}"
            if kind == "string_type" and isinstance(item["input"], int | float):
                write = f'Write it in quotes: "{item["input"]}"'
            return Complaint(at, f"`{name}` cannot be this{found}", write)


_AS_TOML: Mapping[str, str] = {
    "string_type": "Write text in quotes",
    "int_type": "Write a whole number, without quotes",
    "bool_type": "Write true or false, without quotes",
    "tuple_type": "Write a list: [ …, … ]",
    "dict_type": "Write a table: { name = value }",
    "model_type": "Write a block with keys of its own",
}
"""What to write where a value is of another type, by the validator's name for it."""


def _nearest(name: str, known: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"Write `{close[0]}`" if close else f"Known here: {', '.join(known) or 'nothing'}"


def known_keys(model: type[BaseModel], path: KeyPath) -> tuple[str, ...]:
    """Return the keys that `model` knows at `path`, for advice; empty where it knows none by name."""
    here: Any = model
    for step in path:
        if _is_model(here):
            field = here.model_fields.get(str(step))
            here = field.annotation if field else None
        else:
            here = next((part for part in _parts(here) if _is_model(part)), None)
        # `Model | None` is the model, whether the block is there or not.
        if get_origin(here) in (Union, UnionType):
            here = next((part for part in get_args(here) if _is_model(part)), None)
    return tuple(here.model_fields) if _is_model(here) else ()


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _parts(annotation: Any) -> Iterator[Any]:
    """Yield what an annotation is made of, such as the models in ``tuple[Model, ...]``."""
    for part in get_args(annotation):
        yield part
        yield from _parts(part)
