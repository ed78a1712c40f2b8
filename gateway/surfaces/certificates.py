"""A listener's certificates, from files that somebody else rotates.

A new set is used when it fits together; until then the former one stays, so a rotation that is caught half-way does
no harm.
"""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from gateway.errors import StartError
from gateway.settings.listeners import TlsSettings
from gateway.watched import FileUnusable, WatchedFile

OnEvent = Callable[[str, Mapping[str, str]], None]
T = TypeVar("T")


def unheard(_name: str, _fields: Mapping[str, str]) -> None:
    """For whom events do not matter."""


class CertificateUnusable(Exception):  # noqa: N818 - named for what it is
    """The files cannot be used. One sentence that names the file and holds nothing of a key."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path} {problem}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pems:
    """What the files of a listener hold."""

    chain: bytes
    key: bytes = field(repr=False)
    client_ca: bytes | None

    def check(self, settings: TlsSettings) -> None:
        """Do nothing when they fit together. Raises `CertificateUnusable`."""
        chain = [one.public_key() for one in _certificates(settings.cert_file, self.chain)]
        key = self.private_key(settings).public_key()
        if key in chain[1:]:
            problem = f"is the key of a later certificate in {settings.cert_file}; put that one first"
            raise CertificateUnusable(settings.key_file, problem)
        if key != chain[0]:
            raise CertificateUnusable(settings.key_file, f"is not the key of the certificate in {settings.cert_file}")
        if settings.client_ca_file is not None:
            _certificates(settings.client_ca_file, self.client_ca or b"")

    def private_key(self, settings: TlsSettings) -> PrivateKeyTypes:
        """The private key. Raises `CertificateUnusable`."""
        # No error is chained: it might hold a part of the key.
        try:
            return load_pem_private_key(self.key, password=None)
        except TypeError:
            problem = "is encrypted; the gateway has nobody to ask for its password"
        except (ValueError, UnsupportedAlgorithm):
            problem = "holds no private key, or a broken one (PEM)"
        raise CertificateUnusable(settings.key_file, problem)


class Certificates(Generic[T]):
    """The newest set of one listener that can be used, as its transport takes it.

    `make` turns files into that, or raises `CertificateUnusable`. `on_event` is told
    `certificate_rotated` when a new set is in use, and `certificate_unusable` once for each problem with one that is
    not. Use it from one thread at a time.
    """

    def __init__(
        self,
        listener: str,
        settings: TlsSettings,
        make: Callable[[Pems], T],
        *,
        monotonic: Callable[[], float],
        on_event: OnEvent,
    ) -> None:
        self._listener = listener
        self._settings = settings
        self._make = make
        self._on_event = on_event
        self._chain = WatchedFile(settings.cert_file, monotonic)
        self._key = WatchedFile(settings.key_file, monotonic)
        self._client_ca = WatchedFile(settings.client_ca_file, monotonic) if settings.client_ca_file else None
        self._tried: Pems | None = None
        self._problem = ""

    def load(self) -> T:
        """What the files hold. Raises `StartError`: a listener that starts must have certificates."""
        try:
            self._tried = pems = self._read()
            return self._make(pems)
        except (FileUnusable, CertificateUnusable) as error:
            raise StartError(f"listener {self._listener}: {error}") from error

    def newer(self) -> T | None:
        """A set that was not there at the last look and can be used; None when what is in use stays."""
        try:
            pems = self._read()
            if pems == self._tried:
                return None
            self._tried = pems
            made = self._make(pems)
        except FileUnusable as error:
            self._tried = None
            self._complain(str(error))
            return None
        except CertificateUnusable as error:
            self._complain(str(error))
            return None
        self._problem = ""
        self._tell("certificate_rotated", {"path": str(self._settings.cert_file)})
        return made

    def _read(self) -> Pems:
        client_ca = None if self._client_ca is None else self._client_ca.read()
        return Pems(chain=self._chain.read(), key=self._key.read(), client_ca=client_ca)

    def _complain(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            self._tell("certificate_unusable", {"problem": problem})

    def _tell(self, name: str, fields: Mapping[str, str]) -> None:
        self._on_event(name, {"listener": self._listener, **fields})


def server_context(settings: TlsSettings, pems: Pems) -> ssl.SSLContext:
    """TLS 1.2 or newer as the standard library speaks it. It reads the files itself: should they have changed
    meanwhile, the next look finds that out. Raises `CertificateUnusable`.
    """
    pems.check(settings)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # Without a password of ours OpenSSL would ask for that of an encrypted key on the terminal.
        context.load_cert_chain(settings.cert_file, settings.key_file, password=lambda: b"")
        if settings.client_ca_file is not None:
            context.load_verify_locations(settings.client_ca_file)
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ValueError):  # not chained: what OpenSSL says is of no use, and its own
        problem = "cannot be used with its key and client_ca_file"
    else:
        return context
    raise CertificateUnusable(settings.cert_file, problem)


def _certificates(path: Path, pem: bytes) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        raise CertificateUnusable(path, "holds no certificate, or a broken one (PEM)") from error
