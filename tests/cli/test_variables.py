"""Every option of every command is an environment variable, named by what is typed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import click
import pytest
from click.core import ParameterSource
from support.command import Anvil

from anvil.ledger.cli import COMMANDS, anvil, main

OTHERS = {"ANVIL_KEYS", "ANVIL_STATE", "ANVIL_PASSPHRASE", "ANVIL_JSON"}


def every_option() -> Iterator[tuple[str, click.Command, click.Option]]:
    """Yield (name after `anvil`, command, option) of every option."""
    context = click.Context(anvil)
    found: list[tuple[str, click.Command]] = [("", anvil)]
    for name in COMMANDS:
        command = anvil.get_command(context, name)  # type: ignore[attr-defined]  # the root is a group
        found.append((name, command))
        if isinstance(command, click.Group):
            found += [(f"{name} {inner}", command.commands[inner]) for inner in command.commands]
    for name, command in found:
        for option in command.params:
            if isinstance(option, click.Option) and "--version" not in option.opts:
                yield name, command, option


OPTIONS = {
    " ".join((*name.split(), max(option.opts, key=len))): (command, option)
    for name, command, option in every_option()
}


def consumed(typed: str) -> ParameterSource:
    command, option = OPTIONS[typed]
    return option.consume_value(click.Context(command), {})[1]


def variable(typed: str) -> str:
    """Return the variable of an option as a person would guess it from ``log --from``."""
    return "ANVIL_" + typed.replace(" --", "_").replace("--", "").replace(" ", "_").replace("-", "_").upper()


@pytest.mark.parametrize("typed", OPTIONS)
def test_every_option_of_every_command_has_the_variable_that_is_typed(
    typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert consumed(typed) is not ParameterSource.ENVIRONMENT
    monkeypatch.setenv(variable(typed), "1")
    assert consumed(typed) is ParameterSource.ENVIRONMENT


@pytest.mark.parametrize("typed", OPTIONS)
def test_no_option_follows_the_name_that_the_code_gives_it(
    typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = variable(f"{typed.rpartition('--')[0]}--{OPTIONS[typed][1].name}")
    monkeypatch.setenv(inside, "1")
    assert (consumed(typed) is ParameterSource.ENVIRONMENT) == (inside == variable(typed))


@pytest.mark.parametrize("typed", [typed for typed in OPTIONS if typed.endswith("--json")])
def test_one_variable_asks_every_command_for_json_and_its_own_goes_before(
    typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, option = OPTIONS[typed]
    monkeypatch.setenv("ANVIL_JSON", "1")
    assert option.value_from_envvar(click.Context(command)) == "1"
    monkeypatch.setenv(variable(typed), "0")
    assert option.value_from_envvar(click.Context(command)) == "0"


def test_every_command_that_answers_has_the_option_json() -> None:
    with_json = {typed.removesuffix(" --json") for typed in OPTIONS if typed.endswith(" --json")}
    groups = {name for name in COMMANDS if any(typed.startswith(f"{name} ") for typed in with_json)}
    assert set(COMMANDS) - groups - with_json == set()


def test_no_two_options_share_a_variable() -> None:
    names = Counter(variable(typed) for typed in OPTIONS)
    assert [name for name, count in names.items() if count > 1] == []
    assert not OTHERS & set(names)


@pytest.mark.parametrize(
    ("name", "value", "arguments"),
    [
        ("ANVIL_LOG_FROM", "1", ("log",)),
        ("ANVIL_VERIFY_CHECKPOINT", "missing", ("verify",)),
        ("ANVIL_REDACT_FIELD", "no-such-field", ("redact", "0", "--reason", "x")),
        ("ANVIL_OBSERVE_ATTACH", "missing-a:missing-b", ("observe", "x", "--status", "declared")),
        ("ANVIL_KEY_REVOKE_LAST_GOOD", "99", ("key", "revoke", "collector", "--cause", "lost")),
    ],
)
def test_a_variable_does_what_the_option_does(
    ledger: Anvil,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
    arguments: tuple[str, ...],
) -> None:
    flag = "--" + name.split("_", 3 if "KEY_REVOKE" in name else 2)[-1].lower().replace("_", "-")
    typed = ledger(*arguments, flag, value.partition(":")[0])
    monkeypatch.setenv(name, value)
    assert ledger(*arguments) == typed


def test_json_from_every_command_by_one_variable(ledger: Anvil, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANVIL_JSON", "1")
    assert ledger("log").json["schema"] == "anvil.log/1"
    monkeypatch.setenv("ANVIL_LOG_JSON", "0")
    assert "ledger.created" in ledger("log").out
    monkeypatch.delenv("ANVIL_JSON")
    monkeypatch.delenv("ANVIL_LOG_JSON")
    monkeypatch.setenv("ANVIL_LOG_AS_JSON", "1")
    monkeypatch.setenv("ANVIL_VERSION", "1")
    assert "ledger.created" in ledger("log").out


def test_debug_by_its_variable(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ANVIL_DEBUG", "1")
    with pytest.raises(SystemExit):
        main(["log"])
    assert "Traceback" in capfd.readouterr().err
