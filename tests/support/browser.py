"""A browser without a window or a network."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOOK = (Path(__file__).parent / "look.js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Browser:
    """Headless Chromium with a profile of its own; whatever it would ask a network for goes nowhere."""

    place: Path

    def measured(self, page: Path, widths: tuple[int, ...], *, dark: bool) -> dict[str, Any]:
        """Open a page in frames of these widths; return what `look.js` finds in each, and what is complained of."""
        frame = self.place / f"frame-{page.stem}-{dark}.html"
        frames = (
            f'<iframe width="{width}" height="900" style="border:0" src="{page.as_uri()}"></iframe>'
            for width in widths
        )
        frame.write_text(
            '<!doctype html><meta name="color-scheme" content="light dark"><pre id="found"></pre>'
            f"{''.join(frames)}<script>{LOOK}</script>",
            encoding="utf-8",
        )
        options = ("--allow-file-access-from-files", "--virtual-time-budget=20000", "--dump-dom")
        done = self._run(*options, frame.as_uri(), dark=dark)
        found = re.search(r'<pre id="found">(.+?)</pre>', done.stdout, re.DOTALL)
        assert found is not None, done.stderr
        return {"frames": json.loads(html.unescape(found[1])), "complaints": complaints(done.stderr)}

    def picture(self, page: Path, *, width: int, height: int, dark: bool) -> bytes:
        """Return a screenshot as PNG."""
        target = self.place / "picture.png"
        self._run(f"--window-size={width},{height}", f"--screenshot={target}", page.as_uri(), dark=dark)
        return target.read_bytes()

    def printed(self, page: Path) -> bytes:
        """Return a page as it is printed, as PDF."""
        target = self.place / "printed.pdf"
        self._run("--no-pdf-header-footer", f"--print-to-pdf={target}", page.as_uri(), dark=False)
        return target.read_bytes()

    def _run(self, *options: str, dark: bool) -> subprocess.CompletedProcess[str]:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        assert program is not None
        fixed = (
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--enable-logging=stderr",
        )
        argv = [program, *fixed, f"--user-data-dir={self.place / 'profile'}", "--proxy-server=127.0.0.1:9"]
        argv += ["--blink-settings=preferredColorScheme=0"] if dark else []
        return subprocess.run([*argv, *options], capture_output=True, text=True, timeout=120, check=True)


def complaints(said: str) -> list[str]:
    """Return the lines of a browser's log that are about the page."""
    return [line for line in said.splitlines() if "CONSOLE" in line]
