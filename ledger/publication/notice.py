"""The notice that stands in place of a page whose publication was withdrawn."""

from __future__ import annotations

import re
from html import escape

from anvil.ledger.publication import layout


def notice(form: str, reason: str, publication: str) -> bytes:
    """Return what stands in place of a page, `form` being `md` or `html`; it is inert whatever the reason says."""
    if form == "html":
        text = (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            "<title>Withdrawn</title>\n</head>\n<body>\n<h1>This publication was withdrawn</h1>\n"
            f"<p>Why: <bdi>{escape(reason)}</bdi></p>\n"
            f"<p>It was released by event <code>{publication}</code>. What it said is kept in "
            f'<a href="{layout.WITHDRAWN}/{layout.PAGES["html"]}">{layout.WITHDRAWN}/{layout.PAGES["html"]}</a> '
            "and is not to be relied on.</p>\n</body>\n</html>\n"
        )
    else:
        fence = "`" * (max((len(run) for run in re.findall("`+", reason)), default=0) + 1)
        text = (
            f"# This publication was withdrawn\n\nWhy: {fence} {reason} {fence}\n\n"
            f"It was released by event {publication}. What it said is kept in "
            f"{layout.WITHDRAWN}/{layout.PAGES['md']} and is not to be relied on.\n"
        )
    return text.encode()
