"""What sources say that an engine is: claims, whether they agree, and how they stand in an event."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError

from anvil.ledger.events.engines import IdentityClaim, IdentitySource, IdentitySubject
from anvil.ledger.public import Digest, ImageReference, Revision, Version, Word

_DISTRIBUTIONS = frozenset({"ubuntu", "debian", "rockylinux", "almalinux", "fedora", "alpine"})
_IN_LOG: tuple[tuple[IdentitySource, IdentitySubject, re.Pattern[bytes]], ...] = (
    ("log_line", "engine_version", re.compile(rb"\bversion (\d+\.\d+[0-9A-Za-z.+-]*)\s*$", re.MULTILINE)),
    ("log_line", "engine_version", re.compile(rb"LLM engine \(v(\d[0-9A-Za-z.+-]*)\)")),
    ("log_line", "engine_version", re.compile(rb"build_info: (b\d+-\S+)")),
    ("log_line", "model_revision", re.compile(rb"[ ,]revision=([0-9a-f]{40})\b")),
    ("package_version", "engine_version", re.compile(rb"^engine package \S+ (\S+)$", re.MULTILINE)),
)
_LANGUAGES: Mapping[IdentitySubject, TypeAdapter[str]] = {
    "engine_version": TypeAdapter(Version),
    "engine_revision": TypeAdapter(Revision),
    "image": TypeAdapter(ImageReference | Digest),
    "model_revision": TypeAdapter(Revision),
    "served_name": TypeAdapter(Word),
    "chat_template": TypeAdapter(Digest),
}
_BUILD = re.compile(r"b\d{1,7}-[0-9a-f]{7,12}")  # llama.cpp's number and commit of a build
_SHORT_COMMIT = re.compile("[0-9a-f]{7,39}")
_COMMIT = re.compile(r"(?:\+|\.|-|^)g([0-9a-f]{7,40})\b")


@dataclass(frozen=True)
class Launched:
    """What is known of a launch besides what its endpoint says; what is absent is null or empty.

    `labels` are the image's; `log` is the retained log; `model_revision` and `chat_template` are from
    the model's files. `version`, `revision` and `candidate_revision` are what the recipe expects.
    """

    image: str | None = None
    image_id: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    log: bytes = b""
    model_revision: str | None = None
    chat_template: str | None = None
    version: str | None = None
    revision: str | None = None
    candidate_revision: str | None = None


@dataclass(frozen=True)
class Claim:
    """One source's word about one thing, as text."""

    source: IdentitySource
    what: IdentitySubject
    text: str


