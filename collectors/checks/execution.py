"""Carrying a check out: whatever the endpoint or the check's code does, one result comes of it.

One thing ends the run: bytes that cannot be kept. What was not kept must not be judged.
"""

from __future__ import annotations

import traceback
from typing import Any

from anvil.collectors.checks.interface import Check, CheckContext
from anvil.collectors.checks.judging import not_carried_out
from anvil.ledger.errors import AnvilError
from anvil.ledger.events.checks import CheckCompleted


async def carry_out(check: Check[Any], ctx: CheckContext[Any]) -> CheckCompleted:
    """Carry a check out, remember its result in the history and return it.

    An error in a check's own code is an incomplete result without a failure class; the whole traceback
    is its message, and what the check had kept so far is in `ctx.attachments`.

    Raises:
        AnvilError: the recorder cannot keep bytes.
    """
    try:
        event = await check.run(ctx)
    except AnvilError:
        raise
    except Exception:  # noqa: BLE001 - a defect in one check must not end the run, and is told whole
        event = not_carried_out(ctx, check, None, traceback.format_exc())
    ctx.under_test.history.completed.append(event)
    return event
