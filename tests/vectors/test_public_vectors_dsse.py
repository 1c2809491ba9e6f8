"""The DSSE vector (secure-systems-lab/dsse, protocol.md): our pre-authentication encoding is theirs.

Its envelope is signed with ECDSA over another payload type, which anvil does not read. So the signature
is verified here over *our* PAE, and the envelope itself must be refused.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from anvil.ledger.envelope import Envelope, pae
from anvil.ledger.errors import MalformedEnvelope

pytestmark = pytest.mark.needs("vectors")


@pytest.fixture
def vector(vectors: Path) -> Any:
    return json.loads((vectors / "dsse" / "dsse_vectors.json").read_bytes())


def test_an_envelope_of_another_payload_type_is_refused(vector: Any) -> None:
    for spelled in (json.dumps(vector["envelope"]), json.dumps(vector["envelope"], separators=(",", ":"))):
        with pytest.raises(MalformedEnvelope):
            Envelope.parse(spelled.encode())


def test_pae_is_the_published_one(vector: Any) -> None:
    assert pae(vector["payload"].encode(), vector["payloadType"]).decode() == vector["pae"]


def test_the_published_signature_covers_our_pae(vector: Any) -> None:
    point = {name: int(number) for name, number in vector["ecdsa_p256"].items()}
    key = ec.EllipticCurvePublicNumbers(point["X"], point["Y"], ec.SECP256R1()).public_key()
    raw = base64.b64decode(vector["envelope"]["signatures"][0]["sig"])
    signature = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    message = pae(base64.b64decode(vector["envelope"]["payload"]), vector["envelope"]["payloadType"])
    key.verify(signature, message, ec.ECDSA(hashes.SHA256()))


@pytest.mark.parametrize(
    ("payload", "kind", "expected"),
    [
        (b"", "", b"DSSEv1 0  0 "),
        ("ü".encode(), "é", "DSSEv1 2 é 2 ü".encode()),
        (b"a b", "t/p", b"DSSEv1 3 t/p 3 a b"),
    ],
)
def test_lengths_are_those_of_bytes(payload: bytes, kind: str, expected: bytes) -> None:
    assert pae(payload, kind) == expected
