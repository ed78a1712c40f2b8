"""What a client certificate says of its holder. TLS has verified its chain; everything else is looked at here."""

from dataclasses import dataclass

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

MAX_BYTES = 64 * 1024

_CLIENTS = frozenset({ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE})


class CertificateUnusable(Exception):  # noqa: N818 - named for what it is
    """This proves nobody. The text is one sentence that holds nothing of the certificate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The subject alternative names of a leaf, exactly as it holds them. The common name is never looked at."""

    uris: tuple[str, ...]
    dns: tuple[str, ...]
    not_before: float
    """Seconds since the epoch."""
    not_after: float


def read_certificate(pem: bytes) -> Certificate:
    """The one certificate in a PEM text of at most `MAX_BYTES`. Raises `CertificateUnusable`, also for one that
    is no client's.
    """
    try:
        certificates = x509.load_pem_x509_certificates(pem)
        if len(certificates) == 1:
            return _read(certificates[0])
        why = "there is more than one certificate"
    except (ValueError, TypeError, x509.DuplicateExtension, x509.InvalidVersion, x509.UnsupportedGeneralNameType):
        why = "the certificate cannot be read"  # not chained: the words may hold parts of it
    raise CertificateUnusable(why)


def _read(certificate: x509.Certificate) -> Certificate:
    extensions = certificate.extensions
    _check_is_client(extensions)
    try:
        names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        names = x509.SubjectAlternativeName([])
    return Certificate(
        uris=tuple(names.get_values_for_type(x509.UniformResourceIdentifier)),
        dns=tuple(names.get_values_for_type(x509.DNSName)),
        not_before=certificate.not_valid_before_utc.timestamp(),
        not_after=certificate.not_valid_after_utc.timestamp(),
    )


def _check_is_client(extensions: x509.Extensions) -> None:
    """An authority's certificate is nobody's identity (X509-SVID, 4.1 and 4.3), nor is one for servers alone."""
    for extension in extensions:
        value = extension.value
        if isinstance(value, x509.BasicConstraints) and value.ca:
            raise CertificateUnusable("the certificate is an authority's")
        if isinstance(value, x509.KeyUsage) and (value.key_cert_sign or value.crl_sign):
            raise CertificateUnusable("the certificate is an authority's")
        if isinstance(value, x509.ExtendedKeyUsage) and not _CLIENTS & set(value):
            raise CertificateUnusable("the certificate is not meant for clients")
