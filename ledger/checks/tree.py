"""The tree: every root that somebody signed, stored or announced is the root of these entries.

1. Adding the leaves in order gives a root at every size. At the size of each checkpoint, of the
   anchor, and of whatever else was given to compare with, it must be the root stated there.
2. Each subtree hash that the source stores is the one that the leaves give.
3. A carried range, taken as a tree of its own, has the root that its new ledger announced.
4. When a root differs, the entries before the last state that agreed are sound; the difference
   lies between it and the first state that does not. Where the ledger's own key signed this history
   at that size or beyond, what it signed before proves nothing: only states known from outside count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    findings: list[Finding] = field(default_factory=list)
    _subtrees: dict[tuple[int, int], bytes] = field(default_factory=dict)
    _agreed: int = 0
    _agreed_outside: int = 0
    _split_after: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._begin = self.tree.size
        self._pending = sorted(self.stated, key=lambda s: s.size)
        self._ranges = [(r, CompactRange()) for r in self.carried if r.start >= self._begin]
        self._compare()

    def extend(self, leaves: Sequence[bytes]) -> None:
        """Add the next leaf hashes."""
        start, done = self.tree.size, 0
        for carried, tree in self._ranges:
            tree.extend(leaves[max(0, carried.start - start) : max(0, carried.stop - start)])
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
        for carried, tree in self._ranges:
            if tree.size != carried.stop - carried.start or tree.root() != carried.root:
                self.findings.append(
                    Finding(
                        "tree-differs",
                        f"the entries carried over from {carried.origin} are not those that were restored",
                        carried.start,
                        carried.stop,
                        expected=carried.root.hex(),
                        found=tree.root().hex(),
                    )
                )

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
            if finding.code == "split-view" and finding.until is not None and self._agreed >= finding.until:
                self.findings[number] = replace(finding, index=self._split_after[finding.until])

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
