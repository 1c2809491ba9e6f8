"""Keep what the tools wrote as files of tests: without this machine's paths, names and kernel.

Tools write tracebacks, and guidellm the platform. Where such a text stands in a file, a fixed one is put in its
place; nothing else is changed.
"""

from __future__ import annotations

import os
import platform
import re
import socket
import sys
from pathlib import Path

from tools_venvs import CACHE


def scrubbed(content: str, folder: Path) -> str:
    """Return the content of a file without what belongs to this machine; `folder` is where the tool ran."""
    private = {
        str(folder): "/run",
        str(CACHE): "/peers",
        os.path.realpath(CACHE / "vllm" / "venv"): "/peers/vllm/venv",
        sys.base_prefix: "/python",
        str(Path.home()): "/home",
        platform.platform(): "Linux",
    }
    for text in sorted(private, key=len, reverse=True):
        content = content.replace(text, private[text])
    if re.search(rf"\b{re.escape(socket.gethostname())}\b", content):
        raise ValueError("a file names this host")
    return content
