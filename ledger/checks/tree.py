"""The tree: every root that somebody signed, stored or announced is the root of these entries.

1. Adding the leaves in order gives a root at every size. At the size of each checkpoint, of the
   anchor, and of whatever else was given to compare with, it must be the root stated there.
2. Each subtree hash that the source stores is the one that the leaves give.
3. A carried range, taken as a tree of its own, has the root that its new ledger announced, and those
   that its own checkpoint and revocations state.
4. When a root differs, the entries before the last state that agreed are sound; the difference
   lies between it and the first state that does not. Where the ledger's own key signed this history
   at that size or beyond, what it signed before proves nothing: only states known from outside count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from anvil.ledger.checks.finding import Code, Finding
from anvil.ledger.checks.keys import CarriedRange
from anvil.ledger.merkle import CompactRange
from anvil.ledger.tiledtree import Subtree, TiledTree


@dataclass(frozen=True, slots=True)
class StatedRoot:
    """A root that the tree must have at a size, who states it, and the verdict when it has another."""

    size: int
    root: bytes
    by: str
    code: Code


@dataclass
class TreeCheck:
    """Grows the tree and compares as it goes."""

    stated: Sequence[StatedRoot]
    carried: Sequence[CarriedRange]
    tree: TiledTree
    inside: Mapping[str, Sequence[StatedRoot]] = field(default_factory=dict)
    """For the origin of a carried range, roots that its own tree must have."""
    findings: list[Finding] = field(default_factory=list)
    _subtrees: dict[tuple[int, int], bytes] = field(default_factory=dict)
    _agreed: int = 0
    _agreed_outside: int = 0
    _split_after: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._begin = self.tree.size
        self._pending = sorted(self.stated, key=lambda s: s.size)
        self._ranges = [
            _RangeTree(r, sorted(self.inside.get(r.origin, ()), key=lambda s: s.size))
            for r in self.carried
            if r.start >= self._begin
        ]
        self._compare()

    def extend(self, leaves: Sequence[bytes]) -> None:
        """Add the next leaf hashes."""
        start, done = self.tree.size, 0
        for part in self._ranges:
            begin, end = part.carried.start - start, part.carried.stop - start
            part.extend(leaves[max(0, begin) : max(0, end)])
        while done < len(leaves):
            stop = len(leaves)
            if self._pending:
                stop = min(stop, self._pending[0].size - start)
            for level, position, root in self.tree.extend(leaves[done:stop]):
                self._subtrees[level, position] = root
            done = stop
            self._compare()

    def finish(self, stored: Iterable[Subtree]) -> None:
        """Compare what is left: stored subtrees and carried ranges."""
        self._widen_splits()
        left = dict(self._subtrees)
        for level, position, root in stored:
            width = 1 << level
            expected = left.pop((level, position), None)
            if expected != root:
                self._differs(position * width, width, expected, root)
        for (level, position), expected in left.items():
            self._differs(position << level, 1 << level, expected, None)
        for part in self._ranges:
            self.findings += part.finish()

    def _compare(self) -> None:
        size = self.tree.size
        while self._pending and self._pending[0].size <= size:
            stated = self._pending.pop(0)
            if stated.size < size:
                continue  # older than where this verification began
            root = self.tree.root()
            if root == stated.root:
                if stated.code == "split-view":
                    self._agreed_outside = size
                self._agreed = size
                continue
            self._split_after[size] = self._agreed_outside
            self.findings.append(
                Finding(
                    stated.code,
                    f"{stated.by}: the entries give another root at size {size}",
                    self._agreed,
                    size,
                    expected=stated.root.hex(),
                    found=root.hex(),
                )
            )

    def _widen_splits(self) -> None:
        """Rule 4, second half: `_agreed` is now the newest state that the entries do lead to."""
        for number, finding in enumerate(self.findings):
            if finding.code != "split-view" or finding.until is None:
                continue
            if self._agreed >= finding.until:
                self.findings[number] = replace(finding, index=self._split_after[finding.until])
            else:  # nobody signed what the entries lead to: they were altered, there is one history
                self.findings[number] = replace(finding, code="tampered")

    def _differs(self, first: int, width: int, expected: bytes | None, found: bytes | None) -> None:
        self.findings.append(
            Finding(
                "tree-differs",
                f"the stored hash of {width} entries from {first} is not what they give",
                first,
                first + width,
                expected=expected.hex() if expected else "none",
                found=found.hex() if found else "none",
            )
        )


class _RangeTree:
    """A carried range as a tree of its own (rule 3)."""

    def __init__(self, carried: CarriedRange, stated: Sequence[StatedRoot]) -> None:
        self.carried = carried
        self._tree = CompactRange()
        self._pending = list(stated)
        self._findings: list[Finding] = []

    def extend(self, leaves: Sequence[bytes]) -> None:
        """Add leaf hashes of the range."""
        start, done = self._tree.size, 0
        while self._pending and self._pending[0].size <= start + len(leaves):
            stated = self._pending.pop(0)
            self._tree.extend(leaves[done : stated.size - start])
            done = stated.size - start
            if self._tree.root() != stated.root:
                self._differs(stated.by, stated.root)
        self._tree.extend(leaves[done:])

    def finish(self) -> list[Finding]:
        """Return what does not agree."""
        if (
            self._tree.size != self.carried.stop - self.carried.start
            or self._tree.root() != self.carried.root
        ):
            self._differs("the restore", self.carried.root)
        for stated in self._pending:
            self._differs(stated.by, stated.root)
        return self._findings

    def _differs(self, by: str, expected: bytes) -> None:
        self._findings.append(
            Finding(
                "tree-differs",
                f"{by}: the entries carried over from {self.carried.origin} give another root",
                self.carried.start,
                self.carried.stop,
                expected=expected.hex(),
                found=self._tree.root().hex(),
            )
        )
