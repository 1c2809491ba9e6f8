"""Tokens that a service issues, each with a beginning of its own.

A token that was split over lines or quotation marks has lost what stood before it. So the same beginnings
are looked for in two ways: as a word of its own in a text as it is, and anywhere once blanks and quotation
marks were taken out, where only a tail of digits and letters together counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from anvil.projections.tripwire.detector import Detector, Find, by_pattern

_TAIL = "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2Yz3"

ISSUED: dict[str, tuple[str, int]] = {
    "hugging-face": ("(?:hf_|api_org_)", 16),
    "anthropic": ("sk-ant-", 12),
    "openai-like": (r"sk-(?:proj-|or-v1-|svcacct-|admin-|lf-|live-)", 12),
    "nvidia-api": ("nvapi-", 12),
    "tailscale": ("tskey-", 10),
    "github": ("(?:gh[pousr]_|github_pat_)", 20),
    "gitlab": ("gl(?:pat|ptt|rt|dt|cbt)-", 16),
    "google-api": ("AIza", 30),
    "google-oauth": (r"ya29\.", 16),
    "groq": ("gsk_", 20),
    "replicate": ("r8_", 20),
    "perplexity": ("pplx-", 20),
    "runpod": ("rpa_", 20),
    "together": ("tgp_v1_", 16),
    "cerebras": ("csk-", 20),
    "digitalocean": ("do[opr]_v1_", 20),
    "docker-hub": ("dckr_(?:pat|oat)_", 16),
    "npm-token": ("npm_", 24),
    "linear": ("lin_api_", 16),
    "notion": ("ntn_", 20),
    "shopify": ("shp(?:at|ca|pa|ss)_", 20),
    "vault": (r"hv[sbr]\.", 20),
    "slack-token": ("xox[abeoprs]-", 10),
    "weights-and-biases": ("wandb_v1_", 16),
    "age-key": ("AGE-SECRET-KEY-1", 20),
    "modal": ("a[ks]-", 22),
}
"""Name to how the tokens begin and how many characters follow at least."""

_ONLY_WHOLE = frozenset({"modal", "npm-token", "replicate", "runpod", "notion"})
"""Beginnings that two words can make when the blank between them is gone."""

_GENERIC = Detector(
    "sk-token",
    by_pattern(r"(?<![A-Za-z0-9])sk-(?=[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]{20,}"),
    f"sk-{_TAIL}",
)
_AMAZON = Detector(
    "amazon", by_pattern(r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"), "ASIA" + "ABCDEFGH234567IJ", True
)
_PRIVATE_KEY = Detector(
    "key-block",
    by_pattern(r"(?:-----\s*)?BEGIN[A-Z0-9 ]*(?:PRIVATE|OPENSSH|ENCRYPTED|PGP)[A-Z0-9 ]*KEY", re.IGNORECASE),
    "-----BEGIN " + "ENCRYPTED PRIVATE KEY-----",
    True,
)
_SSH = Detector(
    "ssh-key",
    by_pattern(r"ssh-(?:rsa|ed25519|dss|ecdsa)\s*A{4}[A-Za-z0-9+/]{16,}"),
    "ssh-ed25519 AAAA" + "C3NzaC1lZDI1NTE5",
    True,
)


def token_detectors() -> tuple[Detector, ...]:
    """Return the detectors."""
    issued = tuple(
        Detector(name, _find(name, start, length), f"{_example(start)}{_TAIL}", name not in _ONLY_WHOLE)
        for name, (start, length) in ISSUED.items()
    )
    return (*issued, _GENERIC, _AMAZON, _PRIVATE_KEY, _SSH)


def _find(name: str, start: str, length: int) -> Find:
    tail = rf"[A-Za-z0-9_-]{{{length},}}"
    whole = re.compile(rf"(?<![A-Za-z0-9]){start}{tail}")
    inside = re.compile(rf"{start}{tail}")

    def find(text: str) -> Iterator[str]:
        yield from (found[0] for found in whole.finditer(text) if re.search("[0-9]", found[0][3:]))
        if name not in _ONLY_WHOLE:
            for found in inside.finditer(text):
                rest = re.sub(f"^{start}", "", found[0])
                if re.search("[0-9]", rest) and re.search("[A-Za-z]", rest):
                    yield found[0]

    return find


def _example(start: str) -> str:
    """Return the shortest text that a beginning matches: the first of each choice."""
    start = re.sub(r"\(\?:([^|)]*)[^)]*\)", r"\1", start)
    return re.sub(r"\[(.)[^\]]*\]", r"\1", start).replace("\\", "")
