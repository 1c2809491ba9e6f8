"""`anvil recipe`: what can be run, and what it would run."""

from __future__ import annotations

from pathlib import Path

from support.command import Anvil

from anvil.collectors.recipes import load_recipe, packaged_recipes


def test_check_says_what_a_recipe_holds(anvil: Anvil) -> None:
    done = anvil("recipe", "check", "qwen38-27b-vllm-262k")
    assert done.code == 0, done.err
    assert done.out.startswith(
        "qwen38-27b-vllm-262k: 5 attempts, 14 checks, 5 suites, 5 protocols, 3 experiments\ndigest sha256:"
    )


def test_check_refuses_with_line_and_remedy(anvil: Anvil, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('format = "anvil.recipe/1"\nnmae = "mine"\n')
    done = anvil("recipe", "check", str(path))
    assert done.code == 1
    assert f"{path}:2: unknown key `nmae`. Write `name`" in done.err
    assert "Traceback" not in done.err


def test_show_gives_one_argument_a_line(anvil: Anvil) -> None:
    done = anvil("recipe", "show", "qwen38-27b-vllm-262k", "--attempt", "fp8-text-mtp3")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "fp8-text-mtp3: Qwen/Qwen3.8-27B-FP8 on vllm (docker)"
    at = lines.index("    --speculative-config")
    assert lines[at + 1] == '    {"method": "mtp", "num_speculative_tokens": 3}'


def test_show_for_programs_and_a_site(anvil: Anvil, tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    gpu = "GPU-12345678-1234-1234-1234-123456789abc"
    site.write_text(
        f'[placements.first]\ngpus = ["{gpu}"]\nport = 31000\n[placements.second]\nport = 31001\n'
    )
    done = anvil("recipe", "show", "qwen38-27b-sglang-393k", "--site", str(site), "--json")
    assert done.code == 0, done.err
    shown = done.json
    assert shown["schema"] == "anvil.recipe.show/1"
    assert [attempt["port"] for attempt in shown["attempts"]] == [31000, 31001, 31001, 31000]
    assert gpu not in done.out


def test_show_says_which_revisions_a_recipe_builds_on_and_follows(anvil: Anvil) -> None:
    done = anvil("recipe", "show", "qwen38-27b-sglang-393k")
    base, followed = "6f3af00659441371b266b27bd910d932f428f277", "dd458f3212dd4ddf0e1a7907bbf539b660e70d21"
    assert done.out.startswith(f"builds on base revision {base}\n\n")
    assert f"  follows    recipe revision {followed}\n" in done.out
    shown = anvil("recipe", "show", "qwen38-27b-sglang-393k", "--json").json
    assert shown["base_revision"] == base
    assert {attempt["recipe_revision"] for attempt in shown["attempts"]} == {followed}
    assert "revision" not in anvil("recipe", "show", "quickstart").out


def test_a_revision_that_is_none_is_refused_with_its_line(anvil: Anvil, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('format = "anvil.recipe/1"\nbase_revision = "main"\n')
    done = anvil("recipe", "check", str(path))
    assert done.code == 1
    assert f"{path}:2: " in done.err
    assert "Traceback" not in done.err


def test_no_such_attempt_lists_those_there_are(anvil: Anvil) -> None:
    done = anvil("recipe", "show", "quickstart", "--attempt", "gpu")
    assert done.code == 2
    assert "'gpu' is none of cpu" in done.err


def test_check_warns_of_what_comes_to_no_verdict(anvil: Anvil, tmp_path: Path) -> None:
    shipped = load_recipe("quickstart").content.decode()
    head = shipped[: shipped.index("[[checks]]")]
    path = tmp_path / "mine.toml"
    path.write_text(f'{head}[[checks]]\nid = "identity"\n\n[[checks]]\nid = "finish"\n')
    done = anvil("recipe", "check", path)
    assert done.code == 0
    warning = done.out.splitlines()[2]
    assert warning.startswith(
        "warning: finish of cpu will end as prerequisite_failed: no check before it asks"
    )
    (listed,) = anvil("recipe", "check", path, "--json").json["warnings"]
    assert (listed["attempt"], listed["name"]) == ("cpu", "finish")


def test_the_recipes_that_come_along_lack_nothing(anvil: Anvil) -> None:
    for name in packaged_recipes():
        assert anvil("recipe", "check", name, "--json").json["warnings"] == [], name
