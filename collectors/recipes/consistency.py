"""What a recipe may not combine: a plain list of rules, each a function from the file to complaints.

References
    Every key that is named is there, and no key stands twice.
Engines
    `docker` has an image that cannot move, by repository digest or by image id; `process` has a
    command; `attach` has neither, since it starts nothing.
Secrets
    No value in the file is a secret: not in env, not in argv.
Argv
    What an attempt changes is there to be changed; placeholders are known; the argv names the
    candidate and its revision.
Settings
    Where the flag of a setting is known, argv passes what the setting says.
Windows
    A prompt and its answer fit the window that the attempt has.
Lanes
    Attempts that run side by side are each on a placement of their own.
Experiments
    Two attempts, or two protocols of one attempt, differ in what `only_change` names and in nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from anvil.collectors.recipes.argv import (
    HOST_PLACEHOLDERS,
    RECIPE_PLACEHOLDERS,
    placeholders,
    remove_sequence,
    set_value,
)
from anvil.collectors.recipes.blocks import AttemptBlock, EngineBlock
from anvil.collectors.recipes.experiments import JudgePair, changes_named, forms
from anvil.collectors.recipes.flags import FLAGS, passed_value, says_the_same
from anvil.collectors.recipes.gates import gate_complaints
from anvil.collectors.recipes.parts import Selected
from anvil.collectors.recipes.problems import Complaint, KeyPath
from anvil.collectors.recipes.protocols import JudgeProtocol, protocol_complaints, window_complaints
from anvil.collectors.recipes.recipe import Attempt, RecipeFile
from anvil.collectors.recipes.resolve import attempt_argv, resolve_attempt
from anvil.collectors.withholding import clean_argv, clean_text, names_secret

_IMAGE_BY_DIGEST = re.compile(
    r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*@sha256:[0-9a-f]{64}"
)
_IMAGE_ID = re.compile(r"sha256:[0-9a-f]{64}")

# --- references ------------------------------------------------------------------------------------


def _twice(kind: str, names: Sequence[str]) -> Iterator[Complaint]:
    for position, name in enumerate(names):
        if name in names[:position]:
            yield Complaint((kind, position), f"{name!r} stands twice in {kind}", "Give one another `key`")


def _unknown(at: KeyPath, name: str, known: Iterable[str], kind: str) -> Iterator[Complaint]:
    listed = sorted(known)
    if name not in listed:
        yield Complaint(
            at, f"there is no {kind} {name!r}", f"Write one of: {', '.join(listed) or 'none yet'}"
        )


def _names(selected: Sequence[Selected]) -> list[str]:
    return [item.name for item in selected]


def references(file: RecipeFile) -> Iterator[Complaint]:
    """Complain of keys that are not there, or there twice."""
    yield from _twice("attempts", [block.key for block in file.attempts])
    yield from _twice("experiments", [item.key for item in file.experiments])
    yield from _twice("restoration", [gate.gate for gate in file.restoration])
    yield from gate_complaints(file.restoration)
    lists = {"checks": file.checks, "suites": file.suites, "protocols": file.protocols}
    known = {kind: _names(selected) for kind, selected in lists.items()}
    for kind, names in known.items():
        yield from _twice(kind, names)
    for position, block in enumerate(file.attempts):
        at = ("attempts", position)
        yield from _unknown((*at, "candidate"), block.candidate, file.candidates, "candidate")
        yield from _unknown((*at, "engine"), block.engine, file.engines, "engine")
        for kind, names in known.items():
            for index, name in enumerate(getattr(block, kind) or ()):
                yield from _unknown((*at, kind, index), name, names, kind.removesuffix("s"))
    attempts = [block.key for block in file.attempts]
    yield from forms(file)
    for position, item in enumerate(file.experiments):
        at = ("experiments", position)
        for field, found, kind in (
            ("control", attempts, "attempt"),
            ("attempt", attempts, "attempt"),
            ("control_protocol", known["protocols"], "protocol"),
            ("protocol", known["protocols"], "protocol"),
        ):
            if getattr(item, field) is not None:
                yield from _unknown((*at, field), getattr(item, field), found, kind)
        for index, name in enumerate(item.protocols):
            yield from _unknown((*at, "protocols", index), name, known["protocols"], "protocol")


# --- engines ---------------------------------------------------------------------------------------


def engines(file: RecipeFile) -> Iterator[Complaint]:
    """Complain of launchers with what does not belong to them, or without what does."""
    for key, block in file.engines.items():
        at = ("engines", key)
        match block.launcher:
            case "docker":
                yield from _image(at, block)
                yield from _port(at, block)
            case "process":
                yield from _command(at, block)
            case "attach":
                yield from _belongs_to_started(at, block)
        if block.launcher != "docker":
            yield from _belongs_to_docker(at, block)
        if block.launcher == "attach" and file.on_exit == "relaunch":
            yield Complaint(("on_exit",), "what is attached to is never launched", 'Write on_exit = "stop"')
        if block.endpoint and block.launcher != "attach" and (block.endpoint.container or block.endpoint.pid):
            yield Complaint(
                (*at, "endpoint"),
                "`container` and `pid` say what `attach` finds running",
                f"Leave them out: {block.launcher} starts its own",
            )


def _image(at: KeyPath, block: EngineBlock) -> Iterator[Complaint]:
    if (block.image is None) == (block.image_id is None):
        yield Complaint(
            (*at, "image") if block.image else at,
            "a container needs its image, named in one way",
            'Write either `image = "NAME@sha256:…"`, or `image_id = "sha256:…"` for one made on this host',
        )
    if block.image is not None and not _IMAGE_BY_DIGEST.fullmatch(block.image):
        name = re.sub(r"(?<=[a-z0-9]):[^:/@]*$", "", block.image)
        yield Complaint(
            (*at, "image"),
            f"{block.image!r} can name another image tomorrow",
            f'Write `image = "{name}@sha256:…"` with the repository digest that '
            f"`docker image inspect --format '{{{{.RepoDigests}}}}' {block.image}` prints",
        )
    if block.image_id is not None and not _IMAGE_ID.fullmatch(block.image_id):
        yield Complaint(
            (*at, "image_id"),
            f"{block.image_id!r} is no image id",
            "Write the whole id, `sha256:` and 64 hex digits, as `docker image ls --no-trunc` prints it",
        )


def _port(at: KeyPath, block: EngineBlock) -> Iterator[Complaint]:
    if block.port == 0:
        yield Complaint(
            (*at, "port"),
            "0 is a free port of this host, and inside a container the engine listens where its argv says",
            "Write the port inside; a placement of the site file may have `port = 0`",
        )


def _command(at: KeyPath, block: EngineBlock) -> Iterator[Complaint]:
    if not block.argv:
        yield Complaint(at, "a process needs a command", 'Write `argv = ["PROGRAM", …]`')


def _belongs_to_started(at: KeyPath, block: EngineBlock) -> Iterator[Complaint]:
    for name in ("argv", "env", "env_names", "entrypoint"):
        if getattr(block, name):
            yield Complaint((*at, name), f"`attach` starts nothing, so it has no `{name}`", "Leave it out")


def _belongs_to_docker(at: KeyPath, block: EngineBlock) -> Iterator[Complaint]:
    for name in ("image", "image_id", "entrypoint", "container"):
        if getattr(block, name) is not None:
            yield Complaint(
                (*at, name),
                f"`{name}` belongs to containers, and launcher is {block.launcher!r}",
                'Leave it out, or write launcher = "docker"',
            )


# --- secrets ---------------------------------------------------------------------------------------


def secrets(file: RecipeFile) -> Iterator[Complaint]:
    """Complain of values that should not stand in a file."""
    places: list[tuple[KeyPath, EngineBlock | AttemptBlock]] = [
        *((("engines", key), engine) for key, engine in file.engines.items()),
        *((("attempts", position), attempt) for position, attempt in enumerate(file.attempts)),
    ]
    for at, block in places:
        for name, value in block.env.items():
            if names_secret(name) or clean_text(value) != value:
                yield Complaint(
                    (*at, "env", name),
                    f"{name} looks like a secret, and a recipe holds none",
                    f'Leave the value out and write `env_names = ["{name}"]`: it comes from the environment',
                )
        for field in ("argv", "argv_append"):
            elements = tuple(getattr(block, field, None) or ())
            for position, (element, cleaned) in enumerate(
                zip(elements, clean_argv(elements)[0], strict=True)
            ):
                if element != cleaned:
                    yield Complaint(
                        (*at, field, position),
                        "this element looks like a secret, and a recipe holds none",
                        "Leave it out, and pass it by a variable that `env_names` lists",
                    )


# --- argv ------------------------------------------------------------------------------------------


def changes(file: RecipeFile) -> Iterator[Complaint]:
    """Complain of changes to argv that do not fit, and of placeholders that nobody fills."""
    for position, block in enumerate(file.attempts):
        at, engine = ("attempts", position), file.engines[block.engine]
        argv = engine.argv if block.argv is None else block.argv
        if block.argv_remove:
            rest = remove_sequence(argv, block.argv_remove)
            if rest is None:
                yield Complaint(
                    (*at, "argv_remove"),
                    f"{' '.join(block.argv_remove)!r} does not stand exactly once in argv",
                    "Write elements as they stand there, one after the other",
                )
            argv = rest or argv
        for flag, value in block.argv_set.items():
            if set_value(argv, flag, value) is None:
                yield Complaint(
                    (*at, "argv_set", flag),
                    f"{flag!r} does not stand exactly once in argv with a value after it",
                    "Write it in `argv_append`, if it is to be added",
                )
        candidate = file.candidates[block.candidate]
        for name in placeholders(attempt_argv(block, engine, candidate)):
            if name not in HOST_PLACEHOLDERS:
                yield _unfilled((*at, "argv"), name, engine, block)


def _unfilled(at: KeyPath, name: str, engine: EngineBlock, block: AttemptBlock) -> Complaint:
    where: KeyPath = at if block.argv is not None else ("engines", block.engine, "argv")
    positions = [p for p, e in enumerate(block.argv or engine.argv) if f"{{{name}}}" in e]
    where = (*where, positions[0]) if positions else where
    if name == "revision":
        return Complaint(
            where, f"candidate {block.candidate!r} has no revision to put here", "Write it in the candidate"
        )
    known = ", ".join(f"{{{known}}}" for known in (*RECIPE_PLACEHOLDERS, *HOST_PLACEHOLDERS))
    return Complaint(where, f"nobody fills {{{name}}}", f"Known are {known}")


def names_candidate(file: RecipeFile, attempt: Attempt, at: KeyPath) -> Iterator[Complaint]:
    """Complain of an argv that launches something else than the candidate."""
    del file
    if attempt.launcher == "attach" or "{weights}" in attempt.argv:
        if attempt.model.package is None and "{weights}" in attempt.argv:
            yield Complaint(
                (*at, "candidate"),
                "{weights} is a file from a package, and the candidate names none",
                "Write `[candidates.NAME.package]`, or pass the model by name",
            )
        return
    missing = [
        name for name in (attempt.model.model, attempt.model.revision) if name and name not in attempt.argv
    ]
    for name in missing:
        yield Complaint(
            at, f"argv does not pass the candidate's {name!r}", "Pass it, or write {model} and {revision}"
        )


# --- settings and windows ----------------------------------------------------------------------------


def settings(file: RecipeFile, attempt: Attempt, at: KeyPath) -> Iterator[Complaint]:
    """Complain of settings that argv contradicts or leaves to the engine."""
    if attempt.launcher == "attach":
        return
    own = file.attempts[int(at[1])].settings
    for name, declared in attempt.settings.items():
        passed = FLAGS.get(attempt.engine, {}).get(name)
        if passed is None:
            continue
        found = passed_value(passed, attempt.argv)
        if not says_the_same(declared, found):
            where = (
                (*at, "settings", name) if name in own else ("engines", _block(file, at), "settings", name)
            )
            said = f"argv says {found}" if found is not None else "argv does not pass it"
            yield Complaint(
                where,
                f"{name} is {declared} but in attempt {attempt.key!r} {said}",
                f"Pass it by {' or '.join(passed.flags)}, or correct the setting",
            )


def _block(file: RecipeFile, at: KeyPath) -> str:
    return file.attempts[int(at[1])].engine


def windows(file: RecipeFile, attempt: Attempt, at: KeyPath) -> Iterator[Complaint]:
    """Complain of prompts that cannot fit."""
    del file
    window = attempt.settings.get("context_tokens")
    if not isinstance(window, int):
        return
    for kind, one in (*(("checks", c) for c in attempt.checks), *(("suites", s) for s in attempt.suites)):
        target = one.parameters.get("target_tokens", one.parameters.get("floor_tokens"))
        if isinstance(target, int) and target >= window:
            yield Complaint(
                (*at, kind),
                f"{kind.removesuffix('s')} {one.name!r} sends {target} tokens and more, "
                f"and {attempt.key!r} has a window of {window}",
                f"Select another {kind.removesuffix('s')} in this attempt's `{kind}`, or give it a larger window",
            )


# --- lanes -----------------------------------------------------------------------------------------


def lanes(file: RecipeFile) -> Iterator[Complaint]:
    """Complain of attempts that would share a placement at the same time."""
    taken: dict[tuple[str, str | None], str] = {}
    for position, block in enumerate(file.attempts):
        if block.side_by_side is None:
            continue
        at = ("attempts", position)
        if block.placement is None:
            yield Complaint(
                (*at, "side_by_side"), "what runs side by side needs a placement", "Write `placement = …`"
            )
        other = taken.setdefault((block.side_by_side, block.placement), block.key)
        if other != block.key:
            yield Complaint(
                (*at, "placement"),
                f"{other!r} is on {block.placement!r} at the same time",
                "Write another placement, or another `side_by_side`",
            )


FIRST: tuple[Callable[[RecipeFile], Iterator[Complaint]], ...] = (references, engines, secrets)
"""Rules about the file as it is written."""

NEXT: tuple[Callable[[RecipeFile], Iterator[Complaint]], ...] = (changes, lanes)
"""Rules that follow references, which `FIRST` has found to be there."""

RESOLVED: tuple[Callable[[RecipeFile, Attempt, KeyPath], Iterator[Complaint]], ...] = (
    names_candidate,
    settings,
    windows,
)
"""Rules about each attempt, resolved."""

JudgeCheck = Callable[[str, Mapping[str, object]], Iterable[tuple[str | None, str, str]]]
"""Says what is wrong with a check's id and parameters: the parameter or none, what, and what to write."""


