"""The tripwire: the last look at what is about to leave, for secrets and for what identifies a machine.

The exit from a ledger is an allow-list; this stands behind it and allows nothing. Each part is a module:

1. `detector`: what a detector is. Each has a sample of its own that it must find before each look: one
   that is missing, fails or finds nothing in its sample refuses everything.
2. `foreign`, `tokens`, `credentials`, `machines`, `addresses`: the detectors. Those of `detect-secrets`
   are named one by one, without entropy and without any of its filters: a comment inside a text cannot
   switch one off.
3. `forms`: the text as it stands, and what it holds percent-encoded, escaped, in base64, in hex, split.
   Every detector looks at every form.
4. `canaries`: values that are known to be private, looked for as themselves.
5. `scanning`: all of it over named texts. What it reports is where and by which detector, never what.
6. `checks`: what a command asks before it appends public words.
"""

from __future__ import annotations

from anvil.projections.tripwire.canaries import Canaries
from anvil.projections.tripwire.detector import Detector, TripwireBroken, TripwireHit
from anvil.projections.tripwire.scanning import DETECTORS, Excused, Hit, Tripwire, policy_digest

__all__ = [
    "DETECTORS",
    "Canaries",
    "Detector",
    "Excused",
    "Hit",
    "Tripwire",
    "TripwireBroken",
    "TripwireHit",
    "policy_digest",
]
