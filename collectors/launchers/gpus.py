"""Who holds a GPU, as NVIDIA's own tool says. Where there is no such tool, nothing is known."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence

_DEADLINE_S = 20


async def gpu_holder(gpus: Sequence[str]) -> str | None:
    """Say which process has memory on one of these GPUs, given by UUID; null for none, or not known."""
    for row in await _ask("--query-compute-apps=gpu_uuid,pid,process_name") if gpus else ():
        uuid, pid, name = [*row.split(", ", 2), "", ""][:3]
        if uuid in gpus:
            return f"GPU {uuid} is held by {name.rpartition('/')[2] or 'a process'} (process {pid})"
    return None


async def gpu_numbers() -> dict[str, str]:
    """Return the UUID of each GPU by its number, for those who name GPUs by numbers."""
    rows = [row.split(", ", 1) for row in await _ask("--query-gpu=index,uuid")]
    return {row[0]: row[1] for row in rows if len(row) == 2}


async def _ask(query: str) -> list[str]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    asked = await asyncio.create_subprocess_exec(
        tool, query, "--format=csv,noheader", stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        output, _ = await asyncio.wait_for(asked.communicate(), _DEADLINE_S)
    except TimeoutError:
        asked.kill()
        await asked.wait()
        return []
    return [line.strip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
