"""Everything that the document's template can print, and the evidence limit that follows from it."""

from __future__ import annotations

from collections.abc import Iterator

from anvil.ledger.errors import PublicationRefused
from anvil.ledger.events import (
    CaveatNoted,
    CheckImported,
    DecisionRecorded,
    GapNoted,
    HostObserved,
    ImportRecorded,
    LoadImported,
    ObservationNoted,
    RecipeDeclared,
    SuiteImported,
)
from anvil.ledger.wording import counted
from anvil.projections.conclusions import stale, waived
from anvil.projections.document import Prepared
from anvil.projections.documents.candidate_failure.attempts import Attempt, claims
from anvil.projections.documents.candidate_failure.earlier import Earlier
from anvil.projections.documents.candidate_failure.model import NAME, SCHEMA
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Figure, Group, Listing, Source, compose, derive
from anvil.projections.imported import evidence_limits
from anvil.projections.limits import EvidenceLimit, Missing, Quoted
from anvil.projections.pseudonyms import Pseudonyms
from anvil.projections.record import Campaign, Kept, Launch
from anvil.projections.withdrawals import withdrawals

_GIB = 2**30

Looks = dict[tuple[str, str], list[tuple[Source, Kept]]]
"""Events about hosts, by stream and attempt."""


def prepare(evidence: Evidence, campaign: Campaign, candidate: str) -> Prepared:
    """Return what can be printed of a candidate's attempts.

    Raises:
        PublicationRefused: neither a recipe nor an imported document declares the candidate, or nothing was
            seen of any attempt.
    """
    recipes = evidence.sources(campaign.recipes)
    earlier = Earlier.of(evidence, campaign, SCHEMA, candidate)
    declared = _declared(recipes, candidate, earlier)
    launches = [launch for launch in campaign.launches if _is_of(launch, candidate, recipes)]
    looks = _looks(evidence, campaign)
    shown = [(launch, _attempt(evidence, launch, recipes, looks)) for launch in launches]
    shown = [(launch, attempt) for launch, attempt in shown if attempt.sources]
    before = earlier.groups if earlier is not None else []
    if not shown and not before:
        raise PublicationRefused(
            f"nothing was recorded of any attempt of candidate {candidate!r} in campaign {campaign.name!r}",
            advice="`anvil status` shows what there is.",
        )
    pseudonyms = Pseudonyms()
    groups = [*before, *(attempt.group(pseudonyms) for _, attempt in shown)]
    reasons = [*(earlier.reasons if earlier is not None else ()), *(a.reason() for _, a in shown)]
    general = evidence.sources(campaign.general)
    decisions = [s for s in general if isinstance(s.event, DecisionRecorded)]
    decision = _decision(decisions, candidate_of(campaign.general), candidate)
    if decision is None and earlier is not None:
        decision = earlier.decision
    quoted = _quoted(general)
    notes = _notes(
        evidence, candidate, recipes, shown, first=len(before) + 1, has_decision=decision is not None
    )
    gone = withdrawals(evidence, campaign, NAME, candidate)
    aged = stale(evidence, campaign, candidate)
    limit = EvidenceLimit(
        tuple(claim for number, group in enumerate(groups, 1) for claim in claims(number, group)),
        tuple(_missing(evidence, shown, first=len(before) + 1)),
        (
            *gone.notes,
            *(earlier.notes() if earlier is not None else ()),
            *notes,
            *waived(evidence, campaign, candidate),
            *(one.note for one in aged),
            *evidence_limits(evidence, campaign),
        ),
        tuple(quoted.values()),
        stale=aged,
    )
    statuses = [group.fields["evidence_status"] for group in groups]
    rests_on = [figure for figure in statuses if isinstance(figure, Figure)]
    beside = [source.marked("evidence that was imported", True) for source in general if _is_evidence(source)]
    rests_on += beside
    marks = [source.marked("a caveat or gap", True) for source in general if source.entry_hash in quoted]
    none = derive("no decision is recorded", lambda *_: None, *reasons)
    return Prepared(
        Group(
            {
                "date": _date(shown, evidence, earlier),
                "candidate": declared,
                "hardware": _hardware(general, shown, reasons, earlier),
                "decision": decision or Group({"verdicts": none, "sentence": none}),
                "evidence_limit": _limit(
                    limit, rests_on, [*marks, *gone.marks], earlier, is_all=not (shown or marks or beside)
                ),
                "attempts": Listing(
                    derive("how many attempts events speak of", lambda *keys: len(keys), *reasons),
                    tuple(zip(reasons, groups, strict=True)),
                ),
            }
        ),
        limit,
    )


