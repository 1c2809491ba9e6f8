"""The endpoint block: where a model answers, and secrets that stay in the environment."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from anvil.collectors.endpoints import NO_BLOCK, EndpointBlock, make_endpoint
from anvil.ledger.errors import CollectorError

HERE = {"base_url": "http://127.0.0.1:8000/", "served_model": "m"}


def test_an_empty_block_is_the_attempts_own() -> None:
    endpoint = make_endpoint(NO_BLOCK, **HERE, environ={})
    assert (endpoint.base_url, endpoint.served_model, dict(endpoint.headers)) == (
        "http://127.0.0.1:8000",
        "m",
        {},
    )
    assert not endpoint.via_router


def test_secrets_come_from_the_environment_and_are_not_shown() -> None:
    block = EndpointBlock(
        api_key_env="THE_KEY", headers_env={"X-Team": "TEAM"}, via="router", base_url="https://r.example"
    )
    endpoint = make_endpoint(block, **HERE, environ={"THE_KEY": "abc", "TEAM": "red"})
    assert endpoint.headers == {"X-Team": "red", "Authorization": "Bearer abc"}
    assert endpoint.via_router
    assert endpoint.base_url == "https://r.example"
    assert "abc" not in repr(endpoint)


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(CollectorError, match="THE_KEY, which is not set"):
        make_endpoint(EndpointBlock(api_key_env="THE_KEY"), **HERE, environ={"THE_KEY": ""})


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1:8000", "ftp://host", "http://", "http://me:pw@host", "http://host/?key=1", "http://host/#x"],
)
def test_addresses_that_are_refused(address: str) -> None:
    with pytest.raises(ValidationError):
        EndpointBlock(base_url=address)
