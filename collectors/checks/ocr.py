"""`ocr`: the words of a page of text are read."""

from __future__ import annotations

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import verdict
from anvil.collectors.checks.media import judge_words
from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.checks.pictures import data_url, media_message, page
from anvil.ledger.events.checks import CheckCompleted

_WORDS = (
    "ANCHOR", "BRANCH", "CASTLE", "DESERT", "ENGINE", "FOREST", "GARLIC", "HARBOR", "ISLAND", "JACKET",
    "KETTLE", "LADDER", "MARKET", "NEEDLE", "ORCHID", "PEPPER", "QUARRY", "ROCKET", "SADDLE", "TIMBER",
)  # fmt: skip
_LINES, _PER_LINE = 4, 2


class Ocr:
    """The check."""

    id = "ocr"
    version = 1
    parameters = Parameters

    async def run(self, ctx: CheckContext[Parameters]) -> CheckCompleted:
        """Show one page."""
        words = ctx.draws("page").sample(_WORDS, _LINES * _PER_LINE)
        lines = [" ".join(words[at : at + _PER_LINE]) for at in range(0, len(words), _PER_LINE)]
        url = data_url("image/png", page(lines).png())
        question = "Write down all the words on this page, in order, and nothing else."
        message = media_message(question, ctx.under_test.endpoint.media_part, url)
        answer = await ctx.chat("page", [message])
        return verdict(ctx, self, [judge_words(ctx, "page", answer, words)])