def _is_evidence(source: Source) -> bool:
    event = source.event
    is_file = isinstance(event, ImportRecorded) and event.nature == "raw-evidence"
    return is_file or isinstance(event, CheckImported | SuiteImported | LoadImported)


def candidate_of(events: tuple[Kept, ...]) -> dict[str, str | None]:
    """Return which candidate each event's subject names."""
    return {kept.entry_hash: kept.subject.candidate for kept in events}


# --- the candidate and its attempts ---------------------------------------------------------------------


def _declared(recipes: tuple[Source, ...], candidate: str, earlier: Earlier | None) -> Group:
    for source in reversed(recipes):
        if isinstance(source.event, RecipeDeclared):
            for number, one in enumerate(source.event.candidates):
                if one.key == candidate:
                    path = ("candidates", number)
                    return Group(
                        {
                            "model": source.stated(*path, "model"),
                            "revision": source.stated(*path, "revision"),
                            "quantization": source.stated(*path, "quantization"),
                        }
                    )
    if earlier is not None:
        return earlier.declared
    raise PublicationRefused(
        f"no recipe and no imported document declares the candidate {candidate!r}",
        advice="A document names a model revision, and only these say which it is.",
    )


def _plans(recipes: tuple[Source, ...]) -> Iterator[tuple[Source, int, str, str]]:
    """Yield (recipe, number, attempt, candidate) of every planned attempt, newest recipe first."""
    for source in reversed(recipes):
        if isinstance(source.event, RecipeDeclared):
            for number, plan in enumerate(source.event.attempts):
                yield source, number, plan.key, plan.candidate


def _is_of(launch: Launch, candidate: str, recipes: tuple[Source, ...]) -> bool:
    if launch.candidate is not None:
        return launch.candidate == candidate
    planned = (of for _, _, key, of in _plans(recipes) if key == launch.attempt)
    return next(planned, None) == candidate


def _attempt(evidence: Evidence, launch: Launch, recipes: tuple[Source, ...], looks: Looks) -> Attempt:
    plans = ((source, number) for source, number, key, _ in _plans(recipes) if key == launch.attempt)
    stream = launch.events[0].stream if launch.events else ""
    seen = tuple(looks.get((stream, launch.attempt), ()))
    return Attempt(launch.attempt, evidence.sources(launch.events), next(plans, None), seen)


def _looks(evidence: Evidence, campaign: Campaign) -> Looks:
    """Return what was seen of hosts, by the stream and the attempt that it was seen for."""
    found: Looks = {}
    for kept in campaign.general:
        source = evidence.source(kept) if isinstance(kept.event, HostObserved) else None
        if source is not None and kept.subject.attempt is not None:
            found.setdefault((kept.stream, kept.subject.attempt), []).append((source, kept))
    return found


# --- what is said of all of it ----------------------------------------------------------------------------


def _date(shown: list[tuple[Launch, Attempt]], evidence: Evidence, earlier: Earlier | None) -> Figure:
    days = [
        source.marked("the day of the event", kept.at[:10])
        for launch, _ in shown
        for kept in launch.events
        if (source := evidence.source(kept)) is not None
    ]
    if earlier is not None:
        if not days:
            return earlier.date
        days.append(earlier.date)
    return derive("the newest day of the attempts' events", lambda *values: max(values), *days)


def _hardware(
    general: tuple[Source, ...],
    shown: list[tuple[Launch, Attempt]],
    reasons: list[Figure],
    earlier: Earlier | None,
) -> Figure:
    for source in reversed([*general, *(s for _, attempt in shown for s in attempt.sources)]):
        event = source.event
        if isinstance(event, HostObserved) and (placed := _placed(event)):
            parts = [
                source.stated("gpus", placed[0], "product"),
                source.stated("gpus", placed[0], "memory_bytes"),
            ]
            every = [source.stated("gpus", number, "product") for number in placed]
            return compose("GPUs by product and memory", _seen_gpus, *parts, *every)
        if isinstance(event, ObservationNoted) and event.claims is not None and event.claims.hardware:
            names = ("gpus", "product", "memory_gib", "architecture")
            said = [source.stated("claims", "hardware", name) for name in names]
            return compose("GPUs as a person names them", _said_gpus, *said)
    if earlier is not None:
        return earlier.hardware
    return derive("no event names it", lambda *_: None, *reasons)


def _placed(host: HostObserved) -> list[int]:
    """Return which GPUs of a host an attempt was placed on: all where it was placed on none by name."""
    placed = [number for number, gpu in enumerate(host.gpus) if gpu.is_placed]
    return placed or list(range(len(host.gpus)))


