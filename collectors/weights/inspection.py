"""One look at a snapshot: every file classified, tensor files read strictly, all digests, what was found.

1. Structure is read before digests: it takes a moment, digests take minutes.
2. Digests known from an earlier look are taken over while the file system says that nobody changed the file
   since, and the file had not been changed just before that look.
3. A finding is never a reason to stop: what can be said of the other files is said.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from anvil.collectors.recipes.parts import ExpectedWeights
from anvil.collectors.weights.documents import (
    MAX_DOCUMENT,
    ROLES,
    TEMPLATE,
    asks_for_code,
    is_index,
    is_read,
    parse,
    reaches_out,
    template_digest,
    templates,
)
from anvil.collectors.weights.findings import Found
from anvil.collectors.weights.gguf import GgufFile, read_gguf
from anvil.collectors.weights.hashing import Digested, Hashing
from anvil.collectors.weights.identities import (
    MAX_CHECKSUMS,
    Stated,
    checksum_findings,
    incomplete_downloads,
    is_checksum_file,
    is_incomplete,
    stated_identities,
)
from anvil.collectors.weights.indexes import index_findings, part_findings
from anvil.collectors.weights.kinds import HEAD, TAIL, Kind, ends_as_archive, kind_findings, kind_of
from anvil.collectors.weights.safetensors import TensorFile, read_safetensors
from anvil.collectors.weights.snapshot import Entry, Identity, Snapshot, look_at
from anvil.collectors.weights.strictjson import JsonRefused

SETTLED_NS = 2_000_000_000
"""A file changed less than this before a look may change again without its times showing it."""

_NEAR_TENSORS = frozenset({"safetensors", "gguf"})


@dataclass(frozen=True)
class Known:
    """Digests of an earlier look, by what the file system said of the files then."""

    digests: Mapping[Identity, Digested] = field(default_factory=dict)


@dataclass(frozen=True)
class Wanted:
    """What is known of a candidate from elsewhere."""

    model: str | None = None
    revision: str | None = None
    expected: ExpectedWeights | None = None
    file_sha256: str | None = None
    """The digest of its one model file, where it comes in a package."""

    @property
    def pinned(self) -> list[str]:
        """The digests of its tensor files, in the order of their names; empty when nobody names them."""
        listed = [f"sha256:{digest}" for digest in self.expected.sha256] if self.expected else []
        return listed or ([self.file_sha256] if self.file_sha256 else [])


@dataclass(frozen=True)
class Inspection:
    """What was seen. `kinds`, `digests` and the headers are by the names of files."""

    snapshot: Snapshot
    kinds: Mapping[str, Kind]
    digests: Mapping[str, Digested]
    stated: Mapping[str, Stated]
    safetensors: Mapping[str, TensorFile]
    ggufs: Mapping[str, GgufFile]
    documents: Mapping[str, str]
    """Role to the name of the file."""
    chat_template: str | None
    """The digest of the default template's text."""
    found: list[Found]
    pinned: Mapping[str, str]
    """The digests that the recipe names, by the names of tensor files."""
    reused: frozenset[str]
    """Files whose digests are those of an earlier look."""
    elapsed_ns: int
    settled_before_ns: int

    @property
    def headers(self) -> dict[str, TensorFile | GgufFile]:
        """The headers of all files that hold tensors, in the order of their names."""
        found: dict[str, TensorFile | GgufFile] = {**self.safetensors, **self.ggufs}
        return dict(sorted(found.items()))

    @property
    def tensor_files(self) -> list[str]:
        """The names of the files that hold tensors, in order."""
        return list(self.headers)

    @property
    def tensors(self) -> int:
        """How many tensors they hold."""
        return sum(len(item.names) for item in self.headers.values())

    @property
    def types(self) -> dict[str, int]:
        """Tensors by data type."""
        counts: dict[str, int] = {}
        for item in self.headers.values():
            for name, number in item.types.items():
                counts[name] = counts.get(name, 0) + number
        return dict(sorted(counts.items()))

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(entry.identity.size for entry in self.snapshot.entries)

    @property
    def tensor_bytes(self) -> int:
        """Bytes of the files that hold tensors."""
        with_tensors = self.headers
        return sum(entry.identity.size for entry in self.snapshot.entries if entry.name in with_tensors)

    @property
    def read_bytes(self) -> int:
        """Bytes whose digests were computed now."""
        fresh = (
            e for e in self.snapshot.entries if e.name not in self.reused and self.digests[e.name].sha256
        )
        return sum(entry.identity.size for entry in fresh)

    @property
    def known(self) -> dict[str, bool]:
        """Each file whose digest somebody stated, and whether it has that digest by all who did."""
        found = {name: stated.fits(self.digests[name]) for name, stated in self.stated.items()}
        for name, digest in self.pinned.items():
            found[name] = found.get(name, True) and self.digests[name].sha256 == digest
        return found

    @property
    def revision(self) -> str | None:
        """The revision that the cache or the download states; null when they state none, or several."""
        stated = {item.revision for item in self.stated.values() if item.revision}
        return self.snapshot.revision or (stated.pop() if len(stated) == 1 else None)


