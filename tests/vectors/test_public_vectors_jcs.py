"""The vectors of RFC 8785 (cyberphone/json-canonicalization): what is in our profile, and that the rest is refused.

The profile has no floats and only keys of `a-z 0-9 _`, so most of these files lie outside it on purpose.
What is shown, and no more:

1. Each input file is either spelled as RFC 8785 spells it or refused; which of the two is written down.
2. Outside the profile the library underneath spells some files otherwise than RFC 8785 does: it sorts
   keys by UTF-8 byte and keeps `56.0`. That is why the profile has rules 2 and 3.
3. Of the published number vectors, whose list is checked by its own SHA-256 first, each number that is no
   integer of at most 53 bits is refused, in JSON's and in RFC 8785's spelling; each that is one is
   spelled as RFC 8785 spells it. It is *not* shown that floats are spelled rightly: there are none.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from anvil.ledger import canonical
from anvil.ledger.errors import MalformedCanonical

pytestmark = pytest.mark.needs("vectors")

IN_PROFILE = {"arrays"}
OUTSIDE = {"french", "structures", "unicode", "values", "weird"}
SPELLED_OTHERWISE = {"structures", "weird"}
"""An integral float, and keys whose order by UTF-16 unit is not that by UTF-8 byte."""
LINES, INTEGERS = 10_000, 14
"""How many published numbers are read here, and how many of them are integers within 53 bits."""


def read(vectors: Path, kind: str, name: str) -> bytes:
    suffix = "txt" if kind == "outhex" else "json"
    return (vectors / "jcs" / kind / f"{name}.{suffix}").read_bytes()


def expected(vectors: Path, name: str) -> bytes:
    return bytes.fromhex(read(vectors, "outhex", name).decode())


def test_every_file_is_accounted_for(vectors: Path) -> None:
    assert {path.stem for path in (vectors / "jcs" / "input").iterdir()} == IN_PROFILE | OUTSIDE


@pytest.mark.parametrize("name", sorted(OUTSIDE))
def test_a_file_outside_the_profile_is_refused(vectors: Path, name: str) -> None:
    for raw in (read(vectors, "input", name), expected(vectors, name)):
        with pytest.raises(MalformedCanonical):
            canonical.decode(raw)
    with pytest.raises(MalformedCanonical):
        canonical.encode(json.loads(read(vectors, "input", name)))


@pytest.mark.parametrize("name", sorted(IN_PROFILE))
def test_a_file_in_the_profile_is_spelled_byte_for_byte(vectors: Path, name: str) -> None:
    value = json.loads(read(vectors, "input", name))
    assert canonical.encode(value) == expected(vectors, name) == read(vectors, "output", name)
    assert canonical.decode(expected(vectors, name)) == value
    with pytest.raises(MalformedCanonical):
        canonical.decode(read(vectors, "input", name))


@pytest.mark.parametrize("name", sorted(SPELLED_OTHERWISE))
def test_without_the_profile_two_files_would_be_spelled_otherwise(vectors: Path, name: str) -> None:
    spelled = canonical.spell(json.loads(read(vectors, "input", name)))
    assert spelled != expected(vectors, name)


@pytest.mark.parametrize("name", sorted(OUTSIDE))
def test_the_strings_of_every_file_are_spelled_byte_for_byte(vectors: Path, name: str) -> None:
    def strings(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from value
            for item in value.values():
                yield from strings(item)
        elif isinstance(value, list):
            for item in value:
                yield from strings(item)

    found = list(strings(json.loads(read(vectors, "input", name))))
    assert found
    for text in found:
        assert canonical.encode(text) in expected(vectors, name)


# --- numbers ----------------------------------------------------------------------------------------------


def bit_patterns(static: list[str]) -> Iterator[int]:
    """The published sequence of IEEE 754 bit patterns, zero included where the list holds it."""
    yield from (int(text, 16) for text in static)
    yield from range(0x0010_0000_0000_0000, 0x0010_0000_0000_0000 + 2000)
    block = bytes(32)
    while True:
        block = hashlib.sha256(block).digest()
        for bits in struct.unpack("<4Q", block):
            if bits & ~(1 << 63) and bits & 0x7FF0_0000_0000_0000 != 0x7FF0_0000_0000_0000:
                yield bits


def test_every_published_number_is_refused_or_an_integer_spelled_as_published(vectors: Path) -> None:
    published = json.loads((vectors / "jcs" / "ES6_NUMBER_HASHES.json").read_bytes())
    lines = hashlib.sha256()
    integers = refused = 0
    sequence = bit_patterns(published["static_u64_hex"])
    for _, bits in zip(range(LINES), sequence, strict=False):
        (number,) = struct.unpack("<d", struct.pack("<Q", bits))
        spelling = rfc8785.dumps(number)
        lines.update(b"%x,%b\n" % (bits, spelling))
        with pytest.raises(MalformedCanonical):
            canonical.encode(number)
        if number == int(number) and abs(number) < 2**53:
            assert canonical.encode(int(number)) == spelling
            assert canonical.decode(spelling) == int(number)
            integers += 1
        else:
            for text in (spelling, repr(number).encode()):
                with pytest.raises(MalformedCanonical):
                    canonical.decode(text)
            refused += 1
    assert lines.hexdigest() == published["sha256"][str(LINES)]
    assert (integers, refused) == (INTEGERS, LINES - INTEGERS)
