"""From a ledger to what is released: the draft, the events that go along, the tripwire, the manifest.

1. What is released is made of a state that the ledger has signed, and shows the ledger key of that state: the
   same state gives the same files.
2. Nothing synthetic leaves, neither what is shown nor what goes along.
3. The events are checked as a stranger will check them; what would not verify does not leave.
4. With a document go the bytes of the public artifacts that its leaves rest on or that were read to make it, those
   that were disclosed among them, and of no private one: whoever makes it again reads the same.
5. The tripwire looks at layouts, at each value, at each text in an event, at these bytes and at the finished files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from anvil.ledger.checkpoint import Checkpoint, open_checkpoint
from anvil.ledger.checks.finding import worst
from anvil.ledger.errors import Malformed, PublicationRefused, SignatureInvalid
from anvil.ledger.events import PublicationReleased, RecipeDeclared, StreamOpened, TripwireExcepted
from anvil.ledger.header import Subject
from anvil.ledger.note import SignedNote, VerifierKey
from anvil.ledger.places import LedgerPlace
from anvil.ledger.publication import layout
from anvil.ledger.publication.disclosing import disclosed
from anvil.ledger.publication.entrychecks import Checked, check_entries
from anvil.ledger.publication.evidence import encode
from anvil.ledger.publication.gathering import gather, keyring_snapshot
from anvil.ledger.publication.manifest import Disclosed, Manifest
from anvil.ledger.streams import software_version
from anvil.projections.document import find
from anvil.projections.figures import ArtifactName
from anvil.projections.opened import Opened, opened
from anvil.projections.publishing import OWN_TEMPLATE, Made, about, known_of, made, seen
from anvil.projections.record import Launch, Record
from anvil.projections.rendering import Draft, Template, draft
from anvil.projections.seen import Seen
from anvil.projections.tripwire import Canaries, Excused, Hit, Tripwire, policy_digest
from anvil.projections.tripwire.scanning import refuse
from anvil.projections.tripwire.sealed import sealed_values


@dataclass(frozen=True)
class Wanted:
    """What is to be released: which document, of what, by which layout."""

    document: str
    campaign: str | None = None
    candidate: str | None = None
    template: Template | None = None


@dataclass(frozen=True)
class Prepared:
    """Everything that a release needs: the files, manifest included, the event that names it, and its subject."""

    files: Mapping[str, bytes]
    event: PublicationReleased
    subject: Subject
    draft: Draft
    disclosed_by: frozenset[str]
    """The events by which bytes go along that their own events do not show."""


@dataclass(frozen=True)
class Guard:
    """What the tripwire knows of this machine, and what it lets pass, by the event that says so."""

    surroundings: tuple[tuple[str, str], ...] = ()
    exceptions: Mapping[str, TripwireExcepted] | None = None


def prepare(place: LedgerPlace, wanted: Wanted, note: bytes, guard: Guard | None) -> Prepared:
    """Return what is to be released of the ledger at `place`, as the checkpoint `note` states it.

    `guard` is None when a release that is in the log is made again: what was released is not judged anew.

    Raises:
        PublicationRefused: there is no such document, something in it is synthetic, the events do not
            verify, or the tripwire found something.
    """
    fold = Checkpoint.parse_body(SignedNote.parse(note).text)
    own = None if wanted.template is None else Template(OWN_TEMPLATE, wanted.template.source)
    with opened(place, fold.size - 1, wanted.campaign) as ledger:
        made_draft = draft(
            ledger.record,
            ledger.artifacts,
            find(wanted.document),
            campaign=wanted.campaign,
            candidate=wanted.candidate,
            template=own,
        )
        cited = {event for leaf in made_draft.rendered.leaves for event in leaf.support.events}
        gathered = gather(ledger.store, fold, made_draft.campaign, cited)
        events = seen(gathered.proved)
        _require_real(made_draft, events)
        checked = check_entries(fold.origin, gathered.proved, fold)
        if worst(checked.findings) != "note":
            first = next(f for f in checked.findings if f.severity != "note")
            raise PublicationRefused(
                f"the events would not verify: {first.code} at index {first.index}: {first.message}",
                advice="Run `anvil verify`.",
            )
        key = _key_of(checked, fold, note)
        document = made(
            made_draft, ledger.state, ledger.record, ledger.artifacts, known_of(events), key.fingerprint
        )
        entries, proofs = encode(gathered.proved)
        keyring = keyring_snapshot(list(checked.keyrings.values()))
        carried = _carried(made_draft, ledger)
        files = {
            **document.files,
            **{layout.artifact(one.digest): ledger.blobs.get(one.digest) for one in carried},
            layout.ENTRIES: entries,
            layout.PROOFS: proofs,
            layout.FOLD: note,
            layout.KEYRING: keyring,
            layout.VERIFIER_KEY: f"{key}\n".encode(),
        }
        manifest = Manifest.of(about(made_draft, ledger.state, policy_digest()), files, carried)
        files[layout.MANIFEST] = manifest.to_bytes()
        used = (
            ()
            if guard is None
            else _guarded(guard, ledger, document, files, events, gathered.streams, key.fingerprint)
        )
        event = PublicationReleased(
            document=made_draft.document.name,
            document_digest=made_draft.digest,
            manifest=manifest.digest,
            fold=manifest.about.fold,
            template=manifest.about.template_digest,
            policy=manifest.about.policy,
            keyring=layout.digest(keyring),
            attempts_shown=_shown(made_draft, ledger.record),
            attempts_existing=len(_launches(made_draft, ledger.record)),
            exceptions=used,
            software=software_version(),
        )
        places = (ArtifactName(one.event, one.name) for one in carried)
        said = (ledger.artifacts.disclosures.get(place) for place in places)
        disclosed_by = frozenset(kept.entry_hash for kept in said if kept is not None)
        subject = Subject(made_draft.campaign, made_draft.subject)
        return Prepared(files, event, subject, made_draft, disclosed_by)


def _key_of(checked: Checked, fold: Checkpoint, note: bytes) -> VerifierKey:
    """Return the newest ledger key of a state, which the state must be signed by (rule 1)."""
    held = [k for k in checked.keyrings[fold.origin].keys.values() if k.role == "ledger"]
    keys = [VerifierKey(fold.origin, k.public_key) for k in held if k.revoked is None]
    try:
        open_checkpoint(note, keys)
    except (Malformed, SignatureInvalid) as error:
        raise PublicationRefused(
            f"no ledger key that was known at {fold.size} entries can sign for that state any more: {error}",
            advice="Release the state of now: leave out --as-of.",
        ) from error
    return keys[-1]


def _require_real(made_draft: Draft, events: Iterable[Seen]) -> None:
    """Rule 2."""
    synthetic = {e.header.stream for e in events if isinstance(e.event, StreamOpened) and e.event.synthetic}
    if made_draft.is_synthetic or synthetic:
        raise PublicationRefused(
            "it rests on streams that were recorded for a test or a demonstration; they are never released",
            advice="`anvil render` shows the document.",
        )


def _carried(made_draft: Draft, ledger: Opened) -> list[Disclosed]:
    """Return the artifacts that go along (rule 4)."""
    rests_on = {
        name for leaf in made_draft.rendered.leaves for name in leaf.support.artifacts
    } | made_draft.read
    named = (
        disclosed(name.event, ledger.artifacts.entries[name], ledger.artifacts.disclosed(name))
        for name in sorted(rests_on - ledger.record.gone)
    )
    return [one for one in named if one is not None]


# --- the tripwire -------------------------------------------------------------------------------------------


def _guarded(
    guard: Guard,
    ledger: Opened,
    document: Made,
    files: Mapping[str, bytes],
    events: list[Seen],
    streams: frozenset[str],
    fingerprint: str,
) -> tuple[str, ...]:
    """Refuse what the tripwire finds; return the exceptions that were used (rule 5).

    The ledger's name and the fingerprint of its public key are no finding: random letters of the latter spell `pwd:`,
    `/u/` or `//host` in one ledger of a thousand, which could then release nothing.
    """
    exceptions = guard.exceptions or {}
    by_text = {Excused(event.detector, event.text): name for name, event in exceptions.items()}
    canaries = Canaries.of([*guard.surroundings, *sealed_values(ledger.store, streams)])
    tripwire = Tripwire(canaries, by_text, known=[ledger.state.origin, fingerprint])
    hits: list[Hit] = []
    for where, text in _texts(document, files, events):
        hits += tripwire.look(where, text)
    for path in sorted(files):
        if path.startswith(f"{layout.ARTIFACTS}/"):
            hits += _of_artifact(tripwire, path, files[path])
    for path in (layout.ENTRIES, layout.PROOFS, layout.FOLD, layout.VERIFIER_KEY):
        hits += tripwire.look_at_bytes(path, files[path])
    refuse(hits)
    return tuple(sorted(by_text[excused] for excused in tripwire.used))


def _of_artifact(tripwire: Tripwire, path: str, content: bytes) -> Iterator[Hit]:
    """Yield what is found in the bytes of an artifact, a few lines at a time: there may be many."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        yield from tripwire.look_at_bytes(path, content)
        return
    yield from tripwire.look_through(path, text)


