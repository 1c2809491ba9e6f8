"""Write the parts of the documentation that follow from the code; `--check` fails when they have drifted.

1. ``docs/events.md`` comes from the event classes: their docstrings, the docstrings of their fields, the
   public types and the roles.
2. ``docs/cli.md`` comes from the commands' own help, 80 columns wide, and from the exit codes.
3. In ``docs/format.md``, ``docs/recipes.md``, ``docs/checks.md``, ``docs/weights.md``, ``docs/load.md`` and
   ``docs/importing.md`` only what stands between
   ``<!-- begin generated: NAME -->`` and ``<!-- end generated: NAME -->`` is written; the rest is by hand.
4. ``docs/schemas/`` holds the JSON Schema of each document, from its model.

Nothing here reads a clock, a terminal or the environment: the same code gives the same bytes.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, get_args, get_origin

import click
from generate_events import BY_HAND, anchor, events_page
from generate_importing import importing_blocks
from generate_load import load_blocks
from generate_recipes import check_blocks, recipe_blocks
from pydantic import StringConstraints

from anvil.collectors.weights.findings import KINDS
from anvil.ledger import public, schema
from anvil.ledger.canonical import decode as decode_canonical
from anvil.ledger.checks.finding import MEANINGS, Finding
from anvil.ledger.cli import COMMANDS, anvil
from anvil.ledger.commitments import commitment
from anvil.ledger.envelope import PAYLOAD_TYPE, Envelope, pae
from anvil.ledger.events import CATALOGUE
from anvil.ledger.header import Header, header_hash
from anvil.ledger.merkle import CompactRange, leaf_hash
from anvil.ledger.note import VerifierKey
from anvil.ledger.public import Public, Role
from anvil.projections.document import DOCUMENTS, find

DOCS = Path(__file__).parent
ERA = DOCS.parent / "tests" / "eras" / "0.1"
EXAMPLE = 7
WIDTH = 80

VERDICT_EXITS = {"fatal": 4, "failure": 1, "unanchored": 3, "note": 0}

EXIT_CODES: Mapping[int, str] = {
    0: "Done. From `verify`: everything that could be checked is as it was signed; notes may be printed.",
    1: "Not done; the message says why. From `verify`: something is wrong, and each finding says what.",
    2: "Used wrongly: an unknown option, a missing argument. Nothing was done.",
    3: "From `verify`: unanchored, or nothing could be checked. From other commands: there is no ledger there, or its "
    "artifacts are on a disk that is away.",
    4: "From `verify`: rolled back, or two histories under one name. Do not append; see docs/threat-model.md.",
    129: "From `run`: ended in order by SIGHUP, because its terminal or connection went away.",
    130: "Interrupted by the keyboard; a run is ended in order.",
    141: "Whoever read the output went away.",
    143: "From `run`: ended in order by SIGTERM.",
}
"""What the command line exits with."""

# --- docs/cli.md --------------------------------------------------------------------------------


def cli_page() -> str:
    """Return the page of every command."""
    root = click.Context(anvil, info_name="anvil", terminal_width=WIDTH, help_option_names=["-h", "--help"])
    parts = [
        "# The command line",
        BY_HAND,
        (
            "Answers go to stdout, narration and errors to stderr. Every command that answers can do so as JSON with "
            "`--json`; the object's `schema` names its shape and version. Nothing asks questions."
        ),
        _help(anvil, root),
        "## Exit codes",
        "\n".join(
            ["| code | means |", "|---|---|", *(f"| {c} | {text} |" for c, text in EXIT_CODES.items())]
        ),
        "## Environment",
        _environment(),
    ]
    for path, command, context in commands(root):
        parts += [f"## anvil {path}", _help(command, context)]
        if variables := _variables(command):
            parts.append(f"As variables: {variables}.")
    return "\n\n".join(parts) + "\n"


def commands(parent: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield (name after `anvil`, command, its context) of every command and subcommand."""
    group = parent.command
    if not isinstance(group, click.Group):
        return
    for name in COMMANDS if parent.parent is None else group.list_commands(parent):
        command = group.get_command(parent, name)
        if command is None:
            raise LookupError(f"{name} is in the table of commands and cannot be found")
        context = click.Context(
            command, parent, info_name=name, terminal_width=WIDTH, auto_envvar_prefix=None
        )
        yield context.command_path.partition(" ")[2].removesuffix(" COMMAND [ARGS]..."), command, context
        yield from commands(context)


