"""Which authorities a service's certificate may come from."""

import asyncio
import ssl
from pathlib import Path

import grpc


class Trust:
    """The machine's own authorities, read when they are first needed, and those that are handed in, PEM."""

    def __init__(self, authorities: bytes = b"") -> None:
        self._authorities = authorities
        self._credentials: grpc.ChannelCredentials | None = None

    async def credentials(self) -> grpc.ChannelCredentials:
        """What a channel needs to check who a service is. Raises OSError when the machine's cannot be read."""
        if self._credentials is None:
            roots = (await asyncio.to_thread(_machine_roots)) + self._authorities
            self._credentials = grpc.ssl_channel_credentials(root_certificates=roots or None)
        return self._credentials


def _machine_roots() -> bytes:
    """Empty where there is no such file: then the library's own. The environment's SSL_CERT_FILE is not obeyed."""
    path = Path(ssl.get_default_verify_paths().openssl_cafile)
    return path.read_bytes() + b"\n" if path.is_file() else b""