def _seen_gpus(product: str | None, memory: int | None, *every: str | None) -> str:
    gib = None if memory is None else (memory + _GIB // 2) // _GIB
    return _said_gpus(len(every), product, gib, None)


def _said_gpus(gpus: int, product: str | None, gib: int | None, architecture: str | None) -> str:
    parts = [
        f"{gpus} GPUs:" if gpus != 1 else "",
        product or "a GPU that is not on the reviewed list",
        f"{gib} GiB" if gib is not None else "",
        f"({architecture})" if architecture else "",
    ]
    return " ".join(part for part in parts if part)


def _decision(decisions: list[Source], about: dict[str, str | None], candidate: str) -> Group | None:
    """Return the newest decision that is about the candidate, or about the whole campaign."""
    replaced = {s.event.supersedes for s in decisions if isinstance(s.event, DecisionRecorded)}
    for source in reversed(decisions):
        fits = about.get(source.entry_hash) in (None, candidate)
        if fits and source.entry_hash not in replaced and isinstance(source.event, DecisionRecorded):
            verdicts = [source.stated("verdicts", at) for at in range(len(source.event.verdicts))]
            joined = compose("the verdicts", lambda *texts: "; ".join(texts), *verdicts)
            return Group({"verdicts": joined, "sentence": source.stated("sentence")})
    return None


def _quoted(general: tuple[Source, ...]) -> dict[str, Quoted]:
    kinds = {CaveatNoted: "caveat", GapNoted: "gap"}
    return {
        source.entry_hash: Quoted(kinds[type(source.event)], source.event.text, source.entry_hash)
        for source in general
        if isinstance(source.event, CaveatNoted | GapNoted)
    }


# --- the limit ----------------------------------------------------------------------------------------------


def _limit(
    limit: EvidenceLimit,
    rests_on: list[Figure],
    marks: list[Figure],
    earlier: Earlier | None,
    *,
    is_all: bool,
) -> Figure:
    """Return the limit in words. An imported document's own come first; where they are all, nothing is added."""
    if earlier is None:
        return compose("the evidence limit", lambda *_: limit.text(), *rests_on, *marks)
    if is_all:
        return earlier.limit
    rule = "the imported document's evidence limit, and that of all attempts"
    return compose(rule, lambda said, *_: f"{said} {limit.text()}", earlier.limit, *rests_on, *marks)


def _missing(evidence: Evidence, shown: list[tuple[Launch, Attempt]], *, first: int) -> Iterator[Missing]:
    for number, (launch, _) in enumerate(shown, first):
        for kept in launch.events:
            source = evidence.source(kept)
            if source is None:
                continue
            yield from (Missing(number, f"artifact {name}", "redacted") for name in evidence.gone(kept))
            event = source.event
            if not isinstance(event, ObservationNoted):
                continue
            lost = event.claims.not_kept if event.claims is not None else ()
            yield from (Missing(number, item.what, item.reason) for item in lost)
            if not lost and not source.artifacts:
                yield Missing(number, "any raw evidence", "nothing-is-attached")


def _notes(
    evidence: Evidence,
    candidate: str,
    recipes: tuple[Source, ...],
    shown: list[tuple[Launch, Attempt]],
    *,
    first: int,
    has_decision: bool,
) -> Iterator[str]:
    if any(kept.is_synthetic for launch, _ in shown for kept in launch.events):
        yield "Synthetic: recorded for a test or a demonstration, and no evidence of anything."
    spoken_of = {launch.attempt for launch, _ in shown}
    planned = dict.fromkeys(key for _, _, key, of in _plans(recipes) if of == candidate)
    if absent := [key for key in planned if key not in spoken_of]:
        yield f"Planned, and nothing was seen of it: {', '.join(absent)}."
    kept = [one for launch, _ in shown for one in launch.events]
    if silent := sum(1 for one in kept if evidence.source(one) is None):
        yield f"Retracted or disowned, and supporting nothing: {silent} of {counted(len(kept), 'event')}."
    if sealed := [str(n) for n, (_, attempt) in enumerate(shown, first) if attempt.has_sealed_words]:
        yield f"Words that are not for publication were left out: attempt {', '.join(sealed)}."
    if not has_decision:
        yield "No decision is recorded."
    for number, (_, attempt) in enumerate(shown, first):
        if broken := attempt.incomplete():
            yield f"Incomplete, of attempt {number}: {'; '.join(broken)}."
        if missing := attempt.without_result():
            yield f"Selected, and without a result, of attempt {number}: {', '.join(missing)}."