def _help(command: click.Command, context: click.Context) -> str:
    return f"```text\n{command.get_help(context)}\n```"


def _variables(command: click.Command) -> str:
    """Return the environment variable of each option: the first name, which is its own."""
    named = (option.envvar or () for option in command.params if isinstance(option, click.Option))
    return ", ".join(f"`{names[0]}`" for names in named if names)


def _environment() -> str:
    return "\n".join(
        [
            "Every option can be given as a variable: `ANVIL`, the command and the long name of the option, with `_`",
            "between them. `anvil log --from 10` is `ANVIL_LOG_FROM=10 anvil log`; what is typed goes before. A flag is",
            "`1` or `0`. Of an option that can be repeated, several values are separated by blanks, files by `:`.",
            "",
            "| variable | what it says |",
            "|---|---|",
            "| `ANVIL_LEDGER` | the ledger's directory, as `--ledger` |",
            "| `ANVIL_DEBUG` | `1` shows where an error comes from, as `--debug` |",
            "| `ANVIL_JSON` | `1` prints JSON from every command that can, as `--json`; `ANVIL_LOG_JSON=0` excepts one |",
            "| `ANVIL_KEYS` | where private keys lie (default: `anvil/keys` in the user's configuration directory) |",
            "| `ANVIL_STATE` | where head anchors lie (default: `anvil` in the user's state directory) |",
            "| `ANVIL_CACHE` | where fetched model files lie (default: `anvil` in the user's cache directory) |",
            "| `ANVIL_PASSPHRASE` | the passphrase of encrypted private keys |",
            "| `SSH_AUTH_SOCK` | the ssh-agent that holds keys added with `--agent` |",
        ]
    )


# --- docs/format.md -----------------------------------------------------------------------------


def blocks() -> dict[str, str]:
    """Return what is generated inside docs/format.md, by name."""
    return {
        "roles": _roles(),
        "verdicts": _verdicts(),
        "languages": _languages(),
        "schema": "```sql\n" + "\n\n".join(f"{text};" for text in schema.STATEMENTS.values()) + "\n```",
        "example": _example(),
    }


def fill(path: Path, written: Mapping[str, str]) -> str:
    """Return the page at `path` with every generated block written anew.

    Raises:
        ValueError: a block is missing.
    """
    page = path.read_text(encoding="utf-8")
    for name, content in written.items():
        begin, end = f"<!-- begin generated: {name} -->", f"<!-- end generated: {name} -->"
        before, found, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"docs/{path.name} has no block {name!r}")
        page = f"{before}{begin}\n\n{content}\n\n{end}{after}"
    return page


def _roles() -> str:
    roles = get_args(Role)
    rows = ["| type | " + " | ".join(roles) + " |", "|---" * (len(roles) + 1) + "|"]
    for name, cls in CATALOGUE.items():
        marks = " | ".join("yes" if role in cls.signed_by else "" for role in roles)
        rows.append(f"| [`{name}`](events.md#{anchor(name)}) | {marks} |")
    return "\n".join(rows)


def _verdicts() -> str:
    rows = ["| code | severity | exit | meaning |", "|---|---|---|---|"]
    for code, meaning in MEANINGS.items():
        severity = Finding(code, "").severity
        rows.append(f"| `{code}` | {severity} | {VERDICT_EXITS[severity]} | {meaning} |")
    return "\n".join(rows)


def _findings() -> str:
    rows = [f"| `{kind}` | {meaning} |" for kind, meaning in KINDS.items()]
    return "\n".join(["| kind | meaning |", "|---|---|", *rows])


def _languages() -> str:
    lines = []
    for name, value in vars(public).items():
        if get_origin(value) is Literal:
            lines.append(f"- **{name}**: one of " + ", ".join(f"`{item}`" for item in get_args(value)))
            continue
        metadata = getattr(value, "__metadata__", ())
        language = next((item.language for item in metadata if isinstance(item, Public)), None)
        if language is None:
            continue
        bounds = next((item for item in metadata if isinstance(item, StringConstraints)), None)
        lines.append(f"- **{name}**: {language}{_bounds(bounds)}")
    return "\n".join(lines)


def _bounds(bounds: StringConstraints | None) -> str:
    if bounds is None or bounds.pattern is None:
        return ""
    longest = f"; at most {bounds.max_length} characters" if bounds.max_length else ""
    pattern = str(bounds.pattern).replace("\n", "\\n")
    return f"{longest}  \n  `{pattern}`"


