"""Every published figure of the five campaigns comes out of its raw files again, by the way of the product."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tools import EVIDENCE

from anvil.collectors.importers import KINDS
from anvil.collectors.importers.evidence import family, schema_of
from evidence.campaigns import CAMPAIGNS, RIGHT
from evidence.taking import Folder, Line, status, take_in

pytestmark = pytest.mark.needs("evidence")

KNOWN = {family(schema) for importer in KINDS.values() for schema in importer.knows}

COUNTS = {
    # what the folders' README counts, and beside it what their files publish besides
    "agents-a1-head-to-head": 34 + 8 + 8 + 10,
    "fp8-moe-kernel-ab": 60 + 7 + 12 + 4 + 12,
    "heavy-eval-v2": 8 * 3 + 3,
    "qwen38-1m-context": 25,
    "rtx5090-mtp3-ab": 20 + 10,
}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("evidence")


@pytest.fixture(scope="module")
def folders(work: Path) -> dict[str, Folder]:
    return {name: take_in(EVIDENCE / name, work) for name in CAMPAIGNS}


def lines(folder: Folder) -> list[Line]:
    return list(CAMPAIGNS[folder.directory.name](folder))


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_every_published_figure_comes_out_again(name: str, folders: dict[str, Folder]) -> None:
    table = lines(folders[name])
    assert [line for line in table if not line.is_right] == []
    assert len({line.what for line in table}) == len(table) == COUNTS[name]


def test_the_one_that_was_rounded_twice_comes_out_right(folders: dict[str, Folder]) -> None:
    table = [line for folder in folders.values() for line in lines(folder)]
    (different,) = (line for line in table if not line.is_match)
    assert (different.campaign, different.ours) == ("qwen38-1m-context", RIGHT)


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_every_file_of_a_known_schema_is_imported(name: str, folders: dict[str, Folder]) -> None:
    for left in folders[name].left:
        schema = schema_of((EVIDENCE / name / left).read_bytes())
        # a summary that somebody wrote in a form of its own, which shares its first name with one that is known
        assert schema is None or family(schema) not in KNOWN, left


def test_what_is_wrong_with_them_is_found_without_being_told(folders: dict[str, Folder], work: Path) -> None:
    told = {name: status(EVIDENCE / name, work) for name in folders}
    agents = told["agents-a1-head-to-head"]
    assert "selected, and without an observation" in agents
    assert "figures rest on a partly failed run: 18 of 30 did not pass" in agents
    assert "figures rest on a partly failed run: 2 of 30 did not pass" in agents
    assert "prompts shared a prefix, or seem to (timing)" in agents
    assert "not said: image, model, revision, recipe" in agents
    assert "said only in the file: image" in agents
    assert "the prompt had 198049 tokens, 240000 were aimed at" in agents
    assert "2 samples do not support a percentile that needs 59" in agents
    heavy = told["heavy-eval-v2"]
    assert "reasoning was seen and not counted apart, in 30 of 30" in heavy
    assert "reasoning came although thinking was disabled, in 4 of 15" in heavy
    assert "a number stands where there are no samples: ttft_p50_ms" in heavy
    assert "the prompt had 825049 tokens, 1000000 were aimed at" in told["qwen38-1m-context"]
    assert all("statistic" not in text and "the rows give" not in text for text in told.values())
