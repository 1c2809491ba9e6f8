"""`image`: a coloured shape is named."""

from __future__ import annotations

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import verdict
from anvil.collectors.checks.media import judge_words
from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.checks.pictures import COLOURS, SHAPES, Picture, data_url, media_message
from anvil.ledger.events.checks import CheckCompleted

_SIDE = 256


class Image:
    """The check."""

    id = "image"
    version = 1
    parameters = Parameters

    async def run(self, ctx: CheckContext[Parameters]) -> CheckCompleted:
        """Show two shapes, one a request: to guess both takes luck."""
        draws = ctx.draws("pictures")
        colours, shapes = draws.sample(tuple(COLOURS), 2), draws.sample(SHAPES, 2)
        judgements = []
        for number, (colour, shape) in enumerate(zip(colours, shapes, strict=True), start=1):
            picture = Picture(_SIDE, _SIDE)
            picture.shape(shape, COLOURS[colour])
            question = (
                f"Which shape is in the picture ({', '.join(SHAPES)}), and which colour has it "
                f"({', '.join(COLOURS)})? Answer with the colour and the shape."
            )
            part = ctx.under_test.endpoint.media_part
            message = media_message(question, part, data_url("image/png", picture.png()))
            answer = await ctx.chat(f"picture_{number}", [message])
            judgements.append(judge_words(ctx, f"picture_{number}", answer, (colour, shape)))
        return verdict(ctx, self, judgements)
