"""A gate that is looked at by asking: which models are listed, and what answers under a name.

The question's token count is compared, too: another model's tokenizer and template count otherwise, so that a
router that answers with another model shows even when it writes the name that was asked for into the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anvil.collectors.bodies import Unreadable, read_object
from anvil.collectors.client import Client
from anvil.collectors.completion import read_chat
from anvil.collectors.endpoints import EndpointBlock, make_endpoint
from anvil.collectors.interface import Answer, Deadlines, Exchange
from anvil.collectors.recipes.gates import GatePlace, RestorationGate
from anvil.collectors.restoration.state import Kept, State
from anvil.ledger.errors import CollectorError

QUESTION = "Which colour has a clear sky at noon? Answer with one word, in English, and in small letters."
_CAP = 16


async def look_at_endpoint(gate: RestorationGate, place: GatePlace, environ: Mapping[str, str]) -> State:
    """Return what answers at a gate's address."""
    if place.base_url is None:
        return State(problem="the site names no base_url for this gate")
    block = EndpointBlock(
        base_url=place.base_url, api_key_env=place.api_key_env, headers_env=dict(place.headers_env)
    )
    try:
        endpoint = make_endpoint(
            block, base_url=place.base_url, served_model=gate.served_model or "", environ=environ
        )
    except CollectorError as error:
        return State(problem=str(error))
    limit = float(place.deadline_s)
    deadlines = Deadlines(connect_s=min(10.0, limit), first_byte_s=limit, idle_s=limit, total_s=limit)
    async with Client(endpoint, deadlines=deadlines) as client:
        listing = await client.exchange("GET", "/v1/models")
        rows = _rows(listing)
        if gate.served_model is None:
            return _listed(listing, rows)
        payload = {
            "model": gate.served_model,
            "messages": [{"role": "user", "content": QUESTION}],
            "temperature": 0,
            "max_tokens": _CAP,
        }
        exchange = await client.exchange("POST", "/v1/chat/completions", payload)
    if exchange.status is None:
        return State({"status": str(exchange.failure), "message": exchange.message})
    seen_in = (Kept("response", "application/octet-stream", exchange.body),)
    facts = {**_facts(gate.served_model, read_chat(exchange)), **_row_facts(gate.served_model, rows)}
    return State({**facts, "status": str(exchange.status)}, exchange.status, seen_in=seen_in)


def _listed(listing: Exchange, rows: list[dict[str, Any]]) -> State:
    if listing.status is None:
        return State({"status": str(listing.failure), "message": listing.message})
    names = sorted(str(row["id"]) for row in rows if isinstance(row.get("id"), str))
    seen_in = (Kept("response", "application/octet-stream", listing.body),)
    return State({"status": str(listing.status), "models": ", ".join(names)}, listing.status, seen_in=seen_in)


def _facts(asked: str, answer: Answer) -> dict[str, str]:
    raw = answer.raw if isinstance(answer.raw, dict) else {}
    fingerprint, counted = raw.get("system_fingerprint"), answer.usage
    is_generated = bool(counted.completion_tokens or answer.visible or any(answer.reasoning.values()))
    facts = {"asked": asked, "generated": "yes" if is_generated and answer.exchange.status == 200 else "no"}
    if answer.model is not None:
        facts["model"] = answer.model
    if isinstance(fingerprint, str):
        facts["fingerprint"] = fingerprint
    if counted.prompt_tokens is not None:
        facts["prompt-tokens"] = str(counted.prompt_tokens)
    return facts


def _row_facts(asked: str, rows: list[dict[str, Any]]) -> dict[str, str]:
    """Return what the list of models says of the name asked for: a router's may advertise a fingerprint."""
    row = next((row for row in rows if row.get("id") == asked), None)
    facts = {"listed": "no" if row is None else "yes"}
    for name, keys in (("root", ("root",)), ("advertised", ("system_fingerprint", "fingerprint"))):
        found = next((row[key] for key in keys if row and isinstance(row.get(key), str)), None)
        if found is not None:
            facts[name] = found
    return facts


def _rows(listing: Exchange) -> list[dict[str, Any]]:
    if listing.status != 200:
        return []
    try:
        data = read_object(listing.body).get("data")
    except Unreadable:
        return []
    return [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []
