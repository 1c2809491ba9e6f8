"""What inspections of model files found, over all candidates of a campaign.

1. Of each candidate the newest inspection counts, for what it says of the snapshot itself.
2. *Verified* are files that an inspection of this campaign read itself. One that took all digests over cites
   the inspection that computed them: of this campaign, then that one counts; of another, then the files are
   not counted here, and the limit says so.
3. Findings that are no danger by themselves (a stale checksum list, an odd name) are named, and decide nothing.
4. Identities match when at least every tensor file has a stated one, and each is as stated. Where none is stated,
   nothing matched and nothing differs: null. They are Hugging Face's where the cache or the download names model and
   revision; of those that a recipe states, as of a wheel's file, that is not known: null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from anvil.ledger.events import WeightsInspected
from anvil.ledger.wording import counted
from anvil.projections.figures import Figure, Group, Value, compose, derive
from anvil.projections.recorded.campaign import Of, Recorded

Inspection = Of[WeightsInspected]


CODE = frozenset({"code", "native-code"})
REMOTE_CODE = frozenset({"remote-code"})
PICKLES = frozenset({"pickle", "pickle-suspected", "pytorch-archive"})
STRUCTURE = frozenset(
    {
        "header-too-short",
        "header-too-long",
        "header-beyond-file",
        "header-malformed",
        "too-many-tensors",
        "metadata-malformed",
        "tensor-malformed",
        "unknown-fields",
        "tensor-name",
        "data-type-unknown",
        "shape-malformed",
        "range-malformed",
        "range-beyond-file",
        "range-size",
        "ranges-overlap",
        "ranges-gap",
        "trailing-bytes",
        "gguf-version",
        "gguf-truncated",
        "gguf-counts",
        "gguf-string",
        "gguf-array",
        "gguf-value-type",
        "gguf-alignment",
        "gguf-part-missing",
        "incomplete-download",
    }
)
"""Findings which say that a tensor file is not what its header says, or not whole."""


@dataclass(frozen=True)
class Inspections:
    """The inspections of a campaign that count, by candidate."""

    recorded: Recorded
    newest: dict[str, Inspection]
    """The newest of each candidate."""
    read: dict[str, Inspection]
    """Those that read the files themselves (rule 2)."""

    @classmethod
    def of(cls, recorded: Recorded) -> Inspections:
        """Return the inspections of a campaign."""
        every = {one.entry_hash: one for one in recorded.about(WeightsInspected)}
        newest = {
            kept.subject.candidate: every[kept.entry_hash]
            for kept in recorded.campaign.general
            if kept.entry_hash in every and kept.subject.candidate is not None
        }
        found = {name: _reader(source, every) for name, source in newest.items()}
        return cls(recorded, newest, {name: one for name, one in found.items() if one is not None})

    def stated(self, candidate: str, field: str) -> Figure:
        """Return a field of a candidate's newest inspection."""
        if candidate in self.newest:
            return self.newest[candidate].stated(field)
        return self.recorded.nothing(f"no inspection of the model files of {candidate} is recorded")

    def group(self) -> Group:
        """Return the figures over all of them."""
        return Group(
            {
                "files": self._over("what the files are", _kinds, "files", "tensor_files"),
                "tracked_executable_code": self._found("source code or programs", CODE),
                "auto_map_or_remote_code_hook": self._found(
                    "hooks for code from the repository", REMOTE_CODE
                ),
                "pickle_or_pytorch_binary": self._found("pickles or PyTorch archives", PICKLES),
                "safetensors_files_verified": self._over("tensor files that were read", _sum, "tensor_files"),
                "safetensors_tensors_verified": self._over("tensors in them", _sum, "tensors"),
                "headers_ranges_and_file_lengths_valid": self._sound(),
                "local_sha256_matches_hugging_face_lfs": self._over(
                    "the cache or the download names model and revision, every tensor file has a stated identity,"
                    " and each file that has one is as stated; null where the identities are not Hugging Face's",
                    _match,
                    "tensor_files",
                    "stated_identities",
                    "matched_identities",
                    "model",
                    "revision",
                ),
                "outcome": self.outcome(),
                "shards": self.recorded.listing(
                    "tensor files that were read",
                    [(figure, figure) for source in self.read.values() for figure in _digests(source)],
                ),
            }
        )

    def notes(self) -> Iterator[str]:
        """Yield what a reader must know of them first."""
        for name, source in self.newest.items():
            if name not in self.read:
                yield f"The digests of {name} were taken over from a look of another campaign, and not counted here."
            kinds = [f"{finding.kind} ({finding.count})" for finding in source.event.findings]
            if kinds:
                yield f"Found among the files of {name}: {', '.join(kinds)}."
        if missing := [name for name in self.recorded.candidates if name not in self.newest]:
            yield f"The model files were not looked through: {', '.join(missing)}."

    # --- figures over all that read the files ----------------------------------------------------------------

    def _over(self, rule: str, function: Callable[[list[tuple[Any, ...]]], Value], *fields: str) -> Figure:
        """Return a function of some fields of each inspection that read the files."""
        every = list(self.read.values())
        if not every:
            return self.recorded.nothing("no inspection of model files is recorded")
        figures = [source.stated(field) for source in every for field in fields]
        size = len(fields)

        def apply(*values: Any) -> Value:
            return function([values[at : at + size] for at in range(0, len(values), size)])

        return derive(rule, apply, *figures)

    def outcome(self) -> Figure:
        """Return what the inspections found, in words."""
        fields = ("tensor_files", "stated_identities", "matched_identities")
        identities = self._over("identities that matched, in words", _matched, *fields)
        if identities.value is None:
            return identities
        kinds = sum(len(source.event.findings) for source in self.read.values())
        marks = [figure for source in self.read.values() for figure in _marks(source)]
        said = f"{counted(kinds, 'kind')} of finding" if kinds else "no finding"
        return compose("what the inspection found", lambda text, *_: f"{text}; {said}", identities, *marks)

    def _found(self, what: str, kinds: frozenset[str]) -> Figure:
        """Return whether any candidate's newest inspection found one of these kinds."""
        every = list(self.newest.values())
        if not every:
            return self.recorded.nothing("no inspection of model files is recorded")
        has_any = any(finding.kind in kinds for source in every for finding in source.event.findings)
        marks = [figure for source in every for figure in _marks(source)]
        return derive(f"findings of {what}", lambda *_: has_any, *marks)

    def _sound(self) -> Figure:
        found = self._found("headers, ranges or lengths that are wrong", STRUCTURE)
        if found.value is None or not self.read:
            return found
        return derive("no finding of headers, ranges or lengths that are wrong", lambda any_: not any_, found)


def _reader(source: Inspection, every: dict[str, Inspection]) -> Inspection | None:
    """Return the inspection that read the files behind one (rule 2)."""
    seen = set()
    while source.entry_hash not in seen:
        seen.add(source.entry_hash)
        event = source.event
        if event.earlier is None or event.reused_files < event.files:
            return source
        if event.earlier not in every:
            return None
        source = every[event.earlier]
    return None


def _marks(source: Inspection) -> Iterable[Figure]:
    """Return a figure for each finding, or one for the look itself."""
    found = [source.stated("findings", at, "kind") for at in range(len(source.event.findings))]
    return found or [source.stated("files")]


def _digests(source: Inspection) -> Iterator[Figure]:
    for at in range(len(source.event.tensor_digests)):
        stated = source.stated("tensor_digests", at)
        yield derive("a digest in hex", lambda text: text.removeprefix("sha256:"), stated)


def _sum(groups: list[tuple[int, ...]]) -> int:
    return sum(value for group in groups for value in group)


def _kinds(groups: list[tuple[int, ...]]) -> str:
    files, tensor_files = (sum(group[at] for group in groups) for at in range(2))
    return f"{counted(files, 'file')}, {tensor_files} of them with tensors"


def _match(groups: list[tuple[Any, ...]]) -> bool | None:
    if any(matched != stated for _, stated, matched, *_ in groups):
        return False
    if any(None in names for _, _, _, *names in groups) or all(group[1] == 0 for group in groups):
        return None
    return all(stated >= files for files, stated, *_ in groups)


def _matched(groups: list[tuple[int, ...]]) -> str:
    files, stated, matched = (sum(group[at] for group in groups) for at in range(3))
    return f"{matched} of {stated} stated identities matched, over {counted(files, 'tensor file')}"