def complaints(
    file: RecipeFile,
    judge: JudgeCheck | None = None,
    judge_protocol: JudgeProtocol | None = None,
    judge_pair: JudgePair | None = None,
) -> list[Complaint]:
    """Return everything that is wrong with a file; empty when it can be run.

    Rules that need what earlier rules complain of are not asked. `judge` knows the checks there are,
    `judge_protocol` the protocols, `judge_pair` what may differ between two of them.
    """
    found = [complaint for rule in FIRST for complaint in rule(file)]
    for position, check in enumerate(file.checks if judge else ()):
        for parameter, what, write in judge(check.id, check.parameters) if judge else ():
            at = ("checks", position)
            found.append(Complaint((*at, "parameters", parameter) if parameter else (*at, "id"), what, write))
    found += [] if judge_protocol is None else protocol_complaints(file, judge_protocol)
    if found:
        return found
    found = [complaint for rule in NEXT for complaint in rule(file)]
    if found:
        return found
    for position, block in enumerate(file.attempts):
        attempt = resolve_attempt(file, block)
        for rule in RESOLVED:
            found.extend(rule(file, attempt, ("attempts", position)))
        if judge_protocol is not None:
            found.extend(window_complaints(file, attempt, ("attempts", position), judge_protocol))
    attempts = {block.key: resolve_attempt(file, block) for block in file.attempts}
    return found or list(changes_named(file, attempts, judge_pair))
