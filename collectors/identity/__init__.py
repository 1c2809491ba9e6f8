"""Who an engine is: what every source claims, and the questions that are asked of endpoints."""

from anvil.collectors.identity.asking import IMPOSSIBLE_MODEL, Identity, identify, identify_behind
from anvil.collectors.identity.claims import Claim, Launched, disagreements, launch_claims

__all__ = [
    "IMPOSSIBLE_MODEL",
    "Claim",
    "Identity",
    "Launched",
    "disagreements",
    "identify",
    "identify_behind",
    "launch_claims",
]
