"""What is private about the machine at hand: values that no publication may hold, and their kinds.

1. The host's name, the user's name and home.
2. The variables of the environment, but those that are settings of an engine or of anvil, and not even
   these when their name speaks of a key, token, secret or password. Numbers and versions are no secret.
"""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from anvil.ledger.elsewhere import elsewhere
from anvil.ledger.events import TripwireExcepted
from anvil.ledger.places import LedgerPlace

_SETTINGS = ("ANVIL_", "VLLM_", "SGLANG_", "NCCL_", "CUDA_", "TRITON_", "TORCH_", "NVIDIA_", "LC_", "PYTEST_")
_PLAIN = frozenset(
    {"LANG", "LANGUAGE", "TERM", "COLORTERM", "SHELL", "EDITOR", "PAGER", "TZ", "DEBIAN_FRONTEND"}
)
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH", re.IGNORECASE)
_NO_SECRET = re.compile(r"[0-9.,:+\-_v]*|(?i:true|false|yes|no|on|off|none|auto)")


def private_surroundings() -> list[tuple[str, str]]:
    """Return (kind, value) of everything private that is known of this machine and its user."""
    name = os.uname().nodename
    values = [("host name", name), ("host name", name.partition(".")[0]), ("home", str(Path.home()))]
    try:
        user = pwd.getpwuid(os.getuid())
        values += [("user", user.pw_name), ("home", user.pw_dir), ("user", user.pw_gecos.partition(",")[0])]
    except KeyError:  # a container may run under a number that has no name
        pass
    values += [("user", os.environ[key]) for key in ("USER", "LOGNAME", "USERNAME") if key in os.environ]
    values += [(f"variable {key}", value) for key, value in os.environ.items() if _is_private(key, value)]
    return [(kind, value) for kind, value in values if value.strip("/ ")]


def _is_private(name: str, value: str) -> bool:
    if _SECRET.search(name):
        return True
    return not (name.startswith(_SETTINGS) or name in _PLAIN or _NO_SECRET.fullmatch(value))


def require_publishable(
    place: LedgerPlace | None,
    words: Mapping[str, str],
    approving: Mapping[tuple[str, str], str] | None = None,
    exceptions: Iterable[TripwireExcepted] = (),
) -> None:
    """Refuse words, by what they are called, that must not stand in the log for everybody, before they do.

    `approving` are the words of a sealed field, by event and name, that a person is about to publish; `exceptions`
    are those in force for words that are somebody else's and cannot be said otherwise. Without a `place`, where
    nothing is about to be recorded, nothing is sealed.

    Raises:
        PublicationRefused: the tripwire found something, or cannot be relied on.
        LedgerError: it is not installed.
    """
    if words:
        elsewhere("public words")(place, words, private_surroundings(), approving or {}, exceptions)
