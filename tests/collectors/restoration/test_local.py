"""Gates on the host itself: files, commands, shared memory, containers; with real files and real processes."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from anvil.collectors.recipes.gates import GateKind, GatePlace, RestorationGate
from anvil.collectors.restoration.containers import look_at_container
from anvil.collectors.restoration.gates import Gates, compared, not_compared, recorded
from anvil.collectors.restoration.local import look_at_memory
from anvil.collectors.restoration.state import State, read_state
from anvil.collectors.withholding import Secrets
from anvil.ledger.errors import CollectorError

ENTRY = "ab" * 32
IMAGE_ID = "sha256:" + "d3" * 32


def gate(kind: GateKind, **more: Any) -> RestorationGate:
    return RestorationGate(gate="it", kind=kind, about="It is as it was", **more)


async def nobody(_: str) -> Mapping[str, Any]:
    return {}


def look(one: RestorationGate, **place: Any) -> State:
    places = {"it": GatePlace(**place)}
    return asyncio.run(
        Gates([one], places, nobody, nobody, secrets=Secrets.of({"A_TOKEN": "s3cr3t-value"})).look()
    )["it"]


def outcome(one: RestorationGate, now: State, before: State | None) -> tuple[str, tuple[str, ...]]:
    event = compared(one, now, None, before, ENTRY)
    return event.outcome, event.differences


# --- files ----------------------------------------------------------------------------------------------


def test_a_file_that_did_not_change(tmp_path: Path) -> None:
    path = tmp_path / "client.toml"
    path.write_text("token = 1")
    before = look(gate("file"), path=str(path))
    assert before.value is None  # its digest could be tried for what is in it
    assert outcome(gate("file"), look(gate("file"), path=str(path)), before) == ("passed", ())
    path.write_text("token = 2")
    assert outcome(gate("file"), look(gate("file"), path=str(path)), before) == ("failed", ("digest",))
    path.unlink()
    assert outcome(gate("file"), look(gate("file"), path=str(path)), before)[0] == "failed"


def test_a_file_that_the_recipe_names_by_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "promoted"
    path.write_bytes(b"qwen")
    one = gate("file", digest=f"sha256:{hashlib.sha256(b'qwen').hexdigest()}")
    state = look(one, path=str(path))
    assert state.value == one.digest
    assert recorded(one, state, None).differences == ()
    path.write_bytes(b"other")
    after = look(one, path=str(path))
    assert after.value is None
    assert outcome(one, after, state) == ("failed", ("digest", "size"))


def test_what_is_no_plain_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert look(gate("file"), path=str(tmp_path / "pipe")).facts["digest"] == "no file"


# --- commands -------------------------------------------------------------------------------------------


def command(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def test_how_a_command_ends() -> None:
    one = gate("command")
    before = look(one, argv=command("print('up')"))
    assert (before.value, before.facts["exit-code"]) == (0, "0")
    assert [kept.content for kept in before.seen_in] == [b"up\n"]
    failing = look(one, argv=command("raise SystemExit(3)"))
    assert outcome(one, failing, before) == ("failed", ("exit-code",))
    assert outcome(gate("command", exit_code=3), failing, before) == ("passed", ())


def test_what_a_command_prints_counts_only_when_it_is_asked_for() -> None:
    before, after = (look(gate("command"), argv=command(f"print({n})")) for n in range(2))
    assert outcome(gate("command"), after, before) == ("passed", ())
    assert outcome(gate("command", same_output=True), after, before) == ("failed", ("output",))


def test_a_command_that_does_not_end_is_killed_with_its_children() -> None:
    code = "import subprocess; print(subprocess.Popen(['sleep', '77.77']).pid, flush=True); input()"
    one = gate("command")
    state = look(one, argv=command(code), deadline_s=1)
    assert state.facts["exit-code"].startswith("none within")
    assert outcome(one, state, None) == ("failed", ("exit-code",))


def test_a_command_that_prints_without_end_or_a_secret() -> None:
    state = look(gate("command"), argv=command("print('s3cr3t-value' + 'x' * 3000000)"))
    (kept,) = state.seen_in
    assert len(kept.content) <= 1 << 20
    assert b"s3cr3t-value" not in kept.content


def test_a_command_that_cannot_be_started_is_incomplete() -> None:
    state = look(gate("command"), argv=("/no/such/program",))
    assert "cannot be started" in (state.problem or "")
    assert outcome(gate("command"), state, None) == ("incomplete", ())


# --- shared memory ----------------------------------------------------------------------------------------


def test_shared_memory_that_nobody_uses(tmp_path: Path) -> None:
    shm = tmp_path / "shm"
    shm.mkdir()
    (shm / "old").write_bytes(bytes(10))
    before = look_at_memory(shm)
    with (shm / "used").open("wb") as used:
        used.write(bytes(10))
        used.flush()
        assert outcome(gate("memory"), look_at_memory(shm), before) == ("passed", ())
    after = look_at_memory(shm)
    assert after.value == 20
    assert outcome(gate("memory"), after, before) == ("failed", ("unused-shared-memory",))
    (shm / "used").unlink()
    (shm / "old").unlink()
    assert outcome(gate("memory"), look_at_memory(shm), before) == ("passed", ())


def test_system_v_segments_that_nobody_is_attached_to(tmp_path: Path) -> None:
    (tmp_path / "sysvipc").mkdir()
    head = "key shmid perms size cpid lpid nattch uid\n"
    rows = f"0 7 600 4096 1 1 0 {os.geteuid()}\n0 8 600 4096 1 1 2 {os.geteuid()}\n0 9 600 4096 1 1 0 99999\n"
    (tmp_path / "sysvipc/shm").write_text(head + rows)
    (tmp_path / "shm").mkdir()
    assert look_at_memory(tmp_path / "shm", tmp_path).facts == {"sysv 7": "4096"}


def test_this_machines_shared_memory_can_be_looked_at() -> None:
    assert look_at_memory().problem is None


# --- containers -------------------------------------------------------------------------------------------


def told(**changed: Any) -> dict[str, Any]:
    config = {"Env": ["HF_TOKEN=hf_abcdefghijklmnopqrstuvwx", "VLLM_USE_V1=1"]}
    return {
        "Image": IMAGE_ID,
        "State": {"Running": True},
        "Path": "vllm",
        "Args": ["serve"],
        "Config": config,
        "HostConfig": {"ShmSize": 1},
        "Mounts": [],
        **changed,
    }


def container(answer: Mapping[str, Any], digests: tuple[str, ...] = ("x/y@sha256:" + "c2" * 32,)) -> State:
    async def inspect(_: str) -> Mapping[str, Any]:
        return answer

    async def inspect_image(_: str) -> Mapping[str, Any]:
        return {"RepoDigests": list(digests)}

    return asyncio.run(look_at_container(GatePlace(container="vllm"), inspect, inspect_image, Secrets()))


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"Image": "sha256:" + "e4" * 32}, "image-id"),
        ({"Args": ["serve", "--max-model-len", "1"]}, "argv"),
        ({"Config": {"Env": ["HF_TOKEN=another"]}}, "env"),
        ({"HostConfig": {"ShmSize": 2}}, "host"),
        ({"State": {"Running": False}}, "running"),
        ({"Mounts": [{"Type": "bind", "Source": "/a", "Destination": "/b", "RW": True}]}, "mounts"),
    ],
)
def test_a_container_that_was_launched_otherwise(change: dict[str, Any], difference: str) -> None:
    before = container(told())
    assert outcome(gate("container"), container(told()), before) == ("passed", ())
    assert outcome(gate("container"), container(told(**change)), before) == ("failed", (difference,))
    assert all(b"hf_abc" not in kept.content for kept in before.seen_in)
    assert "hf_abc" not in before.content().decode()


def test_an_image_by_digest_or_by_id() -> None:
    state = container(told())
    assert state.value == IMAGE_ID
    for digest in ("sha256:" + "c2" * 32, IMAGE_ID):
        assert recorded(gate("container", digest=digest), state, None).differences == ()
    assert recorded(gate("container", digest="sha256:" + "00" * 32), state, None).differences == ("image-id",)


def test_a_container_that_is_gone_and_an_engine_that_is() -> None:
    before = container(told())
    assert outcome(gate("container"), container({}), before)[0] == "failed"

    async def unreachable(_: str) -> Mapping[str, Any]:
        raise CollectorError("no engine answers")

    state = asyncio.run(look_at_container(GatePlace(container="x"), unreachable, unreachable, Secrets()))
    assert outcome(gate("container"), state, before) == ("incomplete", ())


# --- all kinds --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["http", "container", "file", "command"])
def test_a_gate_that_the_site_does_not_place_is_incomplete_and_says_what_is_missing(kind: GateKind) -> None:
    state = look(gate(kind))
    assert "the site names no" in (state.problem or "")
    assert recorded(gate(kind), state, None).outcome == "incomplete"


def test_without_a_state_from_before_nothing_shows_that_it_is_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    state = look(gate("file"), path=str(tmp_path / "a"))
    event = compared(gate("file"), state, None, None, None)
    assert (event.outcome, event.before) == ("incomplete", None)
    assert ["problem", "no state was recorded before"] in (event.detail or [])
    assert not_compared(gate("file"), "interrupted", ENTRY).before == ENTRY


def test_a_kept_state_is_read_as_it_was() -> None:
    state = State({"digest": "x", "odd": "\ud800"}, problem=None)
    assert read_state(state.content()).facts == state.facts
    assert recorded(gate("file"), state, None).openings()
