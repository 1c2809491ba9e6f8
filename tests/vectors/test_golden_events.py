"""Our own golden files of events: header and entry of each type, to the byte, under fixed keys and salts.

A change here changes the published format. A published version of an event is never edited, so a file
here is never edited either: a new shape gets a new version and a new file. For a type that is new,
`PYTHONPATH=tests python tests/vectors/test_golden_events.py` writes what is missing and nothing else.

A file holds the header, the entry, and for each opening a line `NAME SALT VALUE`; each ends in a newline.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.story import Told, story

from anvil.ledger.events import CATALOGUE

GOLDEN = Path(__file__).parent / "golden" / "events"


def golden_name(event_type: str) -> str:
    return event_type.replace("/", "-")


def rendered(told: Told) -> bytes:
    openings = [
        f"{name} {opening.salt.hex()} ".encode() + opening.value for name, opening in told.openings.items()
    ]
    return b"".join(line + b"\n" for line in (told.header.raw, told.entry, *openings))


def current() -> dict[str, bytes]:
    """Return for each type the first event of it in the story."""
    found: dict[str, bytes] = {}
    for told in story():
        found.setdefault(golden_name(told.event.type), rendered(told))
    return found


@pytest.mark.parametrize("event_type", CATALOGUE)
def test_every_type_in_the_catalogue_is_spelled_as_it_was(event_type: str) -> None:
    name = golden_name(event_type)
    assert current()[name].split(b"\n") == (GOLDEN / name).read_bytes().split(b"\n")


def test_a_golden_file_that_is_not_of_a_type_we_write_belongs_to_an_older_version() -> None:
    families = {event_type.partition("/")[0] for event_type in CATALOGUE}
    for path in GOLDEN.iterdir():
        assert path.name.rpartition("-")[0] in families, path


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for new_name, new_content in current().items():
        if not (GOLDEN / new_name).exists():
            (GOLDEN / new_name).write_bytes(new_content)
