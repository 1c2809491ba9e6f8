"""A publication with evidence of other tools: their rows go along, their files do not, and it is made again elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.command import Ran, run_here
from support.evidence_files import benchmark, preflight, spelled
from support.toolfiles import whole

NAME = "sanitized-qualification-summary.v1"


def test_it_is_published_and_made_again_from_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)

    def anvil(*arguments: object) -> Ran:
        ran = run_here(capfdbinary, *arguments)
        assert ran.code == 0, ran.out + ran.err
        return ran

    anvil("init", "--origin", "tools.tests.example")
    files = {"a.json": spelled(benchmark()), "b.json": spelled(preflight()), "c.json": whole("guidellm.json")}
    for name, content in files.items():
        Path(name).write_bytes(content)
    anvil("import", *files, "--campaign", "one")
    anvil("release", NAME, "--campaign", "one", "--out", "published")
    artifacts = [path.read_bytes() for path in Path("published/artifacts").iterdir()]
    assert len(artifacts) == 5
    assert all(b'"schema":"anvil.imported.rows/1"' in content for content in artifacts)
    contents = [path.read_bytes() for path in Path("published").rglob("*") if path.is_file()]
    for content in contents:
        assert not any(source in content for source in files.values())
        assert b"secret-model" not in content

    verify = ("verify", "--publication", "published", "--key", "anvil-ledger/log.vkey", "--recompute")
    argv = [str(Path(sys.executable).with_name("anvil")), *verify]
    elsewhere = {"PYTHONHASHSEED": "4711", "TZ": "Asia/Kathmandu", "LC_ALL": "C"}
    ran = subprocess.run(argv, env=os.environ | elsewhere, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout
    assert "Recomputed  yes" in ran.stdout
