"""Public types: values that may be published, each by a small language of its own.

1. Whatever stands in the clear in an event can be read in tiles and proofs by anybody, so every
   clear field has a type from this module. What has none is sealed.
2. A public type is recognised by the `Public` marker in its annotation; its `language` says in
   words which strings or integers belong to it, and the generated docs print it.
3. The languages are narrow on purpose: none of them holds a path, a sentence or a URL, except
   `PublicText`, which is what a person wrote for publication. A `Label` is chosen by a recipe or a
   person and could be chosen badly (a host name is one, too); whatever publishes looks at it again.

No other module defines a public type; `anvil.ledger.events.base` refuses event classes whose
clear fields are anything else.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from anvil.ledger.inert import BLANKS, is_refused
from anvil.ledger.products import PRODUCTS

MAX_INTEGER = 2**53 - 1
"""The largest integer that every JSON reader keeps exact (RFC 8785, section 3.2.2.3)."""

MAX_PUBLIC_TEXT = 1000
"""Characters in a public text at most."""


@dataclass(frozen=True)
class Public:
    """Marks an annotation whose every value may be published."""

    language: str


def _well_formed_moment(text: str) -> str:
    datetime.fromisoformat(text.removesuffix("Z"))
    return text


def _reviewed_product(text: str) -> str:
    if text not in PRODUCTS:
        raise ValueError("not on the reviewed list of products")
    return text


def _inert(text: str) -> str:
    """Return `text` when it is one line that shows what it says.

    Only the normal form is asked of the interpreter; `anvil.ledger.inert` says why that is the same everywhere.

    Raises:
        ValueError: a character of the table in `anvil.ledger.inert`, blanks at an end, or text that
            is not in normal form C.
    """
    if text != text.strip(BLANKS) or not text:
        raise ValueError("public text is one line without blanks at its ends")
    for position, character in enumerate(text):
        if is_refused(character):
            raise ValueError(
                f"public text is one line without control or invisible characters; "
                f"found U+{ord(character):04X} at character {position}"
            )
    if not unicodedata.is_normalized("NFC", text):
        raise ValueError("public text is in Unicode normal form C")
    return text


_HEX64 = "[0-9a-f]{64}"
_HOST = "[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?"
_ORIGIN = rf"{_HOST}(?:/[a-z0-9][a-z0-9._-]*)*"

Label = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$"),
    Public("a name that a recipe or a person chose: `a-z 0-9 . _ -`, at most 64 characters"),
]
"""A campaign, candidate, attempt, artifact or purpose."""

Digest = Annotated[
    str, StringConstraints(pattern=f"^sha256:{_HEX64}$"), Public("`sha256:` and 64 lower-case hex digits")
]
"""The SHA-256 of bytes that are not secret."""

EntryHash = Annotated[
    str,
    StringConstraints(pattern=f"^{_HEX64}$"),
    Public("the RFC 6962 leaf hash of an entry, 64 hex digits"),
]
"""How one event names another."""

HeaderHash = Annotated[
    str, StringConstraints(pattern=f"^{_HEX64}$"), Public("the SHA-256 of a header, 64 hex digits")
]
"""What links an event to the one before it in its stream."""

TreeHash = Annotated[
    str, StringConstraints(pattern=f"^{_HEX64}$"), Public("a Merkle tree root, 64 hex digits")
]
"""The RFC 6962 root of a tree."""

KeyId = Annotated[
    str, StringConstraints(pattern=f"^{_HEX64}$"), Public("the SHA-256 of a public key, 64 hex digits")
]
"""The name of a signing key."""

PublicKeyHex = Annotated[
    str, StringConstraints(pattern=f"^{_HEX64}$"), Public("the 32 bytes of an Ed25519 public key in hex")
]
"""A public key itself."""

SaltHex = Annotated[
    str,
    StringConstraints(pattern=f"^{_HEX64}$"),
    Public("the 32 bytes of a salt that opens a commitment, hex"),
]
"""A salt that a person decided to publish."""

Revision = Annotated[
    str, StringConstraints(pattern="^[0-9a-f]{40}$"), Public("a 40-digit hex revision of a repository")
]
"""A git or model-repository revision."""

ModelId = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}$"),
    Public("a model repository as `organisation/model`"),
]
"""Which model."""

ImageReference = Annotated[
    str,
    StringConstraints(
        pattern=rf"^{_HOST}(?::[0-9]{{1,5}})?(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*@sha256:{_HEX64}$",
        max_length=512,
    ),
    Public("a container image pinned by repository digest: `name@sha256:…`"),
]
"""Which container image; a tag alone is not an identity."""

Version = Annotated[
    str,
    StringConstraints(
        pattern=r"^[0-9]{1,9}(?:\.[0-9]{1,9}){0,3}(?:[.+-]?[a-z0-9]{1,24}){0,4}$", max_length=64
    ),
    Public("a version number as its package prints it"),
]
"""The version of software."""

Timestamp = Annotated[
    str,
    StringConstraints(
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{6}Z$"
    ),
    AfterValidator(_well_formed_moment),
    Public("a moment in UTC with microseconds: `2026-11-30T07:26:16.123456Z`"),
]
"""What the signer's clock said; a claim, never proof of time."""

Origin = Annotated[
    str,
    StringConstraints(pattern=f"^{_ORIGIN}$", max_length=160),
    Public("a ledger's name as a URL without a scheme (C2SP tlog-checkpoint)"),
]
"""Which ledger."""

StreamId = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{16}$"),
    Public("a stream: the second it was opened and 64 random bits"),
]
"""Which stream."""

