"""Verifying a publication with nothing but its folder and the ledger's public key.

1. *The files*: each one that the manifest names is there as it says, and no other but the proofs of the
   release and of a withdrawal, and the pages that a withdrawal moved.
2. *The signed states*: the fold and the release checkpoint are signed by ledger keys that lead from the
   verifier key given, are of its ledger, and the one continues the other.
3. *The events*: each is spelled as it must be, stands under the fold at its index, is signed by a key that
   may sign it, and follows the one before it in its stream, from the first to the last.
4. *The keys*: the snapshot is what the events about keys give.
5. *The release*: an operator's event names this manifest, this document, this fold, this layout, these
   keys.
6. *Support*: every leaf of the document is in the provenance with its value; each event behind it is among
   these and stands; each artifact is in its event as it says, and when it is public its bytes are here.
7. *Made again*: the document, its pages and its provenance come out as they are here, from the events and from
   the bytes of rule 6. The trusted base cannot do that by itself: who asks gives the function.

Rules 1 to 5 make it **authentic**, rule 6 **supported**, rule 7 **recomputed**.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from anvil.ledger.checkpoint import Checkpoint, open_checkpoint
from anvil.ledger.checks.finding import Code, Finding, worst
from anvil.ledger.errors import Malformed, MalformedProof, MalformedPublication, SignatureInvalid
from anvil.ledger.events import PublicationReleased, PublicationWithdrawn
from anvil.ledger.keyring import Keyring
from anvil.ledger.merkle import verify_consistency
from anvil.ledger.note import SignedNote, VerifierKey
from anvil.ledger.publication import layout
from anvil.ledger.publication.entrychecks import Checked, check_entries
from anvil.ledger.publication.evidence import decode as decode_evidence
from anvil.ledger.publication.evidence import decode_hashes
from anvil.ledger.publication.gathering import keyring_snapshot
from anvil.ledger.publication.manifest import Manifest
from anvil.ledger.publication.notice import notice
from anvil.ledger.publication.supporting import check_support, differing
from anvil.ledger.wording import counted

Recompute = Callable[[Path, Manifest], "Recomputed"]

NOT_PROVED = (
    "that what is signed is true: a signature says who said it",
    "that the ledger has no other stream about this: that is the ledger key's word",
    "that nothing was corrected, revoked or withdrawn after the newest checkpoint in this folder",
    "what private artifacts hold: only who keeps them can show that",
)
"""What no folder can show."""


@dataclass(frozen=True)
class Recomputed:
    """What came out when a document was made again, and what was not at hand for it."""

    files: Mapping[str, bytes]
    at_hand: int
    not_at_hand: int
    pages_left_out: bool


@dataclass
class PublicationReport:
    """The outcome. `recomputed` is None when it was not asked for."""

    key: VerifierKey
    manifest: Manifest | None = None
    fold: Checkpoint | None = None
    release: Checkpoint | None = None
    events: int = 0
    streams: int = 0
    recomputed: bool | None = None
    pages_left_out: bool = False
    """Whether there are pages that this anvil cannot make again: they may show anything."""
    read_again: int = 0
    """Artifacts whose bytes were here when it was made again."""
    released: PublicationReleased | None = None
    released_as: str | None = None
    withdrawn: PublicationWithdrawn | None = None
    findings: list[Finding] = field(default_factory=list)
    supporting: list[Finding] = field(default_factory=list)
    recomputing: list[Finding] = field(default_factory=list)

    @property
    def is_authentic(self) -> bool:
        """Whether rules 1 to 5 hold."""
        return worst(self.findings) == "note"

    @property
    def is_supported(self) -> bool:
        """Whether rule 6 holds too."""
        return self.is_authentic and worst(self.supporting) == "note"

    @property
    def every_finding(self) -> list[Finding]:
        """All of them, in the order of the rules."""
        return [*self.findings, *self.supporting, *self.recomputing]

    @property
    def exit_code(self) -> int:
        """0 when nothing is wrong, else 1."""
        return 0 if self.is_supported and self.recomputed is not False else 1


def verify_publication(
    folder: Path, key: VerifierKey, recompute: Recompute | None = None
) -> PublicationReport:
    """Go through the rules; what is wrong is a finding. `recompute` makes the document again (rule 7).

    Raises:
        MalformedPublication: the folder has no manifest, so there is nothing to check.
    """
    report = PublicationReport(key)
    raw = layout.read(folder, layout.MANIFEST)
    try:
        report.manifest = Manifest.parse(raw)
    except MalformedPublication as error:
        report.findings.append(Finding("file-damaged", str(error)))
        return report
    _Verification(folder, key, report, report.manifest, recompute).run(layout.digest(raw))
    return report


class _Verification:
    def __init__(
        self,
        folder: Path,
        key: VerifierKey,
        report: PublicationReport,
        manifest: Manifest,
        recompute: Recompute | None,
    ) -> None:
        self._folder = folder
        self._key = key
        self._report = report
        self._manifest = manifest
        self._recompute = recompute
        self._found = report.findings
        self._files: dict[str, bytes] = {}

    def run(self, manifest_digest: str) -> None:
        """Go through the rules; each looks at what is there, whatever the others found."""
        self._read_files()
        fold = self._checked_fold()
        checked = self._checked_events(fold)
        if checked is not None:
            keyring = checked.keyrings.get(self._key.name, Keyring(self._key.name))
            self._require_key(keyring, fold)
            self._check_keyring(checked)
            self._check_release(checked, fold, manifest_digest)
            self._check_support(checked)
        if self._recompute is None:
            self._report.recomputing.append(Finding("not-checked", "the document was not made again"))
        elif checked is not None:
            self._make_again(self._recompute)

    # -- rule 1 ------------------------------------------------------------------------------------

    def _read_files(self) -> None:
        listed = {item.path: item for item in self._manifest.files}
        together = sum(item.size for item in self._manifest.files)
        if together > layout.MOST_TOGETHER:
            message = (
                f"the manifest names {together:,} bytes; more than {layout.MOST_TOGETHER:,} are not read"
            )
            self._find("file-damaged", message)
            return
        moved = self._folder / layout.WITHDRAWN
        for path, item in listed.items():
            is_moved = path in layout.PAGES.values() and (moved / path).is_file()
            place = f"{layout.WITHDRAWN}/{path}" if is_moved else path
            try:
                content = self._files[path] = layout.read(self._folder, place, max(0, item.size))
            except MalformedPublication as error:
                self._find("file-damaged", str(error))
                continue
            found = layout.digest(content)
            if found != item.digest:
                self._found.append(
                    Finding(
                        "file-damaged",
                        f"{path} is not the one that was released",
                        expected=item.digest,
                        found=found,
                    )
                )
        try:
            for path in layout.present(self._folder):
                if path not in listed and path != layout.MANIFEST and path not in layout.NOT_LISTED:
                    self._find("file-damaged", f"{path} is in the folder and not in the manifest")
        except MalformedPublication as error:
            self._find("file-damaged", str(error))

    # -- rule 2 ------------------------------------------------------------------------------------

    def _checked_fold(self) -> Checkpoint | None:
        about = self._manifest.about.fold
        if about.origin != self._key.name:
            message = f"asked for {self._key.name}, this is of {about.origin}"
            self._found.append(Finding("other-ledger", message, expected=self._key.name, found=about.origin))
        state = Checkpoint(about.origin, about.size, bytes.fromhex(about.root))
        self._report.fold = state
        return state

    def _require_key(self, keyring: Keyring, fold: Checkpoint | None) -> None:
        """Both states are signed by ledger keys that the events in the folder introduce; the one given is among them."""
        held = [k for k in keyring.keys.values() if k.role == "ledger"]
        if self._key.name == keyring.origin and self._key.public_key not in [k.public_key for k in held]:
            self._find("other-ledger", f"{self._key} is not a ledger key of this ledger")
        beside = self._files.get(layout.VERIFIER_KEY)
        known = [f"{VerifierKey(keyring.origin, k.public_key)}\n".encode() for k in held]
        if beside is not None and beside not in known:
            self._find("other-ledger", f"{layout.VERIFIER_KEY} is not a ledger key of this ledger")
        if fold is not None:
            in_force = [k for k in held if k.revoked is None or (k.last_good or 0) >= fold.size]
            keys = [VerifierKey(fold.origin, k.public_key) for k in in_force]
            stated = self._open(self._files.get(layout.FOLD), keys, layout.FOLD)
            if stated is not None and stated != fold:
                self._find("checkpoint-invalid", f"{layout.FOLD} is not the state that the manifest names")

    def _open(self, note: bytes | None, keys: list[VerifierKey], name: str) -> Checkpoint | None:
        if note is None:
            return None
        try:
            return open_checkpoint(note, keys)
        except (Malformed, SignatureInvalid) as error:
            self._find("checkpoint-invalid", f"{name}: {error}")
            return None

    # -- rules 3 and 4 -----------------------------------------------------------------------------

    def _checked_events(self, fold: Checkpoint | None) -> Checked | None:
        entries, proofs = self._files.get(layout.ENTRIES), self._files.get(layout.PROOFS)
        if entries is None or proofs is None or fold is None:
            return None
        try:
            proved = decode_evidence(entries, proofs)
        except MalformedPublication as error:
            self._find("file-damaged", f"events: {error}")
            return None
        checked = check_entries(fold.origin, proved, fold)
        self._found += checked.findings
        self._report.events, self._report.streams = len(proved), len(checked.heads)
        return checked

    def _check_keyring(self, checked: Checked) -> None:
        given = self._files.get(layout.KEYRING)
        if given is not None and given != keyring_snapshot(list(checked.keyrings.values())):
            self._find("unknown-key", f"{layout.KEYRING} is not what the events about keys give")

    # -- rule 5 ------------------------------------------------------------------------------------

    def _check_release(self, checked: Checked, fold: Checkpoint | None, manifest_digest: str) -> None:
        after = self._after(checked, fold, layout.RELEASE)
        if after is None:
            return
        state, later = after
        self._report.release = state
        released = [(n, h, e) for n, h, e in later.events if isinstance(e, PublicationReleased)]
        if len(released) != 1:
            self._find(
                "unsupported",
                f"{layout.RELEASE} holds {counted(len(released), 'event')} that would release something",
            )
            return
        name, header, event = released[0]
        if name in later.indices and not later.supports(name):
            self._find("unsupported", f"the event {name[:16]} that released it was taken back")
        self._report.released, self._report.released_as = event, name
        about = self._manifest.about
        pairs: list[tuple[str, object, object]] = [
            ("the manifest", event.manifest, manifest_digest),
            ("the document", event.document_digest, self._digest(layout.DOCUMENT)),
            ("the state of the ledger", event.fold, about.fold),
            ("the layout", event.template, self._digest(about.template)),
            ("the tripwire", event.policy, about.policy),
            ("the keyring", event.keyring, self._digest(layout.KEYRING)),
            ("the kind of document", event.document, about.document),
            ("the campaign", header.subject.campaign, about.campaign),
            ("the candidate", header.subject.candidate, about.candidate),
        ]
        for what, expected, found in pairs:
            if expected != found:
                message = f"{what} is not what event {name[:16]} released"
                self._found.append(Finding("tampered", message, expected=str(expected), found=str(found)))
        if (self._folder / layout.WITHDRAWN).is_dir():
            self._check_withdrawal(later, state, name)

    def _digest(self, path: str) -> str:
        content = self._files.get(path)
        return "nothing" if content is None else layout.digest(content)

    def _after(
        self, before: Checked, old: Checkpoint | None, place: str
    ) -> tuple[Checkpoint, Checked] | None:
        """Read the events of `place`, which came after `old`, under the checkpoint that lies with them."""
        if old is None:
            return None
        try:
            parts = {n: layout.read(self._folder, f"{place}/{n}") for n in layout.PROOF_FILES}
            proved = decode_evidence(parts["entries"], parts["proofs"])
            hashes = decode_hashes(parts["consistency"])
        except MalformedPublication as error:
            self._find("file-damaged", f"{place}: {error}")
            return None
        # the keys in force are known only after the events; they are checked against the state that is stated
        try:
            stated = Checkpoint.parse_body(_text(parts["checkpoint"]))
            later = check_entries(old.origin, proved, stated, before)
        except Malformed as error:
            self._find("checkpoint-invalid", f"{place}: {error}")
            return None
        self._found += later.findings
        held = later.keyrings.get(old.origin, Keyring(old.origin)).keys.values()
        keys = [
            VerifierKey(old.origin, k.public_key) for k in held if k.role == "ledger" and k.revoked is None
        ]
        state = self._open(parts["checkpoint"], keys, f"{place}/checkpoint")
        if state is None:
            return None
        try:
            if old.size == state.size and old.root == state.root and not hashes:
                return state, later
            verify_consistency(old.size, old.root, state.size, state.root, hashes)
        except MalformedProof as error:
            self._find("checkpoint-invalid", f"{place} does not continue the state before it: {error}")
        return state, later

    def _check_withdrawal(self, before: Checked, old: Checkpoint, name: str) -> None:
        after = self._after(before, old, layout.WITHDRAWN)
        if after is None:
            return
        withdrawn = [
            e for _, _, e in after[1].events if isinstance(e, PublicationWithdrawn) and e.publication == name
        ]
        if not withdrawn:
            self._find("unsupported", f"{layout.WITHDRAWN} holds no event that withdraws this publication")
            return
        self._report.withdrawn = withdrawn[-1]
        self._found.append(Finding("withdrawn", f"it was withdrawn: {withdrawn[-1].reason}"))
        for form, path in layout.PAGES.items():
            if path in self._files:
                try:
                    shown = layout.read(self._folder, path)
                except MalformedPublication as error:
                    self._find("file-damaged", str(error))
                    continue
                if shown != notice(form, withdrawn[-1].reason, name):
                    self._find("file-damaged", f"{path} is not the notice that it was withdrawn")

    # -- rules 6 and 7 -----------------------------------------------------------------------------

    def _check_support(self, checked: Checked) -> None:
        if layout.DOCUMENT in self._files and layout.PROVENANCE in self._files:
            self._report.supporting += check_support(self._files, checked, self._manifest)

    def _make_again(self, recompute: Recompute) -> None:
        found = self._report.recomputing
        try:
            made = recompute(self._folder, self._manifest)
        except Exception as error:  # noqa: BLE001  # whatever a forged folder makes it trip over
            self._report.recomputed = False
            found.append(Finding("not-recomputed", f"it could not be made again: {error}"))
            return
        differs = [path for path, content in made.files.items() if self._files.get(path) != content]
        for path in differs:
            found.append(Finding("not-recomputed", f"{path} comes out otherwise when it is made again"))
        shown = self._files.get(layout.DOCUMENT)
        if layout.DOCUMENT in differs and shown is not None:
            found += differing(shown, made.files[layout.DOCUMENT])
        self._report.read_again = made.at_hand
        if made.not_at_hand:
            message = f"private artifacts behind its figures are not at hand: {made.not_at_hand}"
            found.append(Finding("not-checked", message))
        if made.pages_left_out:
            pages = " and ".join(path for path in layout.PAGES.values() if path in self._files)
            message = f"{pages} were not made again, since this anvil has other layouts: they may show other figures"
            found.append(Finding("not-checked", message))
        self._report.pages_left_out = made.pages_left_out
        self._report.recomputed = not differs

    def _find(self, code: Code, message: str) -> None:
        self._found.append(Finding(code, message))


def _text(note: bytes) -> str:
    return SignedNote.parse(note).text