def model_rows(models: Any) -> list[dict[str, Any]]:
    """Return the rows of an answer of `/v1/models`; what is no row is left out."""
    data = models.get("data") if isinstance(models, dict) else None
    return [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []


def model_ids(models: Any) -> tuple[str, ...]:
    """Return the names that an answer of `/v1/models` lists."""
    return tuple(row["id"] for row in model_rows(models) if isinstance(row.get("id"), str))


def launch_claims(launched: Launched) -> Iterator[Claim]:
    """Yield what the launch, the log and the files say."""
    for image in (launched.image, launched.image_id):
        if image:
            yield Claim("image_digest", "image", image)
    yield from _label_claims(launched.labels)
    for source, what, pattern in _IN_LOG:
        for text in dict.fromkeys(pattern.findall(launched.log)):
            yield from _with_commit(source, what, text.decode("utf-8", "replace"))
    if launched.model_revision:
        yield Claim("model_files", "model_revision", launched.model_revision)
    if launched.chat_template:
        yield Claim("chat_template", "chat_template", launched.chat_template)


def _label_claims(labels: Mapping[str, str]) -> Iterator[Claim]:
    is_base = labels.get("org.opencontainers.image.ref.name", "") in _DISTRIBUTIONS
    for name, text in labels.items():
        if text and name.endswith("image.version") and not is_base:
            yield Claim("image_label", "engine_version", text)
        elif text and name.endswith(("image.revision", "vcs-ref")):
            yield Claim("image_label", "engine_revision", text)


def claims_of(answer: Any, source: IdentitySource) -> Iterator[Claim]:
    """Yield what a version endpoint says, in vLLM's and SGLang's shapes."""
    text = answer.get("version") if isinstance(answer, dict) else None
    if isinstance(text, str) and text:
        yield from _with_commit(source, "engine_version", text)


def props_claims(props: Mapping[str, Any]) -> Iterator[Claim]:
    """Yield what llama.cpp's `/props` says."""
    if isinstance(props.get("build_info"), str):
        yield from _with_commit("props_endpoint", "engine_version", props["build_info"])
    if isinstance(props.get("model_alias"), str) and props["model_alias"]:
        yield Claim("props_endpoint", "served_name", props["model_alias"])
    if isinstance(props.get("chat_template"), str):
        digest = hashlib.sha256(props["chat_template"].encode()).hexdigest()
        yield Claim("props_endpoint", "chat_template", f"sha256:{digest}")


def _with_commit(source: IdentitySource, what: IdentitySubject, text: str) -> Iterator[Claim]:
    """Yield a claim, and beside a version the commit that stands in it; nothing for one that says unknown."""
    if "unknown" in text:
        return
    yield Claim(source, what, text)
    commit = _COMMIT.search(text) if what == "engine_version" else None
    if commit:
        yield Claim(source, "engine_revision", commit.group(1))


# --- comparing ---------------------------------------------------------------------------------------


def disagreements(claims: Iterable[Claim], launched: Launched) -> tuple[str, ...]:
    """Return what the claims, and what the recipe expects, do not agree about."""
    texts: dict[str, list[str]] = {what: [] for what in get_args(IdentitySubject)}
    for claim in claims:
        if claim.source != "package_version":
            texts[claim.what].append(claim.text)
    expected = {
        "engine_version": launched.version,
        "engine_revision": launched.revision,
        "model_revision": launched.candidate_revision,
    }
    for what, text in expected.items():
        if text is not None and texts[what]:
            texts[what].append(text)
    # The two names of one image, by digest and by id, are no contradiction; nor are several served names.
    compared = ("engine_version", "engine_revision", "model_revision", "chat_template")
    return tuple(what for what in compared if not _agree(what, texts[what]))


def _agree(what: str, texts: list[str]) -> bool:
    plain = [text.strip().removeprefix("v").casefold() for text in texts]
    if what.endswith("revision"):
        longest = max(plain, key=len, default="")
        return all(longest.startswith(text) for text in plain)
    return len(set(plain)) <= 1


# --- into the event ----------------------------------------------------------------------------------


def as_public(claim: Claim) -> IdentityClaim:
    """Return the claim with its text when that is in the language of what it is about, else with null."""
    is_short = claim.what == "engine_revision" and _SHORT_COMMIT.fullmatch(claim.text)
    spelled = f"g{claim.text}" if is_short else claim.text
    value: str | None = spelled
    try:
        if not is_short and not _BUILD.fullmatch(spelled):
            _LANGUAGES[claim.what].validate_python(spelled)
    except ValidationError:
        value = None
    return IdentityClaim(source=claim.source, what=claim.what, value=value)


def as_sealed(claims: Iterable[Claim]) -> list[list[str]]:
    """Return the claims whose text is not public by type, by source and subject."""
    return [[f"{c.source} {c.what}", c.text[:2000]] for c in claims if as_public(c).value is None]


def places(models: Any, props: Mapping[str, Any]) -> list[list[str]]:
    """Return where the model lies, as the endpoint says: a path, mostly."""
    found = [("props_endpoint model_path", props.get("model_path"))]
    found += [("models_endpoint root", row.get("root")) for row in model_rows(models)]
    return [[name, value[:2000]] for name, value in found if isinstance(value, str)]