@dataclass
class _Look:
    """A look under way."""

    snapshot: Snapshot
    found: list[Found]
    kinds: dict[str, Kind] = field(default_factory=dict)
    safetensors: dict[str, TensorFile] = field(default_factory=dict)
    ggufs: dict[str, GgufFile] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    indexes: dict[str, object] = field(default_factory=dict)
    checksums: dict[str, bytes] = field(default_factory=dict)
    templates: dict[str, str] = field(default_factory=dict)

    def file(self, entry: Entry) -> None:
        """Classify one file and read its structure."""
        name = entry.name
        try:
            with entry.open() as file:
                head = _read(file, HEAD)
                self.kinds[name] = kind_of(name, head)
                self._add(name, *kind_findings(name, head))
                file.seek(0)
                self._structure(entry, file)
        except OSError:
            self.kinds.setdefault(name, "other")
            self._add(name, "unreadable")
        if is_incomplete(name):
            self._add(name, "incomplete-download")
        role = ROLES.get(name)
        if role:
            self.documents[role] = name

    def _structure(self, entry: Entry, file: BinaryIO) -> None:
        name, size, named = entry.name, entry.identity.size, PurePosixPath(entry.name).suffix.lower()
        kind = self.kinds[name]
        if kind == "safetensors" or (named == ".safetensors" and kind not in ("pickle", "pytorch-archive")):
            self.safetensors[name] = read_safetensors(file, size)
            self._add(name, *self.safetensors[name].problems)
        elif kind == "gguf":
            with open(file.fileno(), "rb", buffering=1 << 20, closefd=False) as buffered:  # a descriptor
                self.ggufs[name] = read_gguf(buffered, size)
            self._add(name, *self.ggufs[name].problems)
        elif is_index(name) or is_read(name):
            self._document(entry, file)
        elif PurePosixPath(name).name == TEMPLATE or name.endswith(".jinja"):
            self._template(name, _read(file, MAX_DOCUMENT).decode("utf-8", "replace"))
        elif is_checksum_file(name):
            self.checksums[name] = _read(file, MAX_CHECKSUMS)
        if kind in _NEAR_TENSORS:
            file.seek(max(0, size - TAIL))
            if ends_as_archive(_read(file, TAIL)):
                self._add(name, "zip-appended")

    def _document(self, entry: Entry, file: BinaryIO) -> None:
        name = entry.name
        if entry.identity.size > MAX_DOCUMENT:
            self._add(name, "document-too-large")
            return
        try:
            value = parse(_read(file, MAX_DOCUMENT + 1))
        except JsonRefused as refused:
            self._add(name, refused.kind)
            return
        if is_index(name):
            self.indexes[name] = value
        elif asks_for_code(value):
            self._add(name, "remote-code")
        for kind, text in templates(name, value):
            self._template(name if kind == "default" else f"{name}#{kind}", text)

    def _template(self, name: str, text: str) -> None:
        self.templates[name] = text
        if reaches_out(text):
            self._add(name, "template-escapes")

    def _add(self, name: str, *kinds: str) -> None:
        self.found += [Found(kind, name) for kind in kinds]

    def together(self) -> None:
        """Look at what files say of one another."""
        for name, value in self.indexes.items():
            self.found += index_findings(name, value, self.safetensors)
        self.found += part_findings(self.ggufs)

    def chat_template(self) -> str | None:
        """Return the default template's digest, from where engines look first."""
        gguf = next((g.chat_template for g in self.ggufs.values() if g.chat_template), None)
        wanted = (TEMPLATE, "chat_template.json", "tokenizer_config.json")
        text = next((self.templates[name] for name in wanted if name in self.templates), gguf)
        return None if text is None else template_digest(text)


