"""What imported files say, as figures: the same names and shapes as those of what was recorded here.

1. Of one campaign and format the newest import counts that was not retracted. Its statements are those
   that stand in its stream and name its file.
2. A figure of a statement rests on the statement and on the file that was kept. A statement with the raw
   evidence that it names attached rests on that instead.
3. A number is printed with the characters of the file; one with a decimal point is not computed with.
4. What a file says of its own evidence is a value like any other: quoted. How strong it is, is the
   status of the figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from anvil.ledger.errors import PublicationRefused
from anvil.ledger.events import (
    CheckImported,
    ImportRecorded,
    LoadImported,
    StatementImported,
    SuiteImported,
)
from anvil.ledger.events.imports import Topic
from anvil.ledger.header import Subject
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Figure, Group, Listing, Printed, Source, Value, derive
from anvil.projections.importedresults import ImportedFile, ImportedResult, limits
from anvil.projections.limits import EvidenceLimit, Quoted, Stale
from anvil.projections.record import Campaign, Kept


@dataclass(frozen=True)
class Statement:
    """One statement of a file. `file` is the digest of the file, as a figure."""

    source: Source
    event: StatementImported
    subject: Subject
    file: Figure

    def figure(self, name: str) -> Figure | None:
        """Return a value by its name, or None when the statement has none of that name."""
        for at, value in enumerate(self.event.values):
            if value.name == name:
                return self._value(at)
        return None

    def texts(self, name: str) -> Iterator[Figure]:
        """Yield the members of a value that is a list of texts."""
        for at, value in enumerate(self.event.values):
            if value.name == name and value.texts is not None:
                yield from (self._stated("values", at, "texts", number) for number in range(len(value.texts)))

    def named(self) -> Iterator[Group]:
        """Yield every value as a group of `name` and `value`, in the file's order."""
        for at in range(len(self.event.values)):
            yield Group({"name": self._stated("values", at, "name"), "value": self._value(at)})

    def own(self, field: str) -> Figure:
        """Return one of the statement's own fields: its `name`, or its `claimed_status`."""
        return self._stated(field)

    def key(self, of: str) -> Figure:
        """Return the `candidate` or `attempt` that the statement is about."""
        rule = f"the {of} that {self.event.type} is about"
        return self._resting(self.source.marked(rule, getattr(self.subject, of)))

    def _value(self, at: int) -> Figure:
        value = self.event.values[at]
        if value.number is not None:
            return derive("a number as the file spells it", _number, self._stated("values", at, "number"))
        if value.text is None and value.truth is None:
            return derive("the imported file says null", _first, self._stated("values", at, "text"))
        return self._stated("values", at, "text" if value.text is not None else "truth")

    def _stated(self, *path: str | int) -> Figure:
        return self._resting(self.source.stated(*path))

    def _resting(self, figure: Figure) -> Figure:
        if self.source.artifacts:
            return figure
        rule = (
            "as an imported file states it" if figure.value is not None else "the imported file states none"
        )
        return derive(rule, _first, figure, self.file)


def _first(value: Value, *_file: Value) -> Value:
    return value


def _number(text: str) -> Value:
    """Return an integer as one, and whatever has a point or a signed zero as it is spelled."""
    return Printed(text) if "." in text or text == "-0" else int(text)


@dataclass(frozen=True)
class Imported:
    """One import: the file, and what it says, in its order. `source` is the event that records it."""

    source: Source
    stream: str
    file: Figure
    statements: tuple[Statement, ...]
    count: int
    """How many statements were recorded; those that are missing here support nothing any more."""

    def losses(self) -> list[str]:
        """Return a sentence about statements that support nothing any more, if there are any."""
        lost = self.count - len(self.statements)
        return (
            [f"Retracted or disowned, and left out: {lost} of its {self.count} statements."] if lost else []
        )

    def about(self, topic: Topic, /, **wanted: str | None) -> Iterator[Statement]:
        """Yield the statements about `topic`; `name`, `within`, `candidate` and `attempt` choose among them."""
        for statement in self.statements:
            has = {
                "name": statement.event.name,
                "within": statement.event.within,
                "candidate": statement.subject.candidate,
                "attempt": statement.subject.attempt,
            }
            if statement.event.topic == topic and all(has[key] == value for key, value in wanted.items()):
                yield statement

    def first(self, topic: Topic, /, **wanted: str | None) -> Statement | None:
        """Return the first of them, or None when there is none."""
        return next(self.about(topic, **wanted), None)

    def figure(self, topic: Topic, value: str, /, **wanted: str | None) -> Figure:
        """Return a value of the first of them that has it; null, on the evidence of the file, when none has."""
        found = (statement.figure(value) for statement in self.about(topic, **wanted))
        return next((figure for figure in found if figure is not None), self.nothing(value))

    def group(
        self, topic: Topic, /, *names: str, **wanted: str | None
    ) -> dict[str, Figure | Group | Listing]:
        """Return values by their names, each as `figure` gives it."""
        return {name: self.figure(topic, name, **wanted) for name in names}

    def listing(self, members: Iterable[Figure | Group], added: Iterable[Figure] = ()) -> Listing:
        """Return members in a list, and after them what people here `added`.

        That it is all of them rests on the file; each stands on its own evidence.
        """
        listed = replace(self.file, rule="the imported file lists it", status="declared")
        return Listing(
            self.file, (*((listed, member) for member in members), *((figure, figure) for figure in added))
        )

    def keys(self, topic: Topic, of: str, /, **wanted: str | None) -> list[tuple[str, Figure]]:
        """Return the candidates, attempts or names that statements about `topic` have, each once, with its figure."""
        found: dict[str, Figure] = {}
        for statement in self.about(topic, **wanted):
            text = statement.event.name if of == "name" else getattr(statement.subject, of)
            if text is not None and text not in found:
                found[text] = statement.own("name") if of == "name" else statement.key(of)
        return list(found.items())

    def nothing(self, what: str) -> Figure:
        """Return null: the file says nothing of it."""
        return derive(
            f"the imported file says nothing of {what.replace('_', ' ')}", lambda _: None, self.file
        )


