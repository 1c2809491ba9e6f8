"""The site file: what belongs to a host, and what an attempt becomes there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from anvil.collectors.recipes import FileRefused, load_recipe
from anvil.collectors.site import Site, load_site
from anvil.ledger.errors import CollectorError

GPU = "GPU-12345678-1234-1234-1234-123456789abc"

SITE = f'''format = "anvil.site/1"
min_free_bytes = 1000
[placements.first]
gpus = ["{GPU}"]
port = 30100
cpus = "0-7,16"
[placements.second]
gpus = ["{GPU.replace("1", "2")}"]
[caches]
huggingface = "~/hf"
[docker]
base_url = "unix:///var/run/docker.sock"
[endpoints.lane]
base_url = "http://10.0.0.1:8000/"
api_key_env = "LANE_KEY"
'''


@pytest.fixture
def site(tmp_path: Path) -> Site:
    path = tmp_path / "anvil-site.toml"
    path.write_text(SITE)
    return load_site(path)


def refused(tmp_path: Path, text: str) -> str:
    path = tmp_path / "anvil-site.toml"
    path.write_text(text)
    with pytest.raises(FileRefused) as caught:
        load_site(path)
    return str(caught.value)


def test_a_placement_is_a_gpu_and_a_port(site: Site) -> None:
    attempt = load_recipe("qwen38-27b-sglang-393k").attempts[0]
    assert site.placement(attempt).gpus == (GPU,)
    placed = site.place(attempt)
    assert placed.host_port == 30100
    # Inside its container the engine listens where the recipe says.
    assert placed.argv[-2:] == ("--port", "30000")
    assert "{" not in "".join(placed.argv).replace('{"enable_thinking": false}', "")


def test_a_process_listens_where_the_site_says(tmp_path: Path) -> None:
    (attempt,) = load_recipe("quickstart").attempts
    placed = Site().place(attempt, weights=tmp_path / "model.gguf", chosen=18480)
    assert placed.argv[0] == sys.executable
    assert str(tmp_path / "model.gguf") in placed.argv
    assert placed.argv[placed.argv.index("--port") + 1] == "18480"
    assert placed.host_port == 18480


def test_a_free_port_stays_open_until_it_is_chosen(tmp_path: Path) -> None:
    (attempt,) = load_recipe("quickstart").attempts
    assert (attempt.port, Site().port(attempt)) == (0, 0)
    placed = Site().place(attempt, weights=tmp_path / "model.gguf")
    assert placed.host_port is None
    assert placed.argv[placed.argv.index("--port") + 1] == "{port}"


def test_a_placement_may_leave_the_port_of_a_container_open(tmp_path: Path) -> None:
    path = tmp_path / "anvil-site.toml"
    path.write_text(SITE.replace("port = 30100", "port = 0"))
    site, attempt = load_site(path), load_recipe("qwen38-27b-sglang-393k").attempts[0]
    assert site.port(attempt) == 0
    placed = site.place(attempt, chosen=30200)
    assert placed.host_port == 30200
    assert placed.argv[-2:] == ("--port", "30000")


def test_weights_that_were_not_fetched() -> None:
    (attempt,) = load_recipe("quickstart").attempts
    with pytest.raises(CollectorError, match="needs a model file"):
        Site().place(attempt)


def test_mounts_go_from_the_sites_caches_to_the_recipes_paths(site: Site) -> None:
    attempt = load_recipe("qwen38-27b-sglang-393k").attempts[0]
    assert site.mounts(attempt) == {str(Path("~/hf").expanduser()): "/root/.cache/huggingface"}


def test_what_the_site_lacks_is_named_with_what_to_add() -> None:
    attempt = load_recipe("qwen38-27b-sglang-393k").attempts[0]
    with pytest.raises(CollectorError, match="placement 'first'") as caught:
        Site().place(attempt)
    assert "[placements.first]" in caught.value.advice
    with pytest.raises(CollectorError, match="cache 'huggingface'"):
        Site().mounts(attempt)


def test_a_gpu_by_its_number_is_refused(tmp_path: Path) -> None:
    said = refused(tmp_path, '[placements.first]\ngpus = ["0"]\n')
    assert "anvil-site.toml:2" in said
    assert "gpus" in said or "'0'" in said


def test_an_unknown_key_is_refused_with_the_one_meant(tmp_path: Path) -> None:
    assert ":1: unknown key `min_free_byte`. Write `min_free_bytes`" in refused(
        tmp_path, "min_free_byte = 1\n"
    )


def test_a_key_itself_is_no_place_for_a_secret(tmp_path: Path) -> None:
    said = refused(tmp_path, '[endpoints.lane]\napi_key = "abc"\n')
    assert "Write `api_key_env`" in said


def test_without_a_file_everything_has_a_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_site(None) == Site()
    (tmp_path / "anvil-site.toml").write_text("min_free_bytes = 5\n")
    assert load_site(None).min_free_bytes == 5


def test_a_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(CollectorError, match="cannot be read"):
        load_site(tmp_path / "absent.toml")


def test_the_site_is_no_part_of_the_recipes_digest(site: Site) -> None:
    recipe = load_recipe("qwen38-27b-sglang-393k")
    first, second = recipe.attempts[0], recipe.attempts[2]
    assert site.placement(first).gpus != site.placement(second).gpus
    assert recipe.digest == load_recipe("qwen38-27b-sglang-393k").digest
    assert GPU.encode() not in recipe.content