def inspect(
    place: Path,
    wanted: Wanted | None = None,
    *,
    hashing: Hashing | None = None,
    known: Known | None = None,
    now_ns: int,
) -> Inspection:
    """Return what lies at `place`: a snapshot's folder, a repository in a cache, or one model file.

    `now_ns` is the clock's time, of which a file's times are compared (rule 2).

    Raises:
        CollectorError: there is nothing, or the look was stopped.
    """
    wanted, hashing, known = wanted or Wanted(), hashing or Hashing(), known or Known()
    started = time.monotonic_ns()
    snapshot = look_at(place)
    look = _Look(snapshot, list(snapshot.found))
    for entry in snapshot.entries:
        look.file(entry)
    look.together()
    look.found += incomplete_downloads(snapshot)
    for template in (g.chat_template for g in look.ggufs.values()):
        if template and reaches_out(template):
            look.found.append(Found("template-escapes", ""))
    stated = stated_identities(snapshot)
    git_named = frozenset(name for name, item in stated.items() if item.is_git_blob)
    reused = {e.name: known.digests[e.identity] for e in snapshot.entries if e.identity in known.digests}
    reused = {
        name: digested for name, digested in reused.items() if name not in git_named or digested.git_blob
    }
    fresh = [entry for entry in snapshot.entries if entry.name not in reused]
    digests = {**hashing.run(fresh, git_named), **reused}
    names = sorted([*look.safetensors, *look.ggufs])
    inspection = Inspection(
        snapshot=snapshot,
        kinds=look.kinds,
        digests=digests,
        stated=stated,
        safetensors=look.safetensors,
        ggufs=look.ggufs,
        documents=look.documents,
        chat_template=look.chat_template(),
        found=look.found,
        pinned=dict(zip(names, wanted.pinned, strict=False)),
        reused=frozenset(reused),
        elapsed_ns=time.monotonic_ns() - started,
        settled_before_ns=now_ns - SETTLED_NS,
    )
    look.found += _digest_findings(inspection, look.checksums)
    look.found += _unexpected(inspection, wanted)
    return inspection


def _digest_findings(inspection: Inspection, checksums: Mapping[str, bytes]) -> Iterator[Found]:
    for name, digested in inspection.digests.items():
        if digested.problem:
            yield Found(digested.problem, name)
        elif name in inspection.stated and not inspection.stated[name].fits(digested):
            yield Found("identity-differs", name)
    known = {name: digested.sha256 for name, digested in inspection.digests.items() if digested.sha256}
    for name, raw in checksums.items():
        yield from checksum_findings(name, raw, known)


def _unexpected(inspection: Inspection, wanted: Wanted) -> Iterator[Found]:
    """Yield where the snapshot is not what is known of the candidate from elsewhere."""
    if wanted.model and inspection.snapshot.model not in (None, wanted.model):
        yield Found("model-differs", "")
    if wanted.revision and inspection.revision not in (None, wanted.revision):
        yield Found("revision-differs", "")
    digests = [inspection.digests[name].sha256 for name in inspection.tensor_files]
    expected = wanted.expected or ExpectedWeights()
    if wanted.pinned and digests != wanted.pinned:
        yield Found("pinned-digest-differs", "")
    sizes = {entry.name: entry.identity.size for entry in inspection.snapshot.entries}
    found = {
        "safetensors_files": len(inspection.safetensors),
        "safetensors_bytes": sum(sizes[name] for name in inspection.safetensors),
        "safetensors_tensors": sum(len(item.names) for item in inspection.safetensors.values()),
        "snapshot_bytes": inspection.size,
    }
    for name, number in found.items():
        if getattr(expected, name) not in (None, number):
            yield Found("expected-differs", name)


def _read(file: BinaryIO, limit: int) -> bytes:
    """Return at most `limit` bytes of an unbuffered file."""
    parts: list[bytes] = []
    while limit > 0 and (part := file.read(limit)):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)
