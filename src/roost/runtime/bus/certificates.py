"""The certificates of a pool's own message servers: the pool's authority, and the certificates it signs.

Members of the pool trust only that authority, whatever certificates the system trusts.
"""

from __future__ import annotations

import hashlib
import ipaddress
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from cryptography.x509 import GeneralName, KeyUsage, Name

#: Validity of the pool's authority, days.
AUTHORITY_DAYS: Final = 7_300
#: Validity of a server's certificate, days.
SERVER_DAYS: Final = 825
#: A starting server gets a new certificate when its own is valid for less than that, days.
RENEW_DAYS: Final = 120
#: Clocks of other machines may be that much behind, days.
_EARLY_DAYS: Final = 2


class Certificate(NamedTuple):
    """A certificate and its secret key, as PEM."""

    certificate: str
    key: str


def made_authority(pool: str) -> Certificate:
    """Make the authority of a pool."""
    return _made(f"authority of the pool {pool}", (), None, AUTHORITY_DAYS)


def made_server(authority: Certificate, names: Sequence[str]) -> Certificate:
    """Make the certificate of a server that is reached by these names and addresses."""
    return _made(names[0], names, authority, SERVER_DAYS)


def ends_at(certificate: str) -> float:
    """When a certificate, as PEM, expires, epoch s."""
    from cryptography.x509 import load_pem_x509_certificate

    end: float = load_pem_x509_certificate(certificate.encode()).not_valid_after_utc.timestamp()
    return end


def fingerprint(certificate: str) -> str:
    """The fingerprint of a certificate, given as PEM."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate)).hexdigest()


def _made(common: str, names: Sequence[str], signer: Certificate | None, days: int) -> Certificate:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    own = _named(common)
    issuer, issuer_key = own, key
    if signer is not None:
        issuer = x509.load_pem_x509_certificate(signer.certificate.encode()).subject
        loaded = serialization.load_pem_private_key(signer.key.encode(), None)
        assert isinstance(loaded, ec.EllipticCurvePrivateKey)
        issuer_key = loaded
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(own)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=_EARLY_DAYS))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=signer is None, path_length=0 if signer is None else None), True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), False)
        .add_extension(_usage(signs=signer is None), True)
    )
    if signer is not None:
        builder = builder.add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), False)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    made = builder.sign(issuer_key, hashes.SHA256())
    return Certificate(made.public_bytes(serialization.Encoding.PEM).decode(), secret.decode())


def _usage(*, signs: bool) -> KeyUsage:
    from cryptography.x509 import KeyUsage

    return KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _named(common: str) -> Name:
    from cryptography import x509

    # A common name has at most 64 characters.
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common[:64])])


def _alternative(name: str) -> GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
