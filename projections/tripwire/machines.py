"""What identifies a machine or a person's place on it: homes, local paths, device identities."""

from __future__ import annotations

import re

from anvil.projections.tripwire.detector import Detector, by_pattern

_NAME = r"[^\s/\\\"'`<>|:;,(){}\[\]]+"


def machine_detectors() -> tuple[Detector, ...]:
    """Return the detectors."""
    ignore = re.IGNORECASE
    return (
        Detector(
            "home-path",
            by_pattern(
                rf"(?:/(?:home|Users|export/home|var/home|u)/{_NAME}|/root(?:/|\b)|~[a-z][a-z0-9_-]+/)"
            ),
            "/home/" + "somebody/models",
        ),
        Detector(
            "windows-home",
            by_pattern(
                rf"\b[A-Za-z]:(?:\\{{1,2}}|/)(?:Users|Documents and Settings)(?:\\{{1,2}}|/){_NAME}", ignore
            ),
            r"C:\Users" + r"\somebody",
        ),
        Detector(
            "local-path",
            by_pattern(
                rf"(?<![A-Za-z0-9_.-])/(?:mnt|media|scratch|nfs|lustre|gpfs|srv|data|raid|workspace|tmp|opt|var|run|etc)"
                rf"/{_NAME}"
            ),
            "/mnt/" + "store/models",
        ),
        Detector(
            "unc-path",
            by_pattern(r"\\\\[A-Za-z0-9][A-Za-z0-9._-]+\\[A-Za-z0-9$._-]+"),
            r"\\server" + r"\share",
        ),
        Detector(
            "gpu-uuid",
            by_pattern(r"\b(?:GPU|MIG|NVSwitch)-[0-9a-f]{8}(?:-?[0-9a-f]{4}){2,}", ignore),
            "GPU-" + "01234567-89ab-cdef-0123-456789abcdef",
            reads_split=True,
        ),
        Detector(
            "uuid",
            by_pattern(
                r"(?<![0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f])",
                ignore,
            ),
            "01234567-89ab-cdef-" + "0123-456789abcdef",
            reads_split=True,
        ),
        Detector(
            "pci-address",
            by_pattern(r"(?<![0-9a-f:.])[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7](?![0-9a-f])", ignore),
            "00000000:" + "3B:00.0",
        ),
        Detector(
            "mac-address",
            by_pattern(
                r"(?<![0-9a-f:-])[0-9a-f]{2}(?:([:-])[0-9a-f]{2})(?:\1[0-9a-f]{2}){4}(?![0-9a-f:-])", ignore
            ),
            "02:42:" + "ac:11:00:02",
        ),
        Detector(
            "serial",
            by_pattern(
                r"\b(?:serial(?:[ _-]?(?:no|number))?|machine-?id|boot-?id)[\"']?\s*[:=]\s*[\"']?[A-Z0-9-]{6,}",
                ignore,
            ),
            "serial: " + "1320922000001",
        ),
    )
