"""Callers who show a client certificate that TLS has verified: its names say who they are."""

from collections import OrderedDict
from dataclasses import dataclass

from adapters.base import Clock
from gateway.call import Principal
from gateway.errors import Unauthenticated
from gateway.identity.base import AuthStatus, Proof
from gateway.identity.certificates import MAX_BYTES, CertificateUnusable, read_certificate
from gateway.identity.peers import check_names, fit_of
from gateway.settings.listeners import MtlsIdentity

CACHED_CERTIFICATES = 1024

_NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class _Known:
    """What a certificate proves, and when. Who proves nobody is remembered too: reading it costs the most."""

    principal: Principal | None
    not_before: float = _NEVER
    not_after: float = _NEVER
    why: str = ""


class MtlsAuthenticator:
    """Maps a verified certificate to the first peer that it fits.

    Certificates are remembered by their bytes. Their time is looked at for every call: a connection may live
    longer than the certificate that it was opened with.
    """

    def __init__(self, settings: MtlsIdentity, clock: Clock) -> None:
        """Raises `StartError` when a peer contradicts itself."""
        self._fits = tuple(map(fit_of, settings.peers))
        self._clock = clock
        self._known: OrderedDict[bytes, _Known] = OrderedDict()

    async def start(self) -> None:
        """Nothing is needed: whom to trust is the listener's business."""

    async def stop(self) -> None:
        """Nothing is held."""

    def status(self) -> AuthStatus:
        """Always ready."""
        return AuthStatus(is_ready=True)

    async def authenticate(self, proof: Proof) -> Principal:
        """The peer whose certificate this is. Raises `Unauthenticated`."""
        pem = proof.certificate
        known = self._known.get(pem)
        if known is None:
            known = self._remember(pem)
        else:
            self._known.move_to_end(pem)
        if known.principal is None:
            raise Unauthenticated(known.why)
        if not known.not_before <= self._clock.now() < known.not_after:
            raise Unauthenticated("the certificate is not valid now")
        return known.principal

    def _remember(self, pem: bytes) -> _Known:
        if not 0 < len(pem) <= MAX_BYTES:
            raise Unauthenticated("no certificate, or too large a one")
        try:
            known = self._read(pem)
        except CertificateUnusable as error:
            known = _Known(None, why=str(error))
        self._known[pem] = known
        if len(self._known) > CACHED_CERTIFICATES:
            self._known.popitem(last=False)
        return known

    def _read(self, pem: bytes) -> _Known:
        certificate = read_certificate(pem)
        check_names(certificate)
        for fit in self._fits:
            principal = fit(certificate)
            if principal is not None:
                return _Known(principal, certificate.not_before, certificate.not_after)
        return _Known(None, why="the certificate's names are nobody's")
