"""A certificate for our own server on this machine, made when it is needed and believed by nobody else."""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from datetime import timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from anvil.ledger.clock import system_clock

_DAY = timedelta(days=1)


def presenting(address: str) -> tuple[ssl.SSLContext, str]:
    """Return what a server at an address presents, and the certificate as PEM for whoever shall believe it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "anvil's own server")])
    now = system_clock()
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate = made.public_bytes(Encoding.PEM)
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as directory:  # the ssl module takes them from a file only
        file = Path(directory) / "own.pem"
        file.touch(mode=0o600)
        file.write_bytes(certificate + secret)
        context.load_cert_chain(file)
    return context, certificate.decode("ascii")
