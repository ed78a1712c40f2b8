"""A listener's certificates as gRPC takes them: it asks at every handshake, on threads of its own."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping

import grpc
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from gateway.settings.listeners import TlsSettings
from gateway.surfaces.certificates import Certificates, CertificateUnusable, OnEvent, Pems

_CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)


def credentials(
    listener: str, settings: TlsSettings, monotonic: Callable[[], float], on_event: OnEvent
) -> grpc.ServerCredentials:
    """TLS 1.2 or newer with these certificates, looked at again when their files change; with a `client_ca_file` a
    client without a certificate that it vouches for is not let in. Raises `StartError` when they cannot be used.

    Call it on the loop, which is where `on_event` is called (see `Certificates`).
    """
    loop, lock = asyncio.get_running_loop(), threading.Lock()

    def tell(name: str, fields: Mapping[str, str]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            loop.call_soon_threadsafe(on_event, name, fields)

    def newer() -> grpc.ServerCertificateConfiguration | None:
        with lock:
            return certificates.newer()

    certificates = Certificates(
        listener, settings, lambda pems: _configuration(settings, pems), monotonic=monotonic, on_event=tell
    )
    return grpc.dynamic_ssl_server_credentials(
        certificates.load(),
        newer,  # type: ignore[arg-type]  # may answer None, says its documentation
        require_client_authentication=settings.client_ca_file is not None,
    )


def _configuration(settings: TlsSettings, pems: Pems) -> grpc.ServerCertificateConfiguration:
    key = pems.private_key(settings)
    is_elliptic = isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, _CURVES)
    if not is_elliptic and not isinstance(key, rsa.RSAPrivateKey):
        problem = "is of a kind that gRPC's TLS does not take; use RSA, or ECDSA on P-256 or P-384"
        raise CertificateUnusable(settings.key_file, problem)
    pems.check(settings)
    return grpc.ssl_server_certificate_configuration([(pems.key, pems.chain)], root_certificates=pems.client_ca)
