"""The manifest: what was released, every file of it by digest and size, and which artifacts are among them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from anvil.ledger.errors import MalformedPublication
from anvil.ledger.events.base import explain
from anvil.ledger.events.keys import TreeState
from anvil.ledger.public import Count, Digest, EntryHash, Label, MediaType
from anvil.ledger.publication.layout import digest, is_path

SCHEMA = "anvil.publication/1"


class Listed(BaseModel):
    """One file."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    path: str
    digest: Digest
    size: int


class Disclosed(BaseModel):
    """A public artifact that goes along: of which event, by which name, and which bytes."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    event: EntryHash
    name: Label
    media_type: MediaType
    digest: Digest
    size: Count


class _Members(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    schema_name: str
    document: Label
    document_schema: str
    campaign: Label
    candidate: Label | None
    fold: TreeState
    template: str
    template_digest: Digest
    policy: Digest
    artifacts: list[Disclosed]
    files: list[Listed]


@dataclass(frozen=True)
class About:
    """What a publication is of; `candidate` is null for all. `template` is the path of its layout in the folder."""

    document: str
    document_schema: str
    campaign: str
    candidate: str | None
    fold: TreeState
    template: str
    template_digest: str
    policy: str


@dataclass(frozen=True)
class Manifest:
    """What a publication is of, the artifacts that its figures rest on and that are public, and its files."""

    about: About
    artifacts: tuple[Disclosed, ...]
    files: tuple[Listed, ...]

    @classmethod
    def of(cls, about: About, files: Mapping[str, bytes], artifacts: Iterable[Disclosed] = ()) -> Manifest:
        """Return the manifest of these files, the bytes of the artifacts among them."""
        listed = (Listed(path=p, digest=digest(content), size=len(content)) for p, content in files.items())
        named = sorted(artifacts, key=_order)
        return cls(about, tuple(named), tuple(sorted(listed, key=lambda item: item.path)))

    @classmethod
    def parse(cls, raw: bytes) -> Manifest:
        """Return the manifest in these bytes.

        Raises:
            MalformedPublication: they are not one, or not in its one spelling.
        """
        try:
            members = json.loads(raw)
            if not isinstance(members, dict):
                raise MalformedPublication("manifest.json is no object")
            known = _Members.model_validate({"schema_name": members.pop("schema", None), **members})
        except ValidationError as error:
            raise MalformedPublication(f"manifest.json: {explain(error)}") from error
        except (ValueError, RecursionError) as error:
            raise MalformedPublication(f"manifest.json is no JSON: {error}") from error
        if known.schema_name != SCHEMA:
            raise MalformedPublication(f"manifest.json is of {known.schema_name[:60]!r}, expected {SCHEMA}")
        fields = {name: getattr(known, name) for name in About.__dataclass_fields__}
        found = cls(About(**fields), tuple(known.artifacts), tuple(known.files))
        paths = [item.path for item in found.files]
        if paths != sorted(set(paths)) or not all(map(is_path, paths)):
            raise MalformedPublication(
                "manifest.json names a file twice, out of order, or outside the folder"
            )
        if list(map(_order, found.artifacts)) != sorted(set(map(_order, found.artifacts))):
            raise MalformedPublication("manifest.json names an artifact twice or out of order")
        if found.to_bytes() != raw:
            raise MalformedPublication("manifest.json is not in its one spelling")
        return found

    def to_bytes(self) -> bytes:
        """Return its one spelling."""
        members: dict[str, Any] = {"schema": SCHEMA, **vars(self.about)}
        members["fold"] = self.about.fold.model_dump(mode="json")
        members["artifacts"] = [item.model_dump(mode="json") for item in self.artifacts]
        members["files"] = [item.model_dump(mode="json") for item in self.files]
        return f"{json.dumps(members, indent=1, ensure_ascii=False)}\n".encode()

    @property
    def digest(self) -> str:
        """What the event that releases it names it by."""
        return digest(self.to_bytes())


def _order(item: Disclosed) -> tuple[str, str]:
    return item.event, item.name
