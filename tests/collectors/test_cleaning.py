"""Events that an endpoint had a say in hold no secret, neither sealed nor in the clear."""

from __future__ import annotations

from anvil.collectors.cleaning import clean_event
from anvil.collectors.withholding import Secrets
from anvil.ledger.events import EngineIdentified
from anvil.ledger.events.engines import IdentityClaim

SECRETS = Secrets.of({"OPENAI_API_KEY": "sk-test-0123456789abcdef", "SOME_KEY": "models_endpoint"})


def identified(name: str, *sealed: str) -> EngineIdentified:
    claim = IdentityClaim(source="models_endpoint", what="served_name", value=name)
    return EngineIdentified(
        engine=None,
        claims=(claim,),
        disagreements=(),
        served_name_matches=None,
        accepts_any_model=None,
        sealed_claims=[["a path", text] for text in sealed] or None,
    )


def test_a_sealed_text_is_cleaned() -> None:
    event = clean_event(identified("tiny", "/models/sk-test-0123456789abcdef"), SECRETS)
    assert event.sealed_claims == [["a path", "/models/[withheld]"]]


def test_a_public_fact_that_is_a_secret_is_null() -> None:
    secrets = Secrets.of({"OPENAI_API_KEY": "sk-test-0123456789abcdef"})
    assert clean_event(identified("sk-test-0123456789abcdef"), secrets).claims[0].value is None
    assert clean_event(identified("tiny"), secrets).claims[0].value == "tiny"


def test_a_word_of_our_own_stays() -> None:
    event = clean_event(identified("tiny", "x"), SECRETS)
    assert event.claims[0].source == "models_endpoint"
