"""What was published of a campaign, as `anvil status` shows it: in lines that fit the terminal, and as JSON.

1. A publication is named by the index of the event that released it: `anvil withdraw INDEX` takes it back.
2. Of one that was withdrawn people are told when and why; what else became of it does not matter any more to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from anvil.ledger.wording import counted
from anvil.projections.campaigns import UNNAMED, Campaigns, CampaignState
from anvil.projections.commands.conclusions import in_lines
from anvil.projections.publications import Ageing, Publication, Since
from anvil.projections.seen import Seen


@dataclass(frozen=True)
class Publications:
    """The state of all campaigns, and how to find the events that it names."""

    state: Campaigns
    find: Callable[[str], Seen | None]

    def print(self, campaign: CampaignState) -> None:
        """Print what was published of a campaign."""
        for one in campaign.publications.values():
            since = self._since(campaign, one)
            whom = "all candidates" if one.candidate is None else one.candidate
            in_lines(
                f"publication {one.index}{_mark(one, since)}: {one.event.document} of {whom}",
                2,
            )
            in_lines(f"released {one.at[:10]}, made of the first {counted(one.state, 'event')}", 6)
            if one.is_disowned:
                in_lines(
                    "its key was revoked from before it on: whoever has that key can have released it", 6
                )
            if one.withdrawn is not None:
                gone = one.withdrawn
                in_lines(f"withdrawn at index {gone.index} on {gone.at[:10]}: {gone.reason}", 6)
                continue
            for each in since:
                in_lines(f"since then, {each}", 6)

    def members(self, campaign: CampaignState) -> list[dict[str, Any]]:
        """Return the same for programs."""
        return [self._members(campaign, one) for one in campaign.publications.values()]

    def _members(self, campaign: CampaignState, one: Publication) -> dict[str, Any]:
        event = one.event
        return {
            "index": one.index,
            "entry_hash": one.entry_hash,
            "document": event.document,
            "candidate": one.candidate,
            "released_at": one.at,
            "made_of": {"origin": event.fold.origin, "size": event.fold.size},
            "attempts_shown": event.attempts_shown,
            "attempts_existing": event.attempts_existing,
            "is_disowned": one.is_disowned,
            "withdrawn": None if one.withdrawn is None else asdict(one.withdrawn),
            "stale": [asdict(each) for each in self._since(campaign, one)],
        }

    def _since(self, campaign: CampaignState, one: Publication) -> list[Since]:
        name = None if campaign.name == UNNAMED else campaign.name
        decisions = campaign.decisions.values()
        return Ageing(self.state, self.find, name, decisions, campaign.disowned).since(one)


def _mark(one: Publication, since: list[Since]) -> str:
    if one.withdrawn is not None:
        return " (WITHDRAWN)"
    if one.is_disowned:
        return " (DISOWNED)"
    return " (STALE)" if since else ""
