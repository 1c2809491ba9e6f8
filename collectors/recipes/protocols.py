"""What is wrong with the protocols that a recipe selects, as far as somebody knows protocols."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from anvil.collectors.recipes.problems import Complaint, KeyPath
from anvil.collectors.recipes.recipe import Attempt, RecipeFile

JudgeProtocol = Callable[[str, Mapping[str, object], int | None], Iterable[tuple[str | None, str, str]]]
"""Says what is wrong with a protocol's id and parameters: the parameter or none, what, and what to write. With a
window of so many tokens it is also asked whether prompts and answers fit it."""


def protocol_complaints(file: RecipeFile, judge: JudgeProtocol) -> Iterator[Complaint]:
    """Complain of protocols that cannot be carried out."""
    for position, chosen in enumerate(file.protocols):
        for parameter, what, write in judge(chosen.id, chosen.parameters, None):
            at: KeyPath = ("protocols", position, "id")
            if parameter is not None and parameter in chosen.parameters:
                at = ("protocols", position, "parameters", parameter)
            yield Complaint(at, what, write)


def window_complaints(
    file: RecipeFile, attempt: Attempt, at: KeyPath, judge: JudgeProtocol
) -> Iterator[Complaint]:
    """Complain of load that cannot fit the attempt's window."""
    window = attempt.settings.get("context_tokens")
    if not isinstance(window, int):
        return
    listed = file.attempts[int(at[1])].protocols
    for chosen in attempt.protocols:
        for _, what, write in judge(chosen.id, chosen.parameters, window):
            where = at if listed is None else (*at, "protocols", listed.index(chosen.name))
            yield Complaint(where, f"attempt {attempt.key!r}, {chosen.name!r}: {what}", write)
