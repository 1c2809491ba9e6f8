"""The same through TLS: bytes, stamps and ends."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from support.endpoint import CASES
from support.loading import EXPECTED, MODEL, PATIENT, RUN, facts, planned, sent

from anvil.collectors.interface import Endpoint
from anvil.collectors.load.closed_loop import ClosedLoop
from anvil.collectors.load.record import RequestRecord, RunRecord
from anvil.collectors.load.requests import Target
from anvil.collectors.load.rows import read_request

MOMENT = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1, signed by itself, and its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tls.test.invalid")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(MOMENT)
        .not_valid_after(MOMENT + datetime.timedelta(days=36500))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "identity.pem"
    plain = serialization.NoEncryption()
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path


@contextmanager
def serving(identity: Path, pieces: list[bytes], *, unwrap: bool = True) -> Iterator[int]:
    """Serve one connection: each piece a TLS record of its own, then the end, told or not."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            try:
                with context.wrap_socket(connection, server_side=True, suppress_ragged_eofs=True) as tls:
                    tls.recv(1 << 16)
                    for piece in pieces:
                        tls.sendall(piece)
                    if unwrap:
                        tls.settimeout(1)
                        tls.unwrap()
            except OSError:
                return

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def load(identity: Path, port: int, *, trust: bool = True) -> tuple[RunRecord, RequestRecord]:
    context = ssl.create_default_context(cafile=str(identity) if trust else None)
    target = Target.of(Endpoint(f"https://127.0.0.1:{port}", MODEL), tls=context)
    run, (record,) = ClosedLoop(target, planned(1), concurrency=1, deadlines=PATIENT).run()
    return run, record


@pytest.mark.parametrize("size", [7, 1000, 100_000])
def test_what_comes_through_tls_is_what_was_sent(identity: Path, size: int) -> None:
    raw, _ = sent(CASES["good"].make())
    with serving(identity, [raw[at : at + size] for at in range(0, len(raw), size)]) as port:
        run, record = load(identity, port)
    assert record.response == raw
    assert record.kernel_ns is None or len(record.kernel_ns) == len(record.sizes)
    assert facts(read_request(run, record).row) == {k: v for k, v in EXPECTED["good"].items() if k != "sends"}


def test_a_response_that_ends_with_the_connection_is_whole_only_when_the_end_was_told(identity: Path) -> None:
    body = CASES["good"].body
    raw = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + body
    with serving(identity, [raw]) as port:
        run, record = load(identity, port)
    assert read_request(run, record).row.outcome == "completed"
    with serving(identity, [raw], unwrap=False) as port:
        run, record = load(identity, port)
    assert (record.failure, record.response) == ("connection_reset", raw)
    assert read_request(RUN, record).row.failure == "connection_reset"


def test_a_certificate_that_is_not_trusted_is_no_connection(identity: Path) -> None:
    with serving(identity, []) as port:
        run, record = load(identity, port, trust=False)
    assert record.failure == "connection_failed"
    assert "CERTIFICATE_VERIFY_FAILED" in record.message
    assert read_request(run, record).row.started_ns is None
