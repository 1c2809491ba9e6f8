"""The `anvil` command: one root, and a static table of the commands that hang from it.

1. A command is imported when it is used, so that `anvil verify` loads no docker, httpx or jinja2.
2. The table is written here and nowhere else: no installed package can add or replace a command.
3. Every option can be given as an environment variable. Its name is what is typed: ``ANVIL``, the
   command, the long name of the option, with ``_`` between them. ``--json`` has a second one for all
   commands, ``ANVIL_JSON``. No command says any of this by itself.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

import click

COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("anvil.ledger.commands.init:init", "Make a new ledger and its first keys."),
    "run": ("anvil.collectors.commands.run:run", "Run a recipe: launch, look, check, measure, keep, stop."),
    "observe": ("anvil.ledger.commands.observe:observe", "Record what you saw, with its evidence status."),
    "import": (
        "anvil.collectors.commands.importing:import_files",
        "Take in files that were made elsewhere, statement by statement.",
    ),
    "note": ("anvil.ledger.commands.note:note", "Note a caveat, a gap, or that bytes are lost."),
    "waive": ("anvil.ledger.commands.waive:waive", "Let a gate pass that did not, for a time."),
    "decide": (
        "anvil.ledger.commands.decide:decide",
        "Record what is to become of a candidate, and what that rests on.",
    ),
    "retract": (
        "anvil.ledger.commands.retract:retract",
        "Take an event back: it stays in the log and supports nothing.",
    ),
    "recipe": ("anvil.collectors.commands.recipe:recipe", "Check a recipe, or show what it would run."),
    "weights": (
        "anvil.collectors.commands.weights:weights",
        "Look through model files: digests, headers, and what should not be there.",
    ),
    "log": ("anvil.ledger.commands.log:log", "List events."),
    "show": ("anvil.ledger.commands.show:show", "Show one event: header, signatures, sealed values."),
    "status": (
        "anvil.projections.commands.status:status",
        "Show campaigns, what is incomplete, and what people concluded.",
    ),
    "render": (
        "anvil.projections.commands.render:render",
        "Print a document as a draft; nothing is recorded.",
    ),
    "release": (
        "anvil.projections.commands.release:release_command",
        "Publish a document as a folder that verifies by itself, and record that it was.",
    ),
    "withdraw": (
        "anvil.ledger.commands.withdraw:withdraw",
        "Take a publication back, and say so in its folder.",
    ),
    "approve": (
        "anvil.ledger.commands.approve:approve",
        "Publish a sentence of something private, word for word.",
    ),
    "disclose": (
        "anvil.ledger.commands.disclose:disclose_command",
        "Make a private artifact public, for good.",
    ),
    "except": (
        "anvil.ledger.commands.excepting:except_command",
        "Let one exact text pass one detector of the tripwire, for a time.",
    ),
    "redactions": (
        "anvil.ledger.commands.redactions:redactions",
        "Show what was withheld behind a publication: of which kind, by which rule, how many.",
    ),
    "compare": (
        "anvil.projections.commands.compare:compare_command",
        "Put two attempts, candidates or campaigns next to each other.",
    ),
    "why": (
        "anvil.projections.commands.why:why",
        "Show what a figure of a document rests on, down to raw rows.",
    ),
    "verify": (
        "anvil.ledger.commands.verify:verify",
        "Check a ledger, files exported from one, or a publication.",
    ),
    "checkpoint": ("anvil.ledger.commands.checkpoint:checkpoint", "Sign and print the state of the log."),
    "prove": ("anvil.ledger.commands.prove:prove", "Write one entry and the proof that it is in the log."),
    "export": ("anvil.ledger.commands.export:export", "Write the log as tiles that other tools can check."),
    "key": ("anvil.ledger.commands.key:key", "List, add, rotate and revoke keys."),
    "redact": (
        "anvil.ledger.commands.redact:redact",
        "Delete private bytes for good, and say so in the log.",
    ),
    "backup": ("anvil.ledger.commands.backup:backup", "Write one consistent copy of the database."),
    "restore": ("anvil.ledger.commands.restore:restore", "Continue from a copy, as a new ledger."),
    "recompute": (
        "anvil.collectors.commands.recompute:recompute",
        "Make the rows of a load event again, from the bytes that were kept.",
    ),
    "selftest": (
        "anvil.collectors.commands.selftest:selftest",
        "Measure how far this machine's load client can be off.",
    ),
}
"""Command name to where it is, and its line in `anvil --help`."""


class _Table(click.Group):
    """A group whose commands come from `COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        _name_variables(command, cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # click would exit with 1, which of `verify` says that something is wrong
            sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115  # for what is flushed at the end
            raise click.exceptions.Exit(141) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


def _name_variables(command: click.Command, *path: str) -> None:
    """Give the options of a command and of its subcommands their environment variables (rule 3)."""
    for option in command.params:
        if not isinstance(option, click.Option) or not option.expose_value:
            continue  # arguments, --version
        flag = next(name for name in option.opts if name.startswith("--"))
        words = ("anvil", *path, flag.removeprefix("--"))
        named = "_".join(words).replace("-", "_").upper()
        option.envvar = (named, "ANVIL_JSON") if flag == "--json" else (named,)
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            _name_variables(inner, *path, name)


@click.command(
    cls=_Table,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
    },
    epilog="Start with `anvil init`, then `anvil observe`, then `anvil verify`.",
)
@click.option(
    "--ledger",
    "ledger",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("anvil-ledger"),
    show_default=True,
    help="The ledger's directory.",
)
@click.option("--debug", is_flag=True, help="Show where an error comes from.")
@click.version_option(package_name="anvil-ledger", prog_name="anvil")
@click.pass_context
def anvil(ctx: click.Context, ledger: Path, debug: bool) -> None:
    """An evidence ledger for people who qualify self-hosted LLM serving.

    Events are signed, chained and only ever added; whoever holds the public key can check them offline.
    Every option can be given as an environment variable: ANVIL_LEDGER, ANVIL_VERIFY_SINCE, …
    """
    ctx.ensure_object(dict).update(ledger=ledger, debug=debug)


_name_variables(anvil)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit.

    Exit codes: 0 done, 1 not done, 2 used wrongly, 3 could not check, 4 rolled back or split view
    (3 and 4 from `verify`), 130 interrupted.
    """
    given: dict[str, object] = {}
    _open_standard_streams()
    try:
        result = anvil.main(args=arguments, prog_name="anvil", standalone_mode=False, obj=given)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        _show(error)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        sys.exit(130)
    except Exception as error:  # noqa: BLE001  # the last border: a person gets one message
        sys.exit(_report(error, debug=given.get("debug") is True))
    sys.exit(result if isinstance(result, int) else 0)


def _open_standard_streams() -> None:
    """Open to nowhere what the caller closed of stdin, stdout and stderr (``2>&-``).

    The next file that is opened would get the free number, and what a child writes to its stderr would land in it.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


def _show(error: click.ClickException) -> None:
    """Print how a command was used wrongly, in lines that fit a terminal, which click does of the usage only."""
    from anvil.ledger.terminal import columns, folded

    shown = io.StringIO()
    error.show(shown)
    click.echo(folded(shown.getvalue().rstrip("\n"), columns(sys.stderr)), err=True)


def _report(error: Exception, *, debug: bool) -> int:
    """Print one clear message for `error` and return the exit code."""
    from anvil.ledger.errors import AnvilError
    from anvil.ledger.terminal import columns, folded

    def tell(text: str) -> None:
        click.echo(folded(text, columns(sys.stderr)), err=True)

    if debug:
        traceback.print_exception(error)
    if isinstance(error, AnvilError):
        tell(f"Error: {error}")
        if error.advice:
            tell(f"  {error.advice}")
        return error.exit_code
    message = f"Error: {type(error).__name__}: {error}"
    tell(f"{message}\n  This is a fault of anvil. Run again with --debug and report what it prints.")
    return 1
