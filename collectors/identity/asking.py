"""Who an engine is, by every source that tells it; disagreements are kept, never settled.

1. Sources: the image's digest and labels, version endpoints, `/v1/models`, `/props`, the log, the
   package, the model's files, the chat template. Each says what it says as a claim.
2. A claim that fits a public type is in the clear; any other (a path, a build string) is sealed.
3. Claims about one thing disagree when they cannot all be true: revisions agree when one begins with
   the other, versions when they are equal without a leading ``v``. What the recipe expects counts as
   one more source, though it is no claim.
4. A package that wraps an engine numbers itself, so its version is not compared with the engine's.
5. Base images leave their own version label behind: a label is believed only where the image's
   reference name is not a distribution's.
6. A model name that cannot exist is asked for once: an endpoint that answers it accepts any name.
7. Behind a router both are asked: the router by which requests go, and the engine itself where its
   address is known. All that the router says is the claim of the source `router`, never the engine's own.
   It is asked for one answer too: a model of another name than was asked for, or than the engine serves,
   is a disagreement about `served_name`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from anvil.collectors.client import Client
from anvil.collectors.identity.claims import (
    Claim,
    Launched,
    as_public,
    as_sealed,
    claims_of,
    disagreements,
    launch_claims,
    model_ids,
    model_rows,
    places,
    props_claims,
)
from anvil.collectors.interface import Exchange, Recorder
from anvil.ledger.drafts import Attachment
from anvil.ledger.events.engines import EngineIdentified

IMPOSSIBLE_MODEL = "anvil-no-such-model-5f1d7a"
"""A name that no server has."""

ENGINES = ("vllm", "sglang", "llamacpp")

_MAX_CLAIMS = 64


@dataclass(frozen=True)
class Identity:
    """What was found: the event, what it attaches, and the endpoint's properties for reports."""

    event: EngineIdentified
    attachments: tuple[Attachment, ...]
    props: Mapping[str, Any]


@dataclass
class _Asked:
    """The answers of one endpoint to the questions about itself."""

    client: Client
    recorder: Recorder
    attachments: list[Attachment] = field(default_factory=list)

    prefix: str = ""
    """Before the names of what is attached."""

    async def get(self, path: str, name: str) -> tuple[Exchange, Any]:
        """Return an answer and its JSON (None unless it is a 200 with JSON), and keep its body."""
        exchange = await self.client.exchange("GET", path)
        return exchange, self.keep(exchange, name)

    async def told(self) -> _Told:
        """Ask everything that an endpoint may say of itself without being asked to generate."""
        _, version = await self.get("/version", "version_response")
        listing, models = await self.get("/v1/models", "models_response")
        _, props = await self.get("/props", "props_response")
        _, info = await self.get("/get_server_info", "server_info_response")
        return _Told(version, listing, models, props if isinstance(props, dict) else {}, info)

    async def answered(self, model: str, cap_field: str | None, name: str) -> tuple[Exchange, Any]:
        """Ask a model of a name for one token; return as `get` does."""
        cap = cap_field if cap_field in ("max_completion_tokens", "max_tokens") else "max_tokens"
        messages = [{"role": "user", "content": "Hello"}]
        payload = {"model": model, "messages": messages, "temperature": 0, cap: 1}
        exchange = await self.client.exchange("POST", "/v1/chat/completions", payload)
        return exchange, self.keep(exchange, name)

    def keep(self, exchange: Exchange, name: str) -> Any:
        try:
            value = json.loads(exchange.body)
        except (ValueError, RecursionError):
            value = None
        if exchange.status is not None:
            name = f"{self.prefix}{name}"
            blob = self.recorder.keep(exchange.body, name=name)
            media_type = "application/octet-stream" if value is None else "application/json"
            self.attachments.append(Attachment(name, media_type, blob))
        return value if exchange.status == 200 and exchange.failure is None else None


@dataclass(frozen=True)
class _Told:
    """What one endpoint said of itself; None where it did not."""

    version: Any
    listing: Exchange
    models: Any
    props: Mapping[str, Any]
    info: Any

    def claims(self) -> list[Claim]:
        return [
            *claims_of(self.version, "version_endpoint"),
            *claims_of(self.info, "version_endpoint"),
            *(Claim("models_endpoint", "served_name", name) for name in model_ids(self.models)),
            *props_claims(self.props),
        ]


