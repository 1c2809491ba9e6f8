"""Credentials by the place they stand in: headers, options, variables, addresses that carry a signature."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from anvil.projections.tripwire.detector import Detector, by_pattern

_NAMES = (
    r"(?:[a-z0-9]+[_-])*(?:api|access|auth|secret|private|client|account|service|signing|encryption|hf|hub)[_-]?"
    r"(?:key|token|secret)(?:[_-]id)?|(?:[a-z0-9]+[_-])*(?:password|passwd|passphrase|pwd|secret|token|credentials?)"
)
_VALUE = r"(?!(?:null|none|true|false|withheld|redacted|absent|missing|limits?)\b)[^\s\"'`,;<>(){}\[\]]{6,}"

_BASIC = re.compile(r"\bBasic\s+([A-Za-z0-9+/_-]{8,}={0,2})", re.IGNORECASE)


def _basic(text: str) -> Iterator[str]:
    """Find what decodes to a name and a password; "basic functionality" does not."""
    for found in _BASIC.finditer(text):
        padded = found[1].rstrip("=") + "=" * (-len(found[1].rstrip("=")) % 4)
        try:
            if b":" in base64.b64decode(padded, altchars=b"-_"):
                yield found[0]
        except (binascii.Error, ValueError):
            continue


def credential_detectors() -> tuple[Detector, ...]:
    """Return the detectors."""
    ignore = re.IGNORECASE
    return (
        Detector(
            "bearer",
            by_pattern(r"\bBearer[\s:]+(?=[^\s\"']*[0-9])[A-Za-z0-9._~+/=-]{8,}", ignore),
            "Bearer " + "abc123def456",
        ),
        Detector("basic", _basic, "Basic " + "dXNlcjpwYXNz" + "d29yZA=="),
        Detector(
            "authorization",
            by_pattern(
                r"\b(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?(?:[A-Za-z]+\s+)?[^\s\"',;]{6,}", ignore
            ),
            "Authorization: " + "Token abcdefgh",
        ),
        Detector(
            "api-key-header",
            by_pattern(
                r"\bx-[a-z0-9-]*(?:key|token|auth|secret)[a-z0-9-]*[\"']?\s*[:=]\s*[\"']?[^\s\"',;]{6,}",
                ignore,
            ),
            "X-Api-Key: " + "abcdef123",
        ),
        Detector(
            "cookie",
            by_pattern(r"\b(?:set-)?cookie2?[\"']?\s*[:=]\s*[\"']?[^\s=;,\"']+=[^\s;,\"']{4,}", ignore),
            "Cookie: session=" + "abcdef123",
        ),
        Detector(
            "session",
            by_pattern(r"\b(?:session_?id|sid|csrftoken|jsessionid|phpsessid)=[A-Za-z0-9%._-]{8,}", ignore),
            "JSESSIONID=" + "ABCDEF0123456789",
        ),
        Detector(
            "option",
            by_pattern(
                rf"(?<![\w-])--?(?:{_NAMES}|api[_-]?key|key|token|pass)(?:[\s=]+)[\"']?(?!-){_VALUE}", ignore
            ),
            "--api-key " + "abcdef123",
        ),
        Detector(
            "assignment",
            by_pattern(rf"(?<![A-Za-z0-9])(?:{_NAMES})[\"'`]?\s*(?::=|=>|[:=])\s*[\"'`]?{_VALUE}", ignore),
            "HF_TOKEN=" + "abcdef123",
        ),
        Detector(
            "url-credentials",
            by_pattern(r"[a-z][a-z0-9+.-]*://[^\s/@\"'<>]+:[^\s/@\"'<>]+@[^\s\"'<>]+", ignore),
            "redis://somebody:" + "word@cache",
        ),
        Detector(
            "presigned-url",
            by_pattern(
                r"[?&;](?:x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)|"
                r"x-oss-signature|signature|sig|awsaccesskeyid|googleaccessid|key-pair-id|policy|sv|se|token|"
                r"access_token|api_?key|key|code|auth|jwt|st)=[^\s&\"'<>]{6,}",
                ignore,
            ),
            "https://x/y?X-Amz-Signature=" + "0123456789abcdef",
        ),
    )
