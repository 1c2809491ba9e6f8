"""What a selection lacks is said before the run, for each check that ends as `prerequisite_failed` for want of it."""

from __future__ import annotations

import pytest

from anvil.collectors.checks import CHECKS
from anvil.collectors.checks.parameters import parse
from anvil.collectors.checks.prerequisites import Planned, lacks

ASKING = sorted(set(CHECKS) - {"identity", "tools-rendered", "finish", "reasoning-leak"})


def planned(check: str, **parameters: object) -> Planned:
    return Planned(check, check, parse(CHECKS[check].parameters, check, parameters))


def lacking(*checks: Planned, has_control: bool = True, window: int | None = None) -> dict[str, str]:
    return {lack.name: lack.why for lack in lacks(checks, has_control=has_control, window=window)}


@pytest.mark.parametrize("policy", ["finish", "reasoning-leak"])
def test_a_policy_needs_a_check_before_it_that_asks(policy: str) -> None:
    for before in ((), ("identity",), ("identity", "tools-rendered")):
        assert "nothing to judge" in lacking(*map(planned, before), planned(policy))[policy]
    assert policy in lacking(planned(policy), planned("coding"))  # what comes after is not seen yet


@pytest.mark.parametrize("asking", ASKING)
def test_any_check_that_asks_will_do(asking: str) -> None:
    assert lacking(planned(asking), planned("finish"), planned("reasoning-leak")) == {}


def test_a_leak_shows_where_thinking_is_disabled() -> None:
    thinking = planned("coding", thinking="enabled")
    assert "leaves thinking on" in lacking(thinking, planned("reasoning-leak"))["reasoning-leak"]
    assert lacking(thinking, planned("coding"), planned("reasoning-leak")) == {}
    assert lacking(thinking, planned("finish")) == {}


def test_thinking_control_needs_one() -> None:
    assert lacking(planned("thinking-control")) == {}
    assert (
        "no thinking control" in lacking(planned("thinking-control"), has_control=False)["thinking-control"]
    )


def test_a_default_size_must_fit_the_window_too() -> None:
    why = lacking(planned("retrieval"), planned("tools-long"), window=8192)
    assert "128000 prompt tokens and a cap of 64 do not fit the window of 8192" in why["retrieval"]
    assert "100000 prompt tokens" in why["tools-long"]
    assert lacking(planned("retrieval", target_tokens=1000), window=8192) == {}
    assert lacking(planned("retrieval"), planned("tools-long")) == {}