async def identify(
    client: Client,
    recorder: Recorder,
    *,
    served_model: str,
    launched: Launched,
    cap_field: str | None = None,
) -> Identity:
    """Ask an endpoint who it is, compare with everything else that tells it, and return what was found.

    Raises:
        CollectorError: the bytes could not be kept.
    """
    asked = _Asked(client, recorder)
    told = await asked.told()
    accepts = await _accepts_any(asked, cap_field)
    claims = list(dict.fromkeys((*launch_claims(launched), *told.claims())))  # two log lines may say the same
    event = _event(told, told, claims, disagreements(claims, launched), served_model, accepts)
    return Identity(event, tuple(asked.attachments), told.props)


async def identify_behind(
    router: Client,
    engine: Client | None,
    recorder: Recorder,
    *,
    served_model: str,
    launched: Launched,
    cap_field: str | None = None,
) -> Identity:
    """Ask a router and the engine behind it who they are (rule 7); `engine` is null where only one is known.

    The properties that are returned are the engine's own.

    Raises:
        CollectorError: the bytes could not be kept.
    """
    asked = _Asked(router, recorder, prefix="router_")
    between = await asked.told()
    _, answer = await asked.answered(served_model, cap_field, "answer_response")
    accepts = await _accepts_any(asked, cap_field)
    behind = None if engine is None else _Asked(engine, recorder, asked.attachments)
    own = None if behind is None else await behind.told()
    named = answer.get("model") if isinstance(answer, dict) else None
    routed = [Claim("router", claim.what, claim.text) for claim in between.claims()]
    if isinstance(named, str) and named:
        routed.append(Claim("router", "served_name", named))
    claims = list(dict.fromkeys((*launch_claims(launched), *routed, *(own.claims() if own else ()))))
    known = {served_model} if own is None or own.models is None else {served_model} & {*model_ids(own.models)}
    differs = ("served_name",) if isinstance(named, str) and named not in known else ()
    found = (*disagreements(claims, launched), *differs)
    event = _event(between, own or between, claims, found, served_model, accepts)
    return Identity(event, tuple(asked.attachments), own.props if own else {})


def _event(
    asked: _Told,
    own: _Told,
    claims: list[Claim],
    found: tuple[str, ...],
    served_model: str,
    accepts: bool | None,
) -> EngineIdentified:
    """Return the event; `asked` is what requests go to, and `own` the engine as far as it is known."""
    engines = set(_engines(own))
    return EngineIdentified(
        engine=next(iter(engines)) if len(engines) == 1 else None,
        claims=tuple(as_public(claim) for claim in claims[:_MAX_CLAIMS]),
        disagreements=(*(("engine",) if len(engines) > 1 else ()), *found),
        served_name_matches=served_model in model_ids(asked.models) if asked.models is not None else None,
        accepts_any_model=accepts,
        sealed_claims=[*as_sealed(claims), *places(own.models, own.props)] or None,
    )


async def _accepts_any(asked: _Asked, cap_field: str | None) -> bool | None:
    """Ask for a model that cannot exist; null when the answer says neither yes nor no."""
    exchange, answer = await asked.answered(IMPOSSIBLE_MODEL, cap_field, "impossible_model_response")
    if exchange.status is None or exchange.status >= 500 or exchange.status == 429:
        return None
    return isinstance(answer, dict) and bool(answer.get("choices"))


def _engines(told: _Told) -> Iterator[str]:
    """Yield each engine that an answer points to."""
    version, info = told.version, told.info
    for row in model_rows(told.models):
        owner = row.get("owned_by")
        if isinstance(owner, str) and owner.lower() in ENGINES:
            yield owner.lower()
    servers = [value for name, value in told.listing.headers.items() if name.lower() == "server"]
    if "llama.cpp" in servers or "build_info" in told.props:
        yield "llamacpp"
    if isinstance(info, dict) and "version" in info:
        yield "sglang"
    elif isinstance(version, dict) and set(version) == {"version"}:
        yield "vllm"