def _example() -> str:
    entries = (ERA / "entries").read_bytes().splitlines()
    envelope = Envelope.parse(entries[EXAMPLE])
    header = Header.parse(envelope.header)
    tree = CompactRange()
    tree.extend(leaf_hash(entry) for entry in entries)
    vkey = VerifierKey.parse((ERA / "vkey").read_text(encoding="utf-8").strip())
    signature = base64.b64encode(envelope.signatures[0].value).decode()
    rows = ["| index | event | entry hash |", "|---|---|---|"]
    rows += [f"| {i} | `{_event(entry)}` | `{leaf_hash(entry).hex()}` |" for i, entry in enumerate(entries)]
    return "\n\n".join(
        [
            f"The header of entry {EXAMPLE}, {len(envelope.header)} bytes (without the final newline):",
            f"```json\n{envelope.header.decode()}\n```",
            f"Its header hash, which the next event of its stream names:\n`{header_hash(envelope.header)}`",
            (
                f"What is signed is `DSSEv1 {len(PAYLOAD_TYPE)} {PAYLOAD_TYPE} {len(envelope.header)} ` and the header, "
                f"{len(pae(envelope.header))} bytes in all. The signature, in base64:\n`{signature}`"
            ),
            (
                f"verifies under the key whose id is the header's `key`, which entry 3 introduced:\n"
                f"`{_introduced(entries[3])}`"
            ),
            f"The entry, {len(entries[EXAMPLE])} bytes:",
            f"```json\n{entries[EXAMPLE].decode()}\n```",
            f"Its entry hash:\n`{leaf_hash(entries[EXAMPLE]).hex()}`",
            "The openings that lie beside it, salt (32 bytes in hex) and value, and the commitments they give:",
            _openings(header),
            f"All {len(entries)} entries of the log:",
            "\n".join(rows),
            f"The root over them: `{tree.root().hex()}`. The verifier key, its fingerprint, and the checkpoint:",
            f"```text\n{vkey}\n{vkey.fingerprint}\n```",
            f"```text\n{(ERA / 'checkpoint').read_text(encoding='utf-8').rstrip()}\n```",
        ]
    )


def _openings(header: Header) -> str:
    lines = []
    names = {value: f"sealed.fields.{name}" for name, value in header.sealed.items()}
    names |= {a.commitment: f"artifact {a.name}" for a in header.artifacts if a.commitment}
    for line in (ERA / "openings").read_bytes().splitlines():
        stated, salt, value = line.split(b" ", 2)
        if stated.decode() in names:
            given = commitment(bytes.fromhex(salt.decode()), value).hex()
            lines.append(f"{names[given]}\n  salt        {salt.decode()}\n  value       {value.decode()}")
            lines[-1] += f"\n  commitment  {given}"
    return "```text\n" + "\n".join(lines) + "\n```"


def _introduced(entry: bytes) -> str:
    facts = decode_canonical(Envelope.parse(entry).header)["facts"]
    return str(facts["new_public_key"])


def _event(entry: bytes) -> str:
    return Header.parse(Envelope.parse(entry).header).event


# --- docs/schemas -------------------------------------------------------------------------------


def schema_of(name: str) -> str:
    """Return the JSON Schema of a document."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **find(name).model.model_json_schema(),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


# --- writing and checking -----------------------------------------------------------------------


def pages() -> dict[Path, str]:
    """Return every generated page as it should be."""
    filled = {
        "format.md": blocks(),
        "recipes.md": recipe_blocks(),
        "checks.md": check_blocks(),
        "load.md": load_blocks(),
        "importing.md": importing_blocks(),
        "weights.md": {"findings": _findings()},
    }
    return {
        DOCS / "events.md": events_page(),
        DOCS / "cli.md": cli_page(),
        **{DOCS / "schemas" / f"{name}.json": schema_of(name) for name in DOCUMENTS},
        **{DOCS / name: fill(DOCS / name, written) for name, written in filled.items()},
    }


def main(arguments: list[str]) -> int:
    """Write the pages, or with ``--check`` name those that differ."""
    drifted = [
        path
        for path, text in pages().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if "--check" in arguments:
        for path in drifted:
            print(
                f"{path.relative_to(DOCS.parent)} is not what the code says; run `make docs`", file=sys.stderr
            )
        return 1 if drifted else 0
    for path in drifted:
        path.parent.mkdir(exist_ok=True)
        path.write_text(pages()[path], encoding="utf-8")
        print(f"wrote {path.relative_to(DOCS.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
