"""A gate that is looked at through the container engine: whether a container was launched as before.

What the engine says is given in, by whoever can ask it. Values of the environment are compared by a digest
that stays sealed; what is kept of the engine's answer is cleaned first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from anvil.collectors.recipes.gates import GatePlace
from anvil.collectors.restoration.state import Kept, State
from anvil.collectors.withholding import Secrets, clean_inspect
from anvil.ledger.errors import CollectorError

Inspect = Callable[[str], Awaitable[Mapping[str, Any]]]
"""Returns what the engine says of a container or image, nothing of one that is not there; raises CollectorError."""

_HOST = (
    "Binds", "IpcMode", "NetworkMode", "PortBindings", "RestartPolicy", "ShmSize", "Ulimits", "Runtime", "Memory",
    "Privileged", "CapAdd",
)  # fmt: skip


async def look_at_container(
    place: GatePlace, inspect: Inspect, inspect_image: Inspect, secrets: Secrets
) -> State:
    """Return from what a container was launched, and whether it runs."""
    if place.container is None:
        return State(problem="the site names no container for this gate")
    try:
        told = await inspect(place.container)
        if not told:
            return State({"running": "no container"})
        image = await inspect_image(str(told.get("Image")))
    except CollectorError as error:
        return State(problem=f"{place.container}: {error}")
    config, host = _part(told, "Config"), _part(told, "HostConfig")
    digests = sorted(str(item) for item in image.get("RepoDigests") or ())
    facts = {
        "running": "yes" if _part(told, "State").get("Running") else "no",
        "image": digests[0].rpartition("@")[2] if digests else "none",
        "image-id": str(told.get("Image")),
        "argv": _spell([told.get("Path"), *(told.get("Args") or ())]),
        "env": hashlib.sha256(_spell(sorted(config.get("Env") or ())).encode()).hexdigest(),
        "mounts": _spell(sorted(_spell(_mount(item)) for item in told.get("Mounts") or ())),
        "devices": _spell([host.get("DeviceRequests"), host.get("Devices")]),
        "host": _spell({name: host.get(name) for name in _HOST}),
    }
    cleaned, _ = clean_inspect(told, secrets)
    kept = Kept("inspect", "application/json", json.dumps(cleaned).encode())
    image_id = str(told.get("Image"))
    return State(facts, image_id if len(image_id) == 71 else None, seen_in=(kept,))  # sha256: and 64 digits


def _part(told: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = told.get(name)
    return part if isinstance(part, dict) else {}


def _mount(item: Mapping[str, Any]) -> list[Any]:
    return [item.get(name) for name in ("Type", "Source", "Destination", "RW")]


def _spell(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
