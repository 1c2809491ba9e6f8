"""Who an engine is: every source kept, disagreements named, and nothing in the clear that is not public."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.checking import MemoryRecorder
from support.endpoint import Chat, Reply, Server

from anvil.collectors.client import Client
from anvil.collectors.identity import (
    IMPOSSIBLE_MODEL,
    Claim,
    Identity,
    Launched,
    disagreements,
    identify,
    launch_claims,
)
from anvil.collectors.interface import Endpoint

LABELLED = "c4271c3fe1262fc2adbd162c33b25de5255251c5"
NOTHING = Launched()
IMAGE = "lmsysorg/sglang@sha256:" + "5" * 64


def identified(server: Server, launched: Launched = NOTHING, served: str = "test-model") -> Identity:
    async def run() -> Identity:
        async with Client(Endpoint(server.base_url, served)) as client:
            return await identify(client, MemoryRecorder(), served_model=served, launched=launched)

    return asyncio.run(run())


def values(identity: Identity, what: str) -> dict[str, Any]:
    return {claim.source: claim.value for claim in identity.event.claims if claim.what == what}


def models(*rows: dict[str, Any]) -> Any:
    return lambda request: {"object": "list", "data": list(rows)}


def test_a_vllm_server() -> None:
    log = (
        b"(APIServer pid=1) INFO 07-29 [api_utils.py:344]  model x  version 0.23.1rc1.dev1327+gf25953cc5\n"
        b"Initializing a V1 LLM engine (v0.23.1rc1.dev1327+gf25953cc5) with config: revision="
        + b"4" * 40
        + b", x\n"
    )
    with Server(version="0.23.1rc1.dev1327+gf25953cc5") as server:
        server.on("/v1/models", models({"id": "test-model", "owned_by": "vllm", "root": "/home/me/models/x"}))
        found = identified(server, Launched(log=log, candidate_revision="4" * 40))
    event = found.event
    assert event.engine == "vllm"
    assert event.disagreements == ()
    assert event.served_name_matches is True
    assert values(found, "engine_version") == {
        "version_endpoint": "0.23.1rc1.dev1327+gf25953cc5",
        "log_line": "0.23.1rc1.dev1327+gf25953cc5",
    }
    assert [c.source for c in event.claims if c.what == "engine_version"] == [
        "log_line",
        "version_endpoint",
    ], "two lines of the log say the same: one claim"
    assert values(found, "engine_revision")["log_line"] == "gf25953cc5"
    assert values(found, "model_revision") == {"log_line": "4" * 40}
    # A path is sealed, not in the clear.
    assert event.sealed_claims == [["models_endpoint root", "/home/me/models/x"]]
    assert "/home/me" not in str(event.facts())


def test_a_label_and_an_internal_build_that_differ() -> None:
    """The image said one revision and the engine another: both are kept."""
    with Server() as server:
        server.on("/version", lambda request: Reply.of_json({"error": "no"}, 404))
        server.on(
            "/get_server_info", lambda request: {"version": "0.5.7.dev20+g561c8f3", "api_key": "s3cret-value"}
        )
        server.on("/v1/models", models({"id": "test-model", "owned_by": "sglang"}))
        labels = {"org.opencontainers.image.revision": LABELLED}
        found = identified(server, Launched(image=IMAGE, labels=labels, revision=LABELLED))
    assert found.event.engine == "sglang"
    assert found.event.disagreements == ("engine_revision",)
    assert values(found, "engine_revision") == {"image_label": LABELLED, "version_endpoint": "g561c8f3"}
    assert values(found, "image") == {"image_digest": IMAGE}
    assert "s3cret-value" not in str(found.event)


def test_llamacpp_from_a_wheel() -> None:
    with Server() as server:
        server.on("/version", lambda request: Reply.of_json({}, 404))
        server.on("/v1/models", models({"id": "test-model", "owned_by": "llamacpp"}))
        props = {
            "build_info": "b0-unknown",
            "model_alias": "test-model",
            "model_path": "/tmp/x.gguf",
            "chat_template": "{{ x }}",
        }
        server.on("/props", lambda request: props)
        found = identified(server, Launched(log=b"engine package xllamacpp 2026.10.11549\nmore\n"))
    assert found.event.engine == "llamacpp"
    assert found.event.disagreements == ()
    assert values(found, "engine_version") == {"package_version": "2026.10.11549"}
    assert str(values(found, "chat_template")["props_endpoint"]).startswith("sha256:")
    assert found.props["model_alias"] == "test-model"
    assert {item.name for item in found.attachments} >= {
        "models_response",
        "props_response",
        "impossible_model_response",
    }


def test_an_endpoint_that_answers_any_name() -> None:
    with Server(chat=lambda payload: Chat(content="hi")) as server:
        assert identified(server).event.accepts_any_model is True
        asked = server.requests[-1].json
    assert asked["model"] == IMPOSSIBLE_MODEL
    assert asked["max_tokens"] == 1


@pytest.mark.parametrize(("status", "found"), [(404, False), (400, False), (500, None), (429, None)])
def test_an_endpoint_that_does_not(status: int, found: bool | None) -> None:
    with Server(
        chat=lambda payload: Reply.of_json({"error": {"message": "no such model"}}, status)
    ) as server:
        assert identified(server).event.accepts_any_model is found


def test_another_served_name() -> None:
    with Server(model="other") as server:
        assert identified(server).event.served_name_matches is False


def test_no_list_of_models() -> None:
    with Server() as server:
        server.on("/v1/models", lambda request: Reply(b"<html>", content_type="text/html"))
        assert identified(server).event.served_name_matches is None


def test_two_engines_at_once_are_none() -> None:
    with Server() as server:
        server.on("/v1/models", models({"id": "test-model", "owned_by": "sglang"}))
        event = identified(server).event
    assert event.engine is None
    assert event.disagreements == ("engine",)


def test_a_router_with_another_version_than_the_recipe_expects() -> None:
    with Server(version="1.2.3") as server:
        assert identified(server, Launched(version="1.2.4")).event.disagreements == ("engine_version",)


def test_a_base_images_own_version_is_not_the_engines() -> None:
    labels = {"org.opencontainers.image.ref.name": "ubuntu", "org.opencontainers.image.version": "24.04"}
    assert list(launch_claims(Launched(labels=labels))) == []
    del labels["org.opencontainers.image.ref.name"]
    assert list(launch_claims(Launched(labels=labels))) == [Claim("image_label", "engine_version", "24.04")]


def test_answers_that_are_no_answers() -> None:
    """Shapes that nobody promised are no claims and no crash."""
    odd: list[Any] = [[], "x", {"data": "x"}, {"data": [1, {"id": 2}]}, {"version": 3}, {"version": ""}, None]
    for answer in odd:
        with Server() as server:
            for path in ("/version", "/v1/models", "/props", "/get_server_info"):
                server.on(path, lambda request, answer=answer: Reply.of_json(answer))
            event = identified(server).event
        assert event.claims == ()


def test_what_a_hostile_endpoint_says_stays_out_of_the_clear() -> None:
    hostile = "0.1.0\u202e<script>"
    with Server(version=hostile, model="../../etc/passwd") as server:
        event = identified(server).event
    assert {claim.value for claim in event.claims} == {None}
    assert ["version_endpoint engine_version", hostile] in (event.sealed_claims or [])


def test_a_version_that_is_a_word_is_not_taken_for_one() -> None:
    """What stands in the clear as a version is a version; any other word could be anything."""
    with Server(version="hunter2-is-my-word") as server:
        event = identified(server).event
    assert [claim.value for claim in event.claims if claim.what == "engine_version"] == [None]


def test_revisions_agree_when_one_begins_with_the_other() -> None:
    claims = [
        Claim("image_label", "engine_revision", LABELLED),
        Claim("log_line", "engine_revision", LABELLED[:7]),
    ]
    assert disagreements(claims, Launched()) == ()
    assert disagreements(claims, Launched(revision="0" * 40)) == ("engine_revision",)
