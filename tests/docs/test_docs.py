"""The documentation is complete, its links lead somewhere, and its examples are commands that exist."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest

from anvil.collectors.running import interrupts
from anvil.ledger import errors, verify
from anvil.ledger.checks.finding import MEANINGS, Finding
from anvil.ledger.cli import COMMANDS, anvil
from anvil.ledger.commands.verifierkeys import VerifierKeyParam
from anvil.ledger.events import CATALOGUE

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CODE = ("ledger", "collectors", "projections")
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *DOCS.glob("*.md"), *DOCS.glob("adr/*.md")])

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(?<!\[)`[^`\n]*`(?!\])")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def every_command() -> Iterator[tuple[str, click.Command]]:
    """Yield (name after `anvil`, command) of each command and subcommand."""
    context = click.Context(anvil)
    for name in COMMANDS:
        command = anvil.get_command(context, name)  # type: ignore[attr-defined]  # the root is a group
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", command.commands[inner]) for inner in command.commands)


COMMANDS_BY_NAME = dict(every_command())


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:  # its neighbours, as when it runs as a program
        patch.syspath_prepend(DOCS)
        spec.loader.exec_module(module)
    return module


# --- complete ------------------------------------------------------------------------------------


def test_what_is_generated_is_what_the_code_says(generate: ModuleType) -> None:
    assert generate.main(["--check"]) == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_of_commands_says_what_the_command_says(name: str) -> None:
    help_text = COMMANDS_BY_NAME[name].help or ""
    assert COMMANDS[name][1] == help_text.partition("\n")[0]


@pytest.mark.parametrize("name", COMMANDS_BY_NAME)
def test_every_command_and_option_is_documented(name: str) -> None:
    section = text_of(DOCS / "cli.md").partition(f"\n## anvil {name}\n")[2].partition("\n## ")[0]
    assert section
    for parameter in COMMANDS_BY_NAME[name].params:
        for option in parameter.opts if isinstance(parameter, click.Option) else ():
            assert option in section


@pytest.mark.parametrize("name", COMMANDS_BY_NAME)
def test_every_command_says_in_one_line_what_it_does(name: str) -> None:
    first = (COMMANDS_BY_NAME[name].help or "").partition("\n")[0]
    assert first.endswith(".")
    for parameter in COMMANDS_BY_NAME[name].params:
        assert not isinstance(parameter, click.Option) or parameter.help


@pytest.mark.parametrize("event_type", CATALOGUE)
def test_every_event_type_is_documented_and_has_its_roles(event_type: str) -> None:
    page, cls = text_of(DOCS / "events.md"), CATALOGUE[event_type]
    section = page.partition(f"\n## {event_type}\n")[2].partition("\n## ")[0]
    for field in set(cls.model_fields) - {"type"}:
        assert f"| `{field}` |" in section
    signed = re.search(r"^Signed by: (.*)\.$", section, re.MULTILINE)
    assert signed is not None
    assert set(signed[1].split(", ")) == cls.signed_by
    row = next(line for line in text_of(DOCS / "format.md").splitlines() if f"[`{event_type}`]" in line)
    cells = [cell.strip() for cell in row.strip("|").split("|")][1:]
    assert {
        role for role, cell in zip(("ledger", "root", "operator", "collector"), cells, strict=True) if cell
    } == (cls.signed_by)


@pytest.mark.parametrize("code", MEANINGS)
def test_every_verdict_is_documented_with_its_exit_code(code: Any) -> None:
    finding = Finding(code, "")
    report = verify.Report("", 0, 0, findings=[finding])
    row = f"| `{code}` | {finding.severity} | {report.exit_code} | {MEANINGS[code]} |"  # type: ignore[index]
    assert row in text_of(DOCS / "format.md")


def test_the_threat_model_names_verdicts_that_exist() -> None:
    rows = [line for line in text_of(DOCS / "threat-model.md").splitlines() if line.startswith("| ")]
    named_there = {code for row in rows for code in re.findall(r"`([a-z]+(?:-[a-z]+)*)`", row.split("|")[3])}
    assert {"rolled-back", "split-view", "tampered"} <= named_there <= set(MEANINGS)


def test_every_exit_code_is_documented(generate: ModuleType) -> None:
    raised = {cls.exit_code for cls in vars(errors).values() if isinstance(cls, type)}
    known = raised | {verify.Report("", 0, 0, findings=[Finding(c, "")]).exit_code for c in MEANINGS}
    signals = {128 + number for number in interrupts.NUMBERS}
    assert known | signals | {2, 130, 141} == set(generate.EXIT_CODES)
    for code in generate.EXIT_CODES:
        assert f"| {code} | " in text_of(DOCS / "cli.md")


def test_every_decision_is_listed_by_its_number() -> None:
    listed = text_of(DOCS / "adr" / "README.md")
    decisions = sorted(path.name for path in DOCS.glob("adr/0*.md"))
    assert [int(name[:4]) for name in decisions] == list(range(1, len(decisions) + 1))
    for name in decisions:
        assert f"({name})" in listed
        assert text_of(DOCS / "adr" / name).startswith(f"# {int(name[:4])}. ")


# --- links ---------------------------------------------------------------------------------------


def anchors(path: Path) -> set[str]:
    prose = _FENCE.sub("", text_of(path))
    headings = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_inside_the_documentation_leads_somewhere(page: Path) -> None:
    for link in _LINK.findall(_CODE.sub("", _FENCE.sub("", text_of(page)))):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


# --- examples ------------------------------------------------------------------------------------


def examples() -> Iterator[tuple[str, str]]:
    """Yield (where, command line) of each example in help texts and code blocks."""
    for name, command in COMMANDS_BY_NAME.items():
        joined = (command.help or "").replace("\\\n", " ")
        yield from ((name, line.strip()) for line in joined.splitlines() if line.strip().startswith("anvil "))
    for page in PAGES:
        for kind, block in _FENCE.findall(text_of(page)):
            if kind in ("console", "sh", "bash"):
                lines = (line.removeprefix("$ ").strip() for line in block.splitlines())
                yield from ((named(page), line) for line in lines if line.startswith("anvil "))


@pytest.mark.parametrize(("where", "line"), list(dict.fromkeys(examples())))
def test_an_example_is_a_command_line_that_is_understood(
    where: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(click.Path, "convert", lambda _self, value, _param, _ctx: Path(value))
    monkeypatch.setattr(VerifierKeyParam, "convert", lambda _self, value, _param, _ctx: value)
    words = shlex.split(re.sub(r"\s(?:[<>|].*|#.*)$", "", line))[1:]
    context: click.Context = anvil.make_context("anvil", words)
    while isinstance(context.command, click.Group):
        rest = [*context._protected_args, *context.args]
        name, command, rest = context.command.resolve_command(context, rest)
        assert command is not None, where
        context = command.make_context(name, rest, parent=context)


def mentions() -> Iterator[tuple[str, str]]:
    """Yield (where, command) of each mention of a command in prose, help, messages and comments."""
    for path in [*PAGES, *(p for folder in CODE for p in (ROOT / folder).rglob("*.py"))]:
        yield from ((named(path), name) for name in re.findall(r"`anvil ([a-z]+)", text_of(path)))


@pytest.mark.parametrize(("where", "name"), sorted(set(mentions())))
def test_a_command_that_is_mentioned_exists(where: str, name: str) -> None:
    assert name in COMMANDS, where
