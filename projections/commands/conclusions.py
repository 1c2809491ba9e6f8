"""What people concluded, as `anvil status` shows it: in lines that fit the terminal, and as JSON."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from anvil.ledger.commands.output import answer, visible
from anvil.ledger.events import (
    CheckCompleted,
    DecisionRecorded,
    LoadMeasured,
    ObservationNoted,
    RestorationChecked,
    SuiteCompleted,
    WaiverGranted,
)
from anvil.ledger.events.suites import spell_stability
from anvil.projections.campaigns import Campaigns, CampaignState
from anvil.projections.figures import weakest
from anvil.projections.judgements import Decision, Note, Reason, Waiver, in_short, reasons
from anvil.projections.seen import Seen
from anvil.projections.strength import claimed, status_of

_NARROWEST, _WIDEST = 40, 100
_BRIEF = 48
"""Columns for what is cited; it stands whole elsewhere."""


@dataclass(frozen=True)
class Conclusions:
    """The state of all campaigns, how to find the events that it names, and what time it is now."""

    state: Campaigns
    find: Callable[[str], Seen | None]
    now: str

    def print(self, campaign: CampaignState) -> None:
        """Print what people concluded of a campaign."""
        if campaign.observations:
            answer(f"  observations: {len(campaign.observations)}")
        for seen in self._events(campaign.observations):
            self._print_observation(seen)
        for caveat in campaign.caveats.values():
            self._print_note("caveat", caveat)
        for gap in campaign.gaps.values():
            self._print_note("gap", gap)
        for waiver in campaign.waivers.values():
            self._print_waiver(waiver)
        for decision in campaign.decisions.values():
            self._print_decision(decision)

    def members(self, campaign: CampaignState) -> dict[str, Any]:
        """Return the same for programs."""
        return {
            "observations": [self._observation(seen) for seen in self._events(campaign.observations)],
            "caveats": [self._note(each) for each in campaign.caveats.values()],
            "gaps": [self._note(each) for each in campaign.gaps.values()],
            "waivers": [self._waiver(each) for each in campaign.waivers.values()],
            "decisions": [self._decision(each) for each in campaign.decisions.values()],
        }

    # -- for people ------------------------------------------------------------------------------

    def _print_observation(self, seen: Seen) -> None:
        now, said = status_of(seen, self.state.standing), claimed(seen)
        changed = "" if now == said else f", recorded as {said}"
        by = [str(each.index) for each in self.state.standing.supports(seen.entry_hash)]
        later = f", with the evidence of {', '.join(by)}" if by else ""
        in_lines(f"{seen.index}: {describe(seen)} ({now}{changed}{later})", 4)

    def _print_note(self, kind: str, note: Note) -> None:
        in_lines(f"{kind} {note.index}: {note.text}", 2)
        self._print_cited("about", note.index, note.about)

    def _print_waiver(self, waiver: Waiver) -> None:
        stale = list(self._stale(waiver.index, waiver.about))
        ended = " (ENDED)" if waiver.has_ended(self.now) else ""
        mark = " (STALE)" if stale else ""
        in_lines(
            f"waiver {waiver.index}: {waiver.gate}, by {waiver.granted_by}, "
            f"until {waiver.expires[:16]}Z{ended}{mark}",
            2,
        )
        in_lines(waiver.reason, 6)
        self._print_cited("lets pass", waiver.index, waiver.about)

    def _print_decision(self, decision: Decision) -> None:
        stale = list(self._stale(decision.index, decision.rests_on))
        by = self._superseded_by(decision)
        mark = f" (superseded by {by})" if by is not None else f" (STALE: {in_short(stale)})" if stale else ""
        in_lines(f"decision {decision.index}: {', '.join(decision.verdicts)}{mark}", 2)
        in_lines(decision.sentence, 6)
        self._print_cited("rests on", decision.index, decision.rests_on)
        if decision.supersedes is not None:
            replaced = self.find(decision.supersedes)
            name = decision.supersedes[:16] if replaced is None else replaced.index
            in_lines(f"supersedes decision {name}", 6)

    def _print_cited(self, verb: str, index: int, cited: Iterable[str]) -> None:
        for entry_hash in cited:
            seen = self.find(entry_hash)
            if seen is not None:
                brief = textwrap.shorten(describe(seen), _BRIEF, placeholder=" …")
                in_lines(f"{verb} {seen.index}: {brief} ({status_of(seen, self.state.standing)})", 6)
            for reason in self._stale(index, (entry_hash,)):
                in_lines(f"stale: {reason}", 8)

    # -- for programs ----------------------------------------------------------------------------

    def _observation(self, seen: Seen) -> dict[str, Any]:
        standing = self.state.standing
        return {
            **self._named(seen),
            "claimed_status": claimed(seen),
            "later_evidence": [each.index for each in standing.supports(seen.entry_hash)],
        }

    def _note(self, note: Note) -> dict[str, Any]:
        return {
            "index": note.index,
            "entry_hash": note.entry_hash,
            "text": note.text,
            "about": self._cited(note.about),
            "stale": self._reasons(note.index, note.about),
        }

    def _waiver(self, waiver: Waiver) -> dict[str, Any]:
        return {
            "index": waiver.index,
            "entry_hash": waiver.entry_hash,
            "gate": waiver.gate,
            "granted_by": waiver.granted_by,
            "reason": waiver.reason,
            "expires": waiver.expires,
            "has_ended": waiver.has_ended(self.now),
            "about": self._cited(waiver.about),
            "stale": self._reasons(waiver.index, waiver.about),
        }

    def _decision(self, decision: Decision) -> dict[str, Any]:
        replaced = None if decision.supersedes is None else self.find(decision.supersedes)
        found = [seen for seen in map(self.find, decision.rests_on) if seen is not None]
        return {
            "index": decision.index,
            "entry_hash": decision.entry_hash,
            "verdicts": list(decision.verdicts),
            "sentence": decision.sentence,
            "rests_on": self._cited(decision.rests_on),
            "evidence_status": weakest(status_of(seen, self.state.standing) for seen in found),
            "supersedes": None if replaced is None else replaced.index,
            "superseded_by": self._superseded_by(decision),
            "stale": self._reasons(decision.index, decision.rests_on),
        }

    def _cited(self, cited: Iterable[str]) -> list[dict[str, Any]]:
        return [
            {"index": None, "entry_hash": entry_hash} if seen is None else self._named(seen)
            for entry_hash in cited
            for seen in (self.find(entry_hash),)
        ]

    def _named(self, seen: Seen) -> dict[str, Any]:
        return {
            "index": seen.index,
            "entry_hash": seen.entry_hash,
            "event": seen.event.type,
            "is": describe(seen),
            "status": status_of(seen, self.state.standing),
        }

    def _reasons(self, index: int, cited: tuple[str, ...]) -> list[dict[str, Any]]:
        return [{**asdict(reason), "text": str(reason)} for reason in self._stale(index, cited)]

    # --------------------------------------------------------------------------------------------

    def _stale(self, index: int, cited: tuple[str, ...]) -> Iterator[Reason]:
        return reasons(index, cited, self.state.standing, self.state.decisions(), self.find)

    def _superseded_by(self, decision: Decision) -> int | None:
        marks = self.state.standing.in_force(decision.entry_hash)
        return next((mark.index for mark in marks if mark.how == "superseded"), None)

    def _events(self, hashes: Iterable[str]) -> Iterator[Seen]:
        return (seen for seen in map(self.find, hashes) if seen is not None)


def describe(seen: Seen) -> str:
    """Return what an event is, in a few words for people; sealed words stay sealed."""
    event = seen.event
    about = "/".join(seen.header.subject.members().get(name, "") for name in ("candidate", "attempt"))
    match event:
        case CheckCompleted():
            said = f"{event.selected_as} {event.outcome} {event.passed}/{event.expected}"
        case SuiteCompleted():
            word = spell_stability(event.is_stable, event.required_rate)
            said = f"suite {event.selected_as} {event.outcome} {event.passed}/{event.expected}, {word}"
        case LoadMeasured():
            said = f"load {event.protocol} {event.cell}, run {event.run}, {event.outcome}"
        case RestorationChecked():
            said = f"gate {event.gate} {event.outcome}"
        case ObservationNoted():
            said = "sealed words" if event.public_text is None else event.public_text
        case WaiverGranted():
            said = f"waiver of {event.gate}"
        case DecisionRecorded():
            said = f"decision {', '.join(event.verdicts)}"
        case _:
            said = event.type.partition("/")[0]
    return f"{about.strip('/')}: {said}" if about.strip("/") else said


def in_lines(text: str, indent: int) -> None:
    """Print a text that was written by somebody, escaped, in lines that fit the terminal."""
    width = max(_NARROWEST, min(shutil.get_terminal_size().columns, _WIDEST))
    answer(
        textwrap.fill(
            visible(text),
            width,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + 4),
            break_on_hyphens=False,
        )
    )
