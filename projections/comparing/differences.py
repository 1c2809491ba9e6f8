"""What differs between the plans of two sides: a comparison is an A/B only when it is one thing.

1. Looked at are the candidate (model, revision and quantization: one thing), the engine, the launcher, the image,
   each setting, and the command line where it can be opened. A placement is no difference: hardware is compared
   by what was observed.
2. Of several attempts of a side, all have to be planned alike; a difference among them is one of the two sides
   as well, since nobody knows which of them a figure is of.
3. The command line tells what no setting names. Flags of the served name and of a port say nothing of speed and
   are left out, and so are those that belong to a setting which is named already.
4. Where nothing on record plans one side (it was imported, or its recipe was retracted), what its files state of the
   same thing stands in the plan's place. It is the same when the one has all words of the other: a file writes
   `vllm-0.23` where a plan writes `vllm`. What no file states is not known, which is no difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from anvil.projections.comparing.sides import Side
from anvil.projections.evidence import Evidence
from anvil.projections.plans import Plans


class Difference(NamedTuple):
    """One thing that is not the same, in words. Absent is None; among what is not stated, None is not known."""

    name: str
    control: str | None
    treatment: str | None

    @property
    def is_mixed(self) -> bool:
        """Whether the attempts of one side differ among themselves (rule 2)."""
        return _is_mixed(self.control) or _is_mixed(self.treatment)


class Differing(NamedTuple):
    """What two sides do not have in common, and what is known of one of them only (rule 4)."""

    known: tuple[Difference, ...]
    not_stated: tuple[Difference, ...]


def differences(evidence: Evidence, control: Side, treatment: Side) -> Differing:
    """Return what the plans of two sides do not have in common, by name."""
    before, after = _planned(evidence, control), _planned(evidence, treatment)
    if before is None and after is None:
        return Differing((), ())
    if before is None or after is None:
        return _beside_stated(before, after, control, treatment)
    names = list(dict.fromkeys((*before, *after)))
    return Differing(
        tuple(
            Difference(name, before.get(name), after.get(name))
            for name in names
            if before.get(name) != after.get(name)
            or _is_mixed(before.get(name))
            or _is_mixed(after.get(name))
        ),
        (),
    )


def is_planned(evidence: Evidence, one: Side) -> bool:
    """Say whether a recipe that stands plans an attempt of a side."""
    return _planned(evidence, one) is not None


def _beside_stated(
    before: Mapping[str, str] | None, after: Mapping[str, str] | None, control: Side, treatment: Side
) -> Differing:
    """Return the plan of one side beside what files state of the other (rule 4)."""
    plan, stated = (before, _stated(treatment)) if before is not None else (after or {}, _stated(control))
    known, not_stated = [], []
    for name, planned in plan.items():
        said = stated.get(name)
        sides = (planned, said) if before is not None else (said, planned)
        if said is None:
            not_stated.append(Difference(name, *sides))
        elif not _is_same(planned, said):
            known.append(Difference(name, *sides))
    return Differing(tuple(known), tuple(not_stated))


def _stated(one: Side) -> Mapping[str, str]:
    """Return what the files of a side state, by the names of a plan."""
    found: dict[str, dict[str, None]] = {}
    for cell in one.imported:
        said = dict(cell.said())
        candidate = [said.pop(name) for name in ("model", "revision", "quantization") if name in said]
        if candidate:
            said["candidate"] = " ".join(candidate)
        for name, text in said.items():
            found.setdefault(name, {})[text] = None
    return {name: " and ".join(texts) for name, texts in found.items()}


def _is_same(planned: str, said: str) -> bool:
    plan, file = (set(re.findall(r"[a-z0-9]+", words.lower())) for words in (planned, said))
    return plan <= file or file <= plan


_MIXED = " | "


def _is_mixed(words: str | None) -> bool:
    return words is not None and _MIXED in words


def _planned(evidence: Evidence, one: Side) -> Mapping[str, str] | None:
    """Return everything that is planned of a side, by name; of several values all of them (rule 2).

    None where no recipe that stands plans an attempt of it (rule 4).
    """
    plans = Plans.of(evidence, one.campaign)
    values: dict[str, list[str]] = {}
    known = [name for name in one.attempts if name in plans.attempts]
    if not known:
        return None
    for attempt in known:
        for name, value in _of_attempt(plans, attempt):
            values.setdefault(name, []).append(value)
    return {
        name: _MIXED.join(dict.fromkeys((*found, *["-"] * (len(found) < len(known)))))
        for name, found in values.items()
    }


def _of_attempt(plans: Plans, attempt: str) -> Iterator[tuple[str, str]]:
    _, plan = plans.attempts[attempt]
    if plan.candidate in plans.candidates:
        _, candidate = plans.candidates[plan.candidate]
        said = (candidate.model, candidate.revision, candidate.quantization)
        yield "candidate", " ".join(word for word in said if word)
    yield "engine", plan.engine
    yield "launcher", plan.launcher
    if image := plan.image or plan.image_id:
        yield "image", image
    for setting in plan.settings:
        yield (
            setting.name,
            str(setting.value).lower() if isinstance(setting.value, bool) else str(setting.value),
        )
