"""`video`: the colours that a clip shows, one after another, are named.

A single frame shows one of them, so an engine that looks at one frame alone cannot pass.
"""

from __future__ import annotations

from anvil.collectors.checks.clips import avi
from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import verdict
from anvil.collectors.checks.media import judge_words
from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.checks.pictures import COLOURS, Picture, data_url, media_message
from anvil.ledger.events.checks import CheckCompleted

_SIDE = 128
_FRAMES_EACH, _PER_SECOND = 4, 2
_SHOWN = 3


class Video:
    """The check."""

    id = "video"
    version = 1
    parameters = Parameters

    async def run(self, ctx: CheckContext[Parameters]) -> CheckCompleted:
        """Show one clip."""
        colours = ctx.draws("clip").sample(tuple(COLOURS), _SHOWN)
        frames = []
        for colour in colours:
            frame = Picture(_SIDE, _SIDE)
            frame.fill(0, 0, _SIDE, _SIDE, COLOURS[colour])
            frames += [frame] * _FRAMES_EACH
        url = data_url("video/x-msvideo", avi(frames, _PER_SECOND))
        question = (
            f"The clip shows one colour after another, each of {', '.join(COLOURS)}. "
            "Which colours does it show, in order? Answer with the colours alone."
        )
        answer = await ctx.chat("clip", [media_message(question, "video_url", url)])
        return verdict(ctx, self, [judge_words(ctx, "clip", answer, colours)])
