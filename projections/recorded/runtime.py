"""Which engine it was, by every source that tells it. Where sources differ all are printed, and nothing is settled.

1. The image is the one that a launch resolved, else the one that the recipe pins.
2. What an image's label says and what the engine's build says of itself are kept apart.
3. An engine that names no revision is told by its version.
4. What a recipe says that it follows and builds on is `declared`: nobody looked whether it is so. Where recipes say
   different things all are printed.
"""

from __future__ import annotations

from collections.abc import Iterator

from anvil.ledger.events import EngineIdentified, HostObserved, LaunchStarted
from anvil.projections.figures import Figure, Group
from anvil.projections.recorded.campaign import Attempt, Recorded, distinct, either

_BUILD = ("version_endpoint", "log_line", "package_version", "props_endpoint")
"""The sources that speak for the build that runs."""


def runtime(recorded: Recorded) -> Group:
    """Return what is known of the engine."""
    nothing = recorded.nothing
    label = distinct("the revision that the image's label names", _claims(recorded, ("image_label",)))
    build = distinct("the revision that the build names", _claims(recorded, _BUILD))
    version = distinct("the version that the build names", _claims(recorded, _BUILD, "engine_version"))
    image = distinct("the image of each attempt", _images(recorded))
    drivers = (s.stated("cuda") for s in recorded.about(HostObserved))
    recipe = distinct("the revision of the recipe that the settings follow", _recipes(recorded))
    cuda = distinct("the CUDA version that the driver offers", drivers)
    return Group(
        {
            "image": either(image, nothing("no attempt has an image")),
            "image_label_revision": either(label, nothing("no image's label names a revision")),
            "build_revision": either(build, either(version, nothing("no build names itself"))),
            "engine_revision": either(
                label, either(build, either(version, nothing("nothing names the engine's revision")))
            ),
            "recipe_revision": either(
                recipe, nothing("no recipe names the revision of a published recipe that its settings follow")
            ),
            "cuda_version": either(cuda, nothing("no host names a CUDA version")),
        }
    )


def base_revision(recorded: Recorded) -> Figure:
    """Return the revision of the sources that the recipes build on (rule 4)."""
    plans = (attempt.plan[0] for attempt in recorded.attempts if attempt.plan is not None)
    stated = [plan.source.stated("base_revision") for plan in plans]
    named = distinct("the revision that the recipes build on", stated)
    return either(
        named, recorded.nothing("no recipe names the revision of the sources that it builds on", *stated)
    )


def disagreements(recorded: Recorded) -> Iterator[str]:
    """Yield a sentence about attempts whose sources do not agree, once for what they do not agree about."""
    attempts: dict[str, list[str]] = {}
    for attempt in recorded.attempts:
        found = [name for each in attempt.of(EngineIdentified) for name in each.event.disagreements]
        if found:
            what = ", ".join(dict.fromkeys(name.replace("_", " ") for name in found))
            attempts.setdefault(what, []).append(attempt.key)
    for what, keys in attempts.items():
        of = f"{'attempt' if len(keys) == 1 else 'attempts'} {', '.join(keys)}"
        yield f"Who the engine is: the sources do not agree about {what} ({of})."


def _images(recorded: Recorded) -> Iterator[Figure]:
    for attempt in recorded.attempts:
        image = next(_resolved(attempt), None)
        if image is not None:
            yield image


def _resolved(attempt: Attempt) -> Iterator[Figure]:
    for source in attempt.of(LaunchStarted):
        if source.event.image is not None:
            yield source.stated("image")
    if attempt.plan is not None and attempt.plan[1].image is not None:
        yield attempt.plan[0].stated("image")


def _recipes(recorded: Recorded) -> Iterator[Figure]:
    for attempt in recorded.attempts:
        if attempt.plan is not None and attempt.plan[1].recipe_revision is not None:
            yield attempt.plan[0].stated("recipe_revision")


def _claims(recorded: Recorded, sources: tuple[str, ...], what: str = "engine_revision") -> Iterator[Figure]:
    for attempt in recorded.attempts:
        for source in attempt.of(EngineIdentified):
            for at, claim in enumerate(source.event.claims):
                if claim.source in sources and claim.what == what:
                    yield source.stated("claims", at, "value")
