"""What both ends of a TLS connection need, as files and as gRPC takes it."""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from cryptography import x509

from fakes.authorities import BOTH, Authority
from gateway.settings.listeners import TlsSettings

LOOPBACK = (x509.IPAddress(ipaddress.ip_address("127.0.0.1")), "localhost")


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key, PEM."""

    cert: bytes
    key: bytes


class TlsAuthority(Authority):
    """An authority that signs for servers on loopback and for clients of any name."""

    def pair(self, *names: x509.GeneralName | str) -> Pair:
        """A certificate with these names, e.g. `spiffe://corp.example/agent`."""
        return Pair(*self._issued(names, "somebody", None, dt.timedelta(hours=1), BOTH, ()))

    def files(self, folder: Path, client_ca: Authority | None = None) -> TlsSettings:
        """A server's new certificate and key, over those that were there; who vouches for its clients."""
        pair, more = self.pair(*LOOPBACK), dict[str, Any]()
        (folder / "cert.pem").write_bytes(pair.cert)
        (folder / "key.pem").write_bytes(pair.key)
        if client_ca is not None:
            more["client_ca_file"] = client_ca.write(folder / "ca.pem")
        return TlsSettings(cert_file=folder / "cert.pem", key_file=folder / "key.pem", **more)

    def trusted(self, client: Pair | None = None) -> grpc.ChannelCredentials:
        """What a client needs to trust this authority's servers, and to show a certificate of its own."""
        if client is None:
            return grpc.ssl_channel_credentials(self.pem)
        return grpc.ssl_channel_credentials(self.pem, client.key, client.cert)
