"""Network addresses and host names.

1. Four numbers with dots are an address, unless a word before them says that they are a version, as
   `cudnn 9.10.2.21` or `==11.3.0.4` do. Loopback and the unspecified address name no machine.
2. A name is a host by its last part (`.local`, `.internal`, …), by what stands before it (`somebody@`,
   `https://`, `ssh `), or as a name of three parts and more under a known top-level domain. What
   everybody knows, such as a registry of images, is no secret.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from anvil.projections.tripwire.detector import Detector, by_pattern

PUBLIC_HOSTS = (
    "arxiv.org",
    "c2sp.org",
    "docker.com",
    "docker.io",
    "gcr.io",
    "ghcr.io",
    "github.com",
    "githubusercontent.com",
    "gitlab.com",
    "hf.co",
    "huggingface.co",
    "in-toto.io",
    "json-schema.org",
    "mcr.microsoft.com",
    "modelscope.cn",
    "nvcr.io",
    "nvidia.com",
    "pypi.org",
    "python.org",
    "pytorch.org",
    "quay.io",
    "readthedocs.io",
    "rfc-editor.org",
    "sgl.ai",
    "spdx.org",
    "vllm.ai",
    "w3.org",
    "wikipedia.org",
    "localhost",
    "example.com",
    "example.org",
)
"""Hosts that are no secret; what lies under them neither."""

_INTERNAL = (
    "local|lan|internal|intern|intranet|intra|corp|home|localdomain|priv|private|ts\\.net|beta\\.tailscale\\.net|"
    "home\\.arpa|cluster\\.local|ec2\\.internal|compute\\.internal|compute\\.amazonaws\\.com|runpod\\.net|"
    "runpod\\.io|vast\\.ai|lambdalabs\\.com|coreweave\\.cloud|azure\\.com|cloudapp\\.net|ngrok\\.io|"
    "ngrok-free\\.app|trycloudflare\\.com"
)
_TOP = (
    "com|net|org|edu|gov|mil|int|io|ai|dev|cloud|app|tech|systems|info|eu|de|ch|at|fr|uk|it|es|nl|be|se|no|dk|fi|"
    "pl|cz|pt|gr|ie|ru|ua|tr|il|in|cn|jp|kr|tw|sg|hk|au|nz|ca|us|br|mx|ar|cl|za"
)
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_FOUR = re.compile(r"(?<![\w.])(\d{1,3}(?:\.\d{1,3}){3})(?![\w]|\.\d)")
_IS_VERSION = re.compile(
    r"(?:==|>=|<=|~=|\bv|\bversions?\W{1,2}|\brelease\s|\bbuild\s|[-_+]|"
    r"\b(?:cudnn|cublas|cufft|curand|cusolver|cusparse|cutlass|nccl|nvjitlink|nvshmem|tensorrt|driver|cuda|toolkit)"
    r"(?:-\w+)?[\s:=]*)$",
    re.IGNORECASE,
)
_SIX = re.compile(r"(?<![\w:.])[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?:%\w+)?(?![\w:])")


def _version_4(text: str) -> Iterator[str]:
    for found in _FOUR.finditer(text):
        try:
            address = ipaddress.IPv4Address(found[1])
        except ValueError:
            continue
        if not (address.is_loopback or address.is_unspecified or _IS_VERSION.search(text, 0, found.start())):
            yield found[1]


def _version_6(text: str) -> Iterator[str]:
    for found in _SIX.finditer(text):
        plain = found[0].partition("%")[0]
        try:
            address = ipaddress.IPv6Address(plain)
        except ValueError:
            continue
        if not (address.is_loopback or address.is_unspecified) and len(plain) > 5:
            yield found[0]


def _is_public(host: str) -> bool:
    host = host.lower().rstrip(".")
    return any(host == known or host.endswith(f".{known}") for known in PUBLIC_HOSTS)


_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,15}://(?:[^\s/@\"'<>]*@)?([^\s/:?#\"'<>)\]]+)", re.IGNORECASE)
_THREE_PARTS = re.compile(rf"(?<![\w.@/-])((?:{_LABEL}\.){{2,}}(?:{_TOP}))(?![\w-]|\.\w)", re.IGNORECASE)
_AT = re.compile(rf"(?<![\w.+-])[\w.+-]+@(?!sha(?:256|512):)({_LABEL}(?:\.{_LABEL})*)", re.IGNORECASE)


def _urls(text: str) -> Iterator[str]:
    for found in _URL.finditer(text):
        host = found[1].strip("[]")
        if not _is_public(host) and not host.startswith("127.") and host not in ("0.0.0.0", "::1"):  # noqa: S104
            yield found[0]


def _three_parts(text: str) -> Iterator[str]:
    yield from (found[0] for found in _THREE_PARTS.finditer(text) if not _is_public(found[1]))


def address_detectors() -> tuple[Detector, ...]:
    """Return the detectors."""
    ignore = re.IGNORECASE
    return (
        Detector("ipv4", _version_4, "at 192.168." + "7.31 it"),
        Detector("ipv6", _version_6, "at fd7a:115c:" + "a1e0::53 it"),
        Detector("url", _urls, "http://" + "gpu-box:8000/v1"),
        Detector(
            "internal-host",
            by_pattern(rf"(?<![\w.-]){_LABEL}(?:\.{_LABEL})*\.(?:{_INTERNAL})(?![\w-]|\.\w)", ignore),
            "gpu-box." + "local",
        ),
        Detector("host-name", _three_parts, "node7.lab." + "example.edu"),
        Detector("at-host", lambda text: (f[0] for f in _AT.finditer(text)), "somebody@" + "gpu-box"),
        Detector(
            "host-option",
            by_pattern(
                r"\b(?:ssh|scp|sftp|rsync|ping|telnet|mosh)\s+(?:-\S+\s+)*[a-z][a-z0-9]*[-.]?[a-z0-9.-]*[0-9][a-z0-9.-]*"
                r"|\bhost_?name[\"']?\s*(?:[:=]|\bis\b)\s*[\"']?(?!localhost\b|null\b|withheld\b)[a-z0-9][a-z0-9.-]{1,}",
                ignore,
            ),
            "hostname: " + "gpubox",
        ),
        Detector(
            "host-port",
            by_pattern(
                r"(?<![\w.@/:-])(?!(?:localhost|sha256|sha512|port|index|line|step|seed|latest)\b)"
                r"(?=[a-z0-9.-]*[a-z])(?=[a-z0-9.-]*-|[a-z.-]*[0-9])[a-z0-9][a-z0-9.-]{2,}:(?:22|80|443|[1-9][0-9]{3,4})(?![\w.:-])",
                ignore,
            ),
            "gpu-box" + ":8000",
        ),
    )
