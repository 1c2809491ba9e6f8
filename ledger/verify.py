"""Verification: read everything, believe nothing, say exactly what was found.

The rules, in the order in which they are checked:

1. The container is as it was made: schema, triggers, file (`sources`).
2. The ledger is the one asked for: its origin and ledger key (`--key`, ``log.vkey``, the anchor).
3. Control events give keyrings, redactions and ends of streams (`checks.keys`).
4. Each entry by itself: spelling, hash, columns, signatures, permission (`checks.entries`).
5. Streams across runs of entries (`checks.streams`).
6. Roots: every checkpoint, the anchor, and what else was given to compare with (`checks.tree`).
7. What is not at hand must have been redacted, or said to be lost (`checks.redactions`).
8. How far the log had come is known only from outside: an anchor, a verifier's own earlier state,
   or a checkpoint that was kept. Without one the verdict is *unanchored*.

Rules 4 and 6 cover stored bytes; nothing that is hashed or verified was encoded anew.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from operator import itemgetter

from anvil.ledger.anchor import Anchored
from anvil.ledger.chain import StreamHead
from anvil.ledger.checkpoint import Checkpoint, open_checkpoint
from anvil.ledger.checks.checkpoints import (
    missing_anchored_note,
    predecessor_roots,
    revocation_roots,
    rolled_back,
    stored_roots,
)
from anvil.ledger.checks.continuity import check_continuity
from anvil.ledger.checks.disclosures import check_disclosed_bytes
from anvil.ledger.checks.finding import Finding, stopped_by, worst
from anvil.ledger.checks.keys import Control, read_control
from anvil.ledger.checks.redactions import check_corrections, check_unresolved
from anvil.ledger.checks.streams import StreamCheck
from anvil.ledger.checks.tree import StatedRoot, TreeCheck
from anvil.ledger.errors import CannotVerify, Malformed, SchemaAltered, SignatureInvalid, StoreDamaged
from anvil.ledger.keyring import Keyring
from anvil.ledger.note import VerifierKey
from anvil.ledger.sources import Location, Source
from anvil.ledger.tiledtree import TiledTree
from anvil.ledger.verifierstate import VerifierState
from anvil.ledger.wording import counted
from anvil.ledger.workers import RUN, Job, damage, examine_all

_EXIT_CODES = {"fatal": 4, "failure": 1, "unanchored": 3, "note": 0}

Progress = Callable[[int, int], None]
"""Called with how many entries were read and how many there are."""


@dataclass(frozen=True)
class Expectations:
    """What is known from outside the ledger.

    `keys` are verifier keys that the ledger must have. `anchored` is the anchor on this machine,
    `state` an earlier state of the same verifier, `pinned` a checkpoint that was kept.
    """

    keys: tuple[VerifierKey, ...] = ()
    anchored: Anchored | None = None
    state: VerifierState | None = None
    pinned: bytes | None = None


@dataclass
class Report:
    """The outcome of a verification."""

    origin: str
    size: int
    begin: int
    root: bytes = b""
    findings: list[Finding] = field(default_factory=list)
    anchored_by: list[str] = field(default_factory=list)
    verifier_keys: tuple[VerifierKey, ...] = ()
    checkpoint: Checkpoint | None = None
    open_streams: tuple[StreamHead, ...] = ()
    signatures: bool = True
    state: VerifierState | None = None

    @property
    def exit_code(self) -> int:
        """0 verified, 1 findings, 3 unanchored, 4 rolled back or split view."""
        return _EXIT_CODES[worst(self.findings)]


def verify(
    location: Location,
    expectations: Expectations,
    *,
    signatures: bool = True,
    workers: int | None = None,
    progress: Progress = lambda _done, _all: None,
) -> Report:
    """Check a ledger against itself and against what is known from outside.

    `signatures=False` leaves out the signatures of events, and says so. `workers` is how many
    processes examine entries; by default one for each core.

    Raises:
        NotALedger: there is nothing to check.
    """
    try:
        source = location.open()
    except Malformed as error:  # exported files whose checkpoint does not even say which log this is
        return Report("not known", 0, 0, findings=[stopped_by(error, otherwise="checkpoint-invalid")])
    except StoreDamaged as error:  # not even the number of entries can be read
        code = "schema-altered" if isinstance(error, SchemaAltered) else "store-damaged"
        return Report("not known", 0, 0, findings=[Finding(code, str(error))])  # type: ignore[arg-type]
    try:
        state = expectations.state
        report = Report(source.origin, source.size, state.tree.size if state else 0, signatures=signatures)
        with ThreadPoolExecutor(1) as beside:  # SQLite leaves Python's lock while it looks
            damaged = None if report.begin else beside.submit(damage, location)
            try:
                _Verification(source, location, expectations, report, progress).run(
                    workers or os.cpu_count() or 1
                )
            except StoreDamaged as error:
                report.findings.append(Finding("store-damaged", str(error)))
            except Malformed as error:
                report.findings.append(stopped_by(error, otherwise="non-canonical"))
        if damaged is not None and damaged.result():
            report.findings += damaged.result()
            report.state = None
        # a control event is judged before the others and with them: what was said twice is said once
        report.findings = list({(f.code, f.index, f.until, f.message): f for f in report.findings}.values())
        return report
    finally:
        source.close()


class _Verification:
    """One verification under way."""

    def __init__(
        self,
        source: Source,
        location: Location,
        expectations: Expectations,
        report: Report,
        progress: Progress,
    ) -> None:
        self._source = source
        self._location = location
        self._expected = expectations
        self._report = report
        self._progress = progress
        self._found = report.findings

    def run(self, workers: int) -> None:
        """Go through the rules."""
        source, report = self._source, self._report
        self._found += source.structure()
        if not report.signatures:
            self._found.append(Finding("not-checked", "signatures of events (--structure)"))
        self._require_identity()
        state = self._expected.state
        if state is not None and state.origin != source.origin:
            self._found.append(_other("an earlier verification", state.origin, source.origin))
            return
        if state is not None and state.tree.size > source.size:
            self._found.append(rolled_back("an earlier verification", state.tree.size, source.size))
            return
        control = read_control(
            source.origin, source.control(report.begin), state.control() if state else None
        )
        self._found += control.findings
        tree = TreeCheck(
            self._stated_roots(control),
            control.carried,
            state.tree if state else TiledTree(),
            self._roots_inside(control),
        )
        streams = StreamCheck(
            lambda stream: source.seen_before(stream, report.begin), state.open_heads() if state else {}
        )
        if self._read_entries(control, tree, streams, workers):
            self._finish(control, tree, streams)
        else:
            self._found += tree.findings + streams.findings

    def _require_identity(self) -> None:
        """Rule 2, as far as names go; `_stated_roots` checks the keys."""
        for key in self._expected.keys:
            if key.name != self._source.origin:
                message = f"asked for {key.name}, this is {self._source.origin}"
                self._found.append(
                    Finding("other-ledger", message, expected=key.name, found=self._source.origin)
                )

    def _stated_roots(self, control: Control) -> list[StatedRoot]:
        """Rules 2, 6 and 8: who says what the root is at which size."""
        source, report = self._source, self._report
        keyring = control.keyrings.get(source.origin, Keyring(source.origin))
        report.verifier_keys = tuple(
            VerifierKey(source.origin, k.public_key) for k in keyring.keys.values() if k.role == "ledger"
        )
        for key in self._expected.keys:
            if key.name == source.origin and key not in report.verifier_keys:
                self._found.append(
                    Finding("other-ledger", f"{key} is not a ledger key of this ledger", 0, expected=str(key))
                )
        notes = source.checkpoints(report.begin)
        stored = stored_roots(notes, keyring, report.size)
        self._found += stored.findings
        report.checkpoint = stored.newest
        covered = stored.newest.size if stored.newest else report.begin
        if covered < report.size:
            message = f"{counted(report.size - covered, 'entry', be=True)} newer than the newest checkpoint"
            self._found.append(Finding("uncovered", message, covered, report.size))
        anchored = self._expected.anchored
        if anchored is not None:
            self._found += missing_anchored_note(notes, anchored.checkpoint, report.begin, report.size)
        stated = stored.roots + revocation_roots(control, source.origin) + self._outside_roots()
        self._check_continuity([root for root in stated if root.size < report.begin])
        return [root for root in stated if root.size >= report.begin]

    def _roots_inside(self, control: Control) -> dict[str, list[StatedRoot]]:
        """Return the roots that the trees of carried ranges must have."""
        inside: dict[str, list[StatedRoot]] = {}
        for index, predecessor in control.predecessors:
            origin = predecessor.restored.origin
            keyring = control.keyrings.get(origin, Keyring(origin))
            stated = predecessor_roots(index, predecessor, keyring)
            self._found += stated.findings
            inside[origin] = stated.roots + revocation_roots(control, origin)
        return inside

    def _outside_roots(self) -> list[StatedRoot]:
        """Rule 8."""
        expected, report = self._expected, self._report
        known: list[tuple[str, Checkpoint]] = []
        if expected.anchored is not None:
            known.append(("the anchor", expected.anchored.checkpoint))
        if expected.pinned is not None:
            known.append(("the checkpoint given", self._open_pinned(expected.pinned)))
        if expected.state is not None:
            report.anchored_by.append("an earlier verification")
        stated = []
        for by, checkpoint in known:
            if checkpoint.origin != report.origin:
                self._found.append(_other(by, checkpoint.origin, report.origin))
                continue
            report.anchored_by.append(by)
            if checkpoint.size > report.size:
                self._found.append(rolled_back(by, checkpoint.size, report.size))
            else:
                stated.append(StatedRoot(checkpoint.size, checkpoint.root, by, "split-view"))
        if expected.anchored is not None and not self._is_ours(expected.anchored):
            message = "the anchor is signed by no ledger key of this ledger"
            self._found.append(Finding("other-ledger", message))
        if not report.anchored_by:
            self._found.append(
                Finding(
                    "unanchored",
                    f"consistent up to {counted(report.size, 'entry')}; whether there were more is not known here",
                )
            )
        return stated

    def _check_continuity(self, older: list[StatedRoot]) -> None:
        """Rule 8, for what lies before the place where this verification begins."""
        if self._expected.state is not None:
            tree = self._expected.state.tree
            before = Checkpoint(self._report.origin, tree.size, tree.root())
            self._found += check_continuity(before, self._report.checkpoint, older, self._source.read)

    def _is_ours(self, anchored: Anchored) -> bool:
        """Say whether one of the ledger's own keys signed the anchor, which brings keys of its own."""
        try:
            open_checkpoint(anchored.note, self._report.verifier_keys)
        except (Malformed, SignatureInvalid):
            # after a rollback to before a rotation the new key is not known here: that is told already
            return anchored.checkpoint.size > self._report.size
        return True

    def _open_pinned(self, note: bytes) -> Checkpoint:
        """Return the checkpoint that was kept elsewhere; it must be this ledger's, or there is nothing to compare.

        Raises:
            CannotVerify: it is no checkpoint, or no ledger key signed it.
        """
        try:
            return open_checkpoint(note, (*self._expected.keys, *self._report.verifier_keys))
        except (Malformed, SignatureInvalid) as error:
            raise CannotVerify(
                f"the checkpoint given is not one of {self._report.origin}: {error}",
                advice="Give the file that `anvil checkpoint` printed, with its signature line.",
            ) from error

    def _read_entries(self, control: Control, tree: TreeCheck, streams: StreamCheck, workers: int) -> bool:
        """Rules 4, 5 and 6 over all entries; False when one is missing: what follows it has no place."""
        report = self._report
        explained, ends, seen = control.explained(), control.ends(), 0
        job = Job(self._location, control.keyrings, tuple(control.carried), report.signatures)
        done = report.begin
        opened, disowned, unknown = 0, 0, {}  # type: ignore[var-annotated]
        for examined in examine_all(self._source, job, report.begin, report.size, workers):
            stop = examined.start + len(examined.leaves)
            self._found += examined.findings
            tree.extend(examined.leaves)
            ended = bisect_left(ends, stop, key=itemgetter(0))
            streams.take(examined, ends[seen:ended])
            seen = ended
            self._found += check_unresolved(examined.unresolved, explained)
            opened += examined.opened
            disowned += examined.disowned.total()
            for name, count in examined.unknown_types.items():
                unknown[name] = unknown.get(name, 0) + count
            done = stop
            self._progress(done, report.size)
            if stop < min(examined.start + RUN, report.size):
                message = f"entry {stop} is gone, though there are later ones"
                self._found.append(Finding("tampered", message, stop))
                return False
        if disowned:
            self._found.append(
                Finding("disowned", f"{counted(disowned, 'event', be=True)} disowned by a revocation")
            )
        for name, count in sorted(unknown.items()):
            self._found.append(Finding("unknown-type", f"{counted(count, 'event')} of type {name}"))
        stray = 0 if report.begin else self._source.count_openings() - opened
        if stray > 0:
            self._found.append(Finding("sealed-altered", f"{stray} sealed values belong to no event"))
        return True

    def _finish(self, control: Control, tree: TreeCheck, streams: StreamCheck) -> None:
        report = self._report
        tree.finish(self._source.subtrees(report.begin))
        report.root = tree.tree.root()
        self._found += tree.findings
        self._found += streams.findings
        self._found += check_corrections(control.corrections, self._source)
        self._found += check_disclosed_bytes(control, self._source)
        report.open_streams = tuple(streams.heads.values())
        if report.begin:
            self._found.append(
                Finding("not-checked", f"{report.begin} older events, and the file as a whole")
            )
        open_streams = len(streams.heads)
        if open_streams:
            names = ", ".join(sorted(streams.heads)[:3]) + (", …" if open_streams > 3 else "")
            self._found.append(
                Finding("stream-open", f"{counted(open_streams, 'stream', be=True)} open: {names}")
            )
        for name, has in (
            ("sealed values and openings of private artifacts", self._source.has_openings),
            ("artifacts", self._source.has_blobs),
        ):
            if not has:
                self._found.append(Finding("not-checked", f"{name} are not among these files"))
        if worst(self._found) in ("note", "unanchored") and report.signatures:
            report.state = VerifierState.of(report.origin, tree.tree, control, streams.heads)


def _other(by: str, stated: str, found: str) -> Finding:
    return Finding("other-ledger", f"{by} is for {stated}, this is {found}", expected=stated, found=found)
