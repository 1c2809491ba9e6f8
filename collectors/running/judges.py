"""Who judges what a recipe selects: everything that this anvil can carry out."""

from __future__ import annotations

from anvil.collectors.checks import complaints_of
from anvil.collectors.protocols import complaints_of_pair, complaints_of_protocol
from anvil.collectors.recipes import Judges
from anvil.collectors.suites import complaints_of_suite

JUDGES = Judges(complaints_of, complaints_of_protocol, complaints_of_suite, complaints_of_pair)
"""All of them; checks, protocols and suites know nothing of recipes, and recipes nothing of them."""
