"""All that stands in the clear is publishable by type.

1. Every clear field of every event in the union is `Public`, and so are the parts of a header.
2. A class that would show a private field, in whatever way, cannot be defined.
3. The header's own patterns and the public types are the same languages.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, computed_field
from support.json import AWKWARD
from support.tools import ROOT

from anvil.ledger import header, public
from anvil.ledger.errors import MalformedHeader
from anvil.ledger.events import CATALOGUE, AnyEvent, Event, Facts, Sealed
from anvil.ledger.events.base import SEALED
from anvil.ledger.header import ArtifactEntry, Subject
from anvil.ledger.public import Count, Label, Public, PublicText, Role

PUBLIC_TYPES: dict[str, Any] = {
    name: value
    for name, value in vars(public).items()
    if get_origin(value) is Annotated and any(isinstance(item, Public) for item in value.__metadata__)
}
MARKERS = {id(item) for t in PUBLIC_TYPES.values() for item in t.__metadata__ if isinstance(item, Public)}
CLOSED = {"Role": public.Role, "EvidenceStatus": public.EvidenceStatus}

# --- 1. the walk over the union, written apart from the check that refuses classes ----------------------


def leaves(annotation: Any, metadata: tuple[Any, ...] = ()) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Yield each innermost type of an annotation with all that is said about it."""
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        yield from leaves(inner, (*metadata, *more))
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            if name == "type" and issubclass(annotation, Event):
                continue
            yield from leaves(field.annotation, tuple(field.metadata))
    elif get_args(annotation) and get_origin(annotation) is not Literal:
        for part in get_args(annotation):
            if part is not Ellipsis:
                yield from leaves(part, metadata)
    else:
        yield annotation, metadata


def is_ours(annotation: Any, metadata: tuple[Any, ...]) -> bool:
    if annotation in (bool, type(None)):
        return True
    if get_origin(annotation) is Literal:
        return all(isinstance(TypeAdapter(Label).validate_python(text), str) for text in get_args(annotation))
    return any(id(item) in MARKERS for item in metadata)


@pytest.mark.parametrize("cls", get_args(AnyEvent), ids=lambda cls: cls.event_type)
def test_every_clear_field_of_every_event_is_public(cls: type[Event]) -> None:
    seen = 0
    for name, field in cls.model_fields.items():
        if name == "type" or SEALED in field.metadata:
            continue
        for annotation, metadata in leaves(field.annotation, tuple(field.metadata)):
            assert is_ours(annotation, metadata), f"{cls.__name__}.{name}: {annotation} {metadata}"
            seen += 1
    assert seen


def test_the_union_is_the_catalogue() -> None:
    assert set(CATALOGUE.values()) == set(get_args(AnyEvent))
    assert len(CATALOGUE) == len(get_args(AnyEvent)) >= 12


@pytest.mark.parametrize("cls", get_args(AnyEvent), ids=lambda cls: cls.event_type)
def test_every_event_and_every_clear_field_says_what_it_means(cls: type[Event]) -> None:
    assert cls.__doc__
    source = (ROOT / Path(*cls.__module__.split(".")[1:])).with_suffix(".py").read_text()
    for name in cls.model_fields:
        if name != "type":
            after = source.partition(f"class {cls.__name__}(")[2].partition(f"\n    {name}: ")[2]
            assert after.partition("\n")[2].lstrip().startswith('"""'), f"{cls.__name__}.{name}"


# --- 2. what cannot be defined ---------------------------------------------------------------------------


class Inner(Facts):
    label: Label


class WithString(Facts):
    text: str


class WithSealed(Facts):
    text: Sealed[str]


class WithType(Facts):
    type: str


BAD_FIELDS: dict[str, Any] = {
    "text": str,
    "number": int,
    "real": float,
    "raw": bytes,
    "anything": Any,
    "mapping": dict[str, str],
    "list_of_text": list[str],
    "tuple_of_text": tuple[str, ...],
    "bare_tuple": tuple,
    "text_or_null": str | None,
    "label_or_text": Label | str,
    "tuple_with_text_inside": tuple[Label, str],
    "group_with_text": WithString,
    "group_with_a_sealed_field": WithSealed,
    "group_with_a_field_named_type": WithType,
    "groups_with_text": tuple[WithString, ...] | None,
    "half_sealed": Sealed[str] | Label,
    "tuple_of_sealed": tuple[Sealed[str], ...],
    "annotated_otherwise": Annotated[str, Field(max_length=5)],
    "another_model": BaseModel,
}


def defined(annotation: Any, **namespace: Any) -> type[Event]:
    body = {
        "__module__": __name__,
        "__annotations__": {
            "signed_by": ClassVar[frozenset[Role]],
            "type": Literal["thing.seen/1"],
            "field": annotation,
        },
        "signed_by": frozenset({"collector"}),
        "type": "thing.seen/1",
        **namespace,
    }
    return type("ThingSeen", (Event,), body)


