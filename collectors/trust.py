"""Whose certificates are believed when an endpoint is reached over TLS.

1. The system's, and besides them those of the site's `ca_file`: an authority of one's own signs the
   certificate of an engine inside.
2. A certificate must be for the name that was asked for; nothing switches that off.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from anvil.ledger.errors import CollectorError


def trusting(ca_file: Path | None) -> ssl.SSLContext:
    """Return a context that believes the system's authorities and those of `ca_file`, PEM certificates.

    Raises:
        CollectorError: the file cannot be read, or holds no certificate.
    """
    context = ssl.create_default_context()
    if ca_file is None:
        return context
    try:
        context.load_verify_locations(cafile=ca_file)
    except ssl.SSLError as error:
        raise CollectorError(
            f"the site's `ca_file` {str(ca_file)!r} holds no certificate: {error.reason or error}",
            advice="Name a file of PEM certificates: `-----BEGIN CERTIFICATE-----` and what follows.",
        ) from error
    except OSError as error:
        raise CollectorError(
            f"the site's `ca_file` {str(ca_file)!r} cannot be read: {error.strerror}"
        ) from error
    return context


def trusting_nobody() -> ssl.SSLContext:
    """Return a context for addresses without TLS, which saves reading every certificate of the system."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
