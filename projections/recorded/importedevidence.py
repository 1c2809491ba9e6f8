"""What was imported of other tools, as a section of documents: files, and their checks, suites and loads.

1. A figure of a tool stands beside the same made again from its rows, where they give it. Its name is that of the
   tool, its metric ours where ours is meant; where it is not, what the tool means by the name is said.
2. Shown are the main figures (`anvil.projections.importedresults`), and how many the tool gives in all. Of a column of
   which it gives no figure the nearest-rank median is made here, of a share the mean; of counts only that of the
   prompt tokens.
3. What a file says of what was tested is quoted from it; what it does not say is listed as missing.
4. Everything rests on the event, its rows and the file, and has the status that follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anvil.ledger.events import CheckImported, ImportRecorded, LoadImported, SuiteImported
from anvil.ledger.events.results import SourceStatistic
from anvil.ledger.rowtable import Column
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Figure, Group, Listing, Printed, Source, Value, compose, derive, weakest
from anvil.projections.imported import Imported, every
from anvil.projections.importedfigures import Measured, measured
from anvil.projections.importedresults import COUNTS, main_figures, sentence
from anvil.projections.meanings import meaning
from anvil.projections.record import Campaign

PLACES = 6
"""Decimals of what is made from rows: of milliseconds, nanoseconds."""

_NO_METRIC = "none of our metrics is meant"

PROMPT_TOKENS = "prompt_tokens"

Field = Figure | Group | Listing


@dataclass(frozen=True)
class ImportedEvidence:
    """What was imported into one campaign and supports something."""

    files: tuple[Imported, ...]
    results: tuple[Measured, ...]

    @classmethod
    def of(cls, evidence: Evidence, campaign: Campaign) -> ImportedEvidence:
        """Return it; without files where nothing of other tools was imported.

        Raises:
            PublicationRefused: rows are not at hand although no event says that they are gone, or are no rows.
        """
        results = tuple(measured(evidence, campaign))
        named = {(one.stream, one.event.source) for one in results}
        files = (one for one in every(evidence, campaign) if (one.stream, one.file.value) in named)
        return cls(tuple(files), results)

    def of_kind(self, kind: type[CheckImported | SuiteImported | LoadImported]) -> tuple[Measured, ...]:
        """Return its checks, suites or loads."""
        return tuple(one for one in self.results if isinstance(one.event, kind))

    def group(self, nothing: Figure) -> Group:
        """Return everything that a template can print of it; empty lists, on the evidence of `nothing`, if there is none."""
        return Group(
            {
                "files": _listing(nothing, [(one.source, _file(one)) for one in self.files]),
                "checks": _listing(nothing, [(m.source, _check(m)) for m in self.of_kind(CheckImported)]),
                "suites": _listing(nothing, [(m.source, _suite(m)) for m in self.of_kind(SuiteImported)]),
                "loads": _listing(nothing, [(m.source, _load(m)) for m in self.of_kind(LoadImported)]),
            }
        )

    def days(self) -> tuple[Figure, ...]:
        """Return the days on which something of it began, as its files say."""
        return tuple(
            derive("the day that the file gives", _day, one.stated("began"))
            for one in self.results
            if not isinstance(one.event, CheckImported) and one.event.began is not None
        )

    def looked_at(self) -> tuple[Figure, ...]:
        """Return the files, as what was looked at."""
        return tuple(one.source.marked("a file that was imported", None, "declared") for one in self.files)

    def notes(self) -> Iterator[str]:
        """Yield what a reader must know of it first."""
        if self.results:
            yield (
                f"Imported evidence is what other tools measured and wrote: {len(self.files)} of their files, each kept "
                "whole. Its figures mean what its tools mean; only those with a metric of ours mean what ours do."
            )


def _listing(nothing: Figure, members: list[tuple[Source, Group]]) -> Listing:
    """Return members, each because of its event; that there are any rests on the first of them."""
    reasons = [source.marked("an imported file holds it", None, "declared") for source, _ in members]
    basis = derive(
        "how many of them imported files hold", lambda *_: len(members), reasons[0] if reasons else nothing
    )
    return Listing(basis, tuple(zip(reasons, (group for _, group in members), strict=True)))


# --- files --------------------------------------------------------------------------------------------------


def _file(said: Imported) -> Group:
    source, event = said.source, said.source.event
    not_said, withheld = (event.not_said, event.withheld) if isinstance(event, ImportRecorded) else ((), ())
    values = [
        Group({"topic": statement.own("topic"), **value.fields})
        for statement in said.statements
        for value in statement.named()
    ]
    return Group(
        {
            "digest": source.stated("digest"),
            "kind": source.stated("kind"),
            "format": source.stated("format"),
            "said": _quoted(source, values),
            "not_said": _texts(source, "not_said", len(not_said)),
            "withheld": _texts(source, "withheld", len(withheld)),
        }
    )


def _quoted(source: Source, values: list[Group]) -> Listing:
    basis = source.marked("what it says", len(values), "declared")
    return Listing(basis, tuple((basis, value) for value in values))


def _texts(source: Source, field: str, count: int) -> Listing:
    figures = [source.stated(field, at) for at in range(count)]
    basis = source.marked(f"what is {field.replace('_', ' ')}", count, "declared")
    return Listing(basis, tuple((basis, figure) for figure in figures))


# --- checks, suites, loads ----------------------------------------------------------------------------------


def _result(one: Measured, *names: str) -> dict[str, Field]:
    """Return what all results have, and fields of the event by name."""
    event = one.event
    return {
        "file": one.file,
        **{name: one.stated(name) for name in ("position", "tool", "called")},
        **{name: _about(one, name) for name in ("candidate", "attempt")},
        **{name: one.stated(name) for name in names},
        "parameters": _parameters(one),
        "findings": _findings(one),
        "figures_stated": one.made("how many figures the tool gives", len(event.statistics)),
        "figures": _figures(one),
    }


def _check(one: Measured) -> Group:
    return Group(_result(one, "check", "outcome", "failure", "expected", "passed", "observed"))


def _suite(one: Measured) -> Group:
    return Group(_result(one, "suite", "required_rate", "began", "expected", "passed"))


def _load(one: Measured) -> Group:
    plan = ("concurrency", "request_rate", "target_tokens", "run", "began", "expected", "completed", "failed")
    return Group(_result(one, *plan))


def _about(one: Measured, which: str) -> Figure:
    named = getattr(one.subject, which)
    return one.made(
        f"the {which} that it is about" if named else f"nobody says which {which} it is about", named
    )


def _parameters(one: Measured) -> Listing:
    basis = one.source.marked("with what it was carried out", None, "declared")
    members = (
        Group({name: one.stated("parameters", at, name) for name in ("name", "value")})
        for at in range(len(one.event.parameters))
    )
    return Listing(basis, tuple((basis, member) for member in members))


def _findings(one: Measured) -> Listing:
    basis = one.source.marked("what was found at the import", len(one.event.findings), "declared")
    members = (_found(one, at, sentence(found)) for at, found in enumerate(one.event.findings))
    return Listing(basis, tuple((basis, member) for member in members))


def _found(one: Measured, at: int, words: str) -> Figure:
    return compose("what was found, in words", lambda _: words, one.stated("findings", at, "finding"))


# --- figures ------------------------------------------------------------------------------------------------


def _figures(one: Measured) -> Listing:
    basis = one.source.marked("figures that the tool gives, or rows", None, "declared")
    every = list(one.event.statistics)
    shown = [_given(one, every.index(figure), figure) for figure in main_figures(every)]
    held = {figure.column for figure in every}
    columns = one.rows.columns if one.rows is not None else ()
    shown += [_own(one, column) for column in columns if column.name not in held and _is_told(column)]
    return Listing(basis, tuple((basis, group) for group in shown))


def _is_told(column: Column) -> bool:
    return column.unit not in COUNTS or column.name == PROMPT_TOKENS


def _given(one: Measured, at: int, figure: SourceStatistic) -> Group:
    """Return a figure of the tool beside the same from the rows (rule 1)."""
    stated = one.stated("statistics", at, "number")
    spelled = derive("as the file spells it", _printed, stated) if figure.number is not None else stated
    remade, words = one.remade(figure), figure.statistic
    if words is None and figure.own is not None:
        words = f"{figure.own}, the tool's own"
    named = one.stated("statistics", at, "statistic")
    return Group(
        {
            "called": one.stated("statistics", at, "called"),
            "of": _or_null(one, at, "of", "of all of them"),
            "metric": _or_null(one, at, "definition", _NO_METRIC),
            "statistic": derive("the statistic by its name", lambda _: words, named),
            "unit": one.stated("statistics", at, "unit"),
            "n": one.counted(figure),
            "stated": spelled,
            "remade": remade.places(PLACES),
            "agreement": one.stated("statistics", at, "remade"),
            **_meant(one, figure.definition, figure.called, figure.unit),
            "status": _status(spelled, remade),
        }
    )


def _or_null(one: Measured, at: int, field: str, why: str) -> Figure:
    stated = one.stated("statistics", at, field)
    return stated if stated.value is not None else derive(why, lambda _: None, stated)


def _own(one: Measured, column: Column) -> Group:
    """Return a figure that is made of a column here, since the tool gives none (rule 2)."""
    statistic = "mean" if column.unit == "ratio" else "nearest_rank_p50"
    figure = SourceStatistic(
        called=column.called,
        of=None,
        column=column.name,
        statistic=statistic,
        own=None,
        definition=column.definition,
        unit=column.unit,
        number=None,
        remade="no_rows",
    )
    remade = one.remade(figure)
    return Group(
        {
            "called": one.made("a column of the rows, by the file's name for it", column.called),
            "of": one.made("of all rows", None),
            "metric": one.made(
                "the metric of the column" if column.definition else _NO_METRIC, column.definition
            ),
            "statistic": one.made("the statistic by its name", statistic),
            "unit": one.made("the unit of the column", column.unit),
            "n": one.counted(figure),
            "stated": one.made("the tool gives no figure of it", None),
            "remade": remade.places(PLACES),
            "agreement": one.made("the tool gives no figure of it", None),
            **_meant(one, column.definition, column.called, column.unit),
            "status": _status(remade),
        }
    )


def _meant(one: Measured, definition: str | None, called: str, unit: str) -> dict[str, Field]:
    rule = "a metric of ours is meant" if definition else "what the tool means by the name"
    words = None if definition else meaning(one.event.tool, called, unit)
    return {"meaning": derive(rule, lambda _: words, one.stated("tool"))}


def _status(*figures: Figure) -> Figure:
    status = weakest(figure.status for figure in figures)
    return compose("how strong it is", lambda *_: status, *figures)


def _printed(text: str) -> Value:
    """Return a number as the file spells it; one without point and exponent as an integer."""
    return int(text) if text.lstrip("-").isdecimal() and text != "-0" else Printed(text)


def _day(moment: str) -> str:
    return moment[:10]