def imported(evidence: Evidence, campaign: Campaign, form: str) -> Imported | None:
    """Return what the newest import of a format says (rule 1), or None when there is none."""
    for kept in reversed(campaign.general):
        source = evidence.source(kept)
        if source is not None and isinstance(source.event, ImportRecorded) and source.event.format == form:
            file = source.stated("digest")
            statements = tuple(_statements(evidence, campaign, kept, file))
            return Imported(source, kept.stream, file, statements, source.event.statements)
    return None


def every(evidence: Evidence, campaign: Campaign) -> Iterator[Imported]:
    """Yield what each file says that was imported into a campaign and supports something, in order."""
    for source, kept in _counting(evidence, campaign):
        if isinstance(source.event, ImportRecorded):
            file = source.stated("digest")
            statements = tuple(_statements(evidence, campaign, kept, file))
            yield Imported(source, kept.stream, file, statements, source.event.statements)


def _statements(evidence: Evidence, campaign: Campaign, of: Kept, file: Figure) -> Iterator[Statement]:
    for kept in campaign.general:
        event = kept.event
        if isinstance(event, StatementImported) and (kept.stream, event.source) == (of.stream, file.value):
            source = evidence.source(kept)
            if source is not None:
                yield Statement(source, event, kept.subject, file)


def required(evidence: Evidence, campaign: Campaign, form: str) -> Imported:
    """Return what `imported` gives.

    Raises:
        PublicationRefused: nothing of that format was imported into the campaign.
    """
    source = imported(evidence, campaign, form)
    if source is None:
        raise PublicationRefused(
            f"campaign {campaign.name!r} has no {form}, and this document is not made of recorded runs yet",
            advice="`anvil import FILE --campaign NAME` takes one in.",
        )
    return source


def limit_of(
    source: Imported, quoted: tuple[Quoted, ...], beside: Iterable[str] = (), stale: tuple[Stale, ...] = ()
) -> EvidenceLimit:
    """Return the evidence limit of a document that is an imported one again.

    `quoted` is what people here add, `beside` what must be said of raw evidence and conclusions in the same campaign,
    `stale` the decisions of which it says so.
    """
    date = source.figure("document", "date").value
    kept = [one for one in source.statements if one.source.status == "imported-artifact"]
    notes = [f"This is taken from a document that somebody published ({date}), about another run."]
    notes += source.losses()
    if kept:
        named = ", ".join(sorted(one.event.name or one.event.topic for one in kept))
        notes.append(f"The files are kept of which it states the digest as: {named}.")
    notes += beside
    return EvidenceLimit((), (), tuple(notes), quoted, stale=stale)


def evidence_limits(evidence: Evidence, campaign: Campaign) -> list[str]:
    """Return what a document must say of the raw evidence that was imported into its campaign."""
    files: dict[tuple[str, str], ImportedFile] = {}
    for source, kept in _counting(evidence, campaign):
        event = source.event
        if isinstance(event, ImportRecorded) and event.nature == "raw-evidence":
            files[kept.stream, event.digest] = ImportedFile.of(event, kept.stream, kept.index)
        elif isinstance(event, CheckImported | SuiteImported | LoadImported):
            file = files.get((kept.stream, event.source))
            if file is not None:
                results = {**file.results, source.entry_hash: ImportedResult.of(event, kept.index)}
                files[kept.stream, event.source] = replace(file, results=results)
    return limits(files.values())


def _counting(evidence: Evidence, campaign: Campaign) -> Iterator[tuple[Source, Kept]]:
    for kept in campaign.general:
        source = evidence.source(kept)
        if source is not None:
            yield source, kept


def has_imports(campaign: Campaign) -> bool:
    """Say whether a file was imported into a campaign."""
    return any(isinstance(kept.event, ImportRecorded) for kept in campaign.general)


def candidates(evidence: Evidence, campaign: Campaign) -> list[str]:
    """Return the candidates that imported documents name, each once, in order; raw evidence declares none."""
    named = (
        kept.subject.candidate
        for kept in campaign.general
        if isinstance(kept.event, StatementImported)
        and kept.event.topic == "candidate"
        and kept.event.nature == "published-document"
        and evidence.source(kept) is not None
    )
    return list(dict.fromkeys(name for name in named if name is not None))
