"""How commands speak: the answer on stdout, narration and progress on stderr.

``--json`` prints one JSON object with its schema and version, for programs; without it the answer is
for people. Colours and progress bars appear on a terminal only.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from anvil.ledger.checks.finding import Finding
from anvil.ledger.errors import NotPrinted
from anvil.ledger.places import LedgerPlace
from anvil.ledger.terminal import columns, folded

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def ledger_directory() -> Path:
    """Return the ledger's directory as the command line or the environment gave it."""
    directory: Path = click.get_current_context().find_root().obj["ledger"]
    return directory


def place() -> LedgerPlace:
    """Return the ledger that the command line named."""
    return LedgerPlace(ledger_directory())


def say(text: str) -> None:
    """Narrate, on stderr."""
    click.echo(folded(text, columns(sys.stderr)), err=True)


def answer(text: str) -> None:
    """Print the answer for people, on stdout, in lines that fit a terminal.

    Raises:
        NotPrinted: standard output takes no more.
    """
    with _printing():
        click.echo(folded(text, columns(sys.stdout)))


def answer_exactly(text: str) -> None:
    """Print what is to be copied as it is, on stdout, whatever fits the terminal; raises like `answer`."""
    with _printing():
        click.echo(text)


def answer_bytes(content: bytes) -> None:
    """Print bytes exactly as they are, on stdout.

    Raises:
        NotPrinted: standard output takes no more.
    """
    with _printing():
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def answer_json(schema: str, members: dict[str, Any]) -> None:
    """Print the answer for programs, on stdout; raises like `answer`."""
    answer_exactly(json.dumps({"schema": schema, **members}, indent=2, ensure_ascii=False))


@contextmanager
def _printing() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise  # whoever read has enough, which is no error of anybody's
    except OSError as error:
        with suppress(OSError, ValueError):  # else Python complains about the rest when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise NotPrinted(
            f"the answer cannot be written to standard output: {error.strerror}",
            advice="The command did its work before it answered; `anvil log --last 1` shows what was recorded.",
        ) from error


def table(rows: list[tuple[str, str]]) -> str:
    """Return names and values in two columns."""
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def visible(text: str) -> str:
    """Return text from a ledger or a file with everything escaped that a terminal would obey."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def spell(finding: Finding) -> str:
    """Return a finding for people."""
    where = "" if finding.index is None else f" at index {finding.index}"
    if finding.until is not None and finding.index is not None and finding.until > finding.index + 1:
        where = f" between index {finding.index} and {finding.until - 1}"
    mark = {"note": "note", "unanchored": "UNANCHORED"}.get(finding.severity, "FOUND")
    lines = [f"{mark}: {finding.code}{where}", f"  {visible(finding.message)}"]
    lines += [f"  stream    {finding.stream}"] if finding.stream else []
    lines += [f"  expected  {visible(finding.expected)}"] if finding.expected else []
    lines += [f"  found     {visible(finding.found)}"] if finding.found else []
    return "\n".join(lines)


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on a terminal, and nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _done, _all: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, everything: bar.update(task, completed=done, total=everything)
