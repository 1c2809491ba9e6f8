"""Serve one misbehaviour by hand until interrupted: `python -m support.endpoint CASE [PORT]`."""

from __future__ import annotations

import sys
import threading

from support.endpoint import CASES, Server, case


def main(argv: list[str]) -> int:
    """Serve the named case, or list them all."""
    if not argv or argv[0] not in CASES:
        for name in CASES:
            print(f"{name:36} {CASES[name].about}")
        return 2
    with Server(every=case(argv[0]), port=int(argv[1]) if len(argv) > 1 else 0) as server:
        print(server.base_url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
