"""Client certificates: names, times, and which certificates are no client's."""

import datetime as dt

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from fakes.authorities import SIGNS_CERTIFICATES, Authority

from gateway.identity.certificates import CertificateUnusable, read_certificate

BEGIN = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
AUTHORITY = Authority()
PEM = AUTHORITY.issue("agent.example")


def test_names_and_times_are_the_certificates():
    """URIs and DNS names exactly as it holds them."""
    read = read_certificate(AUTHORITY.issue("spiffe://corp.example/a", "Agent.example", "*.example", not_before=BEGIN))
    assert (read.uris, read.dns) == (("spiffe://corp.example/a",), ("Agent.example", "*.example"))
    assert (read.not_before, read.not_after) == (BEGIN.timestamp(), BEGIN.timestamp() + 3600)


def test_the_common_name_is_never_looked_at():
    """A certificate without alternative names has none."""
    read = read_certificate(AUTHORITY.issue(common_name="spiffe://corp.example/admin"))
    assert (read.uris, read.dns) == ((), ())


@pytest.mark.parametrize(
    "usages", [None, (ExtendedKeyUsageOID.CLIENT_AUTH,), (ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,)]
)
def test_a_clients_certificate_says_so_or_says_nothing(usages):
    """Its usage covers clients, or is not restricted."""
    assert read_certificate(AUTHORITY.issue("a", usages=usages)).dns == ("a",)


@pytest.mark.parametrize(
    ("pem", "words"),
    [
        (AUTHORITY.issue("a", extensions=[x509.BasicConstraints(ca=True, path_length=0)]), "authority"),
        (AUTHORITY.issue("a", extensions=[SIGNS_CERTIFICATES]), "authority"),
        (AUTHORITY.issue("a", usages=(ExtendedKeyUsageOID.SERVER_AUTH,)), "not meant for clients"),
        (PEM + AUTHORITY.issue("b"), "more than one"),
        (b"", "cannot be read"),
        (b"garbage", "cannot be read"),
        (b"\xff\x00", "cannot be read"),
        (PEM[:200], "cannot be read"),
        (PEM.replace(b"M", b"N", 3), "cannot be read"),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "cannot be read"),
    ],
    ids=range(10),
)
def test_what_is_no_clients_certificate_is_refused(pem, words):
    """With a sentence of ours and nothing behind it."""
    with pytest.raises(CertificateUnusable, match=words) as caught:
        read_certificate(pem)
    assert caught.value.__cause__ is None


def test_names_that_cannot_be_read_are_refused():
    """An alternative name that is not ASCII, and an extension that is no list of names."""
    for value in (b"\x30\x04\x86\x02\xff\xff", b"\x05\x00", b"\x30\x03\xa5\x01\x00"):
        broken = x509.UnrecognizedExtension(x509.oid.ExtensionOID.SUBJECT_ALTERNATIVE_NAME, value)
        with pytest.raises(CertificateUnusable, match="cannot be read"):
            read_certificate(AUTHORITY.issue(extensions=[broken]))
