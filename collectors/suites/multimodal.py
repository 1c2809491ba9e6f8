"""`multimodal`: pictures, clips, and both together, from the corpus.

A single frame of a clip never shows all that is asked. An endpoint that refuses a medium, where it answered a text
request before, is `unsupported_by_endpoint`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import Field

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import Fault, Judgement, text_faults, unsupported
from anvil.collectors.checks.media import refuses_media
from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.checks.pictures import data_url, media_part
from anvil.collectors.interface import Answer
from anvil.collectors.suites.corpus import CORPUS_TYPE, Case, Corpus, packaged_corpus, read_corpus
from anvil.collectors.suites.interface import Item, Source, Suite
from anvil.ledger.events.suites import Modality

CLIP_PART = "video_url"


class MultimodalParameters(Parameters):
    """Parameters of `multimodal`."""

    visible_tokens: int = Field(default=64, ge=1)


@dataclass(frozen=True)
class Shown:
    """The item of one case."""

    case: Case
    corpus: Corpus
    requests: int = 1

    @property
    def id(self) -> str:
        """Its name inside the suite."""
        return self.case.id

    @property
    def modality(self) -> Modality:
        """What it shows to the model."""
        return self.case.modality

    async def once(self, ctx: CheckContext[Any], name: str) -> Sequence[Judgement]:
        """Show the media and ask."""
        picture_part = ctx.under_test.endpoint.media_part
        parts = [
            media_part(
                CLIP_PART if medium.is_clip else picture_part, data_url(medium.media_type, medium.content)
            )
            for medium in self.corpus.shown(self.case)
        ]
        content = [*parts, {"type": "text", "text": self.case.question}]
        answer = await ctx.chat(name, [{"role": "user", "content": content}])
        return (judge_case(ctx, name, answer, self.case),)


def judge_case(ctx: CheckContext[Any], name: str, answer: Answer, case: Case) -> Judgement:
    """Judge an answer about media."""
    if refuses_media(answer):
        return unsupported(name, answer)
    faults = text_faults(ctx, answer)
    if answer.failure is None and answer.visible.strip():
        faults += case_faults(answer.visible, case)
    return Judgement(name, answer, tuple(faults))


def case_faults(text: str, case: Case) -> list[Fault]:
    """Return what a text lacks, or says too much, as the answer to a case."""
    places = [_place(text, group) for group in case.stated]
    missing = [group[0] for group, place in zip(case.stated, places, strict=True) if place is None]
    if missing:
        return [Fault("wrong_value", f"not in the answer {text!r}: {', '.join(missing)}")]
    wrong = [word for word in case.absent if _place(text, (word,)) is not None]
    if wrong:
        return [Fault("wrong_value", f"in the answer {text!r}, and wrong: {', '.join(wrong)}")]
    found = [place for place in places if place is not None]
    if case.in_order and found != sorted(found):
        wanted = ", ".join(group[0] for group in case.stated)
        return [Fault("wrong_value", f"not in the order {wanted}: {text!r}")]
    return []


def _place(text: str, words: Sequence[str]) -> int | None:
    """Return where the first of some words stands in a text, whole and in any case; null if none does."""
    spelled = "|".join(re.escape(word.casefold()) for word in words)
    found = re.search(rf"(?<!\w)(?:{spelled})(?!\w)", text.casefold())
    return None if found is None else found.start()


@cache
def _packaged_items() -> tuple[Item, ...]:
    corpus = read_corpus(packaged_corpus())
    return tuple(Shown(case, corpus) for case in corpus.cases)


def multimodal() -> Suite:
    """Return the suite; the corpus is read."""
    source = Source("corpus", CORPUS_TYPE, packaged_corpus())
    return Suite("multimodal", 1, "diagnostic", MultimodalParameters, lambda _: _packaged_items(), source)
