"""What a campaign ran on: GPUs that its attempts were placed on, and how they were placed.

1. Counted are the GPUs on which an attempt was placed; all that the host has, where none was placed by name.
2. The host has no name here, and GPUs have no identity but their product. Placements are named by the order in which
   the document comes to them: what they are called belongs to a site.
3. Memory is in GiB (2^30 bytes), rounded to a whole number: it is what a card is sold by.
"""

from __future__ import annotations

from fractions import Fraction

from anvil.ledger.events import HostObserved
from anvil.ledger.wording import counted
from anvil.projections.figures import Figure, Group, compose, derive
from anvil.projections.recorded.campaign import Recorded, distinct, either, same

_GIB = 2**30


def hardware(recorded: Recorded) -> Group:
    """Return what is known of the hardware."""
    products, memory, looked = _gpus(recorded)
    why = "no GPU that counts has a known product" if looked else "no event says what it ran on"
    nothing = recorded.nothing(why, *looked)
    label = compose("the first host of the document", lambda *_: "host-1", *looked) if looked else nothing
    size = len(products)
    each = same("the memory of each GPU", memory)
    apart = "the GPUs have different memories" if memory else "no GPU counts, or its memory is not known"
    differ = recorded.nothing(apart, *looked)
    return Group(
        {
            "host_label": label,
            "product": either(distinct("the product of each GPU", products), nothing),
            "gpus": derive("GPUs that attempts were placed on", lambda *_: size, *looked)
            if looked
            else nothing,
            "memory_gib": differ if each is None or each.value is None else _gib(each),
            "topology": topology(recorded),
        }
    )


def topology(recorded: Recorded) -> Figure:
    """Return how the attempts were placed, in words."""
    placed: dict[str, list[str]] = {}
    ordinals: dict[str, str] = {}
    reasons = []
    for attempt in recorded.attempts:
        reasons.append(attempt.reason())
        if attempt.placement is not None and attempt.plan is not None:
            reasons.append(attempt.plan[0].stated("placement"))
            ordinal = ordinals.setdefault(attempt.placement, f"placement-{len(ordinals) + 1}")
            places = placed.setdefault(attempt.candidate, [])
            places += [ordinal] if ordinal not in places else []
    if not placed:
        return recorded.nothing("no attempt has a placement", *reasons)
    return compose("which candidate ran on which placement", lambda *_: _words(placed), *reasons)


def _words(placed: dict[str, list[str]]) -> str:
    said = "; ".join(f"{candidate} on {' and '.join(places)}" for candidate, places in placed.items())
    every = {place for places in placed.values() for place in places}
    is_swapped = len(every) > 1 and all(len(places) == len(every) for places in placed.values())
    return f"{counted(len(every), 'placement')}: {said}{'; each on every one' if is_swapped else ''}"


def _gpus(recorded: Recorded) -> tuple[list[Figure], list[Figure], list[Figure]]:
    """Return product and memory of each GPU that counts (rule 1), and that hosts were looked at."""
    hosts = recorded.about(HostObserved)
    placed: dict[int, tuple[Figure, Figure]] = {}
    every: dict[int, tuple[Figure, Figure]] = {}
    for source in hosts:
        for at, gpu in enumerate(source.event.gpus):
            figures = (source.stated("gpus", at, "product"), source.stated("gpus", at, "memory_bytes"))
            every[gpu.position] = figures
            if gpu.is_placed:
                placed[gpu.position] = figures
    chosen = [(placed or every)[position] for position in sorted(placed or every)]
    looked = [source.marked("a host that was looked at", None) for source in hosts]
    return [product for product, _ in chosen], [memory for _, memory in chosen], looked


def _gib(memory: Figure) -> Figure:
    exact = derive("the memory of each GPU in GiB", lambda size: Fraction(size, _GIB), memory)
    return exact.places(0)
