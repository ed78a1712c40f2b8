"""A private certificate authority that signs anything: clients with any name, usage and time, and servers."""

import datetime as dt
import ssl
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

BOTH = (ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH)
SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=True,
    key_cert_sign=True,
    crl_sign=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


class Authority:
    """Signs what it is asked to sign."""

    def __init__(self, name: str = "Test authority") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        self.pem = self._signed(self._name, self._key, (constraints,), valid=dt.timedelta(days=30))[0]

    def write(self, path: Path) -> Path:
        """Its own certificate, into a file."""
        path.write_bytes(self.pem)
        return path

    def issue(
        self,
        *names: x509.GeneralName | str,
        common_name: str = "somebody",
        not_before: dt.datetime | None = None,
        valid: dt.timedelta = dt.timedelta(hours=1),
        usages: Sequence[ObjectIdentifier] | None = BOTH,
        extensions: Sequence[x509.ExtensionType] = (),
    ) -> bytes:
        """A certificate with these names, PEM: a text with a colon in it is a URI, any other a DNS name."""
        return self._issued(names, common_name, not_before, valid, usages, extensions)[0]

    def issue_with_key(self, *names: str, not_before: dt.datetime | None = None) -> tuple[bytes, bytes]:
        """A certificate with these names, and its private key, PEM."""
        return self._issued(names, "somebody", not_before, dt.timedelta(hours=1), BOTH, ())

    def server_context(self, folder: Path, name: str = "localhost") -> ssl.SSLContext:
        """What a server of this name serves TLS with."""
        pem, key_pem = self.issue_with_key(name)
        (folder / "server.pem").write_bytes(pem + key_pem)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem")
        return context

    def _issued(
        self,
        names: Sequence[x509.GeneralName | str],
        common_name: str,
        not_before: dt.datetime | None,
        valid: dt.timedelta,
        usages: Sequence[ObjectIdentifier] | None,
        extensions: Sequence[x509.ExtensionType],
    ) -> tuple[bytes, bytes]:
        more = list(extensions)
        if names:
            more.append(x509.SubjectAlternativeName(list(map(_name, names))))
        if usages is not None:
            more.append(x509.ExtendedKeyUsage(usages))
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
        key = ec.generate_private_key(ec.SECP256R1())
        return self._signed(subject, key, more, valid=valid, not_before=not_before)

    def _signed(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        extensions: Sequence[x509.ExtensionType],
        *,
        valid: dt.timedelta,
        not_before: dt.datetime | None = None,
    ) -> tuple[bytes, bytes]:
        """The certificate and its private key, PEM."""
        begin = not_before or dt.datetime.now(dt.UTC).replace(microsecond=0) - dt.timedelta(minutes=5)
        builder = x509.CertificateBuilder(self._name, subject, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(begin).not_valid_after(begin + valid)
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        pem = builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        return pem, key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


def _name(name: x509.GeneralName | str) -> x509.GeneralName:
    if isinstance(name, x509.GeneralName):
        return name
    return x509.UniformResourceIdentifier(name) if ":" in name else x509.DNSName(name)