EventType = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z]+(?:_[a-z]+)*\.[a-z]+(?:_[a-z]+)*/[1-9][0-9]{0,3}$", max_length=64),
    Public("an event's type and version: `check.completed/1`"),
]
"""What kind of fact."""

MediaType = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z]+/[a-z0-9][a-z0-9.+-]*$", max_length=80),
    Public("an RFC 6838 media type without parameters"),
]
"""How an artifact's bytes are to be read."""

Count = Annotated[
    int, Field(ge=0, le=MAX_INTEGER), Public("an integer from 0; the field's name holds the unit")
]
"""A number of things, bytes, tokens or nanoseconds."""

VerifierKeyText = Annotated[
    str,
    StringConstraints(pattern=rf"^{_ORIGIN}\+[0-9a-f]{{8}}\+[A-Za-z0-9+/]{{44}}$", max_length=214),
    Public("a C2SP signed-note verifier key, named like a ledger: `origin+hash+base64`"),
]
"""The public key of a ledger, as handed to auditors."""

CheckpointText = Annotated[
    str,
    StringConstraints(
        pattern=(
            rf"^{_ORIGIN}\n(?:0|[1-9][0-9]{{0,15}})\n[A-Za-z0-9+/]{{43}}=\n\n"
            rf"(?:— {_ORIGIN} [A-Za-z0-9+/]{{91}}=\n){{1,4}}$"
        ),
        max_length=1300,
    ),
    Public("a C2SP signed checkpoint as its text, with one to four Ed25519 signatures by ledger-like names"),
]
"""A signed checkpoint of another ledger, kept as it was."""

Word = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_.+-]{0,39}$"),
    Public("one word of a program's vocabulary: `fp8_e4m3`, `flashinfer`, `tool_calls`"),
]
"""A setting, data type, backend or reason, as an engine spells it."""

DecimalText = Annotated[
    str,
    StringConstraints(pattern=r"^-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,18})?$"),
    Public("a decimal number exactly as it was printed: `28.47`"),
]
"""A number that somebody else printed, kept as its text."""

NumberText = Annotated[
    str,
    StringConstraints(pattern=r"^-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,3})?$"),
    Public("a number as a program spells it in JSON, exponent and all: `188.05066383487437`, `1e-05`"),
]
"""A number of another program's file, kept as its text."""

MemberName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.,-]{0,63}$"),
    Public("a member of another program's file: `median_ttft_ms`, `metrics.ttft`, `exact_match,whole`"),
]
"""What a figure is called where it comes from."""

StatisticName = Annotated[
    str,
    StringConstraints(
        pattern=r"^(?:nearest_rank_p[1-9][0-9]?|linear_p[1-9][0-9]?|median_interpolated|mean|sum|minimum|maximum|sum_over_wall)$"
    ),
    Public("a statistic of `anvil.ledger.statistics` by its name: `nearest_rank_p50`, `sum_over_wall`"),
]
"""Which statistic."""

MetricId = Annotated[
    str,
    StringConstraints(
        pattern=(
            r"^(?:ttfo\.any|ttft\.visible|e2e|send\.lag|ttft\.intended|e2e\.intended|decode\.last_output|decode\.stream_end"
            r"|prefill\.effective|prefill\.uncached|itl\.mean|output\.aggregate)/[1-9][0-9]{0,3}$"
        )
    ),
    Public("a metric by the id of its definition: `ttft.visible/1`"),
]
"""Which metric of ours: every number that is published carries its definition's id."""

SettingValue = bool | Count | DecimalText | Word | Digest | ModelId
"""What a setting or parameter can be."""

ChangeName = Annotated[
    str,
    StringConstraints(pattern=r"^(?:--?)?[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"),
    Public(
        "what an experiment changes: a setting, a field of an attempt, `env.NAME`, a parameter, or a flag `--name`"
    ),
]
"""A thing that differs between the two sides of an experiment."""

ProductName = Annotated[
    str,
    AfterValidator(_reviewed_product),
    Public("a hardware product from the reviewed list in `anvil.ledger.products`"),
]
"""Which GPU or processor, when its name is known to be a product and nothing else."""

Place = Annotated[
    str,
    StringConstraints(pattern=r"^\$(?:\.[a-z0-9_-]{1,64}|\[[0-9]{1,6}\]){0,16}$"),
    Public("a place in a JSON file as an RFC 9535 path of plain names and numbers: `$.attempts[0].engine`"),
]
"""A place in a JSON file."""

SchemaName = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,95}(?:/[a-z0-9][a-z0-9._-]{0,31})?$"),
    Public("a file's own name for its shape, with its version: `name/v1`"),
]
"""The shape of a file that somebody else made."""

Pseudonym = Annotated[
    str,
    StringConstraints(pattern=r"^(?:host|gpu|placement)-[1-9][0-9]{0,3}$"),
    Public("a host, GPU or placement by the order in which a document first names it: `gpu-2`"),
]
"""What stands in a document for a name that is withheld. It means nothing outside of that document."""

PublicText = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_PUBLIC_TEXT),
    AfterValidator(_inert),
    Public(
        f"words written for publication: one line, at most {MAX_PUBLIC_TEXT} characters, nothing invisible"
    ),
]
"""A sentence that a person gave with the word that it may be published."""

Role = Literal["ledger", "root", "operator", "collector"]
"""What a key is for: to sign checkpoints, key events, a person's words, or what was seen."""

EvidenceStatus = Literal[
    "retained-complete",
    "retained-bounded-log",
    "imported-artifact",
    "operator-observed-incomplete",
    "external-prior",
    "artifact-missing",
    "declared",
]
"""How strong the support of a statement is, strongest first; `declared` is not an observation."""
