"""`anvil weights`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from anvil.collectors.weights.findings import KINDS, MAX_SHOWN, counted
from anvil.collectors.weights.hashing import Hashing, Progress, cores, silent
from anvil.collectors.weights.inspection import Inspection, inspect
from anvil.collectors.weights.rates import spell_rate
from anvil.collectors.weights.recording import event_of, inventory_of
from anvil.ledger.clock import system_clock
from anvil.ledger.commands.output import answer, answer_json, json_option, place, say, table, visible
from anvil.ledger.drafts import Attachment, Draft
from anvil.ledger.header import Subject
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import Stream
from anvil.ledger.wording import spell_bytes

_SHOWN = 20


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--campaign", help="Record what was seen under this campaign.")
@click.option("--candidate", help="With --campaign: which candidate it is about.")
@json_option
@click.pass_context
def weights(
    ctx: click.Context, directory: Path, campaign: str | None, candidate: str | None, as_json: bool
) -> None:
    """Look through model files: digests, headers, and what should not be there.

    DIRECTORY is a snapshot's folder, a repository in a Hugging Face cache, or one model file. Nothing of it
    is unpickled, imported or executed, and no link is followed out of it. Exit code 0: nothing was found;
    1: something was, see docs/weights.md.

    \b
    Examples:
      anvil weights ~/.cache/huggingface/hub/models--org--model
      anvil weights model.gguf --campaign qwen38 --candidate official_fp8
    """
    subject = _subject(campaign, candidate)
    with _bar() as progress:
        seen = inspect(
            directory,
            hashing=Hashing(progress=progress),
            now_ns=int(system_clock().timestamp() * 1e9),
        )
    say(f"Digests of {spell_rate(seen.read_bytes, seen.elapsed_ns)}, on {cores()} cores.")
    entry = None if subject is None else _record(seen, subject)
    if as_json:
        answer_json("anvil.weights/1", {**_members(seen), "entry_hash": entry})
    else:
        _print(seen)
        if entry:
            answer(f"Recorded as {entry}")
    ctx.exit(1 if seen.found else 0)


def _subject(campaign: str | None, candidate: str | None) -> Subject | None:
    if candidate is not None and campaign is None:
        raise click.UsageError("--candidate says what a recorded look is about; it needs --campaign.")
    for name in (campaign, candidate):
        if name is not None and not Subject.is_label(name):
            raise click.BadParameter(
                f"{name!r} is no label: small letters, digits, and . _ - after the first"
            )
    return None if campaign is None else Subject(campaign, candidate)


def _record(seen: Inspection, subject: Subject) -> str:
    with (
        Ledger.open(place().directory) as ledger,
        Stream.start(ledger, ledger.signer("collector"), purpose="weights") as stream,
    ):
        blob = ledger.blobs.put(inventory_of(seen))
        inventory = Attachment("inventory", "application/json", blob)
        return stream.append([Draft(event_of(seen), subject, (inventory,))])[0].entry_hash


def _print(seen: Inspection) -> None:
    event = event_of(seen)
    rows = [
        ("Snapshot", visible(str(seen.snapshot.root))),
        ("Model", event.model or "the folder does not say"),
        ("Revision", event.revision or "the folder does not say"),
        ("Files", f"{event.files}, {spell_bytes(event.bytes)}"),
        ("Tensors", f"{event.tensors} in {event.tensor_files} files"),
        ("Data types", ", ".join(f"{item.name} {item.tensors}" for item in event.tensor_types) or "none"),
        ("Known digests", f"{event.matched_identities} of {event.stated_identities} are as stated"),
    ]
    rows += [(item.name, item.digest) for item in event.documents]
    rows += [(visible(name), seen.digests[name].sha256 or "no digest") for name in seen.tensor_files[:_SHOWN]]
    if len(seen.tensor_files) > _SHOWN:
        rows.append(("", f"and {len(seen.tensor_files) - _SHOWN} more; --json shows all"))
    answer(table(rows))
    answer("")
    counts = counted(seen.found)
    for kind, count in counts.items():
        answer(f"FOUND: {kind}, {count} times" if count > 1 else f"FOUND: {kind}")
        answer(f"  {KINDS[kind]}")
        files = [found.file for found in dict.fromkeys(seen.found) if found.kind == kind and found.file]
        for file in files[:_SHOWN]:
            answer(f"  {visible(file)}")
    if not counts:
        answer("Nothing was found.")


def _members(seen: Inspection) -> dict[str, Any]:
    return {
        **event_of(seen).facts(),
        "snapshot": str(seen.snapshot.root),
        "digests": {name: digested.sha256 for name, digested in sorted(seen.digests.items())},
        "found": [{"kind": found.kind, "file": found.file} for found in seen.found[:MAX_SHOWN]],
    }


@contextmanager
def _bar() -> Iterator[Progress]:
    """Show bytes and their rate on a terminal, and nothing elsewhere."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("digests", total=None)
        yield lambda done, everything: bar.update(task, completed=done, total=everything)
