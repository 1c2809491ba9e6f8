"""A record that goes on: what a published document says, and what was recorded here since, in one document.

1. What was recorded takes the place of what the file says of the same thing, and what was not recorded is taken
   from the file. Each figure keeps its own evidence.
2. Lists of named things are put together by their names, those of the file first. Lists of plain figures are
   taken from whichever side has any, what was recorded first.
3. Differences are those of what was recorded, where there is any: one between figures that stand there no more
   would mislead.
"""

from __future__ import annotations

from anvil.projections.figures import Figure, Group, Listing

_KEYS = ("key", "name")
"""What names a member of a list."""

_OURS = frozenset({"differences"})
"""Lists that are never put together (rule 3)."""


def together(earlier: Group, recorded: Group) -> Group:
    """Return figures of both, as the rules say."""
    fields = dict(earlier.fields)
    for name, figure in recorded.fields.items():
        has_both = name in fields and name not in _OURS
        fields[name] = _one(fields[name], figure) if has_both else figure
    return Group(fields)


def _one(earlier: Figure | Group | Listing, recorded: Figure | Group | Listing) -> Figure | Group | Listing:
    if isinstance(earlier, Group) and isinstance(recorded, Group):
        return together(earlier, recorded)
    if isinstance(earlier, Listing) and isinstance(recorded, Listing):
        return _list(earlier, recorded)
    if isinstance(recorded, Figure) and recorded.value is None:
        return earlier
    return recorded


def _list(earlier: Listing, recorded: Listing) -> Listing:
    """Return one list of both (rule 2)."""
    if not recorded.members:
        return earlier
    theirs, ours = _by_name(earlier), _by_name(recorded)
    if theirs is None or ours is None:
        return recorded
    members = []
    for name, (reason, group) in theirs.items():
        found = ours.get(name)
        members.append((reason, group) if found is None else (found[0], together(group, found[1])))
    members += [member for name, member in ours.items() if name not in theirs]
    return Listing(recorded.basis, tuple(members))


def _by_name(listing: Listing) -> dict[object, tuple[Figure, Group]] | None:
    """Return the members of a list by their names; None when they have none."""
    found: dict[object, tuple[Figure, Group]] = {}
    for reason, member in listing.members:
        named = (
            [member.fields[key] for key in _KEYS if key in member.fields] if isinstance(member, Group) else []
        )
        if not named or not isinstance(member, Group) or not isinstance(named[0], Figure):
            return None
        found[named[0].value] = (reason, member)
    return found
