"""Who the engine of an attempt is, and what it says of itself at start-up: asked, kept and compared.

1. Where requests go directly, one endpoint is asked for everything.
2. Behind a router the router and the engine are asked each for itself. What the engine says of itself,
   its properties and its metrics, is then taken from the engine alone: a router's own would pass for it.
3. The endpoint's headers go to the endpoint alone, so an engine behind a router is asked without a key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

from anvil.collectors.client import Client
from anvil.collectors.identity import Identity, Launched, identify, identify_behind
from anvil.collectors.interface import Deadlines, Endpoint, Exchange, Recorder
from anvil.collectors.launchers.interface import Running
from anvil.collectors.recipes import Attempt
from anvil.collectors.reports import READERS, read_report
from anvil.ledger.drafts import Attachment
from anvil.ledger.events import EngineIdentified, Event, WeightsInspected

Append = Callable[[Event, Sequence[Attachment]], None]


def own_endpoint(endpoint: Endpoint, running: Running) -> Endpoint | None:
    """Return the engine's own address behind a router; null without a router, or where it is not known."""
    url = endpoint.engine_url or running.base_url
    if not endpoint.via_router or url == endpoint.base_url:
        return None
    return replace(endpoint, base_url=url, headers={}, via_router=False)


async def ask_metrics(endpoint: Endpoint, client: Client, engine: Client | None) -> Exchange | None:
    """Ask for the engine's own metrics; null where nobody says where they are.

    `engine` is the engine's own address behind a router; null without one, or where it is not known.
    """
    if endpoint.metrics_url is not None:
        return await client.exchange("GET", endpoint.metrics_url)
    if not endpoint.via_router:
        return await client.exchange("GET", "/metrics")
    return None if engine is None else await engine.exchange("GET", "/metrics")


@dataclass(frozen=True)
class Identifying:
    """One running engine that is asked; `endpoint` is where requests go, `append` records an event."""

    attempt: Attempt
    endpoint: Endpoint
    running: Running
    deadlines: Deadlines
    recorder: Recorder
    append: Append
    weights: WeightsInspected | None = None
    """What was seen of the model's files on this host; they are one more source."""

    async def run(self, cap_field: str | None) -> EngineIdentified:
        """Ask and record: first who it is, then what its reader takes out of what it says; return the first.

        Raises:
            AnvilError: what was seen could not be kept.
        """
        async with AsyncExitStack() as clients:
            client = await clients.enter_async_context(Client(self.endpoint, deadlines=self.deadlines))
            own = own_endpoint(self.endpoint, self.running)
            engine = None if own is None else Client(own, deadlines=self.deadlines)
            if engine is not None:
                await clients.enter_async_context(engine)
            log = (await self.running.log()).content()
            identity = await self._identify(client, engine, log, cap_field)
            self.append(identity.event, identity.attachments)
            if self.attempt.engine in READERS:
                await self._report(await self._metrics(client, engine), log, identity.props)
            return identity.event

    async def _identify(
        self, client: Client, engine: Client | None, log: bytes, cap_field: str | None
    ) -> Identity:
        attempt = self.attempt
        launched = Launched(
            image=attempt.image,
            image_id=attempt.image_id,
            log=log,
            version=attempt.version,
            revision=attempt.revision,
            candidate_revision=attempt.model.revision,
            model_revision=self.weights.revision if self.weights else None,
            chat_template=self.weights.digest_of("chat-template") if self.weights else None,
        )
        served = self.endpoint.served_model
        if not self.endpoint.via_router:
            return await identify(
                client, self.recorder, served_model=served, launched=launched, cap_field=cap_field
            )
        return await identify_behind(
            client, engine, self.recorder, served_model=served, launched=launched, cap_field=cap_field
        )

    async def _metrics(self, client: Client, engine: Client | None) -> Exchange | None:
        return await ask_metrics(self.endpoint, client, engine)

    async def _report(self, metrics: Exchange | None, log: bytes, props: Mapping[str, Any]) -> None:
        """Keep what the engine says of itself, and take out the figures that its reader knows."""
        attachments = [self._attach("startup-log", log)]
        text = ""
        if metrics is not None and metrics.status == 200:
            attachments.append(self._attach("metrics", metrics.body))
            text = metrics.body.decode("utf-8", "replace")
        report = read_report(self.attempt.engine, log, metrics=text, props=props)
        if report is not None:
            self.append(report.event(), attachments)

    def _attach(self, name: str, content: bytes) -> Attachment:
        return Attachment(name, "text/plain", self.recorder.keep(content, name=name))
