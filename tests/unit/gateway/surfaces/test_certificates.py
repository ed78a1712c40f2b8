"""A listener's certificates: read at start, read again, and never lost by a broken file."""

import ssl
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from fakes.clock import FakeClock

from gateway.errors import StartError
from gateway.settings.listeners import TlsSettings
from gateway.surfaces.certificates import Certificates, Pems, server_context


class Files:
    """The files of one listener, written by an authority."""

    def __init__(self, folder: Path) -> None:
        self.authority = trustme.CA()
        self.clock = FakeClock()
        self.events: list[tuple[str, Mapping[str, str]]] = []
        self.settings = TlsSettings(
            cert_file=folder / "c.pem", key_file=folder / "k.pem", client_ca_file=folder / "ca.pem"
        )
        self.authority.cert_pem.write_to_path(str(folder / "ca.pem"))
        self.issue()

    def issue(self) -> None:
        """A new certificate with its key."""
        issued = self.authority.issue_cert("localhost")
        issued.private_key_pem.write_to_path(str(self.settings.key_file))
        self.settings.cert_file.write_bytes(b"".join(each.bytes() for each in issued.cert_chain_pems))

    def certificates(self) -> Certificates[ssl.SSLContext]:
        """As the standard library takes them."""
        make = partial(server_context, self.settings)
        return Certificates("some", self.settings, make, monotonic=self.clock.monotonic, on_event=self._told)

    def _told(self, name: str, fields: Mapping[str, str]) -> None:
        self.events.append((name, fields))

    @property
    def told(self) -> list[str]:
        """The names of the events so far."""
        return [name for name, _ in self.events]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """A certificate, its key and who may vouch for clients."""
    return Files(tmp_path)


def test_what_is_in_use_stays_until_the_files_change(files: Files) -> None:
    """A new one within a second of a rotation, and told of."""
    certificates = files.certificates()
    first = certificates.load()
    assert certificates.newer() is None
    files.issue()
    files.clock.advance(1.0)
    assert certificates.newer() not in (None, first)
    assert certificates.newer() is None
    assert files.events == [("certificate_rotated", {"listener": "some", "path": str(files.settings.cert_file)})]


def test_clients_need_a_certificate_when_the_settings_say_so(files: Files) -> None:
    """Verification is required, not optional; without client_ca_file nobody is asked."""
    assert files.certificates().load().verify_mode is ssl.CERT_REQUIRED
    files.settings = files.settings.model_copy(update={"client_ca_file": None})
    assert files.certificates().load().verify_mode is ssl.CERT_NONE


@pytest.mark.parametrize("name", ["cert_file", "key_file", "client_ca_file"])
@pytest.mark.parametrize("content", [b"", b"-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n", None])
def test_a_broken_file_leaves_the_former_in_use(files: Files, name: str, content: bytes | None) -> None:
    """Said once for each time, by a file and nothing of its content; what comes after it that is whole is taken."""
    certificates = files.certificates()
    certificates.load()
    path: Path = getattr(files.settings, name)
    whole = path.read_bytes()
    for count in (1, 2):
        path.unlink()
        if content is not None:
            path.write_bytes(content)
        for _ in range(3):
            files.clock.advance(1.0)
            assert certificates.newer() is None
        assert files.told == ["certificate_unusable", "certificate_rotated"] * (count - 1) + ["certificate_unusable"]
        assert str(path) in files.events[-1][1]["problem"]
        path.unlink(missing_ok=True)
        path.write_bytes(whole)
        files.clock.advance(1.0)
        assert certificates.newer() is not None
        assert files.told == ["certificate_unusable", "certificate_rotated"] * count


def test_a_key_that_is_not_of_the_certificate_is_not_used(files: Files) -> None:
    """In the middle of a rotation one file is newer than the other."""
    certificates = files.certificates()
    certificates.load()
    old = files.settings.cert_file.read_bytes()
    files.issue()
    files.settings.cert_file.write_bytes(old)
    files.clock.advance(1.0)
    assert certificates.newer() is None
    assert files.told == ["certificate_unusable"]


@pytest.mark.parametrize("name", ["cert_file", "key_file", "client_ca_file"])
@pytest.mark.parametrize("content", [b"", b"secret-material", None])
def test_a_listener_does_not_start_with_broken_files(files: Files, name: str, content: bytes | None) -> None:
    """One sentence that names a file, and nothing of its content."""
    path: Path = getattr(files.settings, name)
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StartError, match=f"listener some: {path}") as raised:
        files.certificates().load()
    assert "secret-material" not in raised.value.message


def test_an_encrypted_key_is_refused_and_nobody_is_asked_for_its_password(files: Files) -> None:
    """OpenSSL would ask on the terminal, and the gateway would wait for ever."""
    key = load_pem_private_key(files.settings.key_file.read_bytes(), None)
    encrypted = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"pass"))
    files.settings.key_file.write_bytes(encrypted)
    with pytest.raises(StartError, match="is encrypted"):
        files.certificates().load()


def test_a_key_is_never_printed() -> None:
    """Not by accident either."""
    assert "secret" not in repr(Pems(chain=b"", key=b"secret", client_ca=None))
