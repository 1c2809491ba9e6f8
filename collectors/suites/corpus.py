"""The corpus of `multimodal`: small pictures and clips that were made for it, and what is asked of them.

1. The corpus is one file, a ZIP archive, that comes with anvil: ``corpus.json`` and the media it names. What counts
   as its digest is that of the bytes that were read and kept, which no checkout changes.
2. A case says what must be stated: groups of words of which one each must stand in the answer, whole and in any
   case. Where it says so, in the order of the groups.
3. It says too what must not be: the other words that the question offers. An answer that lists them all has
   chosen nothing.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from anvil.ledger.public import Label

CORPUS_TYPE = "application/zip"
_MEDIA_TYPES = {"png": "image/png", "avi": "video/x-msvideo"}


class Case(BaseModel):
    """One question about media, and what its answer must hold."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    id: Label
    modality: Literal["image", "video", "mixed"]
    question: str
    media: Annotated[tuple[str, ...], Field(strict=False, min_length=1)]
    """The names of its media in the archive, in the order in which they are shown."""
    stated: Annotated[tuple[tuple[str, ...], ...], Field(strict=False, min_length=1)]
    """Groups of words; one of each must be stated."""
    absent: Annotated[tuple[str, ...], Field(strict=False)]
    """Words that must not be stated."""
    in_order: bool
    """Whether the groups must be stated in their order."""


class _Listed(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    format: Literal["anvil.corpus/1"]
    version: int
    cases: Annotated[tuple[Case, ...], Field(strict=False)]


@dataclass(frozen=True)
class Medium:
    """A picture or a clip."""

    name: str
    content: bytes

    @property
    def media_type(self) -> str:
        """Which kind of file it is."""
        return _MEDIA_TYPES[self.name.rpartition(".")[2]]

    @property
    def is_clip(self) -> bool:
        """Whether it moves."""
        return self.media_type.startswith("video/")


@dataclass(frozen=True)
class Corpus:
    """A corpus that was read."""

    version: int
    cases: tuple[Case, ...]
    media: Mapping[str, Medium]

    def shown(self, case: Case) -> Iterator[Medium]:
        """Yield the media of a case in order."""
        return (self.media[name] for name in case.media)


def read_corpus(content: bytes) -> Corpus:
    """Return the corpus that these bytes are.

    Raises:
        KeyError, ValueError: it lacks a medium, or its list does not fit; only a broken installation does.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        listed = _Listed.model_validate_json(archive.read("corpus.json"))
        names = {name for case in listed.cases for name in case.media}
        media = {name: Medium(name, archive.read(name)) for name in sorted(names)}
    return Corpus(listed.version, listed.cases, media)


@cache
def packaged_corpus() -> bytes:
    """Return the bytes of the corpus that comes with anvil."""
    return (files("anvil.collectors.suites") / "corpus.zip").read_bytes()
