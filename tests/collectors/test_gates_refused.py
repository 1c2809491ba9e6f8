"""Restoration gates in recipes and sites: what is refused, with its line and what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tools import ROOT

from anvil.collectors.recipes import FileRefused, parse_recipe
from anvil.collectors.site import load_site

QUICKSTART = (ROOT / "recipes" / "quickstart.toml").read_text()
GATE = '[[restoration]]\ngate = "{gate}"\nkind = "{kind}"\nabout = "It is as it was"\n{more}\n'


def refused(*gates: tuple[str, str, str]) -> list[str]:
    text = QUICKSTART + "\n" + "".join(GATE.format(gate=g, kind=k, more=m) for g, k, m in gates)
    with pytest.raises(FileRefused) as caught:
        parse_recipe(text.encode(), "mine.toml")
    lines = text.splitlines()
    return [f"{lines[p.line - 1]} | {p.what} | {p.write}" for p in caught.value.problems]


@pytest.mark.parametrize(
    ("gates", "line", "what"),
    [
        ([("a", "file", 'served_model = "x"')], "served_model", "no meaning for a gate of kind file"),
        ([("a", "memory", "exit_code = 1")], "exit_code", "no meaning for a gate of kind memory"),
        ([("a", "http", 'digest = "sha256:' + "a" * 64 + '"')], "digest", "write another kind: `container` or `file`"),
        ([("a", "http", 'answers_as = "x"')], "answers_as", "nothing is asked"),
        ([("a", "http", 'served_model = "x"\ndirect = "b"')], "direct", "no other gate of kind http"),
        ([("a", "http", 'direct = "a"')], "direct", "no other gate of kind http"),
        ([("a", "http", 'direct = "b"'), ("b", "file", "")], "direct", "no other gate of kind http"),
        ([("a", "file", ""), ("a", "file", "")], "restoration", "stands twice"),
        ([("a", "ftp", "")], "kind", "'http', 'container', 'file', 'command' or 'memory'"),
    ],
)  # fmt: skip
def test_a_gate_that_cannot_be(gates: list[tuple[str, str, str]], line: str, what: str) -> None:
    told = refused(*gates)
    assert any(row.startswith((line, f"[[{line}")) and what in row for row in told), told


def test_a_place_that_cannot_be(tmp_path: Path) -> None:
    site = tmp_path / "anvil-site.toml"
    for text in (
        'base_url = "http://user:pass@host"',
        'path = "relative"',
        'container = "a b"',
        "argv = 'x'",
    ):
        site.write_text(f"[restoration.a]\n{text}\n")
        with pytest.raises(FileRefused):
            load_site(site)
