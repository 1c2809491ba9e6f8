"""What an imported document says of the candidate: its attempts come before those recorded here."""

from __future__ import annotations

from dataclasses import dataclass

from anvil.projections.evidence import Evidence
from anvil.projections.figures import Figure, Group
from anvil.projections.imported import Imported, Statement, imported
from anvil.projections.record import Campaign

_FIGURES = ("engine", "configuration", "health", "preflight_default", "preflight_no_thinking", "failure")


@dataclass(frozen=True)
class Earlier:
    """What a document that somebody published says of one candidate."""

    source: Imported
    attempts: tuple[Statement, ...]
    candidate: str

    @classmethod
    def of(cls, evidence: Evidence, campaign: Campaign, schema: str, candidate: str) -> Earlier | None:
        """Return it, or None when no document about the candidate was imported."""
        source = imported(evidence, campaign, schema)
        if source is None or source.first("candidate", candidate=candidate) is None:
            return None
        return cls(source, tuple(source.about("attempt", candidate=candidate)), candidate)

    @property
    def groups(self) -> list[Group]:
        """Each attempt's figures, by the names that a template knows."""
        return [self._group(statement) for statement in self.attempts]

    @property
    def reasons(self) -> list[Figure]:
        """Why each attempt is shown."""
        return [statement.key("attempt") for statement in self.attempts]

    @property
    def declared(self) -> Group:
        """The candidate."""
        names = ("model", "revision", "quantization")
        return Group({n: self.source.figure("candidate", n, candidate=self.candidate) for n in names})

    @property
    def decision(self) -> Group:
        """The decision, with the document's words."""
        names = ("verdicts", "sentence")
        return Group({n: self.source.figure("decision", n, candidate=self.candidate) for n in names})

    @property
    def date(self) -> Figure:
        """The document's day."""
        return self.source.figure("document", "date")

    @property
    def hardware(self) -> Figure:
        """The hardware, in the document's words."""
        return self.source.figure("hardware", "hardware")

    @property
    def limit(self) -> Figure:
        """The evidence limit, in the document's words."""
        return self.source.figure("limit", "text", candidate=self.candidate)

    def notes(self) -> tuple[str, ...]:
        """Return what a reader must know of it first."""
        count = len(self.attempts)
        which = "Attempt 1 is" if count == 1 else f"Attempts 1 to {count} are"
        taken = f"{which} taken from a document that somebody published ({self.date.value})"
        return (
            f"{taken}: what it says of its own evidence is quoted, and is no finding of anvil.",
            f"That document says of its evidence: “{self.limit.value}”",
            *self.source.losses(),
        )

    def _group(self, statement: Statement) -> Group:
        stated = {name: statement.figure(name) for name in _FIGURES}
        figures = {
            name: self.source.nothing(name) if figure is None else figure for name, figure in stated.items()
        }
        figures |= {name: self.source.nothing(name) for name in ("placement", "host", "gpus")}
        return Group({**figures, "evidence_status": statement.own("claimed_status")})
