"""Planted secrets and identifiers: each is refused, however it is written. What is clean passes."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from urllib.parse import quote

import pytest
from support.planted import CLEAN, ISSUED, PLANTED

from anvil.projections.tripwire import Tripwire, TripwireHit


@pytest.fixture(scope="module")
def tripwire() -> Tripwire:
    return Tripwire()


def whole_percent(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


def json_escaped(text: str) -> str:
    return "".join(f"\\u{ord(character):04x}" for character in text)


SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "inside words": lambda text: f"It answered {text} and stopped.",
    "in JSON": lambda text: json.dumps({"note": f"It said {text}"}),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 without padding": lambda text: base64.b64encode(text.encode()).decode().rstrip("="),
    "base64 of a sentence": lambda text: base64.b64encode(f"a {text} b".encode()).decode(),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64 twice": lambda text: base64.b64encode(base64.b64encode(text.encode())).decode(),
    "hex": lambda text: text.encode().hex(),
    "percent-encoded": lambda text: quote(text, safe=""),
    "percent-encoded whole": whole_percent,
    "JSON-escaped": json_escaped,
    "slashes escaped": lambda text: text.replace("/", "\\/"),
    "HTML entities": lambda text: "".join(f"&#{ord(character)};" for character in text),
    "Markdown escaped": lambda text: re.sub(r"([_.\-/])", r"\\\1", text),
    "full width": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "zero-width": lambda text: "\u200b".join(text),
}


_ONLY_WHOLE = """azure discord jwt mailchimp npm openai-old pypi replicate runpod sendgrid slack-hook square stripe telegram
    twilio vault"""
ONLY_WHOLE = frozenset(_ONLY_WHOLE.split())
"""Tokens whose beginning is no word of its own once blanks are gone."""


def test_there_are_enough() -> None:
    assert len(PLANTED) >= 80
    assert len(CLEAN) >= 40


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("name", PLANTED)
def test_what_is_planted_is_found(tripwire: Tripwire, name: str, spelling: str) -> None:
    assert tripwire.look("/x", SPELLINGS[spelling](PLANTED[name])), PLANTED[name]


@pytest.mark.parametrize("name", sorted(set(ISSUED) - ONLY_WHOLE))
@pytest.mark.parametrize(
    "between",
    ['" + "', "\n", " ", "\\\n    ", "' '", "\u200b"],
    ids=["plus", "line", "blank", "continued", "quotes", "zero"],
)
def test_a_split_token_is_found(tripwire: Tripwire, name: str, between: str) -> None:
    token = ISSUED[name]
    middle = len(token) // 2
    assert tripwire.look("/x", f'it is "{token[:middle]}{between}{token[middle:]}" here'), token


@pytest.mark.parametrize("text", CLEAN)
def test_what_is_clean_passes(tripwire: Tripwire, text: str) -> None:
    assert tripwire.look("/x", text) == []
    assert tripwire.look("/x", f"Note: {text}.") == []
    assert tripwire.look("/x", json.dumps({"note": text})) == []


def test_all_that_is_clean_passes_together(tripwire: Tripwire) -> None:
    assert tripwire.look("/x", json.dumps(CLEAN, indent=2)) == []
    assert tripwire.look("/x", "\n".join(CLEAN)) == []


def test_a_refusal_names_place_and_detector_and_never_the_value(tripwire: Tripwire) -> None:
    with pytest.raises(TripwireHit) as refusal:
        tripwire.require_clean([("/attempts/0/failure", PLANTED["hf"]), ("/decision", "clean")])
    message = f"{refusal.value} {refusal.value.advice}"
    assert "hugging-face at /attempts/0/failure" in message
    assert not any(PLANTED["hf"][at : at + 6] in message for at in range(len(PLANTED["hf"]) - 6))


def test_a_comment_cannot_switch_it_off(tripwire: Tripwire) -> None:
    for pragma in (
        "# pragma: allowlist secret",
        "// pragma: whitelist secret",
        "# nosec",
        "# gitleaks:allow",
    ):
        assert tripwire.look("/x", f"{PLANTED['github']}  {pragma}")
        assert tripwire.look("/x", f"{pragma}\n{PLANTED['github']}")
