"""The end of the story: what of it is published, and taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anvil.ledger.events import (
    AnyEvent,
    ExcerptApproved,
    PublicationReleased,
    PublicationWithdrawn,
    StreamClosed,
    StreamOpened,
    TripwireExcepted,
)
from anvil.ledger.header import Subject
from anvil.ledger.signing import PrivateKey

if TYPE_CHECKING:
    from support.story import Story, Told

STREAM = "20261130T072615Z-0000000000000005"
CANDIDATE = Subject(campaign="qwen38-27b", candidate="official_fp8")


def tell_publications(teller: Story, operator: PrivateKey) -> None:
    """Tell what an operator publishes."""
    noted = next(told for told in teller.told if told.event.type.startswith("observation.noted/"))

    def tell(event: AnyEvent) -> Told:
        return teller.tell(STREAM, event, operator, subject=CANDIDATE)

    tell(StreamOpened(purpose="publication", synthetic=True, software="0.1.0.dev0"))
    tell(
        ExcerptApproved(
            target=noted.leaf,
            source="response",
            excerpt="“I am a teapot” 😀",
            reason="It shows the defect and names nobody.",
        )
    )
    excepted = tell(
        TripwireExcepted(
            detector="ipv4",
            text="sha256:" + "f5" * 32,
            reason="It is the version of a library.",
            expires="2027-01-31T00:00:00.000000Z",
        )
    )
    released = tell(
        PublicationReleased(
            document="candidate-failure.v1",
            document_digest="sha256:" + "d0" * 32,
            manifest="sha256:" + "d1" * 32,
            fold=teller.state(),
            template="sha256:" + "d2" * 32,
            policy="sha256:" + "d4" * 32,
            keyring="sha256:" + "d5" * 32,
            attempts_shown=1,
            attempts_existing=2,
            exceptions=(excepted.leaf,),
            software="0.1.0.dev0",
        )
    )
    tell(PublicationWithdrawn(publication=released.leaf, reason="The load was measured on a shared host."))
    tell(StreamClosed(outcome="completed", reason=None))
