"""A listener's certificates, read again when their files change.

gRPC asks for them at every handshake, on threads of its own. A new set is used when it fits together; until then
the former one stays, so a rotation that is caught half-way does no harm.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from gateway.errors import StartError
from gateway.settings.listeners import TlsSettings
from gateway.watched import FileUnusable, WatchedFile

OnEvent = Callable[[str, Mapping[str, str]], None]

_CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)


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
        key = _private_key(settings.key_file, self.key).public_key()
        if key in chain[1:]:
            problem = f"is the key of a later certificate in {settings.cert_file}; put that one first"
            raise CertificateUnusable(settings.key_file, problem)
        if key != chain[0]:
            raise CertificateUnusable(settings.key_file, f"is not the key of the certificate in {settings.cert_file}")
        if settings.client_ca_file is not None:
            _certificates(settings.client_ca_file, self.client_ca or b"")

    def configuration(self) -> grpc.ServerCertificateConfiguration:
        """The same for gRPC."""
        return grpc.ssl_server_certificate_configuration([(self.key, self.chain)], root_certificates=self.client_ca)


class Certificates:
    """The certificates of one listener. Make it on the loop, which is where `on_event` is called:
    `certificate_rotated` when a new set is in use, `certificate_unusable` once for each problem with one that is not.
    """

    def __init__(self, listener: str, settings: TlsSettings, monotonic: Callable[[], float], on_event: OnEvent) -> None:
        self._listener = listener
        self._settings = settings
        self._on_event = on_event
        self._loop = asyncio.get_running_loop()
        self._chain = WatchedFile(settings.cert_file, monotonic)
        self._key = WatchedFile(settings.key_file, monotonic)
        self._client_ca = WatchedFile(settings.client_ca_file, monotonic) if settings.client_ca_file else None
        self._lock = threading.Lock()
        self._seen: Pems | None = None
        self._problem = ""

    def credentials(self) -> grpc.ServerCredentials:
        """TLS 1.2 or newer with these certificates; with a `client_ca_file` a client without a certificate that it
        vouches for is not let in. Raises `StartError` when they cannot be used.
        """
        try:
            self._seen = pems = self._read()
            pems.check(self._settings)
        except (FileUnusable, CertificateUnusable) as error:
            raise StartError(f"listener {self._listener}: {error}") from error
        return grpc.dynamic_ssl_server_credentials(
            pems.configuration(),
            self._changed,  # type: ignore[arg-type]  # may answer None, says its documentation
            require_client_authentication=self._client_ca is not None,
        )

    def _changed(self) -> grpc.ServerCertificateConfiguration | None:
        """A new set that can be used; None when what is in use stays."""
        with self._lock:
            try:
                pems = self._read()
                if pems == self._seen:
                    return None
                self._seen = pems
                pems.check(self._settings)
            except (FileUnusable, CertificateUnusable) as error:
                self._complain(str(error))
                return None
            self._problem = ""
            self._tell("certificate_rotated", {"path": str(self._settings.cert_file)})
            return pems.configuration()

    def _read(self) -> Pems:
        client_ca = None if self._client_ca is None else self._client_ca.read()
        return Pems(chain=self._chain.read(), key=self._key.read(), client_ca=client_ca)

    def _complain(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            self._tell("certificate_unusable", {"problem": problem})

    def _tell(self, name: str, fields: Mapping[str, str]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._loop.call_soon_threadsafe(self._on_event, name, {"listener": self._listener, **fields})


def _certificates(path: Path, pem: bytes) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        raise CertificateUnusable(path, "holds no certificate, or a broken one (PEM)") from error


def _private_key(path: Path, pem: bytes) -> ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey:
    # No error is chained: it might hold a part of the key.
    try:
        key = load_pem_private_key(pem, password=None)
    except TypeError:
        raise CertificateUnusable(path, "is encrypted; the gateway has nobody to ask for its password") from None
    except (ValueError, UnsupportedAlgorithm):
        raise CertificateUnusable(path, "holds no private key, or a broken one (PEM)") from None
    if isinstance(key, rsa.RSAPrivateKey):
        return key
    if isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, _CURVES):
        return key
    raise CertificateUnusable(path, "is of a kind that gRPC's TLS does not take; use RSA, or ECDSA on P-256 or P-384")
