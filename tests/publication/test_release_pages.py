"""Publications of imported summaries: their pages go along, and are made again elsewhere byte for byte."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.command import Ran, run_here
from support.published import lanes, spelled, summary

from anvil.ledger.note import VerifierKey

DOCUMENTS = {
    "sanitized-qualification-summary.v1": summary,
    "qwen38-27b-qualification-summary.v1": lanes,
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_pages_of_a_summary_are_published_and_made_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)

    def anvil(*arguments: object) -> Ran:
        ran = run_here(capfdbinary, *arguments)
        assert ran.code == 0, ran.out + ran.err
        return ran

    anvil("init", "--origin", "summaries.tests.example")
    Path("a.json").write_bytes(spelled(DOCUMENTS[name]()))
    anvil("import", "a.json")
    anvil("release", name, "--out", "published")
    assert {path.name for path in Path("published/templates").iterdir()} == {
        f"{name}.json.j2", f"{name}.md.j2", f"{name}.html.j2", "page.html.j2", "page.md.j2", "parts.html.j2",
    }  # fmt: skip
    page = Path("published/document.html").read_text(encoding="utf-8")
    key = VerifierKey.parse(Path("published/log.vkey").read_text().strip())
    assert key.fingerprint in page
    assert page.count('<svg xmlns="http://www.w3.org/2000/svg"') >= 1

    verify = ("verify", "--publication", "published", "--key", "anvil-ledger/log.vkey", "--recompute")
    argv = [str(Path(sys.executable).with_name("anvil")), *verify]
    elsewhere = {"PYTHONHASHSEED": "4711", "TZ": "Asia/Kathmandu", "LC_ALL": "C"}
    ran = subprocess.run(argv, env=os.environ | elsewhere, capture_output=True, text=True, umask=0o077)
    assert ran.returncode == 0, ran.stdout
    assert "Recomputed  yes" in ran.stdout