def _texts(document: Made, files: Mapping[str, bytes], events: list[Seen]) -> Iterator[tuple[str, str]]:
    """Yield (place, text)."""
    for path in sorted(files):
        if path.startswith(f"{layout.TEMPLATES}/"):
            yield path, files[path].decode()
    for leaf in document.draft.rendered.leaves:
        if isinstance(leaf.value, str):
            yield leaf.pointer, leaf.value
        if leaf.kind == "key":
            yield f"{leaf.pointer} (its name)", leaf.pointer
    yield from _texts_of_events(events)
    finished = (
        layout.DOCUMENT,
        *layout.PAGES.values(),
        layout.PROVENANCE,
        layout.REDACTIONS,
        layout.MANIFEST,
    )
    for path in (*finished, layout.KEYRING):
        if path in files:
            yield path, files[path].decode()


def _texts_of_events(events: list[Seen]) -> Iterator[tuple[str, str]]:
    """Yield (place, text) of everything clear in events; the same text in many of them once."""
    told: set[str] = set()
    for one in events:
        labels = (*one.header.subject.members().values(), *(a.name for a in one.header.artifacts))
        for name, text in (
            *_strings(one.header.facts, one.header.event),
            *(("a label", text) for text in labels),
        ):
            if text not in told:
                told.add(text)
                yield f"event {one.index}, {name}", text


def _strings(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from _strings(member, f"{name} {key}")
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, name)


# --- attempts -----------------------------------------------------------------------------------------------


def _shown(made_draft: Draft, record: Record) -> int:
    """Return how many attempts a document lists; of one that lists none, behind how many of them a leaf of it stands."""
    attempts = made_draft.rendered.document.get("attempts")
    if isinstance(attempts, list | dict):
        return len(attempts)
    behind = {event for leaf in made_draft.rendered.leaves for event in leaf.support.events}
    launches = _launches(made_draft, record)
    return sum(1 for launch in launches if any(kept.entry_hash in behind for kept in launch.events))


def _launches(made_draft: Draft, record: Record) -> list[Launch]:
    """Return the launches of the candidate, or of all; those that nothing supports any more included."""
    campaign = record.campaigns[made_draft.campaign]
    planned = {
        plan.key: plan.candidate
        for kept in campaign.recipes
        if isinstance(kept.event, RecipeDeclared)
        for plan in kept.event.attempts
    }
    of = ((launch.candidate or planned.get(launch.attempt), launch) for launch in campaign.launches)
    return [launch for candidate, launch in of if made_draft.subject in (None, candidate)]
