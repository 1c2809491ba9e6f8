"""The header: the canonical bytes of an event, the thing that is signed and chained.

1. A header is a canonical JSON object with exactly these members: ``artifacts``, ``at``,
   ``event``, ``facts``, ``key``, ``ledger``, ``sealed``, ``stream``, ``stream_prev``,
   ``stream_seq``, ``subject``, ``v``.
2. ``v`` is 1. A header with another version is refused as unsupported, never guessed at.
3. Artifacts are named once each. A public one shows its digest and size, a private one shows a
   salted commitment to both.
4. ``sealed`` holds the commitment of each sealed field, by the field's name.
5. ``stream_prev`` is null exactly when ``stream_seq`` is 0.

Hash and signature always cover the stored bytes; a parsed header is never encoded again to be
hashed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple

from anvil.ledger import canonical
from anvil.ledger.commitments import ALGORITHM
from anvil.ledger.errors import MalformedHeader
from anvil.ledger.public import MAX_INTEGER

VERSION = 1

_NOTHING_SEALED: Mapping[str, str] = {}
_SEALED_NOTHING = {"alg": ALGORITHM, "fields": {}}

_MEMBERS = [
    "artifacts", "at", "event", "facts", "key", "ledger", "sealed",
    "stream", "stream_prev", "stream_seq", "subject", "v",
]  # fmt: skip
_PUBLIC_ARTIFACT = frozenset({"disclosure", "digest", "media_type", "name", "size"})
_PRIVATE_ARTIFACT = frozenset({"disclosure", "commitment", "media_type", "name"})

# The languages of `anvil.ledger.public`, compiled once: verification reads a million headers and
# must not pay for a validator each time. A test holds the two against each other.
_LABEL = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_HEX64 = re.compile(r"[0-9a-f]{64}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_EVENT = re.compile(r"[a-z]+(?:_[a-z]+)*\.[a-z]+(?:_[a-z]+)*/[1-9][0-9]{0,3}")
_STREAM = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{16}")
_ORIGIN = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?:/[a-z0-9][a-z0-9._-]*)*")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{6}Z")
_FIELD = re.compile(r"[a-z0-9][a-z0-9_]{0,63}")
_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9][a-z0-9.+-]*")
_MAX_ORIGIN, _MAX_EVENT, _MAX_MEDIA_TYPE = 160, 64, 80


@dataclass(frozen=True, slots=True)
class Subject:
    """What an event is about. Each part is a label or absent.

    Raises:
        MalformedHeader: a part is not a label.
    """

    campaign: str | None = None
    candidate: str | None = None
    attempt: str | None = None

    def __post_init__(self) -> None:
        for name, label in self.members().items():
            _require(_LABEL, label, f"subject.{name}")

    @staticmethod
    def is_label(text: str) -> bool:
        """Say whether `text` can be a part of a subject."""
        return _LABEL.fullmatch(text) is not None

    def members(self) -> dict[str, str]:
        """Return the parts that are present, as they stand in a header."""
        members = {}
        if self.campaign is not None:
            members["campaign"] = self.campaign
        if self.candidate is not None:
            members["candidate"] = self.candidate
        if self.attempt is not None:
            members["attempt"] = self.attempt
        return members


NO_SUBJECT = Subject()
"""The subject of events that are about the ledger itself."""


@dataclass(frozen=True, slots=True)
class ArtifactEntry:
    """An artifact as a header shows it.

    A public one has `digest` and `size`; a private one has `commitment`.

    Raises:
        MalformedHeader: a member is not in its language, or the two kinds are mixed.
    """

    name: str
    media_type: str
    digest: str | None = None
    size: int | None = None
    commitment: str | None = None

    def __post_init__(self) -> None:
        _require(_LABEL, self.name, "artifacts.name")
        _require(_MEDIA_TYPE, self.media_type, "artifacts.media_type", _MAX_MEDIA_TYPE)
        if self.commitment is None:
            _require(_DIGEST, self.digest, "artifacts.digest")
            _require_count(self.size, "artifacts.size")
        else:
            _require(_HEX64, self.commitment, "artifacts.commitment")
            if (self.digest, self.size) != (None, None):
                raise MalformedHeader("header member artifacts: a private artifact shows no digest or size")

    @property
    def is_public(self) -> bool:
        """Whether the header shows the digest itself."""
        return self.commitment is None

    def members(self) -> dict[str, Any]:
        """Return the artifact as it stands in a header."""
        common = {"name": self.name, "media_type": self.media_type}
        if self.is_public:
            return {**common, "disclosure": "public", "digest": self.digest, "size": self.size}
        return {**common, "disclosure": "private", "commitment": self.commitment}


class Header(NamedTuple):
    """One event, parsed or about to be signed.

    `facts` are the clear fields, `sealed` the commitments by field name. `raw` holds the bytes
    that this was parsed from; empty for a header that has not been encoded yet.
    """

    ledger: str
    stream: str
    stream_seq: int
    stream_prev: str | None
    at: str
    event: str
    key: str
    facts: Mapping[str, Any]
    subject: Subject = NO_SUBJECT
    artifacts: tuple[ArtifactEntry, ...] = ()
    sealed: Mapping[str, str] = _NOTHING_SEALED
    raw: bytes = b""

    def with_raw(self, raw: bytes) -> Header:
        """Return this header together with its bytes, as `encode` gave them."""
        return Header(*self[:-1], raw)

    def encode(self) -> bytes:
        """Return the canonical bytes of this header.

        Raises:
            MalformedCanonical: a value is outside the canonical profile.
        """
        return spell(*self[:-1])

    @classmethod
    def parse(cls, raw: bytes) -> Header:
        """Return the header that `raw` is, after checking every rule above.

        Raises:
            MalformedCanonical: the bytes are not canonical.
            MalformedHeader: a member is missing, unknown or of the wrong kind.
            UnsupportedVersion: the header says another version than 1.
        """
        members = canonical.read(raw)
        if not isinstance(members, dict):
            raise MalformedHeader(f"a header is an object, found {type(members).__name__}")
        version = members.get("v")
        if type(version) is not int or version != VERSION:
            raise UnsupportedVersion(f"header version {str(version)[:80]!r}, this build reads {VERSION}")
        if list(members) != _MEMBERS:  # canonical bytes, so they come sorted
            odd = ", ".join(sorted(members.keys() ^ frozenset(_MEMBERS)))
            raise MalformedHeader(f"header members missing or unknown: {odd[:200]!r}")
        artifacts, at, event, facts, key, ledger, sealed, stream, stream_prev, stream_seq, subject, _ = (
            members.values()
        )
        try:
            _require_names(ledger, stream, event, key)
        except TypeError as error:  # an array or an object cannot be looked up
            raise MalformedHeader("header members ledger, stream, event, key: expected text") from error
        _require_moment(at)
        _require_count(stream_seq, "stream_seq")
        if stream_seq:
            _require(_HEX64, stream_prev, "stream_prev")
        elif stream_prev is not None:
            raise MalformedHeader("header member stream_prev: expected null at stream_seq 0")
        if type(facts) is not dict:
            raise MalformedHeader("header member facts: expected an object")
        canonical.require_profile(facts)
        return cls(
            ledger,
            stream,
            stream_seq,
            stream_prev,
            at,
            event,
            key,
            facts,
            _parse_subject(subject),
            _parse_artifacts(artifacts),
            _parse_sealed(sealed),
            raw,
        )


def spell(
    ledger: str,
    stream: str,
    stream_seq: int,
    stream_prev: str | None,
    at: str,
    event: str,
    key: str,
    facts: Mapping[str, Any],
    subject: Subject,
    artifacts: Iterable[ArtifactEntry],
    sealed: Mapping[str, str],
) -> bytes:
    """Return the canonical bytes of a header with these members.

    Raises:
        MalformedCanonical: a value is outside the canonical profile.
    """
    canonical.require_profile(facts)
    return canonical.spell(
        {
            "artifacts": [artifact.members() for artifact in artifacts],
            "at": at,
            "event": event,
            "facts": facts,
            "key": key,
            "ledger": ledger,
            "sealed": {"alg": ALGORITHM, "fields": sealed},
            "stream": stream,
            "stream_prev": stream_prev,
            "stream_seq": stream_seq,
            "subject": subject.members(),
            "v": VERSION,
        }
    )


def is_origin(text: str) -> bool:
    """Say whether `text` can be the name of a ledger."""
    return len(text) <= _MAX_ORIGIN and _ORIGIN.fullmatch(text) is not None


def family(event_type: str) -> str:
    """Return an event type without its version."""
    return event_type.partition("/")[0]


class UnsupportedVersion(MalformedHeader):
    """A header of a version that this build does not read."""


def header_hash(raw: bytes) -> str:
    """Return what the next event of the stream names this header by: hex SHA-256 of its bytes."""
    return hashlib.sha256(raw).hexdigest()


def _require(pattern: re.Pattern[str], value: Any, name: str, longest: int = 200) -> None:
    if type(value) is not str or len(value) > longest or not pattern.fullmatch(value):
        raise MalformedHeader(f"header member {name}: found {str(value)[:80]!r}")


def _require_count(value: Any, name: str) -> None:
    if type(value) is not int or not 0 <= value <= MAX_INTEGER:
        raise MalformedHeader(f"header member {name}: found {str(value)[:80]!r}")


def _require_moment(value: Any) -> None:
    if type(value) is not str or not _MOMENT.fullmatch(value):
        raise MalformedHeader(f"header member at: found {str(value)[:80]!r}")
    _require_day(value[:10])


# A day, and what names a ledger, stream, type, key or subject, recurs from event to event and is checked once.
# Only what passed is remembered; text equals nothing but the same text.


@lru_cache(maxsize=4096)
def _require_names(ledger: Any, stream: Any, event: Any, key: Any) -> None:
    _require(_ORIGIN, ledger, "ledger", _MAX_ORIGIN)
    _require(_STREAM, stream, "stream")
    _require(_EVENT, event, "event", _MAX_EVENT)
    _require(_HEX64, key, "key")


@lru_cache(maxsize=4096)
def _require_day(day: str) -> None:
    try:
        date.fromisoformat(day)
    except ValueError as error:
        raise MalformedHeader(f"header member at: no day of the calendar: {day!r}") from error


_subject = lru_cache(maxsize=4096)(Subject)


def _parse_subject(value: Any) -> Subject:
    if type(value) is not dict:
        raise MalformedHeader(f"header member subject: found {str(value)[:80]!r}")
    parts = (value.get("campaign"), value.get("candidate"), value.get("attempt"))
    if len(value) != 3 - parts.count(None):
        raise MalformedHeader(
            f"header member subject: expected labels, what is absent left out, found {str(value)[:80]!r}"
        )
    try:
        return _subject(*parts)
    except TypeError as error:  # an array or an object cannot be looked up
        raise MalformedHeader(f"header member subject: expected labels, found {str(value)[:80]!r}") from error


def _parse_artifacts(value: Any) -> tuple[ArtifactEntry, ...]:
    if type(value) is not list:
        raise MalformedHeader("header member artifacts: expected an array")
    if not value:
        return ()
    artifacts = tuple(_parse_artifact(item) for item in value)
    if len({artifact.name for artifact in artifacts}) != len(artifacts):
        raise MalformedHeader("header member artifacts: one name is used twice")
    return artifacts


def _parse_artifact(value: Any) -> ArtifactEntry:
    disclosure = value.get("disclosure") if type(value) is dict else None
    expected = {"public": _PUBLIC_ARTIFACT, "private": _PRIVATE_ARTIFACT}.get(str(disclosure))
    if expected is None or value.keys() != expected:
        raise MalformedHeader(f"header member artifacts: found {str(value)[:80]!r}")
    return ArtifactEntry(**{name: item for name, item in value.items() if name != "disclosure"})


def _parse_sealed(value: Any) -> Mapping[str, str]:
    if value == _SEALED_NOTHING:
        return _NOTHING_SEALED
    if type(value) is not dict or value.keys() != {"alg", "fields"} or type(value["fields"]) is not dict:
        raise MalformedHeader(f"header member sealed: found {str(value)[:80]!r}")
    if value["alg"] != ALGORITHM:
        raise UnsupportedVersion(
            f"commitment algorithm {str(value['alg'])[:80]!r}, this build reads {ALGORITHM}"
        )
    for name, commitment in value["fields"].items():
        _require(_FIELD, name, "sealed.fields")
        _require(_HEX64, commitment, f"sealed.fields.{name}")
    return value["fields"]
