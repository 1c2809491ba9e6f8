"""Where a model answers: the `[endpoint]` block, and the `Endpoint` made from it.

1. A secret is never written: `api_key_env` and `headers_env` name environment variables, which are
   read when the endpoint is made, by whoever runs.
2. A URL holds no user, no password, no query: those would be secrets in a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from anvil.collectors.interface import Endpoint
from anvil.ledger.errors import CollectorError

MediaPart = Literal["image_url", "input_image", "image", "video_url", "input_video"]
"""How a picture or clip is named in a message's content, as the engine wants it."""


def _plain_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise PydanticCustomError(
            "anvil", "{what}", {"what": f"{text[:40]!r} is no address", "write": "Write http://HOST:PORT"}
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise PydanticCustomError(
            "anvil",
            "{what}",
            {
                "what": "this address holds a user, a password or a query",
                "write": "Write http://HOST:PORT alone, and name the key's variable in `api_key_env`",
            },
        )
    return text.rstrip("/")


def plain_url(text: str) -> str:
    """Return an address, without a slash at its end.

    Raises:
        CollectorError: it is none, or holds what could be a secret; the text is not repeated.
    """
    try:
        return _plain_url(text)
    except PydanticCustomError as error:
        told = error.context or {}
        raise CollectorError(str(told.get("what")), advice=f"{told.get('write')}.") from error


Url = Annotated[str, AfterValidator(_plain_url)]
"""An address without anything that could be a secret."""

EnvironmentName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")]
"""The name of an environment variable."""

HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,80}$")]
"""The name of an HTTP header (RFC 9110, section 5.1)."""


class EndpointBlock(BaseModel):
    """The `[endpoint]` block of a recipe's engine or of a site: everything may be left out."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    base_url: Url | None = None
    """``http://HOST:PORT``; requests go to ``/v1/…`` below it."""
    served_model: str | None = None
    """The name to ask for, where it is not the attempt's."""
    api_key_env: EnvironmentName | None = None
    """The variable whose value is sent as a bearer token."""
    headers_env: Mapping[HeaderName, EnvironmentName] = Field(default_factory=dict)
    """Headers, each with the variable that holds its value."""
    metrics_url: Url | None = None
    """Where the engine's own metrics are, when not at ``/metrics`` of its address."""
    via: Literal["direct", "router"] = "direct"
    """Whether something stands between, which may answer with another model."""
    engine_url: Url | None = None
    """Behind a router: the engine's own address, where anvil did not launch it."""
    media_part: MediaPart = "image_url"
    """How pictures are sent."""
    container: str | None = None
    """Of `attach` only: the running container to read inspect output and log from; never stopped."""
    pid: int | None = Field(default=None, gt=0)
    """Of `attach` only: the running process to read; never stopped."""

    @model_validator(mode="after")
    def _only_behind_a_router(self) -> Self:
        if self.engine_url is not None and self.via == "direct":
            raise PydanticCustomError(
                "anvil",
                "{what}",
                {
                    "what": "`engine_url` is for an engine behind a router, and nothing stands between",
                    "write": 'Write via = "router" too, or the engine\'s address as `base_url` alone',
                },
            )
        return self


NO_BLOCK = EndpointBlock()
"""What an absent block means."""


def make_endpoint(
    block: EndpointBlock,
    *,
    base_url: str,
    served_model: str,
    environ: Mapping[str, str],
    ca_file: Path | None = None,
) -> Endpoint:
    """Return the endpoint of a running engine, with what its secrets' variables hold.

    `base_url` and `served_model` are the attempt's; the block's own come first. `ca_file` is the site's.

    Raises:
        CollectorError: a variable that the block names is not set.
    """
    wanted = dict(block.headers_env)
    headers = {header: _value(name, environ) for header, name in wanted.items()}
    if block.api_key_env is not None:
        headers["Authorization"] = f"Bearer {_value(block.api_key_env, environ)}"
    return Endpoint(
        base_url=block.base_url or base_url.rstrip("/"),
        served_model=block.served_model or served_model,
        headers=headers,
        metrics_url=block.metrics_url,
        via_router=block.via == "router",
        engine_url=block.engine_url,
        media_part=block.media_part,
        ca_file=ca_file,
    )


def _value(name: str, environ: Mapping[str, str]) -> str:
    value = environ.get(name)
    if not value:
        raise CollectorError(
            f"the endpoint needs the environment variable {name}, which is not set",
            advice=f"Set {name}, or leave its line out of the endpoint block.",
        )
    return value
