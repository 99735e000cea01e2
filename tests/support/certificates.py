"""A certificate for 127.0.0.1 that signed itself."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def write_certificate(folder: Path) -> tuple[Path, Path]:
    """The certificate and its key, in PEM; beside them the same key with a password, sealed.pem."""
    now = datetime.datetime.now(datetime.UTC)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "gates")])
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "cert.pem").write_bytes(signed.public_bytes(pem))
    for file, sealed in (
        ("key.pem", serialization.NoEncryption()),
        ("sealed.pem", serialization.BestAvailableEncryption(b"x")),
    ):
        (folder / file).write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, sealed))
    return folder / "cert.pem", folder / "key.pem"
