"""The forms of a text: as it stands, and everything that it holds in another spelling.

1. What a terminal obeys is taken out: colours stand in logs, also within words. Percent-encoding, backslash escapes (JSON's, and Markdown's before punctuation), HTML entities,
   Unicode's compatibility spellings and invisible characters are undone.
2. Runs of base64 and of hex are decoded, at each of the four places where such a run can begin.
3. What stands apart only by blanks, quotation marks, plus signs and the like is put together: `split`.
4. Forms have forms, three deep. A text that has more of them than can be looked at is refused, not cut.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

from anvil.projections.tripwire.detector import TripwireBroken

MAX_DEPTH = 3
MAX_FORMS = 20_000
MAX_CHARACTERS = 64 << 20
"""Forms of one text, and characters in all of them, at most."""

SPLIT = "split"

_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})")
_ESCAPE = re.compile(
    r"\\(?:u(?:([0-9a-fA-F]{4})|\{([0-9a-fA-F]{1,6})\})|x([0-9a-fA-F]{2})|([!-/:-@\[-`{-~])|([nrtbf]))"
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}")
_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}[ :]?){8,}")
_READABLE = re.compile(rb"[\t\n\r\x20-\x7e]{16,}")
"""Text inside bytes that are no text as a whole. Shorter runs stand in digests and signatures by chance: of eight
characters, one in every twenty kilobytes, and now and then one that looks like an address."""

_BETWEEN = re.compile(r"[\s\"'`+,\\&|]+|\(|\)|<[^<>]{0,40}>")


def forms(text: str) -> Iterator[tuple[str, str]]:
    """Yield (how, text) for the text itself, as `plain`, and for each of its forms.

    Raises:
        TripwireBroken: there are more of them than can be looked at.
    """
    seen = {text}
    waiting = [("plain", text, 0)]
    characters = 0
    while waiting:
        how, current, depth = waiting.pop()
        characters += len(current)
        if len(seen) > MAX_FORMS or characters > MAX_CHARACTERS:
            raise TripwireBroken(
                "a text has more encoded layers than the tripwire can look into",
                advice="Shorten it; what was not looked at whole does not leave.",
            )
        yield how, current
        if depth < MAX_DEPTH and how != SPLIT:
            for inner_how, inner in _inner(current):
                if inner not in seen:
                    seen.add(inner)
                    named = inner_how if how in ("plain", inner_how) else f"{how}, {inner_how}"
                    waiting.append((SPLIT if inner_how == SPLIT else named, inner, depth + 1))


def _inner(text: str) -> Iterator[tuple[str, str]]:
    if _PERCENT.search(text):
        yield "percent-encoded", unquote_to_bytes(text).decode("utf-8", "replace")
    if "\\" in text:
        yield "escaped", _ESCAPE.sub(_unescaped, text)
    if "\x1b" in text:
        yield "terminal", _TERMINAL.sub("", text)
    if "&" in text:
        yield "html", html.unescape(text)
    normal = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")
    if normal != text:
        yield "unicode", normal
    for run in _BASE64.findall(text):
        yield from (("base64", decoded) for decoded in _from_base64(run))
    for run in _HEX.findall(text):
        yield from (("hex", decoded) for decoded in _readable(_from_hex(run)))
    joined = together(text)
    if joined != text:
        yield SPLIT, joined


def together(text: str) -> str:
    """Return a text without what only sets its parts apart."""
    return _BETWEEN.sub("", text)


def _unescaped(found: re.Match[str]) -> str:
    if found[4] or found[5]:
        return found[4] or " "
    number = int(found[1] or found[2] or found[3], 16)
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"


def _from_base64(run: str) -> Iterator[str]:
    for start in range(4):
        part = run[start:]
        part = part[: len(part) - (len(part) % 4 == 1)]
        try:
            raw = base64.b64decode(part.replace("-", "+").replace("_", "/") + "=" * (-len(part) % 4))
        except (binascii.Error, ValueError):
            continue
        yield from _readable(raw)


def _from_hex(run: str) -> bytes:
    digits = re.sub("[ :]", "", run)
    return bytes.fromhex(digits[: len(digits) & ~1])


def _readable(raw: bytes) -> Iterator[str]:
    """Yield what of decoded bytes is text: all of it, or the parts that are ASCII."""
    try:
        whole = raw.decode("utf-8")
    except UnicodeDecodeError:
        whole = ""
    if whole and sum(c.isprintable() or c in "\t\n\r" for c in whole) == len(whole):
        yield whole
    else:
        yield from (found.decode("ascii") for found in _READABLE.findall(raw))