@pytest.mark.parametrize("name", BAD_FIELDS)
def test_a_class_that_would_show_a_private_field_cannot_be_defined(name: str) -> None:
    with pytest.raises(TypeError, match="field 'field' is neither public by type nor sealed"):
        defined(BAD_FIELDS[name])


@pytest.mark.parametrize(
    ("namespace", "complaint"),
    [
        ({"signed_by": frozenset()}, "by whom it is signed"),
        ({"type": "thing.seen/2"}, "one Literal"),
        ({"field": "x"}, "has a default"),
        ({"field": Field(default_factory=str)}, "has a default"),
        ({"field": Field(alias="other")}, "another name"),
        ({"field": Field(serialization_alias="other")}, "another name"),
        ({"more": computed_field(property(lambda _: "private", None, None, "text"), return_type=str)}, "computed"),
        ({"model_config": ConfigDict(extra="allow")}, "configuration"),
        ({"model_config": ConfigDict(strict=False)}, "configuration"),
        ({"model_config": ConfigDict(frozen=False)}, "configuration"),
    ],
)  # fmt: skip
def test_a_class_that_could_say_more_or_less_than_its_fields_cannot_be_defined(
    namespace: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(TypeError, match=complaint):
        defined(Label, **namespace)


def test_two_versions_in_one_class_cannot_be_defined() -> None:
    with pytest.raises(TypeError, match="one Literal"):

        class Both(Event):
            signed_by: ClassVar[frozenset[Role]] = frozenset({"collector"})
            type: Literal["thing.seen/1", "thing.seen/2"] = "thing.seen/1"


GOOD_FIELDS: dict[str, Any] = {
    "label": Label,
    "label_or_null": Label | None,
    "boolean": bool,
    "labels": tuple[Label, ...],
    "pair": tuple[Count, Label],
    "group": Inner,
    "groups_or_null": tuple[Inner, ...] | None,
    "closed_words": Literal["a", "b"],
    "role": Role,
    "public_text": PublicText | None,
    "sealed": Sealed[str],
    "sealed_mapping": Sealed[dict[str, str] | None],
    "label_with_more_said": Annotated[Label, Field()],
}


@pytest.mark.parametrize("name", GOOD_FIELDS)
def test_a_class_of_public_and_sealed_fields_can(name: str) -> None:
    cls = defined(GOOD_FIELDS[name])
    assert cls.event_type == "thing.seen/1"
    assert (cls.sealed_fields == ("field",)) == (SEALED in cls.model_fields["field"].metadata)


# --- 3. one language, two spellings ------------------------------------------------------------------------

SAME: dict[str, tuple[str, Any, int]] = {
    "label": ("_LABEL", public.Label, 64),
    "digest": ("_DIGEST", public.Digest, 71),
    "hex": ("_HEX64", public.KeyId, 64),
    "event": ("_EVENT", public.EventType, header._MAX_EVENT),
    "stream": ("_STREAM", public.StreamId, 200),
    "origin": ("_ORIGIN", public.Origin, header._MAX_ORIGIN),
    "moment": ("_MOMENT", public.Timestamp, 27),
    "media_type": ("_MEDIA_TYPE", public.MediaType, header._MAX_MEDIA_TYPE),
}
ADAPTERS = {name: TypeAdapter(kind) for name, (_, kind, _) in SAME.items()}


def in_type(name: str, text: str) -> bool:
    try:
        ADAPTERS[name].validate_python(text, strict=True)
    except ValidationError:
        return False
    return True


def in_header(name: str, text: str) -> bool:
    pattern, _, longest = SAME[name]
    try:
        if name == "moment":
            header._require_moment(text)
        else:
            header._require(getattr(header, pattern), text, name, longest)
    except MalformedHeader:
        return False
    return True


@pytest.mark.parametrize("name", SAME)
@given(data=st.data())
@settings(max_examples=80)
def test_headers_and_public_types_know_the_same_languages(name: str, data: st.DataObject) -> None:
    pattern = getattr(header, SAME[name][0])
    text = data.draw(st.from_regex(pattern, fullmatch=True) | st.from_regex(pattern) | st.text(max_size=70))
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.sampled_from(AWKWARD + "Aa0.-_/+:Zé٣ｅ")) + text[at:]
    assert in_header(name, text) == in_type(name, text)


@pytest.mark.parametrize("name", SAME)
def test_a_newline_after_the_end_belongs_to_neither(name: str) -> None:
    good = {
        "label": "a", "digest": "sha256:" + "a" * 64, "hex": "a" * 64, "event": "a.b/1", "media_type": "a/b",
        "stream": "20261130T072616Z-" + "a" * 16, "origin": "a.b/c", "moment": "2026-11-30T07:26:16.123456Z",
    }[name]  # fmt: skip
    assert in_header(name, good)
    assert in_type(name, good)
    for bad in (good + "\n", "\n" + good, good + "\r", good + "\u2028", good.replace("a", "ａ") + "\0"):
        assert not in_header(name, bad)
        assert not in_type(name, bad)


@given(st.from_regex(header._FIELD, fullmatch=True))
def test_the_name_of_a_sealed_field_is_a_label_so_that_it_can_be_redacted(name: str) -> None:
    assert in_type("label", name)


@given(st.text(max_size=70) | st.from_regex(header._LABEL, fullmatch=True))
def test_subjects_and_artifact_names_are_public(text: str) -> None:
    try:
        Subject(campaign=text)
        ArtifactEntry(text, "text/plain", commitment="a" * 64)
    except MalformedHeader:
        assert not in_type("label", text)
    else:
        assert in_type("label", text)


# --- the languages themselves -------------------------------------------------------------------------------

PRIVATE = [
    "/home/alice/models", "C:\\Users\\alice", "alice@example.com", "http://10.0.0.7:8000/v1",
    "GPU-8f4e0b8c-1f6d-4f4e-9b1a-1c2d3e4f5a6b/", "Bearer eyJhbGciOi", "two words", "line\nbreak", "",
    "\x1b[31mred", "<script>", "a|b", "`x`", "ü", "\u202eevil", "\ud800", " lead", "hf_Abc+/=",
]  # fmt: skip


@pytest.mark.parametrize("name", [name for name in PUBLIC_TYPES if name != "PublicText"])
@pytest.mark.parametrize("text", PRIVATE)
def test_no_public_type_holds_a_path_an_address_a_sentence_or_an_escape(name: str, text: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(PUBLIC_TYPES[name]).validate_python(text, strict=True)


HIDDEN = {
    "newline": "a\nb", "tab": "a\tb", "escape": "\x1b[2J", "delete": "a\x7f", "c1": "a\x9bb", "nul": "\0",
    "bidi_override": "a\u202eb", "bidi_isolate": "a\u2066b", "zero_width_space": "a\u200bb", "joiner": "a\u200db",
    "soft_hyphen": "a\u00adb", "byte_order_mark": "\ufeffa", "line_separator": "a\u2028b", "tag": "a\U000e0041",
    "paragraph_separator": "a\u2029b", "private_use": "a\ue000", "unassigned": "a\U000eeeee", "surrogate": "a\ud800",
    "variation_selector": "a\ufe0f", "hidden_bytes": "a\U000e0100\U000e0151", "hangul_filler": "a\u3164",
    "half_width_filler": "a\uffa0b", "empty_braille": "a\u2800b", "grapheme_joiner": "a\u034fb",
    "blank_before": " a", "blank_after": "a\u00a0", "only_blanks": "  ", "empty": "", "not_nfc": "u\u0308",
    "too_long": "a" * 1001,
}  # fmt: skip


@pytest.mark.parametrize("name", HIDDEN)
def test_public_text_hides_nothing(name: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(PublicText).validate_python(HIDDEN[name], strict=True)


@pytest.mark.parametrize("text", ["a", "Ü: <b>x</b> | `y` 😀", "a" * 1000, "日本語", "5 × 3 — “quoted”"])
def test_public_text_is_any_visible_line(text: str) -> None:
    assert TypeAdapter(PublicText).validate_python(text, strict=True) == text


ACCEPTED = {
    "ImageReference": ["ghcr.io/org/name@sha256:" + "a" * 64, "localhost:5000/x@sha256:" + "a" * 64],
    "ModelId": ["Qwen/Qwen3-8B", "org/model_v1.2"],
    "Revision": ["0" * 40],
    "Version": ["0.1.0.dev0", "1", "2.5.1+cu124", "0.10.1rc2"],
}
REFUSED = {
    "ImageReference": ["ghcr.io/org/name:latest", "name@sha256:abc", "a" * 500 + "@sha256:" + "a" * 64],
    "ModelId": ["Qwen", "a/b/c", "../x", "org/", "/x"],
    "Revision": ["main", "0" * 39, "A" * 40],
    "Version": ["latest", "v1", "1.0 beta", "1.0/x"],
    "Count": [-1, 2**53, True, 1.0, "1"],
    "VerifierKeyText": ["a b+00000000+" + "A" * 44, "/home/x+00000000+" + "A" * 44, "a+0+A"],
    "CheckpointText": [
        f"/home/x\n1\n{'A' * 43}=\n\n— a {'A' * 91}=\n",
        f"a\n01\n{'A' * 43}=\n\n— a {'A' * 91}=\n",
        f"a\n1\n{'A' * 43}=\n\n",
        f"a\n1\n{'A' * 43}=\nextension\n\n— a {'A' * 91}=\n",
        f"a\n1\n{'A' * 43}=\n\n— a\x1b[2J {'A' * 91}=\n",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in ACCEPTED.items() for v in vs])
def test_public_type_holds(name: str, value: Any) -> None:
    TypeAdapter(PUBLIC_TYPES[name]).validate_python(value, strict=True)


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in REFUSED.items() for v in vs])
def test_public_type_refuses(name: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(PUBLIC_TYPES[name]).validate_python(value, strict=True)


def test_every_public_type_says_its_language() -> None:
    assert len(PUBLIC_TYPES) >= 20
    for kind in PUBLIC_TYPES.values():
        assert next(item.language for item in kind.__metadata__ if isinstance(item, Public))
